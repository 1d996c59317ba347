"""A flow opened for checking: both clusters, what it selects, and how its records are read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from spark import readers, transforms
from spark.clusters import Cluster
from spark.credentials import Resolve, client_options
from spark.errors import ClusterError
from spark.guards import SOURCE
from spark.keystores import keystore_to_pem
from spark.parameters import FlowParameters
from spark.positions import OffsetRange, TopicPartition
from spark.selection import Selection

Progress = Callable[[str], None]


@dataclass(frozen=True)
class OpenFlow:
    """What every check works with. `partitions` holds the selected source topics and the number of their partitions,
    `remote_partitions` those that exist on the target, by their name there; `source_topics` and `target_topics` are all
    that the users may describe."""

    flow: FlowParameters
    selection: Selection
    spark: SparkSession
    source: Cluster
    target: Cluster
    partitions: Mapping[str, int]
    remote_partitions: Mapping[str, int]
    progress: Progress
    source_topics: frozenset[str] = frozenset()
    target_topics: frozenset[str] = frozenset()

    @property
    def sync_cluster(self) -> Cluster:
        return self.source if self.flow.offset_syncs.cluster == "source" else self.target

    def read(self, cluster: Cluster, ranges: Mapping[TopicPartition, OffsetRange]) -> DataFrame:
        return readers.records(self.spark, cluster.options, ranges)

    def read_uncommitted(self, cluster: Cluster, ranges: Mapping[TopicPartition, OffsetRange]) -> DataFrame:
        return readers.records(self.spark, cluster.options, ranges, "read_uncommitted")

    def read_layered(self, cluster: Cluster, ranges: Iterable[tuple[TopicPartition, OffsetRange]]) -> DataFrame:
        return readers.layered(self.spark, cluster.options, ranges)

    def digests(self, records: DataFrame, side: str) -> DataFrame:
        """`transforms.digests` of records of a side, by the source's names of topics."""
        prefix = "" if side == SOURCE else self.selection.prefix
        return transforms.digests(records, side, prefix, self.flow.guard, self.selection.prefixed)

    def replicated_partitions(self) -> list[TopicPartition]:
        """The selected partitions, by the source's name, that exist on both clusters."""
        return [
            TopicPartition(topic, partition)
            for topic, count in sorted(self.partitions.items())
            for partition in range(min(count, self.remote_partitions.get(self.selection.remote(topic), 0)))
        ]


def _selected(flow: FlowParameters, selection: Selection, existing: frozenset[str], where: str) -> list[str]:
    missing = sorted(set(selection.literal_topics()) - existing)
    if missing:
        raise ClusterError(
            "topic-missing",
            f"no topic {', '.join(missing)} that the user may describe",
            where,
            "create the topic, correct the flow's topics, or grant DESCRIBE on it",
        )
    topics = selection.topics(existing)
    if not topics:
        raise ClusterError(
            "no-topic-selected",
            f"none of its {len(existing)} topics matches {', '.join(flow.topics)}",
            where,
            "correct the flow's topics, or grant the user DESCRIBE on them",
        )
    return topics


@contextmanager
def opened(flow: FlowParameters, spark: SparkSession, resolve: Resolve, progress: Progress) -> Iterator[OpenFlow]:
    """Connect to both clusters and resolve the selection.

    Raises ClusterError when a cluster does not let us in, when a topic that the flow names does not exist on the
    source, and when the flow selects nothing there.
    """
    convert = keystore_to_pem(spark)
    selection = Selection(flow)
    with (
        Cluster(spark, client_options(flow.source, resolve, convert)) as source,
        Cluster(spark, client_options(flow.target, resolve, convert)) as target,
    ):
        progress(f"{flow.name}: asking {flow.source.alias} and {flow.target.alias} for topics")
        existing = source.topics()
        topics = _selected(flow, selection, existing, source.where)
        on_target = target.topics()
        remote = [name for name in map(selection.remote, topics) if name in on_target]
        yield OpenFlow(
            flow,
            selection,
            spark,
            source,
            target,
            source.partitions(topics),
            target.partitions(remote),
            progress,
            existing,
            on_target,
        )
