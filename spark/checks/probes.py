"""Small reads around offsets: the records of ranges without their content, and offsets by time."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from components.kafka.positions import OffsetRange, TopicPartition
from spark import readers, transforms
from spark.checks.translation import Position, Record
from spark.clusters import Cluster
from spark.flows import OpenFlow
from spark.guards import SOURCE, TARGET

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
    flow: OpenFlow, cluster: Cluster, ranges: Ranges, isolation: str = "read_committed"
) -> dict[TopicPartition, list[Record]]:
    """The records of the ranges without their content, by source partition."""
    if not any(offsets.size for _, offsets in ranges):
        return {}
    side = SOURCE if cluster is flow.source else TARGET
    frame = transforms.positions(flow.digests(flow.read_layered(cluster, ranges, isolation), side))
    found: dict[TopicPartition, list[Record]] = {}
    for row in readers.rows(frame, cluster.where, "reading records around translated offsets"):
        partition = TopicPartition(row.topic, row.partition)
        found.setdefault(partition, []).append(Record(row.offset, row.time_ms, row.digest))
    return found
