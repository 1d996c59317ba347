"""Reads the offset syncs and the checkpoints of a flow: first all of them, later only those written since."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from kafka_replication.components.kafka.mirror_records import Checkpoints, latest_checkpoints
from kafka_replication.components.kafka.offset_syncs import SyncHistory, sync_histories
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow

T = TypeVar("T")


@dataclass(frozen=True)
class TopicRead(Generic[T]):
    """What was `found` in a topic of MirrorMaker, the id of the topic, and the offsets up to which it was read."""

    found: T
    topic_id: str = ""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


#: By partition of the source.
SyncsRead: TypeAlias = TopicRead[Mapping[TopicPartition, SyncHistory]]
CheckpointsRead: TypeAlias = TopicRead[Checkpoints]


def read_syncs(flow: OpenFlow, before: SyncsRead | None = None) -> SyncsRead:
    """Return the offset syncs of every source partition; none if the flow has none or their topic does not exist.

    `before` is what an earlier reading of this flow found.
    """
    own, none = flow.parameters.offset_syncs, SyncsRead({})
    return _read(flow.sync_cluster, "offset syncs", own.topic, sync_histories, none, before) if own.enabled else none


def read_checkpoints(flow: OpenFlow, before: CheckpointsRead | None = None) -> CheckpointsRead:
    """Return the newest checkpoints by group and remote partition; none if their topic does not exist.

    `before` is what an earlier reading of this flow found.
    """
    none = CheckpointsRead(Checkpoints())
    return _read(flow.target, "checkpoints", flow.parameters.checkpoints.topic, latest_checkpoints, none, before)


def _read(
    cluster: FlowCluster,
    what: str,
    name: str,
    decoded: Callable[[Iterable[KafkaRecord], T], T],
    none: TopicRead[T],
    before: TopicRead[T] | None,
) -> TopicRead[T]:
    """Return what the topic of that name holds, or `none`. If it was recreated since `before`, all of it is read."""
    topic = cluster.describe([name]).get(name)
    if topic is None:
        return none
    known = before if before is not None and before.topic_id == topic.id else none
    logs = cluster.logs((TopicPartition(name, number) for number in range(topic.partitions)), committed=True)
    since = {
        partition: OffsetRange(max(log.start, known.ends.get(partition, 0)), log.end) for partition, log in logs.items()
    }
    records = cluster.read(f"{what} from {name}", since.items())
    return TopicRead(decoded(records, known.found), topic.id, {partition: log.end for partition, log in logs.items()})
