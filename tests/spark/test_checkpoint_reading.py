"""Each checkpoint is read once: a later reading reads only those that were written since."""

import pytest

from kafka_replication.components.kafka.mirror_records import Checkpoints
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.checks.offsets.readings import CheckpointsRead, read_checkpoints
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.flows import open_flow
from kafka_replication.spark.read.sessions import Spark
from tests.spark.ranges_read import Ranges
from tests.spark.scenes import Scene, produce
from tests.spark.test_recreated import make_anew

pytestmark = pytest.mark.usefixtures("logins")

REMOTE = TopicPartition("useast.recheck", 0)


def test_a_later_reading_reads_only_checkpoints_written_since(
    started: Spark, endpoints: Endpoints, read: Ranges
) -> None:
    """A reset group has a newer checkpoint with a lower offset. A record that is not a checkpoint is counted once."""
    scene = Scene(endpoints, "recheck").replicate(partitions=1)
    scene.checkpoint("recheck-a", 20, 20)
    scene.checkpoint("recheck-b", 30, 30)
    with open_flow(scene.parameters(), started, resolver(), lambda _: None) as flow:
        first = read_checkpoints(flow)
        scene.checkpoint("recheck-a", 10, 10)
        produce(scene.target, scene.checkpoints_topic, 0, [(b"none", b"x", scene.began_ms, [])])
        second = read_checkpoints(flow, first)
        third = read_checkpoints(flow, second)
        assert read_checkpoints(flow) == third == second
        make_anew(scene.target, scene.checkpoints_topic)
        scene.checkpoint("recheck-c", 5, 5)
        scene.checkpoint("recheck-c", 6, 6)
        scene.checkpoint("recheck-c", 7, 7)
        anew = read_checkpoints(flow, second)
    assert [each.size for each in read] == [2, 2, 0, 4, 3]
    assert [newest(reading, "recheck-a") for reading in (first, second, anew)] == [(20, 20), (10, 10), None]
    assert (newest(second, "recheck-b"), second.found.undecodable) == ((30, 30), 1)
    assert (newest(anew, "recheck-c"), anew.found.undecodable) == ((7, 7), 0)


def newest(reading: CheckpointsRead, group: str) -> tuple[int, int] | None:
    checkpoint = reading.found.get(group, REMOTE)
    return None if checkpoint is None else (checkpoint.upstream, checkpoint.downstream)


def test_a_flow_without_a_checkpoints_topic_has_no_checkpoints(started: Spark, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "recheck2").replicate(partitions=1)
    elsewhere = {"enabled": True, "topic": "recheck2.none.internal", "intervalSeconds": 1, "syncGroupOffsets": False}
    elsewhere["syncIntervalSeconds"] = 1
    with open_flow(scene.parameters(checkpoints=elsewhere), started, resolver(), lambda _: None) as flow:
        assert read_checkpoints(flow) == CheckpointsRead(Checkpoints())
