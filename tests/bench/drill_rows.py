"""The rows that drills print, keep in a file, and write into the page of the commands."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.drill_counting import Count
from tests.bench.drill_shapes import SHAPES
from tests.pages import put
from tests.repository import ROOT

PAGE = ROOT / "infra" / "operate" / "DRILLS.md"
HEADER = (
    "| shape | way | groups | skipped | read again: announced / seen | MirrorMaker's own: skipped / read again |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Row:
    """One drill: what its groups skipped and read again, and what they would from MirrorMaker's own offsets.

    `announced` is what the command reported, in its words. `twice` counts records that are on the target twice: a group
    that had not consumed them gets them twice. `without` counts partitions in which a group has no offset.
    `lost` are records that the target never got. `refused` is the code of a refusal. `kills` counts the runs of the
    command that were killed before the one that ended.
    """

    shape: str
    mode: str
    groups: int
    skipped: int = 0
    announced: str = "0"
    again: int = 0
    twice: int = 0
    own_skipped: int | None = None
    own_again: int | None = None
    own_without: int = 0
    without: int = 0
    lost: int = 0
    refused: str = ""
    seconds: float = 0
    kills: int = 0
    note: str = ""

    @property
    def line(self) -> str:
        """The row as markdown."""
        if self.refused:
            return f"| {self.shape} | {self.mode} | - | - | refused: `{self.refused}` | - |"
        lost = f" ({self.lost} lost)" if self.lost else ""
        twice = f", {self.twice} sent twice" if self.twice else ""
        own = "-" if self.own_skipped is None else f"{self.own_skipped} / {self.own_again}"
        lacking = [f"{self.without} partitions without a position"] if self.without else []
        known = [] if lacking and self.announced == "at most 0" else [self.announced]
        again = f"{', '.join([*known, *lacking])} / {self.again}{twice}"
        way = f"{self.mode}, killed {self.kills} times before" if self.kills else self.mode
        cells = (self.shape, way, f"{self.groups}", f"{self.skipped}{lost}", again, own)
        return f"| {' | '.join(cells)} |"


def counted(row: Row, ours: Count, own: Count | None) -> Row:
    """The row with these counts."""
    values = {**asdict(row), "skipped": ours.skipped, "again": ours.again, "twice": ours.twice}
    if own is not None:
        values |= {"own_skipped": own.skipped, "own_again": own.again}
    return Row(**values)


def append(file: Path, row: Row) -> None:
    """Print a row, and keep it."""
    print(row.line, flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def read(file: Path) -> list[Row]:
    """The rows of a file, the newest of each shape and way, in the order of SHAPES."""
    rows = [Row(**json.loads(line)) for line in file.read_text().splitlines()]
    newest = {(row.shape, row.mode): row for row in rows}
    ways = ("continuous", "planned", "back", "planned with `--fence`", "back after `--fence`", "disaster")
    return [newest[shape.name, way] for shape in SHAPES for way in ways if (shape.name, way) in newest]


def write_table(rows: Iterable[Row], page: Path = PAGE) -> None:
    """Put the table of the drills into a page."""
    put(page, "drills", "\n".join([HEADER, *(row.line for row in rows)]))
