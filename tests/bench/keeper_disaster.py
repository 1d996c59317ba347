"""`make keeper`: kills the source's broker under traffic, and moves one group with what a keeper kept and one without.

One shape after the other. Producers write 500 records a second to its topics; in a pair also on the other side. Two
groups consume them all and commit every 200 ms, beside a keeper. The broker of the source and the keeper are killed
together. Then the keeper's topics are hidden from the command, which moves the first group, and shown again for the
second. Rows are printed and kept at once. `--write` puts the table into the page of the drills.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]  # its stubs do not re-export it
from rich.console import Console

from kafka_replication.components.contract.kept_positions import positions_topic
from kafka_replication.infra.local import stack
from kafka_replication.infra.stack.settings import read_settings
from tests.bench.drill_commands import Drills
from tests.bench.drill_counting import Log, before, count, everything, positions, read_log, since, without_offset
from tests.bench.drill_moves import failed_over, fill, resumed
from tests.bench.drill_rows import PAGE
from tests.bench.drill_shapes import SHAPES, Shape, prepared
from tests.bench.keeper_process import Keeper, denied, kill_broker, newest_look_ms, seconds_until_looked
from tests.bench.keeper_rows import FOLDER, append, read
from tests.bench.keeper_traffic import Group, running
from tests.local.flows import Deployed
from tests.pages import put_rows

RATE, TRAFFIC_SECONDS, RECENT_SECONDS = 500, 20.0, 10.0
SECTION, PAIR = "keeper", "prefixlessPair"
HEAD = (
    "shape",
    "consumed in the last 10 s",
    "with the keeper: skipped / read again",
    "oldest of them",
    "last look",
    "without it: skipped / read again",
    "oldest of them",
)


@dataclass(frozen=True)
class Moved:
    """What a group skipped and read again. `oldest_seconds` is how long before the loss it had consumed the oldest
    record that it read again. `without` counts partitions without a position; it read these from their beginning.
    """

    skipped: int
    again: int
    twice: int
    oldest_seconds: float
    without: int
    seconds: float

    @property
    def text(self) -> str:
        lacking = f", {self.without} partitions without a position" if self.without else ""
        return f"{self.skipped} / {self.again}{lacking}"


@dataclass(frozen=True)
class Row:
    """A drill of a shape: the same loss for a group `beside` a keeper, and for one `alone`.

    `recent` counts what the group beside it consumed in the last 10 seconds, and `look_seconds` is the age of the
    keeper's last look at the loss. MirrorMaker emits `checkpoints` every so many seconds.
    """

    shape: str
    recent: int
    beside: Moved
    alone: Moved
    look_seconds: float
    lost: int
    checkpoints: int = 1

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.shape if self.checkpoints == 1 else f"{self.shape}, checkpoints every {self.checkpoints} s",
            f"{self.recent}",
            self.beside.text,
            f"{self.beside.oldest_seconds:.1f} s",
            f"{self.look_seconds:.1f} s before",
            self.alone.text,
            f"{self.alone.oldest_seconds:.1f} s",
        )


def drilled(drills: Drills, shape: Shape, log: Path, checkpoints: int) -> Row:
    """Kill the broker of the source under traffic, and count what both groups get on the target."""
    fill(drills, shape, drills.seed)
    keeper, names = Keeper(drills, log), {"beside": f"{shape.prefix}{drills.seed}-beside"}
    names["alone"] = names["beside"].replace("beside", "alone")
    groups = {way: Group(drills.source, name, shape.topics) for way, name in names.items()}
    sides = {"useast": (drills.source, [shape])} | ({"uswest": (drills.target, [shape])} if shape.back else {})
    keeper.start()
    try:
        seconds_until_looked(drills, shape.flows)
        with running(sides, groups.values(), RATE, drills.seed) as over:
            over.wait(TRAFFIC_SECONDS + checkpoints)
            lost_at = time.time()
            kill_broker("useast")
            over.set()
            keeper.kill()
        arrived = read_log(drills.target, map(shape.remote, shape.topics))
        looks = [newest_look_ms(drills, flow) / 1000 for flow in shape.flows]
        got, stands, seconds = {}, {}, {}
        for way in ("alone", "beside"):
            # A topic that its login may not even describe does not exist for the command.
            topics = map(positions_topic, shape.flows if way == "alone" else ())
            with denied(drills.target, topics, AclOperation.ALL):
                document, row = failed_over(drills, shape, "disaster", {names[way]: {}})
            if document is None:
                raise RuntimeError(row.refused)
            stands[way] = positions(drills.target, shape, names[way])
            got[way], seconds[way] = since(arrived, stands[way]), row.seconds
        for flow in shape.flows:
            drills.call("stop", flow)
    finally:
        stack.up(Console(quiet=True))
    sent, crossed = drills.logs(shape)
    moved = {
        way: replace(
            counted(sent, crossed, groups[way], got[way], lost_at),
            without=without_offset(shape, stands[way]),
            seconds=seconds[way],
        )
        for way in groups
    }
    resumed(drills, *shape.flows)
    return Row(
        shape.name,
        len(recent(sent, groups["beside"], lost_at)),
        moved["beside"],
        moved["alone"],
        round(lost_at - min(looks), 2),
        (everything(sent) - everything(crossed)).total(),
        checkpoints,
    )


def counted(sent: Log, crossed: Log, group: Group, got: Counter[bytes], lost_at: float) -> Moved:
    """Count what a group got; a record that was never replicated is lost, not skipped."""
    consumed = before(sent, group.reached)
    found = count(consumed, (everything(sent) & everything(crossed)) | consumed, got)
    when = consumed_at(sent, group)
    oldest = min((when[mark] for mark in got if mark in when), default=lost_at)
    return Moved(found.skipped, found.again, found.twice, round(lost_at - oldest, 2), 0, 0)


def recent(sent: Log, group: Group, lost_at: float) -> list[bytes]:
    """The records that the group consumed shortly before the loss."""
    return [mark for mark, at in consumed_at(sent, group).items() if at >= lost_at - RECENT_SECONDS]


def consumed_at(sent: Log, group: Group) -> dict[bytes, float]:
    """When the group committed each record, in seconds since 1970."""
    found: dict[bytes, float] = {}
    for place, log in sent.items():
        commits = ((at, offsets[place]) for at, offsets, confirmed in group.commits if confirmed and place in offsets)
        at, reached = 0.0, 0
        for offset, mark in log:
            while offset >= reached:
                at, reached = next(commits, (0.0, sys.maxsize))
            if reached != sys.maxsize:
                found[mark] = at
    return found


def with_interval(deployed: Deployed, seconds: int) -> Deployed:
    """Let MirrorMaker emit checkpoints and sync offsets at this interval."""
    settings = deployed.settings
    file = settings.stacks / "topologies" / f"{settings.stack}.yaml"
    topology = yaml.safe_load(file.read_text())
    for replication in topology["replications"].values():
        if replication["kind"] != PAIR:
            replication["intervals"] |= {"emitCheckpointsSeconds": seconds, "syncGroupOffsetsSeconds": seconds}
    file.write_text(yaml.safe_dump(topology, sort_keys=False))
    return Deployed(read_settings(settings.stack, settings.stacks), deployed.endpoints)


def newest(file: Path) -> list[Row]:
    """The newest row of each shape and interval, in the order of SHAPES."""
    found = {}
    for fields in read(file):
        row = Row(**fields | {way: Moved(**fields[way]) for way in ("beside", "alone")})
        found[row.shape, row.checkpoints] = row
    order = [shape.name for shape in SHAPES]
    return sorted(found.values(), key=lambda row: (order.index(row.shape), row.checkpoints))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, default=FOLDER / "keeper.jsonl", help="file that keeps the rows")
    parser.add_argument("--only", action="append", default=[], metavar="SHAPE", help="deploy only this shape")
    interval = "seconds between MirrorMaker's checkpoints, and between its syncs of offsets"
    parser.add_argument("--checkpoints", type=int, action="append", help=f"{interval}, 1 by default; may be repeated")
    parser.add_argument("--write", action="store_true", help="write the rows of the file into the page, and end")
    given = parser.parse_args()
    if given.write:
        put_rows(PAGE, SECTION, HEAD, [row.cells for row in newest(given.rows)])
        return 0
    if "REPLICATE_LOCAL" not in os.environ:
        parser.error("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    shapes = [shape for shape in SHAPES if shape.name in given.only or not (given.only or shape.kills)]
    endpoints, failed = stack.up(Console()), []
    try:
        with tempfile.TemporaryDirectory() as folder, prepared(endpoints, Path(folder), shapes).running() as deployed:
            for interval in given.checkpoints or [1]:
                with_interval(deployed, interval).up()
                for shape in shapes:
                    drills = Drills(deployed, given.rows, 10 * (int(time.time()) % 1_000_000))
                    try:
                        append(given.rows, drilled(drills, shape, Path(folder) / "keeper.log", interval))
                    except Exception:  # noqa: BLE001
                        failed.append(f"{shape.name}, {interval} s")
                        print(f"{failed[-1]} failed:\n{traceback.format_exc()}", flush=True)
    finally:
        stack.down(Console(), purge=True)
    print("".join(f"failed: {name}\n" for name in failed), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
