"""A KafkaMirrorMaker2 with a real API server, real Kafka and real Connect workers."""

import json
from collections.abc import Iterator

import httpx
import pytest

from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.operator.mirror_maker2_flow import (
    CHECKPOINT,
    NAME,
    NAMESPACE,
    REMOTE_TOPIC,
    REPLICATION,
    SOURCE,
    TOPIC,
    MirrorMakerFlow,
    state_of,
)
from tests.infra.operator.workspace import DEADLINE_SECONDS

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}-mirrormaker2"


@pytest.fixture(scope="module")
def running_flow(endpoints: Endpoints) -> Iterator[MirrorMakerFlow]:
    """A namespace with credentials, ACLs and the topic; each test applies its own KafkaMirrorMaker2."""
    with KubernetesApi(endpoints.kubeconfig, field_manager="test") as api:
        flow = MirrorMakerFlow(api, endpoints)
        flow.set_up()
        yield flow
        flow.tear_down()


@pytest.fixture
def flow(running_flow: MirrorMakerFlow) -> MirrorMakerFlow:
    """A correct KafkaMirrorMaker2 with both connectors."""
    running_flow.mirror_maker()
    running_flow.expect_connectors(CHECKPOINT, SOURCE)
    return running_flow


def test_records_and_new_partitions_reach_the_target(flow: MirrorMakerFlow) -> None:
    flow.produce("a", "b")
    flow.expect_values("a", "b")
    wanted = flow.add_partition()

    def there() -> None:
        found = flow.partitions("uswest", REMOTE_TOPIC)
        if found != wanted:
            raise NotYetError(f"{found} partitions")

    wait_for("the new partition on uswest", there, DEADLINE_SECONDS)
    flow.produce("c", partition=wanted - 1)
    flow.expect_values("a", "b", "c")


def test_connect_runs_what_the_resource_declares(flow: MirrorMakerFlow) -> None:
    assert sorted(flow.connect("/connectors")) == [CHECKPOINT, SOURCE]
    config = flow.connect(f"/connectors/{SOURCE}/config")
    assert config["topics"] == TOPIC
    assert config["source.cluster.bootstrap.servers"] == flow.region("useast").bootstrap_servers
    assert flow.connect(f"/connectors/{SOURCE}/status")["tasks"][0]["state"] == "RUNNING"


def test_files_status_and_connects_answers_show_no_password(flow: MirrorMakerFlow) -> None:
    shown = json.dumps(flow.connect("/connectors?expand=info")) + json.dumps(flow.expect("Ready"))
    folder = paths.operator() / "workers" / NAMESPACE / f"{NAME}-mirrormaker2"
    shown += "".join(file.read_text() for file in folder.iterdir() if file.is_file())
    assert f"${{strimzisecrets:{NAMESPACE}/useast:password}}" in shown
    for alias in ("useast", "uswest"):
        assert flow.region(alias).users["mirror"].password not in shown


def test_the_role_grants_only_the_secrets_that_the_resource_names(flow: MirrorMakerFlow) -> None:
    for secret in ("useast", "uswest", f"{NAME}-connect-tls-trusted-certs"):
        assert flow.api.may_get(ACCOUNT, "secrets", NAMESPACE, secret)
    assert not flow.api.may_get(ACCOUNT, "secrets", NAMESPACE, "other")


def test_applying_the_same_resource_again_changes_nothing(flow: MirrorMakerFlow) -> None:
    """If Connect returned the configuration in another form, every round would write it and restart the tasks."""
    steps, workers, generation = flow.steps(), flow.workers(), flow.generation()
    flow.mirror_maker()
    flow.expect_rounds()
    assert flow.steps() == steps
    assert flow.workers() == workers
    assert flow.generation() == generation


def test_a_connector_that_the_resource_no_longer_names_is_removed(flow: MirrorMakerFlow) -> None:
    flow.mirror_maker(checkpoint=False)
    flow.expect_connectors(SOURCE)
    assert flow.connect("/connectors") == [SOURCE]


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_a_connector_is_paused_or_stopped_and_resumed(flow: MirrorMakerFlow, state: str) -> None:
    flow.mirror_maker(state=state)
    flow.expect("Ready", met=lambda status: state_of(status, SOURCE) == state.upper())
    flow.mirror_maker()
    flow.expect("Ready", met=lambda status: state_of(status, SOURCE) == "RUNNING")


