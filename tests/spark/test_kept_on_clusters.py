"""Positions that a validation of two real clusters publishes: they are exact, and a failover uses them."""

import time

from confluent_kafka import Consumer, TopicPartition
from kubernetes import client, config

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.evidence import read_positions
from kafka_replication.components.contract.published_verdict import config_map_name
from kafka_replication.components.contract.report import Depth, FlowOutcome, Report, Verdict
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.operate.move.disaster import disaster_plan, read_target
from kafka_replication.spark.job import Options, check_flow
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.kubernetes import published_data
from kafka_replication.spark.read.sessions import Spark
from kafka_replication.spark.report.publish import publish
from tests.spark.outcomes import Check
from tests.spark.scenes import CALL_SECONDS, Scene

NAMESPACE = "kept-tests"


def test_a_group_continues_at_its_exact_record_after_the_source_is_lost(
    check: Check, started: Spark, endpoints: Endpoints
) -> None:
    assert check
    core = client.CoreV1Api(config.new_client_from_config(str(endpoints.kubeconfig)))  # type: ignore[no-untyped-call]
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    scene = Scene(endpoints, "kept").replicate(records=250, partitions=1)
    scene.translate("kept-web", 157, 151)
    flow, remote = scene.parameters(namespace=NAMESPACE), scene.remote("kept")

    def validate(depth: Depth) -> FlowOutcome:
        options = Options(catch_up_seconds=1, kubeconfig=endpoints.kubeconfig, depth=depth)
        outcome = check_flow(flow, started, resolver(), options)
        assert outcome.verdict is Verdict.PASS, outcome.checks
        publish(Report("local", outcome.checked_at, 1.0, (outcome,)), endpoints.kubeconfig)
        return outcome

    validate(Depth.FULL)
    for region, topic in ((scene.source, "kept"), (scene.target, remote)):
        scene.write(region, topic, 0, range(250, 280))
    assert validate(Depth.INCREMENTAL).depth is Depth.INCREMENTAL
    published = published_data(core, config_map_name("kept"), NAMESPACE)
    assert published is not None
    kept = read_positions(published.data)
    assert kept is not None
    assert kept.positions == {("kept-web", "kept", 0): ProvenPosition(157, 157, 0)}
    assert kept.topics["kept"].spans == {0: Span(0, 280, 0, 280, dense=True)}

    # The group consumes more, and MirrorMaker translates its offset to the last offset sync before it. Then the source
    # is lost.
    scene.translate("kept-web", 249, 201, at_ms=time.time_ns() // 1_000_000)
    target = KafkaReader("uswest", scene.target.client_config("admin"))
    assert target.topic_ids([remote]) == {remote: kept.topics["kept"].target_id}
    now_ms = time.time_ns() // 1_000_000
    found = read_target(flow, target, [], NoAnswerError("it is down"), None, now_ms, kept)
    (move,) = disaster_plan(flow, found).positions
    assert (move.group, move.committed, move.offset, move.read_again) == ("kept-web", 249, 249, 31)
    assert value_at(scene, remote, move.offset) == b"0 249"


def value_at(scene: Scene, topic: str, offset: int) -> bytes | str | None:
    consumer = Consumer({**scene.target.client_config("admin"), "group.id": "kept-look"})
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(CALL_SECONDS)
        assert message is not None
        assert message.error() is None
        return message.value()
    finally:
        consumer.close()
