"""Where our packages are on disk, and where everything that is built or fetched once goes. Imports nothing of ours.

The folder of what is built once is named after the pins that it is made from, so that a changed pin makes it anew.
"""

import hashlib
import os
from collections.abc import Iterable
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


_DIGITS = 16


def pinned_folder(name: str, files: Iterable[Path], *words: str) -> Path:
    """The folder of what `name` is made into from these files and this recipe; it exists once that is complete."""
    total = hashlib.sha256()
    for piece in [
        *(part for file in files for part in (file.name.encode(), file.read_bytes())),
        *map(str.encode, words),
    ]:
        # The length in front keeps ("ab", "c") and ("a", "bc") apart.
        total.update(len(piece).to_bytes(8, "big") + piece)
    return cache() / f"{name}-{total.hexdigest()[:_DIGITS]}"


def unfinished(folder: Path) -> Path:
    """Where the contents of a pinned folder are made; renamed when complete, so that nobody finds half of them."""
    return folder.with_name(f".{folder.name}.unfinished")
