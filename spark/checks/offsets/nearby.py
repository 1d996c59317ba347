"""Reads small ranges of both sides' records, by source partition, and finds records by time or as the next one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP, identity
from kafka_replication.spark.checks.offsets.position_proof import Position, RecordDigest
from kafka_replication.spark.read.digests import COMPARED, SOURCE, TARGET, compared_headers, crosses, role_of
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow

#: Ranges by source partition; one partition may have several.
Ranges: TypeAlias = Sequence[tuple[TopicPartition, OffsetRange]]


def offsets_by_time(
    cluster: FlowCluster,
    times: Mapping[Position, int],
    named: Callable[[TopicPartition], TopicPartition] = lambda at: at,
) -> dict[Position, int]:
    """Return the first offset at or after each position's time (ms); -1 if there is none. One request serves each
    partition once. `named` gives the cluster's name of a source partition.
    """
    offsets: dict[Position, int] = {}
    left = dict(times)
    while left:
        once = {position.partition: position for position in left}
        answer = cluster.offsets_at(
            {named(partition): left[position] for partition, position in once.items()}, committed=True
        )
        offsets |= {position: answer[named(partition)] for partition, position in once.items()}
        for position in once.values():
            del left[position]
    return offsets


def records_near(
    flow: OpenFlow, cluster: FlowCluster, ranges: Ranges, *, committed: bool = True, compared: bool = False
) -> dict[TopicPartition, list[RecordDigest]]:
    """Return the records of the ranges without their content, by source partition, but no source record that a filter
    drops; with `compared`, only those that the guard lets cross.
    """
    side = SOURCE if cluster is flow.source else TARGET
    guard, changed = flow.parameters.guard, flow.parameters.changed_headers
    digests: dict[TopicPartition, list[RecordDigest]] = {}
    for record in cluster.read("single records", ranges, committed=committed):
        if compared and role_of(side, guard, record.headers) != COMPARED:
            continue
        if side == SOURCE and not crosses(flow.parameters.drops, record.value, record.headers):
            continue
        topic = record.partition.topic if side == SOURCE else flow.policy.original(record.partition.topic)
        headers = compared_headers(side, guard, changed, record.headers)
        digest, untimed = (
            identity(record.key, record.value, headers, time_ms).hex() for time_ms in (record.time_ms, NO_TIMESTAMP)
        )
        partition = TopicPartition(topic, record.partition.partition)
        digests.setdefault(partition, []).append(RecordDigest(record.offset, record.time_ms, digest, untimed))
    return digests


def next_offsets(
    cluster: FlowCluster,
    wanted: Collection[tuple[TopicPartition, int]],
    logs: Mapping[TopicPartition, OffsetRange],
) -> dict[tuple[TopicPartition, int], int]:
    """Return the offset of the first existing record at or after each offset; the log's end if there is none.

    In a compacted log, it may be any number of offsets further on.
    """
    answers: dict[tuple[TopicPartition, int], int] = {}
    left = sorted(set(wanted), reverse=True)
    while left:
        lowest = {partition: OffsetRange(offset, logs[partition].end) for partition, offset in left}
        first = cluster.first_records(lowest, lambda _: True, committed=True)
        for partition, offset in left:
            found = first[partition].offset if partition in first else max(offset, logs[partition].end)
            if offset <= found:
                answers[partition, offset] = found
        left = [place for place in left if place not in answers]
    return answers
