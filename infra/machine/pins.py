"""Names the folder of what is built once after the pins that it is made from, so that a changed pin makes it anew."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from infra.machine import paths

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
    return paths.cache() / f"{name}-{total.hexdigest()[:_DIGITS]}"


def unfinished(folder: Path) -> Path:
    """Where the contents of a pinned folder are made; renamed when complete, so that nobody finds half of them."""
    return folder.with_name(f".{folder.name}.unfinished")
