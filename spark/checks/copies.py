"""How many records the target holds between offset syncs. Offset syncs compare offsets, so a transaction marker,
which exactly-once delivery writes, looks like a record and hides a missing one. Only counting the records shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import functions as F  # noqa: N812

from components.kafka.positions import OffsetRange, TopicPartition
from spark import readers
from spark.checks.first_pass import logs_on_target
from spark.checks.translation import Sync, SyncHistory
from spark.flows import OpenFlow
from spark.local_frames import frame_of


@dataclass(frozen=True)
class Copies:
    """Counts of target records: from the record of the `first` sync to that of the `newest` one, and from there on."""

    first: Sync
    newest: Sync
    between: int
    after: int


def count_copies(
    flow: OpenFlow, logs: Mapping[TopicPartition, OffsetRange], syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, Copies | None]:
    """The copies by source partition; `logs` are the target's logs, also by source partition.

    Leaves out partitions where the target no longer holds the record of any sync. None if the target removed records
    while they were counted.
    """
    found = {each: syncs[each].stretch(log.start) for each, log in logs.items() if each in syncs}
    stretches = {each: stretch for each, stretch in found.items() if stretch}
    if not stretches:
        return {}
    source_of = {flow.policy.remote_partition(each): each for each in stretches}
    ranges = {there: OffsetRange(stretches[each][0].downstream, logs[each].end) for there, each in source_of.items()}
    newest = frame_of(
        flow.spark.session,
        [(*there, stretches[each][-1].downstream) for there, each in source_of.items()],
        "topic string, partition int, newest bigint",
    )
    flow.progress(f"{flow.name}: counting the records between offset syncs")
    before = F.col("offset") < F.col("newest")
    frame = (
        flow.read(flow.target, ranges)
        .join(F.broadcast(newest), on=["topic", "partition"])
        .groupBy("topic", "partition")
        .agg(F.count_if(before).alias("between"), F.count_if(~before).alias("after"))
    )
    counted = {
        source_of[TopicPartition(row.topic, row.partition)]: (row.between, row.after)
        for row in readers.rows(frame, flow.target.where, "counting the records between offset syncs")
    }
    now = logs_on_target(flow, list(stretches))
    return {
        each: Copies(stretch[0], stretch[-1], *counted.get(each, (0, 0)))
        if now[each].start <= stretch[0].downstream
        else None
        for each, stretch in stretches.items()
    }
