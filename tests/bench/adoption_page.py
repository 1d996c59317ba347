"""The file in which the adoption bench keeps its rows, and the tables that it writes into the page of the commands."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.bench.adoption_watch import Phase
from tests.pages import put
from tests.repository import ROOT

PAGE = ROOT / "infra" / "operate" / "DRILLS.md"
ADOPTED = (
    "| what ran | verdict before, after | records | tasks announced to restart / restarted | other restarts "
    "| longest pause of the copying | twice | missing |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)
COMMANDS = "| command | time |\n| --- | --- |"


@dataclass(frozen=True)
class Row:
    """One adoption under traffic.

    `announced` and `restarted` count tasks of connectors that the plan names; `others` are names of tasks that
    started again unannounced, or more often than announced. `proven` has the verdicts of the validation before and
    after. `commands` are the seconds of each command that was shown.
    """

    what: str
    proven: str
    rate: float
    records: int
    announced: int
    restarted: int
    others: tuple[str, ...]
    pause_seconds: float
    twice: int
    missing: int
    commands: Mapping[str, float] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The row as markdown."""
        cells = (
            self.what,
            self.proven,
            f"{self.records:,}, {self.rate:,.0f} a second",
            f"{self.announced} / {self.restarted}",
            ", ".join(f"`{each}`" for each in self.others) or "none",
            f"{self.pause_seconds:.1f} s",
            f"{self.twice}",
            f"{self.missing}",
        )
        return f"| {' | '.join(cells)} |"

    @property
    def is_clean(self) -> bool:
        """Whether only announced tasks restarted, every record is on the target exactly once, and no check fails."""
        return self.proven == "pass, pass" and not (self.others or self.twice or self.missing)


def tasks_started(phases: Sequence[Phase]) -> Counter[str]:
    """How often each task started, in all phases together."""
    found: Counter[str] = Counter()
    for phase in phases:
        found.update({name.removeprefix("task "): count for name, count in phase.started.items() if "task " in name})
    return found


def keep(file: Path, row: Row) -> None:
    """Print a row, and keep it."""
    print(row.line, flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def read(file: Path) -> list[Row]:
    """The newest row of each thing that was adopted."""
    rows = [Row(**json.loads(line)) for line in file.read_text().splitlines()]
    return list({row.what: row for row in rows}.values())


def write_tables(rows: Sequence[Row], page: Path = PAGE) -> None:
    """Put the tables of adoptions and of the commands into a page."""
    put(page, "adoption", "\n".join([ADOPTED, *(row.line for row in rows)]))
    for commands in (row.commands for row in rows if row.commands):
        lines = (f"| `{command}` | {seconds:.0f} s |" for command, seconds in commands.items())
        put(page, "five minutes", "\n".join([COMMANDS, *lines]))
