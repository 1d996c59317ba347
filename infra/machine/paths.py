"""Where our packages are on disk, and where everything that is built or fetched once is kept. Imports nothing of ours.
Each folder is named after the pins of what it holds, so that projects with other versions do not disturb each other.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: The folder that holds `components`, `infra` and `spark`: a checkout, or the installed package.
FOLDERS = Path(__file__).resolve().parents[2]
#: Where a checkout keeps the file that is `kafka_replication/__init__.py` once it is installed.
TOP = Path("components") / "package" / "__init__.py"
SOURCES = Path(__file__).resolve().parent


def link_package(checkout: Path | str, folder: Path | str) -> None:
    """Lay links in `folder`: with it on the path, Python finds the folders of `checkout` below `kafka_replication`."""
    root, package = Path(checkout).resolve(), Path(folder) / "kafka_replication"
    package.mkdir(parents=True, exist_ok=True)
    for name, target in (("__init__.py", TOP), *((name, name) for name in ("components", "infra", "spark"))):
        (package / name).unlink(missing_ok=True)
        (package / name).symlink_to(root / target)


def cache() -> Path:
    """Return the folder of what is built once for all projects: REPLICATE_CACHE, else one in the user's cache."""
    given = os.environ.get("REPLICATE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(given or f"{home}/kafka-replication").expanduser().resolve()


def build_lock() -> Path:
    """Return the lock that a process holds while it builds or fetches."""
    return cache() / "build.lock"


def pinned_folder(name: str, files: Iterable[Path], *words: str) -> Path:
    """Return the folder of what is built as `name` from these files and words; it exists once it is complete."""
    total = hashlib.sha256()
    for piece in [
        *(part for file in files for part in (file.name.encode(), file.read_bytes())),
        *map(str.encode, words),
    ]:
        # The length in front keeps ("ab", "c") and ("a", "bc") apart.
        total.update(len(piece).to_bytes(8, "big") + piece)
    return cache() / f"{name}-{total.hexdigest()[:16]}"


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` when the body ends, so that nobody finds partial contents."""
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    unfinished.replace(folder)
