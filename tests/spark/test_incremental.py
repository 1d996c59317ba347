"""An incremental validation on two real clusters: it compares what no verdict has proven yet, and passes only where a
full one does."""

from collections.abc import Callable, Iterator
from typing import Protocol

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its stubs
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)
from kubernetes import client, config

from kafka_replication.components.contract.report import CheckOutcome, Depth, FlowOutcome, Report, Verdict
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.spark.job import Options, check_flow
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.sessions import Spark
from kafka_replication.spark.report.publish import publish
from tests.spark.outcomes import Check, codes_of, named
from tests.spark.scenes import CALL_SECONDS, Scene, new_producer, transaction
from tests.spark.test_recreated import make_anew
from tests.topics import remove_records

NAMESPACE = "incremental-tests"
LONG, OVERLAP = 250, 100


class Validate(Protocol):
    def __call__(self, scene: Scene, depth: Depth = Depth.INCREMENTAL) -> FlowOutcome: ...


@pytest.fixture(scope="module")
def core(endpoints: Endpoints) -> Iterator[client.CoreV1Api]:
    found = client.CoreV1Api(config.new_client_from_config(str(endpoints.kubeconfig)))  # type: ignore[no-untyped-call]
    found.create_namespace(
        client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)), _request_timeout=CALL_SECONDS
    )
    yield found
    found.delete_namespace(NAMESPACE, _request_timeout=CALL_SECONDS)


@pytest.fixture
def validate(check: Check, core: client.CoreV1Api, started: Spark, endpoints: Endpoints) -> Validate:
    """A validation that publishes its verdict. An incremental one must agree with a full one."""
    assert check
    assert core

    def run(scene: Scene, depth: Depth = Depth.INCREMENTAL) -> FlowOutcome:
        flow = scene.parameters(namespace=NAMESPACE)

        def at(depth: Depth) -> FlowOutcome:
            options = Options(catch_up_seconds=1, kubeconfig=endpoints.kubeconfig, depth=depth)
            return check_flow(flow, started, resolver(), options)

        outcome = at(depth)
        if outcome.depth is Depth.INCREMENTAL:
            assert outcome.verdict is at(Depth.FULL).verdict
        publish(Report("local", outcome.checked_at, 1.0, (outcome,)), endpoints.kubeconfig)
        return outcome

    return run


@pytest.fixture
def policy() -> Callable[[Scene, str], None]:
    """Sets `cleanup.policy` of both topics of a scene."""

    def set_policy(scene: Scene, value: str) -> None:
        for region, topic in sides(scene):
            entry = ConfigEntry("cleanup.policy", value, incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
            admin = AdminClient(region.client_config("admin"))
            for future in admin.incremental_alter_configs([resource]).values():
                future.result(CALL_SECONDS)

    return set_policy


def parity(outcome: FlowOutcome) -> CheckOutcome:
    return named(outcome, "parity")


def why(outcome: FlowOutcome) -> list[str]:
    """Why partitions were compared in full."""
    reasons = [each.message for each in parity(outcome).findings if each.code == "compared-in-full"]
    return [each.partition("because ")[2] for each in reasons]


def replicate_more(scene: Scene, first: int, end: int) -> None:
    """Write records to both sides."""
    for region, topic in sides(scene):
        scene.write(region, topic, 0, range(first, end))


def sides(scene: Scene) -> tuple[tuple[Region, str], ...]:
    return (scene.source, scene.name), (scene.target, scene.remote(scene.name))


def compared_and_proven(outcome: FlowOutcome) -> tuple[float, float]:
    counts = parity(outcome).counts
    return counts["sourceRecords"], counts["provenRecords"]


def test_each_validation_continues_where_the_previous_one_stopped(validate: Validate, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "goes-on").replicate(records=LONG, partitions=1)
    first = validate(scene)
    assert (first.verdict, first.depth, why(first)) == (Verdict.PASS, Depth.FULL, [])
    replicate_more(scene, LONG, 280)
    second = validate(scene)
    assert (second.verdict, second.depth) == (Verdict.PASS, Depth.INCREMENTAL)
    assert compared_and_proven(second) == (30 + OVERLAP, LONG - OVERLAP)
    assert parity(second).summary.startswith(
        "130 source and 130 target records; 1 of 1 partition has the same records; 150 source records of 1 partition "
        f"proven before, since {first.checked_at[:13]}"
    )
    replicate_more(scene, 280, 300)
    third = validate(scene)
    assert compared_and_proven(third) == (20 + OVERLAP, 280 - OVERLAP)
    assert compared_and_proven(validate(scene, Depth.FULL)) == (300, 0)


def test_a_record_lost_since_the_last_validation_is_reported_and_ends_the_evidence(
    validate: Validate, endpoints: Endpoints
) -> None:
    scene = Scene(endpoints, "loses").replicate(records=LONG, partitions=1)
    validate(scene)
    scene.write(scene.source, scene.name, 0, range(LONG, 280))
    scene.write(scene.target, scene.remote(scene.name), 0, [each for each in range(LONG, 280) if each != 260])
    outcome = validate(scene)
    assert codes_of(parity(outcome), "loses") == {"missing-records": 1}
    assert why(outcome) == ["records that follow the proven ones differ"]
    assert why(validate(scene)) == [
        "the newest verdict holds no evidence to continue from: its parity check did not pass, relied on an accepted "
        "finding or proved no partition, or the evidence did not fit into the ConfigMap"
    ]


def test_records_removed_since_the_last_validation_are_counted(validate: Validate, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "removes").replicate(records=LONG, partitions=1)
    validate(scene)
    remove_records(scene.target, scene.remote(scene.name), 0, 40)
    remove_records(scene.source, scene.name, 0, 20)
    replicate_more(scene, LONG, 260)
    outcome = validate(scene)
    assert compared_and_proven(outcome) == (10 + OVERLAP, LONG - OVERLAP)
    assert "; since then 60 offsets of both sides were removed" in parity(outcome).summary
    replicate_more(scene, 260, 300)
    remove_records(scene.target, scene.remote(scene.name), 0, 290)
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.PASS, Depth.FULL)
    assert why(outcome) == ["a log has removed the proven records and later ones"]
    assert "expired-on-target" in codes_of(parity(outcome), "removes")


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_recreated_topic_is_compared_in_full(validate: Validate, endpoints: Endpoints, side: str) -> None:
    """The new topic has the same offsets as the old one, so only its id differs."""
    scene = Scene(endpoints, f"anew-{side}").replicate(records=LONG, partitions=1)
    validate(scene)
    region, topic = sides(scene)[side == "target"]
    make_anew(region, topic)
    scene.write(region, topic, 0, [999 if each == 10 else each for each in range(LONG)])
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.FAIL, Depth.FULL)
    assert why(outcome) == ["the topic was deleted and created again"]


