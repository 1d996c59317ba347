"""Where our packages are on disk, and where everything that is built or fetched once is kept. Imports nothing of ours.
Each folder is named after the pins of what it holds, so a changed pin causes a new build.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

#: The folder that holds our packages: a checkout, or `site-packages`.
PACKAGES = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent


def cache() -> Path:
    """Return the folder of what is built once for all projects: REPLICATE_CACHE, else one in the user's cache.

    The name of each folder in it ends with a digest of the versions that it was built from, so projects with different
    versions do not disturb each other. It may be deleted whenever no local stack runs.
    """
    given = os.environ.get("REPLICATE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(given or f"{home}/kafka-replication").expanduser().resolve()


def build_lock() -> Path:
    """Return the lock that a process holds while it builds or fetches."""
    return cache() / "build.lock"


_DIGITS = 16


def pinned_folder(name: str, files: Iterable[Path], *words: str) -> Path:
    """Return the folder of what is built as `name` from these files and words; it exists once it is complete."""
    total = hashlib.sha256()
    for piece in [
        *(part for file in files for part in (file.name.encode(), file.read_bytes())),
        *map(str.encode, words),
    ]:
        # The length in front keeps ("ab", "c") and ("a", "bc") apart.
        total.update(len(piece).to_bytes(8, "big") + piece)
    return cache() / f"{name}-{total.hexdigest()[:_DIGITS]}"


def unfinished(folder: Path) -> Path:
    """Return where a pinned folder is built. It is renamed when complete, so nobody finds partial contents."""
    return folder.with_name(f".{folder.name}.unfinished")
