"""The requirement with which pip can install the running `replicate`. Only reads what pip has recorded."""

import json
from importlib.metadata import distribution

_NAME = "kafka-replication"


def requirement() -> str:
    """A requirement in pip's form. Raises PackageNotFoundError if `replicate` runs without being installed."""
    found = distribution(_NAME)
    return requirement_of(found.version, found.read_text("direct_url.json"))


def requirement_of(version: str, direct_url: str | None) -> str:
    """The same for what pip recorded about a distribution; None if it came from a package index.

    Source: PEP 610, PEP 508.
    """
    if direct_url is None:
        return f"{_NAME}=={version}"
    origin = json.loads(direct_url)
    url = origin["url"]
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if folder := origin.get("subdirectory"):
        url = f"{url}#subdirectory={folder}"
    return f"{_NAME} @ {url}"


def advice(package: str) -> str | None:
    """The message about a requirement that nobody else can install, because it is a path on this machine."""
    if not any(each in package for each in (" @ file:", "+file:")):
        return None
    return (
        f"requirements.txt installs {package}. Before anybody else installs it, replace that with a wheel or a Git URL."
    )
