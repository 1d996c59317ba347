"""Where a flow that starts at the latest offset began, as far as both clusters show it. Pure.

Nothing on the clusters states the start. A record that both sides hold, or an offset sync, shows that its partition is
replicated from there on at the latest: whatever lies before the earliest of them may be older than the start, whatever
follows must have arrived. A partition of which nothing was ever replicated shows no start at all. Its records are older
than the flow's start if they are older than all that the flow has replicated; else nothing tells them from lost ones.
"""

from collections.abc import Iterable, Mapping, Sequence

from spark.checks.parity_findings import NOT_BEGUN, UNPROVEN, Difference, Sides
from spark.checks.translation import SyncHistory
from spark.parameters import FlowParameters
from spark.positions import OffsetRange, TopicPartition


def known_starts(
    flow: FlowParameters, partitions: Iterable[TopicPartition], syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, int | None]:
    """The source offset from which on every record is to be on the target; None where only the records can show it."""
    if flow.start_from == "earliest":
        return dict.fromkeys(partitions, 0)
    histories = {each: syncs.get(each, SyncHistory()) for each in partitions}
    return {each: history.oldest_upstream if history.latest else None for each, history in histories.items()}


def arrived(flow: FlowParameters, source: OffsetRange, target: OffsetRange, history: SyncHistory) -> bool:
    """Whether a partition's target may hold all that it should: by its size, or after a start by the newest sync."""
    if flow.start_from == "earliest":
        return target.size >= source.size
    sync = history.latest
    return sync is None or target.end >= sync.downstream + source.end - sync.upstream


def without_start(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    starts: Mapping[TopicPartition, int | None],
    newest_ms: Mapping[TopicPartition, int | None],
    began_ms: int | None,
) -> list[Difference]:
    """`differences` with another kind for partitions of which nothing was ever replicated.

    `newest_ms` is the time of the newest source record of a partition, `began_ms` that of the oldest record which the
    target has from the flow, None when it has none.
    """

    def told(each: Difference) -> Difference:
        side = sides[each.partition]
        expired = side.target.start > 0 and not side.target.size
        if each.kind != "missing" or starts[each.partition] is not None or side.target_records or expired:
            return each
        newest = newest_ms[each.partition]
        older = began_ms is not None and newest is not None and newest < began_ms
        return each._replace(kind=NOT_BEGUN if older else UNPROVEN)

    return [told(each) for each in differences]


def owed_ends(differences: Iterable[Difference], sides: Mapping[TopicPartition, Sides]) -> dict[TopicPartition, int]:
    """The target's end, by source partition, at which what was missing after the start could have arrived."""
    owed: dict[TopicPartition, int] = {}
    for each in differences:
        # Of a partition without a start a single record may be all that is to come.
        records = 1 if each.kind == UNPROVEN else each.records if each.kind.startswith("missing") else 0
        if records:
            owed[each.partition] = owed.get(each.partition, sides[each.partition].target.end) + records
    return owed
