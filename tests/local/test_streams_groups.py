"""A real group of Kafka Streams moves with `failover`, whose positions MirrorMaker does not translate."""

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import GroupWriter
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints, Region
from kafka_replication.infra.operate.move.facts import NewPosition
from kafka_replication.infra.operate.move.groups import FAILOVER, commit_positions, read_groups
from tests.other_groups import make_share_group, make_streams_group, streams_member
from tests.spark.scenes import Scene

ORDERS, REMOTE = TopicPartition("counted", 0), TopicPartition("useast.counted", 0)
APP = "counted-app"


def test_a_streams_group_continues_at_the_offset_that_a_failover_commits(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its offset and its clock are those of an ordinary group until its first member joins, and it keeps them."""
    scene = Scene(endpoints, ORDERS.topic).replicate(partitions=1)
    make_streams_group(scene.source, APP, ORDERS.topic)
    commit_with_clock(scene)
    make_share_group(scene.source, "counted-share", ORDERS.topic)
    regions: dict[Side, Region] = {"source": scene.source, "target": scene.target}
    readers = {side: KafkaReader(region.alias, region.client_config(ADMIN)) for side, region in regions.items()}
    writer = GroupWriter("uswest", scene.target.client_config(ADMIN))
    (group,) = read_groups(scene.parameters(), FAILOVER, readers, [], [ORDERS])
    assert (group.name, group.streams, group.committed, group.metadata) == (APP, True, {ORDERS: 45}, {ORDERS: "clock"})
    position = NewPosition(APP, ORDERS, 45, REMOTE, 41, metadata="clock")
    commit_positions(writer, readers["target"], [position], lambda _: None)
    with streams_member(scene.target, APP, REMOTE.topic):
        assert readers["target"].commits([APP]) == {APP: {REMOTE: CommittedOffset(41, "clock")}}
        monkeypatch.setattr("kafka_replication.components.clients.groups._NAMED_AT_ONCE", 1)
        assert readers["target"].commits([APP], [REMOTE, ORDERS]) == {APP: {REMOTE: CommittedOffset(41, "clock")}}
        assert readers["target"].commits([APP], [ORDERS]) == {APP: {}}
        assert readers["target"].other_groups() == [APP]
        with pytest.raises(CannotRunError, match="Only the members of a running group may commit for it"):
            commit_positions(writer, readers["target"], [position], lambda _: None)
    commit_positions(writer, readers["target"], [position], lambda _: None)


def commit_with_clock(scene: Scene) -> None:
    consumer = Consumer({**scene.source.client_config(ADMIN), "group.id": APP})
    try:
        consumer.commit(offsets=[Place(*ORDERS, 45, metadata="clock")], asynchronous=False)
    finally:
        consumer.close()
