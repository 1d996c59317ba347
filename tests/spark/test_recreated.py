"""Topics that were deleted and created again between two validations."""

from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from kubernetes import client, config

from kafka_replication.components.contract.published_verdict import read_topic_ids
from kafka_replication.components.contract.report import FindingSeverity, FlowOutcome, Report, TopicIds
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.spark.checks.topics import known_ids, recreated_findings
from kafka_replication.spark.job import Options, check_flow
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.sessions import Spark
from kafka_replication.spark.report.publish import config_map, publish
from tests.spark.outcomes import named
from tests.spark.scenes import CALL_SECONDS, Scene, passwords
from tests.spark.test_report import a_check, an_outcome
from tests.topics import delete_topics

BEFORE = {"useast": {"orders": "A", "bills": "B", "old": "O"}, "uswest": {"useast.orders": "C"}}
NAMESPACE = "recreated-tests"


@pytest.mark.parametrize(
    ("now", "found"),
    [
        pytest.param(BEFORE, [], id="the same topics"),
        pytest.param({**BEFORE, "useast": {"orders": "A", "new": "N"}}, [], id="a new topic, and one that was deleted"),
        pytest.param({"useast": {"orders": "X", "bills": "B"}}, ["orders was deleted and created again"], id="one"),
        pytest.param(
            {"useast": {"orders": "X", "bills": "Y"}, "uswest": {"useast.orders": "Z"}},
            ["bills, orders were deleted and created again on useast", "useast.orders was deleted"],
            id="on both sides",
        ),
    ],
)
def test_a_topic_with_another_id_is_noted_as_recreated(now: TopicIds, found: list[str]) -> None:
    findings = list(recreated_findings(BEFORE, now))
    assert [said in each.message for each, said in zip(findings, found, strict=True)] == [True] * len(found)
    assert {each.severity for each in findings} <= {FindingSeverity.NOTE}
    assert not list(recreated_findings({}, now))


def test_only_topics_that_the_last_verdict_knew_are_counted_as_compared() -> None:
    assert known_ids(BEFORE, {"useast": {"orders": "X", "new": "N"}, "uswest": {"useast.orders": "C"}}) == 2
    assert known_ids({}, BEFORE) == 0


def test_topic_ids_are_published_and_kept_by_a_run_that_reaches_no_cluster() -> None:
    first = config_map(replace(an_outcome(a_check()), topic_ids=BEFORE)).data
    assert first is not None
    assert read_topic_ids(first) == BEFORE
    then = config_map(an_outcome(), first).data
    assert then is not None
    assert read_topic_ids(then) == BEFORE
    assert read_topic_ids({}) == read_topic_ids({"report.json": '{"topicIds": 3}'}) == {}


def make_anew(region: Region, topic: str) -> None:
    admin = AdminClient(region.client_config("admin"))

    def vanished() -> None:
        if topic in admin.list_topics(timeout=CALL_SECONDS).topics:
            raise NotYetError("still listed")

    delete_topics(region, [topic])
    wait_for(f"topic {topic} to vanish", vanished, CALL_SECONDS)
    create_topics(region, {topic: 1})


@pytest.fixture
def namespace(endpoints: Endpoints) -> str:
    core = client.CoreV1Api(config.new_client_from_config(str(endpoints.kubeconfig)))  # type: ignore[no-untyped-call]
    made = client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE))
    core.create_namespace(made, _request_timeout=CALL_SECONDS)
    return NAMESPACE


def test_the_next_validation_names_topics_that_were_recreated(
    started: Spark, endpoints: Endpoints, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All records may be equal again, but groups still have offsets of the deleted topic."""
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    scene = Scene(endpoints, "recreated").replicate(partitions=1)
    flow = scene.parameters(namespace=namespace)

    def check(kubeconfig: Path) -> FlowOutcome:
        return check_flow(flow, started, resolver(), Options(catch_up_seconds=1, kubeconfig=kubeconfig))

    first = check(endpoints.kubeconfig)
    assert named(first, "parity").counts["topicIdsCompared"] == 0
    publish(Report("local", first.checked_at, 1.0, (first,)), endpoints.kubeconfig)
    for region, topic in ((scene.source, "recreated"), (scene.target, scene.remote("recreated"))):
        make_anew(region, topic)
        scene.write(region, topic, 0, range(60))
    parity = named(check(endpoints.kubeconfig), "parity")
    anew = [each.message.partition(" on ")[0] for each in parity.findings if each.code == "topic-recreated"]
    assert anew == ["recreated was deleted and created again", "useast.recreated was deleted and created again"]
    assert parity.counts["topicIdsCompared"] == 2
