"""Offset syncs are read once: a later read takes only what was written since."""

import pytest

from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.checks.offsets.readings import SyncsRead, read_syncs
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.flows import open_flow
from kafka_replication.spark.read.sessions import Spark
from tests.spark.ranges_read import Ranges
from tests.spark.scenes import Scene
from tests.spark.test_recreated import make_anew

pytestmark = pytest.mark.usefixtures("logins")

OWN = TopicPartition("resync.offset-syncs.internal", 0)


def test_a_later_read_continues_where_the_last_one_ended_unless_the_topic_was_recreated(
    started: Spark, endpoints: Endpoints, read: Ranges
) -> None:
    scene, orders = Scene(endpoints, "resync").replicate(partitions=1), TopicPartition("resync", 0)
    with open_flow(scene.parameters(), started, resolver(), lambda _: None) as flow:
        first = read_syncs(flow)
        scene.sync("resync", 0, (1000, 999), (1010, 1009))
        second = read_syncs(flow, first)
        assert read_syncs(flow).found == second.found
        make_anew(endpoints.regions["useast"], scene.syncs_topic)
        scene.sync("resync", 0, *((offset, offset) for offset in range(500)))
        anew = read_syncs(flow, second)
    assert [each.size for each in read] == [first.ends[OWN], 2, second.ends[OWN], 500]
    assert first.found[orders].syncs[-1] == OffsetSync(50, 50, scene.began_ms)
    assert [each.upstream for each in second.found[orders].syncs] == [0, 50, 1000, 1010]
    assert [each.upstream for each in anew.found[orders].syncs] == [0, 499]


def test_a_flow_without_the_topic_of_offset_syncs_has_none(started: Spark, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "resync2").replicate(partitions=1)
    elsewhere = {"cluster": "source", "topic": "resync2.none.internal", "lagMax": 10}
    with open_flow(scene.parameters(offsetSyncs=elsewhere), started, resolver(), lambda _: None) as flow:
        assert read_syncs(flow) == SyncsRead({})
