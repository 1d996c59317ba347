"""The operator with a real API server, real Kafka and real Connect workers."""

import json
import os
import signal
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition
from rich.console import Console

from kafka_replication.infra.kubernetes.api import Reference
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.operator.ledger import STOP_GRACE_SECONDS
from kafka_replication.infra.local.stack import up
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.machine import versions
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.operator.connect_flow import CONNECT, CONNECTOR, LOGIN, NAMESPACE, ConnectFlow
from tests.infra.operator.workspace import DEADLINE_SECONDS

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONNECT}-connect"


def heartbeats(flow: ConnectFlow) -> int:
    """End of the heartbeats topic on useast."""
    consumer = Consumer({**flow.region("useast").client_config("admin"), "group.id": "heartbeats-end"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition("heartbeats", 0), timeout=60)[1])
    finally:
        consumer.close()


def expect_more_heartbeats(flow: ConnectFlow) -> None:
    before = heartbeats(flow)

    def more() -> None:
        now = heartbeats(flow)
        if now <= before:
            raise NotYetError(f"{now} records")

    wait_for(f"more than {before} heartbeats", more, DEADLINE_SECONDS)


def test_a_connector_runs_with_the_credentials_that_its_role_grants(flow: ConnectFlow) -> None:
    # A connector is Ready before Connect has started its tasks.
    status = flow.expect("KafkaConnector", "Ready", met=lambda found: bool(found["connectorStatus"]["tasks"]))
    assert status["connectorStatus"]["tasks"][0]["state"] == "RUNNING"
    expect_more_heartbeats(flow)
    assert flow.api.may_get(ACCOUNT, "secrets", NAMESPACE, "useast")
    assert flow.api.may_get(ACCOUNT, "secrets", NAMESPACE, "uswest")
    assert not flow.api.may_get(ACCOUNT, "secrets", NAMESPACE, "other")


def test_files_status_and_connects_answers_show_no_password(flow: ConnectFlow) -> None:
    password = flow.region("useast").users["mirror"].password
    url = flow.expect("KafkaConnect", "Ready")["url"]
    shown = httpx.get(f"{url}/connectors/{CONNECTOR}/config", timeout=60).text
    shown += json.dumps(flow.expect("KafkaConnector", "Ready"))
    folder = paths.operator() / "workers" / NAMESPACE / f"{CONNECT}-connect"
    shown += "".join(file.read_text() for file in folder.iterdir() if file.is_file())
    assert "${secret:" in shown
    assert password not in shown
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


RULES = {"type": "jmxPrometheusExporter", "valueFrom": {"configMapKeyRef": {"name": "metrics", "key": "rules.yaml"}}}
ALLOWED = {"type": "strimziMetricsReporter", "values": {"allowList": ["kafka_connect_.*"]}}


@pytest.mark.parametrize(
    ("metrics", "version"), [(RULES, versions.KAFKA), (ALLOWED, versions.KAFKA_4_3)], ids=["JMX exporter", "reporter"]
)
def test_a_worker_of_the_requested_version_serves_metrics_at_the_port_of_its_pod(
    flow: ConnectFlow, metrics: dict[str, Any], version: str
) -> None:
    flow.apply("v1", "ConfigMap", "metrics", data={"rules.yaml": "lowercaseOutputName: true\nrules: [{pattern: .*}]\n"})
    flow.connect(metricsConfig=metrics, version=version)

    def served() -> None:
        pod = flow.api.get(Reference("v1", "Pod", NAMESPACE, f"{CONNECT}-connect-0")) or {"spec": {"containers": [{}]}}
        (port,) = pod["spec"]["containers"][0].get("ports") or [{"containerPort": 1}]
        address = f"http://{pod.get('status', {}).get('podIP')}:{port['containerPort']}/metrics"
        try:
            text = httpx.get(address, timeout=60, trust_env=False).text
        except httpx.HTTPError as error:
            raise NotYetError(f"{address}: {error!r}") from error
        if "\nkafka_connect_connect_worker_metrics_connector_count " not in text:
            raise NotYetError(text[-500:])

    try:
        wait_for("the metrics", served, DEADLINE_SECONDS)
        url = flow.expect("KafkaConnect", "Ready")["url"]
        assert httpx.get(url, timeout=60, trust_env=False).json()["version"] == version
    finally:
        flow.connect()
        flow.expect("KafkaConnector", "Ready")


def test_a_killed_worker_is_replaced(flow: ConnectFlow) -> None:
    (killed,) = flow.workers()
    os.kill(killed.pid, signal.SIGKILL)
    flow.expect_workers(lambda now: len(now) == 1 and now[0].pid != killed.pid, "another worker")
    flow.expect("KafkaConnector", "Ready")
    expect_more_heartbeats(flow)


