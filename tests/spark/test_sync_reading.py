"""Offset syncs are read once: a later reading takes what was written since."""

from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from components.kafka.positions import OffsetRange, TopicPartition
from infra.local.endpoints import Endpoints
from spark.checks.sync_reading import SyncsRead, read_syncs
from spark.checks.translation import Sync
from spark.clusters import Cluster
from spark.credentials import resolver
from spark.flows import open_flow
from spark.small_reads import KafkaRecord
from tests.spark.scenes import Scene, passwords
from tests.spark.test_recreated import make_anew

Ranges = list[OffsetRange]
OWN = TopicPartition("resync.offset-syncs.internal", 0)


@pytest.fixture(autouse=True)
def _passwords(endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Ranges:
    """The ranges that are read, as they are asked for."""
    ranges: Ranges = []
    reads = Cluster.records

    def records(
        self: Cluster, wanted: Iterable[tuple[TopicPartition, OffsetRange]], doing: str
    ) -> Iterable[KafkaRecord]:
        kept = list(wanted)
        ranges.extend(each for _, each in kept)
        return reads(self, kept, doing)

    monkeypatch.setattr(Cluster, "records", records)
    return ranges


def test_a_later_reading_goes_on_where_the_one_before_ended(
    spark: SparkSession, endpoints: Endpoints, read: Ranges
) -> None:
    scene, orders = Scene(endpoints, "resync").replicate(partitions=1), TopicPartition("resync", 0)
    with open_flow(scene.parameters(), spark, resolver(), lambda _: None) as flow:
        first = read_syncs(flow)
        scene.sync("resync", 0, (1000, 999), (1010, 1009))
        second = read_syncs(flow, first)
        assert read_syncs(flow).histories == second.histories
        make_anew(endpoints.regions["useast"], scene.syncs_topic)
        scene.sync("resync", 0, *((offset, offset) for offset in range(500)))
        anew = read_syncs(flow, second)
    assert [each.size for each in read] == [first.ends[OWN], 2, second.ends[OWN], 500]
    assert first.histories[orders].syncs[-1] == Sync(50, 50, scene.began_ms)
    assert [each.upstream for each in second.histories[orders].syncs] == [0, 50, 1000, 1010]
    assert [each.upstream for each in anew.histories[orders].syncs] == [0, 499]


def test_a_flow_without_the_topic_of_offset_syncs_has_none(spark: SparkSession, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "resync2").replicate(partitions=1)
    elsewhere = {"cluster": "source", "topic": "resync2.none.internal", "lagMax": 10}
    with open_flow(scene.parameters(offsetSyncs=elsewhere), spark, resolver(), lambda _: None) as flow:
        assert read_syncs(flow) == SyncsRead()
