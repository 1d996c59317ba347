"""A flow opened for checking: connected to both clusters, with its selection resolved."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import TopicIds
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import ReplicationPolicy
from kafka_replication.components.kafka.topic_names import is_name
from kafka_replication.spark.read import digests, frames
from kafka_replication.spark.read.credentials import ClientOptions, Resolve, client_options, keystore_to_pem
from kafka_replication.spark.read.frames import LeftToSparkError, Progress, short_partitions, short_records
from kafka_replication.spark.read.sessions import Spark

TIMEOUT_SECONDS = 20.0


class FlowCluster(KafkaReader):
    """A cluster of the flow, with the `options` with which Spark reads it."""

    def __init__(self, options: ClientOptions) -> None:
        super().__init__(options.alias, options.config, TIMEOUT_SECONDS)
        self.options = options


@dataclass(frozen=True)
class OpenFlow:
    """What every check works with.

    `partitions` holds the number of partitions of each selected source topic, `remote_partitions` that of each existing
    remote topic. `source_topics` and `target_topics` are all that the users may describe.
    `topic_ids` are those of the selected topics and of their remote topics.
    """

    parameters: FlowParameters
    spark: Spark
    source: FlowCluster
    target: FlowCluster
    partitions: Mapping[str, int]
    remote_partitions: Mapping[str, int]
    progress: Progress
    source_topics: frozenset[str] = frozenset()
    target_topics: frozenset[str] = frozenset()
    topic_ids: TopicIds = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.parameters.name

    @property
    def policy(self) -> ReplicationPolicy:
        return self.parameters.replication_policy

    @property
    def sync_cluster(self) -> FlowCluster:
        return self.source if self.parameters.offset_syncs.cluster == "source" else self.target

    def read(
        self, cluster: FlowCluster, ranges: Mapping[TopicPartition, OffsetRange], *, committed: bool = True
    ) -> DataFrame:
        """Return the records of `ranges`, as `records_frame` does. Many short partitions are read together."""
        short = short_partitions(ranges)
        if not short:
            return frames.records_frame(self.spark.session, cluster.options, ranges, committed=committed)
        self.progress(f"{self.name}: reading {numbered(len(short), 'short partition[|s]')} of {cluster.options.alias}")
        read = cluster.read("short partitions", short.items(), committed=committed)
        try:
            frame = short_records(self.spark.session, read)
        except LeftToSparkError:
            return frames.records_frame(self.spark.session, cluster.options, ranges, committed=committed)
        long = {partition: offsets for partition, offsets in ranges.items() if partition not in short}
        if not any(offsets.size for offsets in long.values()):
            return frame
        by_spark = frames.records_frame(self.spark.session, cluster.options, long, committed=committed)
        return by_spark.unionByName(frame)

    def digests(self, records: DataFrame, side: str, *, own_names: bool = False) -> DataFrame:
        """Return the `digest_frame` of one side, with the topics named as on the source, unless `own_names`."""
        return digests.digest_frame(records, side, self.parameters, own_names=own_names)

    def replicated_partitions(self) -> list[TopicPartition]:
        """Return the selected partitions that exist on both clusters, named as on the source."""
        return [
            TopicPartition(topic, partition)
            for topic, count in sorted(self.partitions.items())
            for partition in range(min(count, self.remote_partitions.get(self.policy.remote(topic), 0)))
        ]


def _selected(flow: FlowParameters, existing: frozenset[str], where: str) -> list[str]:
    missing = sorted({topic for topic in flow.topics if is_name(topic)} - existing)
    if missing:
        what = f"no topic {', '.join(missing)} that the user may describe"
        why = "The flow lists it by name, and a topic that the user may not describe looks as if it did not exist."
        remedy = "create the topic, correct the flow's topics, or grant DESCRIBE on it."
        raise CannotRunError("topic-missing", what, where, why, remedy)
    topics = flow.replicated(existing)
    if not topics:
        raise CannotRunError(
            "no-topic-selected",
            f"none of its topics that the user may describe matches {', '.join(flow.topics)}",
            where,
            "There is nothing to check.",
            "correct the flow's topics, or grant the user DESCRIBE on them.",
        )
    return topics


@contextmanager
def open_flow(flow: FlowParameters, spark: Spark, resolve: Resolve, progress: Progress) -> Iterator[OpenFlow]:
    """Connect to both clusters and resolve the selection.

    Raises ClusterError if a cluster refuses the login, and CannotRunError if the source lacks a topic that the flow
    lists by name, or if the flow selects nothing there.
    """
    convert = keystore_to_pem(spark)
    with (
        closing(FlowCluster(client_options(flow.source, resolve, convert))) as source,
        closing(FlowCluster(client_options(flow.target, resolve, convert))) as target,
    ):
        progress(f"{flow.name}: asking {flow.source.alias} and {flow.target.alias} for topics")
        existing = frozenset(source.topics())
        topics = _selected(flow, existing, source.where)
        on_target = frozenset(target.topics())
        remote = [name for name in map(flow.replication_policy.remote, topics) if name in on_target]
        here, there = source.describe(topics), target.describe(remote)
        yield OpenFlow(
            flow,
            spark,
            source,
            target,
            {name: topic.partitions for name, topic in here.items()},
            {name: topic.partitions for name, topic in there.items()},
            progress,
            existing,
            on_target,
            {
                flow.source.alias: {name: topic.id for name, topic in here.items()},
                flow.target.alias: {name: topic.id for name, topic in there.items()},
            },
        )
