"""Commits where partitions start, for flows whose source connectors stop at a gap (`onLoss: stop`).

The consumer of such a connector has `auto.offset.reset=none`. If Connect has stored no offset for a partition, the
consumer asks for the offset that its group has committed. Until there is one, every poll of its task fails, for its
other partitions as well. Source: MirrorSourceTask.poll, initializeConsumer; NoOffsetForPartitionException.
"""

from collections.abc import Callable, Mapping

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.replication_policy import clusters_passed, is_heartbeat_topic


def commit_starts(
    flow: FlowParameters,
    source: KafkaReader,
    commit: Callable[[str, Mapping[TopicPartition, CommittedOffset]], None],
    *,
    renew: bool,
    heartbeats: bool,
) -> None:
    """Commit the start of the log for each partition without an offset in the group.

    With `renew`, the other offsets are committed again, so that none expires: a start that was committed later could be
    after a gap. `source` logs in as the connectors do, and also sees topics that they may not read. With `heartbeats`,
    topics of heartbeats count unless they come from the target. Source: MirrorSourceConnector.shouldReplicateTopic,
    isCycle.
    """
    group, separator, topics = flow.starts_group or "", flow.separator, source.topics()
    beats = (
        topic
        for topic in topics
        if heartbeats
        and is_heartbeat_topic(topic, separator)
        and flow.target.alias not in clusters_passed(topic, separator)
    )
    partitions = source.partitions({*flow.replicated(topics), *beats})
    known = source.committed([group]).get(group, {})
    starts = source.logs(partition for partition in partitions if partition not in known)
    offsets = {partition: log.start for partition, log in starts.items()}
    if renew:
        offsets |= {partition: known[partition] for partition in partitions if partition in known}
    if offsets:
        commit(group, {partition: CommittedOffset(offset) for partition, offset in offsets.items()})
