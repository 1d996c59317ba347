"""Writes what spark/Dockerfile installs by hash: `make lock` calls it after it has written requirements.txt.

The image needs less than the whole project, so spark/requirements.txt has only what the job and the exporter import,
and what that needs on Linux.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository import ROOT

#: What the job and the exporter import of others.
IMPORTED = (
    *("confluent-kafka", "cryptography", "jinja2", "kubernetes", "prometheus-client", "pydantic", "pyspark", "pyyaml"),
    *("rich", "typer"),
)
REQUIREMENTS = ROOT / "spark" / "requirements.txt"
JARS = ROOT / "spark" / "jars.sha256"
_HEAD = "# What the validation job and the exporter need, by hash. `make lock` writes it, from requirements.txt.\n"


def needed(names: tuple[str, ...] = IMPORTED) -> set[str]:
    """The names of distributions that these need on Linux, with themselves."""
    found: set[str] = set()
    left = [canonicalize_name(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        given = [Requirement(each) for each in requires(name) or ()]
        on = {"sys_platform": "linux", "platform_system": "Linux", "extra": ""}
        left += [canonicalize_name(each.name) for each in given if each.marker is None or each.marker.evaluate(on)]
    return found


def requirements() -> str:
    """The part of requirements.txt that the image installs."""
    wanted = needed()
    blocks = re.split(r"\n(?=[a-z])", (ROOT / "requirements.txt").read_text().strip())
    kept = {name: block for block in blocks if (name := re.split(r"[=\s]", block, maxsplit=1)[0]) in wanted}
    assert kept.keys() == wanted, f"requirements.txt lacks {wanted - kept.keys()}"
    return _HEAD + "".join(f"{_without_comments(block)}\n" for block in kept.values())


def _without_comments(block: str) -> str:
    return "\n".join(line for line in block.splitlines() if not line.strip().startswith("#"))


def sums(files: Iterable[Path]) -> Iterator[str]:
    """The lines of `sha256sum` for these files."""
    for file in sorted(files):
        yield f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"


if __name__ == "__main__":
    REQUIREMENTS.write_text(requirements())
