"""Remembers from which pins an artifact was made, so that it is made again only when a pin changed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from infra.local import paths


def digest(files: Iterable[Path], *words: str) -> str:
    """A digest of the files' names and contents and of the words of the recipe."""
    total = hashlib.sha256()
    for piece in [
        *(part for file in files for part in (file.name.encode(), file.read_bytes())),
        *map(str.encode, words),
    ]:
        # The length in front keeps ("ab", "c") and ("a", "bc") apart.
        total.update(len(piece).to_bytes(8, "big") + piece)
    return total.hexdigest()


def is_current(name: str, wanted: str, outputs: Iterable[Path]) -> bool:
    """Whether `name` was made from exactly these pins and everything that it made is still there."""
    stamp = paths.STAMPS / name
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted and all(path.exists() for path in outputs)


def record(name: str, wanted: str) -> None:
    """Say that `name` is now made from these pins; called after its outputs are complete."""
    paths.STAMPS.mkdir(parents=True, exist_ok=True)
    (paths.STAMPS / name).write_text(wanted, encoding="utf-8")


def forget(name: str) -> None:
    """Called before `name` is made again: a half-made artifact must not look complete."""
    (paths.STAMPS / name).unlink(missing_ok=True)