def test_a_secret_outside_the_role_is_named_as_forbidden(flow: ConnectFlow) -> None:
    flow.secret("useast", password=flow.region("useast").users["mirror"].password, name="other")
    flow.connector(secret="other")
    flow.expect("KafkaConnector", "NotReady", f"Forbidden: no Role lets {ACCOUNT} get Secret {NAMESPACE}/other")
    flow.grant("useast", "other")
    flow.expect("KafkaConnector", "Ready")
    flow.grant("useast")


def test_a_missing_secret_is_named(flow: ConnectFlow) -> None:
    flow.grant("useast", "nowhere")
    flow.connector(secret="nowhere")
    flow.expect("KafkaConnector", "NotReady", f"Secret nowhere in namespace {NAMESPACE} not found")
    flow.grant("useast")


def test_a_value_that_connect_refuses_is_named(flow: ConnectFlow) -> None:
    flow.connector(interval="often")
    flow.expect("KafkaConnector", "NotReady", "Invalid value often for configuration emit.heartbeats.interval.seconds")


def test_a_failed_task_is_reported_restarted_and_counted(flow: ConnectFlow) -> None:
    """Connect itself leaves the task FAILED and its connector RUNNING."""
    flow.secret("useast", password="wrong-password")
    flow.connector(interval=2, autoRestart={"enabled": True})
    status = flow.expect("KafkaConnector", "NotReady", "SaslAuthenticationException")
    assert status["connectorStatus"]["connector"]["state"] == "RUNNING"
    assert status["autoRestart"]["count"] >= 1
    assert "wrong-password" not in json.dumps(status)
    flow.secret("useast", password=flow.region("useast").users["mirror"].password)
    flow.connector(interval=1)
    flow.expect("KafkaConnector", "Ready")


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_a_connector_is_paused_or_stopped_and_resumed(flow: ConnectFlow, state: str) -> None:
    flow.connector(state=state)
    status = flow.expect("KafkaConnector", "Ready")
    assert status["connectorStatus"]["connector"]["state"] == state.upper()
    flow.connector(state="running")
    assert flow.expect("KafkaConnector", "Ready")["connectorStatus"]["connector"]["state"] == "RUNNING"


def test_offsets_are_listed_altered_and_reset_when_an_annotation_asks(flow: ConnectFlow) -> None:
    """A request that fails stays, and is carried out as soon as it can be."""
    offsets = Reference("v1", "ConfigMap", NAMESPACE, "offsets")
    partition = {"sourceClusterAlias": "operator-source", "targetClusterAlias": "operator-target"}
    new = json.dumps({"offsets": [{"partition": partition, "offset": {"offset": 0}}]})
    places: dict[str, Any] = {
        "alterOffsets": {"fromConfigMap": {"name": "new"}},
        "listOffsets": {"toConfigMap": {"name": "offsets"}},
    }
    flow.connector(offsets="alter")
    flow.expect("KafkaConnector", "Warning", "Failed to alter the connector offsets due to missing property alterOffse")
    flow.connector(offsets="alter", **places)
    flow.expect("KafkaConnector", "Warning", "Connector is not in STOPPED state")
    flow.connector(offsets="alter", state="stopped", **places)
    flow.expect("KafkaConnector", "Warning", f"ConfigMap {NAMESPACE}/new does not exist.")
    flow.apply("v1", "ConfigMap", "new", data={"other.json": "{}"})
    flow.expect("KafkaConnector", "Warning", "Data field offsets.json is missing.")
    flow.apply("v1", "ConfigMap", "new", data={"offsets.json": new})
    flow.expect_asked(None)
    flow.apply("v1", "ConfigMap", "offsets")
    flow.connector(offsets="list", state="stopped", **places)
    flow.expect("KafkaConnector", "Warning", 'because "data" is null')
    flow.api.delete(offsets)
    flow.expect_asked(None)
    listed = flow.api.get(offsets) or {}
    assert json.loads(listed["data"]["offsets.json"]) == json.loads(new)
    assert [each["kind"] for each in listed["metadata"]["ownerReferences"]] == ["KafkaConnector"]
    for verb in ("reset", "list"):
        flow.connector(offsets=verb, state="stopped", **places)
        flow.expect_asked(None)
    assert json.loads((flow.api.get(offsets) or {})["data"]["offsets.json"]) == {"offsets": []}


def test_a_connector_is_removed_when_its_resource_is_deleted(flow: ConnectFlow) -> None:
    url = flow.expect("KafkaConnect", "Ready")["url"]
    flow.delete("KafkaConnector")

    def expect_none() -> None:
        if found := httpx.get(f"{url}/connectors", timeout=60).json():
            raise NotYetError(str(found))

    wait_for("the connector to be removed", expect_none, DEADLINE_SECONDS)


