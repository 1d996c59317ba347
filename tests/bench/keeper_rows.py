"""The rows that the benches of the keeper print, keep in a file, and write into the page of the drills."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.repository import ROOT

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDER = ROOT / ".local"


def append(file: Path, row: "DataclassInstance") -> None:
    """Print a row, and keep it."""
    print(row, flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def read(file: Path) -> list[dict[str, Any]]:
    """Return the fields of each row of a file, the oldest first."""
    return [json.loads(line) for line in file.read_text().splitlines()]
