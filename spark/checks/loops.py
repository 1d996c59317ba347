"""records-loop: whether records circulate in a ring of flows forever. A ring alone is not a loop, because one of its
flows may be stopped. Growth is not a loop, because producers write. Copies are not a loop, because a restarted worker
sends some records again. It is a loop if, while the job watches, records arrive on both sides and most of them are
copies of older records of the same side, whoever else writes.

Also finds the records of a guarded flow that carry a guard's header although the guard of the other direction did not
append it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import GuardParameters
from kafka_replication.components.contract.report import Finding, fail
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.cycles import Cycle
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.checks.parity.findings import findings_by_meaning
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.meanings import Meaning
from kafka_replication.spark.checks.parity.sums import both_clusters, both_sides
from kafka_replication.spark.read import digests, frames
from kafka_replication.spark.read.digests import SOURCE, TARGET
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow
from kafka_replication.spark.read.frames import frame_of
from kafka_replication.spark.read.pairs import MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND, marked_elsewhere
from kafka_replication.spark.read.waiting import wait_until

#: In a loop, every partition that holds a record grows on both sides within one round trip of the connectors.
WATCH_SECONDS = 5


class Arrivals(NamedTuple):
    """Counts for one side of a partition: records, distinct records, records that arrived while the job watched
    (`new`), and how many of those are copies of an older record (`returned`)."""

    records: int
    distinct: int
    new: int
    returned: int

    @property
    def go_round(self) -> bool:
        return 2 * self.returned > self.new > 0


@dataclass(frozen=True)
class Loop:
    """A topic whose records circulate in a ring, as seen from one flow of the ring."""

    topic: str
    ring: Cycle
    source: Arrivals
    target: Arrivals


def find_loops(flow: OpenFlow, rings: Mapping[str, Cycle]) -> list[Loop]:
    """Return the topics of `rings` that loop through this flow. Only topics that grow are read, once."""
    partitions = [partition for partition in flow.replicated_partitions() if partition.topic in rings]
    if not partitions:
        return []
    flow.progress(
        f"{flow.name}: checking whether {numbered(len(partitions), 'partition[|s] of a ring [grows|grow]')} on "
        "both sides"
    )
    before = _ends(flow, partitions)
    after = before

    def all_grew() -> bool:
        nonlocal after
        after = _ends(flow, partitions)
        return all(after[log] > end for log, end in before.items())

    wait_until(all_grew, WATCH_SECONDS)
    growing = [
        partition
        for partition in partitions
        if all(after[side, partition] > before[side, partition] for side in (SOURCE, TARGET))
    ]
    if not growing:
        return []
    marks = sorted({mark for ring in rings.values() for mark in ring.marks})
    return judge(_arrivals(flow, growing, before, marks), rings)


def judge(arrivals: Mapping[tuple[str, TopicPartition], Arrivals], rings: Mapping[str, Cycle]) -> list[Loop]:
    """Return the loops among `arrivals` (by side and partition): partitions in which records return on both sides."""
    rounds = {place for place, arrived in arrivals.items() if arrived.go_round}
    looping = grouped(
        (partition.topic, partition)
        for side, partition in arrivals
        if side == SOURCE and {(SOURCE, partition), (TARGET, partition)} <= rounds
    )
    return [
        Loop(
            topic,
            rings[topic],
            _sum(arrivals[SOURCE, number] for number in partitions),
            _sum(arrivals[TARGET, number] for number in partitions),
        )
        for topic, partitions in sorted(looping.items())
    ]


def without_loops(flow: OpenFlow, loops: Sequence[Loop]) -> OpenFlow:
    """Return the flow without the topics that loop: a topic that grows forever cannot be compared."""
    looping = {loop.topic for loop in loops}
    remote = {flow.policy.remote(topic) for topic in looping}
    return replace(
        flow,
        partitions={name: count for name, count in flow.partitions.items() if name not in looping},
        remote_partitions={name: count for name, count in flow.remote_partitions.items() if name not in remote},
    )


def loop_findings(loops: Sequence[Loop], source: str, target: str) -> list[Finding]:
    """Return one finding per topic. `source` and `target` are aliases; the count is of records that came back."""
    return [
        fail(
            "records-loop",
            f"{loop.topic}: records loop through {loop.ring} forever. {source} holds {_held(loop.source)}, {target} "
            f"{_held(loop.target)}; of {numbered(loop.source.new + loop.target.new, 'record[|s]')} that arrived "
            f"while the job watched, {numbered(returned, '[is a copy|are copies] of [an older one|older ones]')}. "
            "The identity policy does not stop cycles, and no guard in the ring stops this one",
            returned,
        )
        for loop in loops
        for returned in (loop.source.returned + loop.target.returned,)
    ]


def _held(arrivals: Arrivals) -> str:
    return f"{numbered(arrivals.records, 'cop[y|ies]')} of {numbered(arrivals.distinct, 'record[|s]')}"


def _sum(arrivals: Iterable[Arrivals]) -> Arrivals:
    return Arrivals(*map(sum, zip(*arrivals, strict=True)))


def _sides(flow: OpenFlow) -> tuple[tuple[str, FlowCluster], ...]:
    return ((SOURCE, flow.source), (TARGET, flow.target))


def _ends(flow: OpenFlow, partitions: Sequence[TopicPartition]) -> dict[tuple[str, TopicPartition], int]:
    """Return end offsets by side and partition; a partition has the same name on both sides of a ring."""
    return {
        (side, partition): end
        for side, at in _sides(flow)
        for partition, end in at.ends(partitions, committed=True).items()
    }


def _arrivals(
    flow: OpenFlow,
    partitions: Sequence[TopicPartition],
    before: Mapping[tuple[str, TopicPartition], int],
    marks: Sequence[str],
) -> dict[tuple[str, TopicPartition], Arrivals]:
    """Read both sides up to their current ends, and count what has arrived since `before`."""
    flow.progress(
        f"{flow.name}: counting copies among the new records of {numbered(len(partitions), 'growing partition[|s]')}"
    )
    source, target = (
        digests.unmarked_digests(flow.read(at, at.logs(partitions, committed=True)), side, marks)
        for side, at in _sides(flow)
    )
    seen = frame_of(
        flow.spark.session,
        [(side, *partition, end) for (side, partition), end in before.items() if partition in set(partitions)],
        "side string, topic string, partition int, seen_end bigint",
    )
    frame = digests.returned(source.unionByName(target), seen)
    return {
        (row.side, TopicPartition(row.topic, row.partition)): Arrivals(row.records, row.distinct, row.new, row.returned)
        for row in frames.collected_rows(frame, both_clusters(flow), "looking for records that come back")
    }


_MEANINGS: Mapping[str, Meaning] = {
    MARKED_ON_SOURCE: meanings.MARKED_ON_SOURCE,
    MARKED_ON_TARGET: meanings.MARKED_ON_TARGET,
    WENT_ROUND: meanings.WENT_ROUND,
}


def read_marks(flow: OpenFlow, first_pass: FirstPass) -> list[Difference]:
    """Return the records with a mark, in partitions where not all of them came from the other direction."""
    partitions = first_pass.with_other_marks
    if flow.parameters.guard is None or not partitions:
        return []
    flow.progress(f"{flow.name}: comparing the marked records of {numbered(len(partitions), 'partition[|s]')}")
    source = {partition: first_pass.source_logs[partition] for partition in partitions}
    target = {partition: first_pass.target_logs[partition] for partition in partitions}
    starts = frame_of(
        flow.spark.session,
        [(*partition, source[partition].start, target[partition].start) for partition in partitions],
        "topic string, partition int, source_start bigint, target_start bigint",
    )
    frame = marked_elsewhere(both_sides(flow, source, target), starts)
    return [
        Difference(TopicPartition(row.topic, row.partition), row.kind, row.records, row.first, row.last)
        for row in frames.collected_rows(frame, both_clusters(flow), "comparing marked records")
    ]


def mark_findings(marked: Sequence[Difference], guard: GuardParameters, source: str, target: str) -> list[Finding]:
    """Return the findings. `source` and `target` are aliases."""
    found = ((_MEANINGS[difference.kind], difference) for difference in sorted(marked))
    return findings_by_meaning(found, source=source, target=target, filter=guard.filter, mark=guard.mark)