def test_a_changed_configuration_reaches_connect(flow: MirrorMakerFlow) -> None:
    flow.mirror_maker(config={"refresh.topics.interval.seconds": 3})

    def taken() -> None:
        seen = flow.connect(f"/connectors/{SOURCE}/config")["refresh.topics.interval.seconds"]
        if seen != "3":
            raise NotYetError(seen)

    wait_for("the new interval", taken, DEADLINE_SECONDS)


def test_a_value_that_connect_refuses_is_reported_with_its_connector(flow: MirrorMakerFlow) -> None:
    flow.mirror_maker(config={"offset.lag.max": "much"})
    flow.expect("NotReady", f"{SOURCE}: Connect answered 400")


def test_a_mirror_maker_stays_ready_while_its_failed_task_is_restarted(flow: MirrorMakerFlow) -> None:
    """So the condition Ready does not prove that records are replicated."""
    flow.mirror_maker(
        config=REPLICATION
        | {
            "transforms": "cut",
            "transforms.cut.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
            "transforms.cut.field": "no",
        },
        autoRestart={"enabled": True},
    )

    def failing(status: Object) -> bool:
        # The previous task may still consume a record that is produced too early.
        flow.produce("d")
        return "FAILED" in json.dumps(status["connectors"]) and "autoRestartStatuses" in status

    status = flow.expect("Ready", met=failing)
    assert state_of(status, SOURCE) == "RUNNING"
    assert [each["connectorName"] for each in status["autoRestartStatuses"]] == [SOURCE]
    assert status["autoRestartStatuses"][0]["count"] >= 1


def test_a_missing_secret_of_the_source_is_named(flow: MirrorMakerFlow) -> None:
    secret = {"secretName": "missing", "password": "password"}
    flow.mirror_maker(source={"authentication": {"type": "plain", "username": "m", "passwordSecret": secret}})
    flow.expect("NotReady", f"Secret missing not found in namespace {NAMESPACE}")


def test_a_mirror_maker_that_moves_from_v1beta2_to_v1_keeps_its_connectors(flow: MirrorMakerFlow) -> None:
    """The group stores their offsets under their names: connectors that were created again would start over."""
    flow.delete()
    wait_for("the workers to end", flow.expect_no_worker, DEADLINE_SECONDS)
    flow.older_mirror_maker()
    flow.expect_connectors(CHECKPOINT, SOURCE)
    expect_password_through(flow, "${file:")
    flow.produce("older")
    flow.expect_values("older")
    shown = json.dumps(flow.connect("/connectors?expand=info")) + json.dumps(flow.expect("Ready"))
    for alias in ("useast", "uswest"):
        assert flow.region(alias).users["mirror"].password not in shown
    before = len(flow.steps())
    flow.mirror_maker()
    expect_password_through(flow, "${strimzisecrets:")
    flow.produce("newer")
    flow.expect_values("older", "newer")
    assert not [step for step in flow.steps()[before:] if "created" in step]


def test_a_deleted_mirror_maker_leaves_no_worker_and_no_service_account(flow: MirrorMakerFlow) -> None:
    flow.delete()
    wait_for("the workers to end", flow.expect_no_worker, DEADLINE_SECONDS)
    account = Reference("v1", "ServiceAccount", NAMESPACE, f"{NAME}-mirrormaker2")

    def expect_collected() -> None:
        if flow.api.get(account) is not None:
            raise NotYetError("the service account is still there")

    wait_for("what the operator made to be removed", expect_collected, DEADLINE_SECONDS)


def test_a_mirror_maker_with_an_unknown_connect_cluster_starts_no_worker(running_flow: MirrorMakerFlow) -> None:
    running_flow.delete()
    running_flow.older_mirror_maker(connect_cluster="elsewhere")
    running_flow.expect("NotReady", "connectCluster elsewhere is not among spec.clusters")
    assert running_flow.workers() == []


def expect_password_through(flow: MirrorMakerFlow, placeholder: str) -> None:
    def seen() -> None:
        try:
            login = flow.connect(f"/connectors/{SOURCE}/config")["source.cluster.sasl.jaas.config"]
        except httpx.HTTPError as error:  # the resource stays Ready while its workers are replaced
            raise NotYetError(str(error)) from error
        if placeholder not in login:
            raise NotYetError(login)

    wait_for(f"credentials through {placeholder}", seen, DEADLINE_SECONDS)
