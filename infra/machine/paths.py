"""Where our packages are on disk, and where everything that is built or fetched once goes. Imports nothing of ours."""

import os
from pathlib import Path

#: The folder that holds our packages: a checkout, or `site-packages`.
PACKAGES = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent


def cache() -> Path:
    """The folder of everything that is built once for all projects: REPLICATE_CACHE, else one in the user's cache.

    The name of each folder in it ends with a digest of the versions that it was made from, so projects with different
    versions do not disturb each other. It may be deleted whenever no local stack runs.
    """
    given = os.environ.get("REPLICATE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(given or f"{home}/kafka-replication").expanduser().resolve()


def build_lock() -> Path:
    """The lock that a process holds while it builds or fetches."""
    return cache() / "build.lock"
