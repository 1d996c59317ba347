"""Reads the offset syncs and the checkpoints of a flow: first all of them, later only those written since."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_replication.components.kafka.mirror_records import Checkpoints, latest_checkpoints
from kafka_replication.components.kafka.offset_syncs import SyncHistory, sync_histories
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.read.flows import OpenFlow


@dataclass(frozen=True)
class SyncsRead:
    """`histories` are by partition of the source. `topic_id` and `ends` are those of the offset-syncs topic itself: the
    ends are the offsets up to which it was read.
    """

    histories: Mapping[TopicPartition, SyncHistory] = field(default_factory=dict)
    topic_id: str = ""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


def read_syncs(flow: OpenFlow, before: SyncsRead | None = None) -> SyncsRead:
    """Return the offset syncs of every source partition; none if the flow has none or their topic does not exist.

    `before` is what an earlier reading of this flow found. If the topic has been recreated since, all of it is read.
    """
    own, cluster = flow.parameters.offset_syncs, flow.sync_cluster
    topic = cluster.describe([own.topic]).get(own.topic) if own.enabled else None
    if topic is None:
        return SyncsRead()
    known = before if before is not None and before.topic_id == topic.id else SyncsRead()
    logs = cluster.logs((TopicPartition(own.topic, number) for number in range(topic.partitions)), committed=True)
    since = {
        partition: OffsetRange(max(log.start, known.ends.get(partition, 0)), log.end) for partition, log in logs.items()
    }
    records = cluster.read(f"offset syncs from {own.topic}", since.items())
    return SyncsRead(
        sync_histories(records, known.histories), topic.id, {partition: log.end for partition, log in logs.items()}
    )


@dataclass(frozen=True)
class CheckpointsRead:
    """The checkpoints that were `found`. `topic_id` and `ends` are those of the checkpoints topic itself: the ends are
    the offsets up to which it was read.
    """

    found: Checkpoints = field(default_factory=Checkpoints)
    topic_id: str = ""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


def read_checkpoints(flow: OpenFlow, before: CheckpointsRead | None = None) -> CheckpointsRead:
    """Return the newest checkpoints by group and remote partition; none if their topic does not exist.

    `before` is what an earlier reading of this flow found. If the topic has been recreated since, all of it is read.
    """
    name = flow.parameters.checkpoints.topic
    topic = flow.target.describe([name]).get(name)
    if topic is None:
        return CheckpointsRead()
    known = before if before is not None and before.topic_id == topic.id else CheckpointsRead()
    logs = flow.target.logs((TopicPartition(name, number) for number in range(topic.partitions)), committed=True)
    since = {
        partition: OffsetRange(max(log.start, known.ends.get(partition, 0)), log.end) for partition, log in logs.items()
    }
    records = flow.target.read(f"checkpoints from {name}", since.items())
    checkpoints = latest_checkpoints(records, known.found)
    return CheckpointsRead(checkpoints, topic.id, {partition: log.end for partition, log in logs.items()})