def test_a_new_partition_is_compared_in_full_and_the_others_are_not(validate: Validate, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "grows").replicate(records=LONG, partitions=1)
    validate(scene)
    for region, topic in sides(scene):
        admin = AdminClient(region.client_config("admin"))
        for future in admin.create_partitions([NewPartitions(topic, 2)]).values():
            future.result(CALL_SECONDS)
        # The producer that all scenes share does not know the partition yet.
        scene.write(region, topic, 1, range(30), new_producer(region))
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.PASS, Depth.INCREMENTAL)
    assert compared_and_proven(outcome) == (OVERLAP + 30, LONG - OVERLAP)
    assert why(outcome) == ["the newest verdict holds no evidence for these records"]
    scene.write(scene.source, scene.name, 1, [77], new_producer(scene.source))
    assert codes_of(parity(validate(scene)), "grows") == {"not-replicated-yet": 1}


def test_a_transaction_that_was_open_is_compared_once_it_has_ended(validate: Validate, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "opens").replicate(records=LONG, partitions=1)
    validate(scene)
    with transaction(scene, scene.source, scene.name, 0, range(LONG, 260)) as commit:
        assert validate(scene).verdict is Verdict.ERROR
        commit()
    scene.write(scene.target, scene.remote(scene.name), 0, range(LONG, 259))
    assert codes_of(parity(validate(scene)), "opens") == {"not-replicated-yet": 1}
    scene.write(scene.target, scene.remote(scene.name), 0, [259])
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.PASS, Depth.FULL)
    replicate_more(scene, 260, 270)
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.PASS, Depth.INCREMENTAL)


def test_records_that_were_sent_again_are_compared_in_full_once(validate: Validate, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "again").replicate(records=LONG, partitions=1)
    validate(scene)
    scene.write(scene.target, scene.remote(scene.name), 0, range(200, LONG))
    scene.sync(scene.name, 0, (200, LONG))
    replicate_more(scene, LONG, 400)
    outcome = validate(scene)
    assert why(outcome) == ["records that follow the proven ones differ"]
    assert codes_of(parity(outcome), "again") == {"duplicated-records": 50}
    replicate_more(scene, 400, 410)
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.PASS, Depth.INCREMENTAL)
    assert compared_and_proven(outcome) == (OVERLAP + 10, 400 - OVERLAP)
    remove_records(scene.target, scene.remote(scene.name), 0, 30)
    assert why(validate(scene)) == [
        "records have since been removed from a partition that holds duplicates or is compacted"
    ]


def test_a_compacted_topic_stays_proven_while_neither_side_removes_records(
    validate: Validate, endpoints: Endpoints, policy: Callable[[Scene, str], None]
) -> None:
    scene = Scene(endpoints, "compacts")
    scene.replicate(records=0, partitions=1)
    policy(scene, "compact,delete")
    # A compacted topic accepts no records without a key.
    numbers = [each for each in range(400) if each % 7]
    for region, topic in sides(scene):
        scene.write(region, topic, 0, numbers)
    validate(scene)
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.PASS, Depth.INCREMENTAL)
    remove_records(scene.target, scene.remote(scene.name), 0, 10)
    outcome = validate(scene)
    assert (outcome.verdict, outcome.depth) == (Verdict.ERROR, Depth.FULL)
    assert why(outcome) == ["records have since been removed from a partition that holds duplicates or is compacted"]
