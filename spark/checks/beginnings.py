"""Where a flow with `startFrom: latest` started, as far as both clusters show it. Pure. Neither cluster stores the
start. But a record that both sides hold, or an offset sync, proves that its partition was replicated at that offset.
Records before the earliest such offset may be older than the start; all records after it must be on the target. A
partition that was never replicated shows no start. Its records are older than the start if they are older than
everything that the flow has replicated; otherwise they cannot be distinguished from lost records.
"""

from collections.abc import Iterable, Mapping, Sequence

from components.contract.parameters import FlowParameters
from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.meanings import NOT_BEGUN, UNPROVEN, Difference, Sides
from spark.checks.translation import SyncHistory


def known_starts(
    flow: FlowParameters, partitions: Iterable[TopicPartition], syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, int | None]:
    """The source offset from which every record must be on the target; None if only the records can show it."""
    if flow.start_from == "earliest":
        return dict.fromkeys(partitions, 0)
    histories = {each: syncs.get(each, SyncHistory()) for each in partitions}
    return {each: history.oldest_upstream if history.latest else None for each, history in histories.items()}


def arrived(flow: FlowParameters, source: OffsetRange, target: OffsetRange, history: SyncHistory) -> bool:
    """Whether the target may be complete, judged by its size, or by the newest sync if the flow starts at latest."""
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
    """`differences`, with another kind for partitions that were never replicated.

    `newest_ms` is the time of a partition's newest source record. `began_ms` is the time of the oldest record that the
    flow has brought to the target; None if it has brought none.
    """

    def renamed(each: Difference) -> Difference:
        side = sides[each.partition]
        expired = side.target.start > 0 and not side.target.size
        if each.kind != "missing" or starts[each.partition] is not None or side.target_records or expired:
            return each
        newest = newest_ms[each.partition]
        older = began_ms is not None and newest is not None and newest < began_ms
        return each._replace(kind=NOT_BEGUN if older else UNPROVEN)

    return [renamed(each) for each in differences]


def owed_ends(differences: Iterable[Difference], sides: Mapping[TopicPartition, Sides]) -> dict[TopicPartition, int]:
    """By source partition, the target's end offset at which the missing records could have arrived."""
    owed: dict[TopicPartition, int] = {}
    for each in differences:
        # In a partition without a known start, a single record may be all that ever arrives.
        records = 1 if each.kind == UNPROVEN else each.records if each.kind.startswith("missing") else 0
        if records:
            owed[each.partition] = owed.get(each.partition, sides[each.partition].target.end) + records
    return owed