def test_a_wrong_bootstrap_address_is_reported_and_can_be_corrected(flow: ConnectFlow) -> None:
    flow.connect(bootstrapServers="127.0.0.1:1")
    flow.expect("KafkaConnect", "NotReady", "(bootstrapServers 127.0.0.1:1)")
    flow.expect("KafkaConnector", "NotReady", f"KafkaConnect {CONNECT} has no worker that is ready")
    flow.connect()
    flow.expect("KafkaConnect", "Ready")


def test_a_wrong_password_is_reported_and_can_be_corrected(flow: ConnectFlow) -> None:
    flow.secret("uswest", password="wrong-password")
    flow.expect("KafkaConnect", "NotReady", "invalid credentials")
    flow.secret("uswest", password=flow.region("uswest").users["mirror"].password)
    flow.expect("KafkaConnect", "Ready")


def test_a_worker_that_hangs_without_an_acl_is_reported_and_killed(flow: ConnectFlow) -> None:
    """Such a worker ignores SIGTERM."""
    flow.connect(offsetStorageTopic="elsewhere")
    flow.expect("KafkaConnect", "NotReady", "Not authorized to access topics: [elsewhere]")
    (hung,) = flow.workers()
    flow.connect()
    flow.expect_workers(lambda now: hung not in now, f"worker {hung.pid} to end within {STOP_GRACE_SECONDS} s or so")
    flow.expect("KafkaConnect", "Ready")


def test_a_worker_authenticates_with_a_certificate(flow: ConnectFlow) -> None:
    flow.client_certificate("uswest-client")
    pair = {"secretName": "uswest-client", "certificate": "tls.crt", "key": "tls.key"}
    flow.connect(
        bootstrapServers=flow.region("uswest").tls_bootstrap_servers,
        authentication={"type": "tls", "certificateAndKey": pair},
    )
    flow.expect("KafkaConnect", "Ready")
    flow.expect("KafkaConnector", "Ready")


def test_a_cluster_changes_to_two_workers_with_plain_passwords_and_back(flow: ConnectFlow) -> None:
    plain = {
        "type": "plain",
        "username": "mirror",
        "passwordSecret": {"secretName": "uswest", "password": "password"},
    }
    flow.connect(replicas=2, authentication=plain)
    assert flow.expect("KafkaConnect", "Ready")["replicas"] == 2
    assert len(flow.workers()) == 2
    flow.connect()
    flow.expect_workers(lambda now: len(now) == 1, "one worker")
    flow.expect("KafkaConnect", "Ready")


def test_a_changed_pod_annotation_rolls_workers_with_a_custom_login(flow: ConnectFlow) -> None:
    """The operator does not watch the Secrets of such a login."""
    password = f"${{strimzisecrets:{NAMESPACE}/uswest:password}}"
    jaas = f'{LOGIN} required username="mirror" password="{password}";'
    config = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}
    login = {"type": "custom", "sasl": True, "config": config}
    flow.grant("useast", "uswest")

    def deploy(revision: int) -> int:
        annotations = {"kafka-replication/credentials-revisions": f"uswest={revision}"}
        flow.connect(authentication=login, template={"pod": {"metadata": {"annotations": annotations}}})
        flow.expect("KafkaConnect", "Ready")
        return flow.workers()[0].pid

    first = deploy(1)
    assert deploy(1) == first
    deploy(2)
    flow.expect_workers(lambda now: len(now) == 1 and now[0].pid != first, "another worker")
    flow.grant("useast")
    flow.connect()
    flow.expect("KafkaConnect", "Ready")


def test_an_operator_that_was_killed_finds_its_workers_again(flow: ConnectFlow) -> None:
    before = [worker.pid for worker in flow.workers()]
    record = load_state().parts["operator"]
    os.kill(record.pid, signal.SIGKILL)
    up(Console(quiet=True))
    flow.connector(interval=2)
    flow.expect("KafkaConnector", "Ready")
    assert [worker.pid for worker in flow.workers()] == before


def test_a_deleted_connect_cluster_leaves_no_worker_account_or_file(flow: ConnectFlow) -> None:
    flow.delete("KafkaConnect")
    wait_for("the workers to end", flow.expect_no_worker, DEADLINE_SECONDS)
    flow.expect("KafkaConnector", "NotReady", f"there is no KafkaConnect {CONNECT}")
    account = Reference("v1", "ServiceAccount", NAMESPACE, f"{CONNECT}-connect")

    def expect_collected() -> None:
        if flow.api.get(account) is not None:
            raise NotYetError("the service account is still there")
        if left := list((paths.operator() / "workers").glob("*/*")):
            raise NotYetError(str(left))

    wait_for("what the operator made to be removed", expect_collected, DEADLINE_SECONDS)
