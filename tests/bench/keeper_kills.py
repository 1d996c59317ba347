"""`make keeper`: kills a keeper 50 times under traffic, and judges every position that it ever published.

Producers write 500 records a second to a flow with the default policy, one with the policy `identity`, one with
transactions and exactly-once, and a pair; in the pair also on its other side. In each, a group keeps up and another
falls behind; both commit every 200 ms. The keeper is killed at random moments, every second time after a first look,
and started again at once. Then two keepers are started together, the target's broker is killed, and the source's broker
is down for a minute. The keeper's topic still has every record, because nothing is compacted yet. A record of a group
is skipped if the target has a copy before the position, and the group had not consumed it. Rows are printed and kept;
`--write` puts the newest of each shape into the page of the drills.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.kept_positions import positions_topic
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.local import stack
from kafka_replication.infra.local.endpoints import ADMIN
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_commands import Drills
from tests.bench.drill_counting import Log
from tests.bench.drill_rows import PAGE
from tests.bench.drill_shapes import SHAPES, Shape, prepared
from tests.bench.drill_traffic import await_crossing
from tests.bench.keeper_process import Keeper, kill_broker, seconds_until_looked, wait_until_ended
from tests.bench.keeper_rows import FOLDER, append, read
from tests.bench.keeper_traffic import Group, running
from tests.pages import put_rows

KILLS, RATE = 50, 500
KINDS = ("prompt", "slow")
NAMES = ("default policy", "exactly once, transactions", "identity policy", "pair")
SECTION = "keeper kills"
HEAD = (
    "shape",
    "kills",
    "looks",
    "positions",
    "records of looks that a kill cut off",
    "positions that skip a record / hold an offset that nobody committed",
    "records that a prompt group reads again: p50 / most",
)
LONGEST_SECONDS, DOWN_SECONDS, RECOVERY_SECONDS = 8.0, 60.0, 180.0


@dataclass
class Judged:
    """What was published: how many looks and positions, which positions skip a record, which hold an offset that
    nobody committed, and how many consumed records the prompt groups would read again from each.
    """

    looks: int = 0
    positions: int = 0
    skipping: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    again: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """What was judged in a flow of this shape. `cut` counts the records of looks that a kill cut off; `again_half` and
    `again_most` are how many records the prompt groups would read again from half of the positions, and from each.
    """

    shape: str
    kills: int
    looks: int
    positions: int
    cut: int
    skipping: int
    invented: int
    again_half: int
    again_most: int

    @property
    def cells(self) -> tuple[str, ...]:
        wrong = f"{self.skipping} / {self.invented}"
        again = f"{self.again_half} / {self.again_most}"
        return (self.shape, f"{self.kills}", f"{self.looks}", f"{self.positions}", f"{self.cut}", wrong, again)


def judge(published: Iterable[KafkaRecord], sent: Log, arrived: Log, groups: Sequence[Group], shape: Shape) -> Judged:
    """Compare every published position with all records of both logs."""
    found, committed, copies = Judged(), set(), {}
    names = {group.name: group.slow for group in groups}
    for group in groups:
        committed |= {
            (group.name, place, offset) for _, offsets, _ in group.commits for place, offset in offsets.items()
        }
    for place, log in sent.items():
        copies[place] = Copies(log, arrived[shape.remote(place[0]), place[1]])
    for record in published:
        key, value = json.loads(record.key or b""), json.loads(record.value or b"{}")
        if "group" not in key:
            found.looks += 1
            continue
        place = key["topic"], key["partition"]
        # Groups of an earlier run have other names.
        if not value or key["group"] not in names:
            continue
        found.positions += 1
        skipped, again = copies[place].skipped_and_again(value["committed"], value["offset"])
        found.again += [] if names[key["group"]] else [again]
        if skipped:
            found.skipping.append(f"{key} {value}: {skipped} skipped")
        if (key["group"], place, value["committed"]) not in committed:
            found.invented.append(f"{key} {value}")
    return found


class Copies:
    """Where the target has the first and the last copy of each record of a source partition; beyond its end if none."""

    def __init__(self, sent: list[tuple[int, bytes]], arrived: list[tuple[int, bytes]]) -> None:
        firsts = {mark: offset for offset, mark in reversed(arrived)}
        lasts = {mark: offset for offset, mark in arrived}
        self._offsets = [offset for offset, _ in sent]
        # Of a record that the other half of a pair sent again, the group has its first copy on the source.
        first = {mark: offset for offset, mark in reversed(sent)}
        self._firsts = [firsts.get(mark, sys.maxsize) if first[mark] == at else sys.maxsize for at, mark in sent]
        self._lasts = [lasts.get(mark, sys.maxsize) for _, mark in sent]

    def skipped_and_again(self, committed: int, position: int) -> tuple[int, int]:
        """How many records a group that had committed this offset skips and reads again from a position. The source
        may be lost before a later copy is made, so a record whose first copy is passed counts as skipped.
        """
        index = bisect_left(self._offsets, committed)
        skipped = sum(copy < position for copy in self._firsts[index:])
        return skipped, sum(copy >= position for copy in self._lasts[:index])


def troubled(drills: Drills, flows: Sequence[str], kills: int, log: Path) -> None:
    """Kill the keeper again and again; then two keepers at once, and each broker."""
    chance = random.Random(drills.seed)
    print(f"kills at random moments, seed {drills.seed}", flush=True)
    keeper = Keeper(drills, log)
    for number in range(kills):
        keeper.start("--every", "0.1")
        # On a busy machine, a keeper that starts would otherwise be killed before it looks.
        if number % 2:
            seconds_until_looked(drills, flows)
        time.sleep(chance.uniform(0, LONGEST_SECONDS))
        keeper.kill()
        print(f"{number + 1} ", end="", flush=True)
    both = Keeper(drills, log), Keeper(drills, log)
    for each in both:
        each.start()
    print(f"\nafter them, two keepers at once: a look after {seconds_until_looked(drills, flows):.1f} s", flush=True)

    def expect_one() -> Keeper:
        left = [each for each in both if each.process and each.process.poll() is None]
        if len(left) != 1:
            raise NotYetError(f"{len(left)} keepers run")
        return left[0]

    one = wait_for("one of them to end", expect_one, RECOVERY_SECONDS)
    ended = next(each.process for each in both if each is not one)
    assert ended is not None
    print(f"one ended with {ended.returncode}; the other: a look after {seconds_until_looked(drills, flows):.1f} s")
    for alias, seconds in (("uswest", 0.0), ("useast", DOWN_SECONDS)):
        kill_broker(alias)
        wait_until_ended(alias)
        time.sleep(seconds)
        stack.up(Console(quiet=True))
        looked = seconds_until_looked(drills, flows)
        print(f"the broker of {alias} was down for {seconds:.0f} s: a look {looked:.1f} s later", flush=True)
    assert one.process is not None
    print(f"the keeper {'runs' if one.process.poll() is None else 'has ended'}")
    one.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--rows", type=Path, default=FOLDER / "keeper_kills.jsonl", help="file that keeps the rows")
    parser.add_argument("--write", action="store_true", help="write the rows of the file into the page, and end")
    given = parser.parse_args()
    if given.write:
        newest = {row.shape: row for row in (Row(**fields) for fields in read(given.rows))}
        put_rows(PAGE, SECTION, HEAD, [newest[name].cells for name in NAMES if name in newest])
        return 0
    if "REPLICATE_LOCAL" not in os.environ:
        parser.error("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    shapes = [shape for shape in SHAPES if shape.name in NAMES]
    endpoints, failed = stack.up(Console()), 0
    try:
        with tempfile.TemporaryDirectory() as folder, prepared(endpoints, Path(folder), shapes).running() as deployed:
            drills = Drills(deployed, Path(folder) / "rows", int(time.time()) % 1_000_000)
            groups = {
                shape: [
                    Group(drills.source, f"{shape.prefix}{drills.seed}-{kind}", shape.topics, slow=kind == "slow")
                    for kind in KINDS
                ]
                for shape in shapes
            }
            every = [group for each in groups.values() for group in each]
            pairs = [shape for shape in shapes if shape.back]
            sides = {"useast": (drills.source, shapes), "uswest": (drills.target, pairs)}
            with running(sides, every, RATE / len(shapes), drills.seed):
                troubled(drills, [shape.flow for shape in shapes], given.kills, Path(folder) / "keeper.log")
            print((Path(folder) / "keeper.log").read_text()[-3_000:])
            for shape in shapes:
                await_crossing(endpoints, shape)
                append(given.rows, row := report(drills, shape, groups[shape], given.kills))
                failed += bool(row.skipping or row.invented or not row.positions)
    finally:
        stack.down(Console(), purge=True)
    return 1 if failed else 0


def report(drills: Drills, shape: Shape, groups: Sequence[Group], kills: int) -> Row:
    """Print what is wrong with what was published for a shape, and return what was."""
    reader, topic = KafkaReader("uswest", drills.target.client_config(ADMIN)), positions_topic(shape.flow)
    published, ends = reader.records(topic), reader.logs(reader.partitions([topic]))
    written = list(reader.read(topic, ends.items(), committed=False))
    found = judge(published, *drills.logs(shape), groups, shape)
    again = sorted(found.again)
    print(*[*found.skipping, *found.invented][:20], sep="\n", flush=True)
    wrong = len(found.skipping), len(found.invented)
    half, most = (again[len(again) // 2], again[-1]) if again else (0, 0)
    return Row(shape.name, kills, found.looks, found.positions, len(written) - len(published), *wrong, half, most)


if __name__ == "__main__":
    sys.exit(main())
