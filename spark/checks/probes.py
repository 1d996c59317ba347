"""Small reads around offsets: the records of ranges without their content, and offsets by time."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.record_identity import identity
from spark.checks.translation import Position, Record
from spark.clusters import Cluster
from spark.flows import OpenFlow
from spark.guards import COMPARED, SOURCE, TARGET, compared_headers, role_of

#: Ranges by source partition; one partition may have several.
Ranges: TypeAlias = Sequence[tuple[TopicPartition, OffsetRange]]


def offsets_by_time(
    cluster: Cluster, times: Mapping[Position, int], named: Callable[[TopicPartition], TopicPartition] = lambda at: at
) -> dict[Position, int]:
    """The first offset at or after each position's time (ms); -1 if there is none. One request serves each partition
    once. `named` gives the cluster's name of a source partition."""
    found: dict[Position, int] = {}
    left = dict(times)
    while left:
        once = {position.partition: position for position in left}
        answer = cluster.offsets_at({named(partition): left[position] for partition, position in once.items()})
        found |= {position: answer[named(partition)] for partition, position in once.items()}
        for position in once.values():
            del left[position]
    return found


def records_near(
    flow: OpenFlow, cluster: Cluster, ranges: Ranges, isolation: str = "read_committed", *, compared: bool = False
) -> dict[TopicPartition, list[Record]]:
    """The records of the ranges without their content, by source partition; with `compared`, only those that the guard
    lets cross."""
    side = SOURCE if cluster is flow.source else TARGET
    guard, changed = flow.parameters.guard, flow.parameters.changed_headers
    found: dict[TopicPartition, list[Record]] = {}
    for each in cluster.records(ranges, "reading single records", isolation):
        if compared and role_of(side, guard, each.headers) != COMPARED:
            continue
        topic = each.partition.topic if side == SOURCE else flow.policy.original(each.partition.topic)
        headers = compared_headers(side, guard, changed, each.headers)
        digest = identity(each.key, each.value, headers, each.time_ms).hex()
        partition = TopicPartition(topic, each.partition.partition)
        found.setdefault(partition, []).append(Record(each.offset, each.time_ms, digest))
    return found
