"""records-loop in a ring of flows that nothing stops: whether what arrives on both clusters had been there before.

A ring alone is no loop, for one of its flows may stand; nor is growth, for producers write; nor are copies, for a
worker that was restarted sends some records again. Records that arrive on both sides while the job looks and are copies
of older records of the same side are a loop, whoever else writes at the same time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spark import readers, transforms
from spark.clusters import Cluster
from spark.flows import OpenFlow
from spark.guards import SOURCE, TARGET
from spark.positions import TopicPartition
from spark.report import Finding, fail
from spark.rings import Ring
from spark.waiting import wait_until

#: In a loop both ends of every partition that holds a record move within one round trip of a connector.
WATCH_SECONDS = 5


@dataclass(frozen=True)
class Arrivals:
    """Records of one side of a partition, how many of them differ, how many came while the job looked, and how many of
    those were copies of a record that had been there before."""

    records: int
    distinct: int
    new: int
    returned: int

    @property
    def go_round(self) -> bool:
        return 2 * self.returned > self.new > 0


@dataclass(frozen=True)
class Loop:
    """A topic that goes round a ring, as one of its flows shows it."""

    topic: str
    ring: Ring
    source: Arrivals
    target: Arrivals


def find_loops(opened: OpenFlow, rings: Mapping[str, Ring]) -> list[Loop]:
    """The topics of `rings` that loop through this flow; one bounded reading, and none while nothing grows."""
    partitions = [each for each in opened.replicated_partitions() if each.topic in rings]
    if not partitions:
        return []
    opened.progress(f"{opened.flow.name}: looking whether {len(partitions)} partitions of a ring grow on both sides")
    before = _ends(opened, partitions)
    after = before

    def all_grew() -> bool:
        nonlocal after
        after = _ends(opened, partitions)
        return all(after[each] > end for each, end in before.items())

    wait_until(all_grew, WATCH_SECONDS)
    growing = [each for each in partitions if all(after[side, each] > before[side, each] for side in (SOURCE, TARGET))]
    if not growing:
        return []
    marks = sorted({mark for ring in rings.values() for mark in ring.marks})
    return judge(_arrivals(opened, growing, before, marks), rings)


def judge(arrivals: Mapping[tuple[str, TopicPartition], Arrivals], rings: Mapping[str, Ring]) -> list[Loop]:
    """The loops among `arrivals` by side and partition: what arrives in a partition goes round on both sides."""
    looping: dict[str, list[TopicPartition]] = {}
    for side, partition in arrivals:
        other = arrivals.get((TARGET, partition))
        if side == SOURCE and other is not None and arrivals[side, partition].go_round and other.go_round:
            looping.setdefault(partition.topic, []).append(partition)
    return [
        Loop(
            topic,
            rings[topic],
            _sum(arrivals[SOURCE, each] for each in partitions),
            _sum(arrivals[TARGET, each] for each in partitions),
        )
        for topic, partitions in sorted(looping.items())
    ]


def without_loops(opened: OpenFlow, loops: Sequence[Loop]) -> OpenFlow:
    """The flow without the topics that loop: a comparison of what grows without end finds nothing but that."""
    looping = {loop.topic for loop in loops}
    remote = {opened.selection.remote(topic) for topic in looping}
    return replace(
        opened,
        partitions={name: count for name, count in opened.partitions.items() if name not in looping},
        remote_partitions={name: count for name, count in opened.remote_partitions.items() if name not in remote},
    )


def loop_findings(loops: Sequence[Loop], source: str, target: str) -> list[Finding]:
    """One finding a topic; `source` and `target` are aliases, the count is what came back while the job looked."""
    return [
        fail(
            "records-loop",
            f"{loop.topic}: records go round {loop.ring} without end: {source} holds {_held(loop.source)}, {target} "
            f"{_held(loop.target)}; of {loop.source.new + loop.target.new} that arrived while the job looked, "
            f"{returned} had been there before. The identity policy stops no cycle and no guard on the way does",
            returned,
        )
        for loop in loops
        for returned in (loop.source.returned + loop.target.returned,)
    ]


def _held(arrivals: Arrivals) -> str:
    return f"{arrivals.records} copies of {arrivals.distinct} records"


def _sum(arrivals: Iterable[Arrivals]) -> Arrivals:
    given = list(arrivals)
    return Arrivals(
        sum(each.records for each in given),
        sum(each.distinct for each in given),
        sum(each.new for each in given),
        sum(each.returned for each in given),
    )


def _sides(opened: OpenFlow) -> tuple[tuple[str, Cluster], ...]:
    return ((SOURCE, opened.source), (TARGET, opened.target))


def _ends(opened: OpenFlow, partitions: Sequence[TopicPartition]) -> dict[tuple[str, TopicPartition], int]:
    """End offsets by side and partition, which has the same name on both sides of a ring."""
    return {(side, each): end for side, at in _sides(opened) for each, end in at.ends(partitions).items()}


def _arrivals(
    opened: OpenFlow,
    partitions: Sequence[TopicPartition],
    before: Mapping[tuple[str, TopicPartition], int],
    marks: Sequence[str],
) -> dict[tuple[str, TopicPartition], Arrivals]:
    """Read both sides up to their present ends, and tell what came since `before`."""
    opened.progress(f"{opened.flow.name}: telling new records from copies in {len(partitions)} partitions that grow")
    source, target = (
        transforms.unmarked_digests(opened.read(at, at.offsets(partitions)), side, marks) for side, at in _sides(opened)
    )
    seen = opened.spark.createDataFrame(
        [(side, each.topic, each.partition, end) for (side, each), end in before.items() if each in set(partitions)],
        "side string, topic string, partition int, seen_end bigint",
    )
    frame = transforms.returned(source.unionByName(target), seen)
    where = f"{opened.source.where} and {opened.target.where}"
    return {
        (row.side, TopicPartition(row.topic, row.partition)): Arrivals(row.records, row.distinct, row.new, row.returned)
        for row in readers.rows(frame, where, "looking for records that come back")
    }
