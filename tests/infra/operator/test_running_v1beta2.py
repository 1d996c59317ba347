"""The operator with v1beta2 resources, and with a resource that moves to v1, on the running stack."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kafka_replication.infra.kubernetes.api import KubernetesApi, Reference
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.operator.connect_flow import CONNECT, CONNECTOR, NAMESPACE
from tests.infra.operator.connect_flow import STRIMZI as V1
from tests.infra.operator.v1beta2_flow import FILE, FILE_PROVIDER, SASL, STRIMZI, V1Beta2Flow
from tests.infra.operator.workspace import DEADLINE_SECONDS

FOLDER = Path("workers") / NAMESPACE / f"{CONNECT}-connect"


@pytest.fixture(scope="module")
def flow(endpoints: Endpoints) -> Iterator[V1Beta2Flow]:
    with KubernetesApi(endpoints.kubeconfig, field_manager="test") as api:
        flow = V1Beta2Flow(api, endpoints)
        flow.set_up()
        flow.old_connect()
        flow.expect("KafkaConnect", "Ready")
        yield flow
        flow.tear_down()


def uid(flow: V1Beta2Flow) -> str:
    found = flow.api.get(Reference(V1, "KafkaConnect", NAMESPACE, CONNECT))
    return str(found and found["metadata"]["uid"])


def test_a_connector_reads_the_targets_credentials_from_the_workers_file(flow: V1Beta2Flow) -> None:
    flow.file_connector()
    flow.expect("KafkaConnector", "Ready")


def test_credentials_are_in_private_files_only(flow: V1Beta2Flow) -> None:
    flow.file_connector()
    status = flow.expect("KafkaConnector", "Ready")
    password = flow.region("uswest").users["mirror"].password
    folder = paths.operator() / FOLDER
    files = [file for file in folder.rglob("*") if file.is_file()]
    holding = {file.relative_to(folder).as_posix() for file in files if password.encode() in file.read_bytes()}
    assert holding == {"worker-0.properties", "pod/strimzi-connect.properties"}
    for file in files:
        assert file.stat().st_mode & 0o077 == 0, file
    url = flow.expect("KafkaConnect", "Ready")["url"]
    shown = httpx.get(f"{url}/connectors/{CONNECTOR}/config", timeout=60).text + json.dumps(status)
    assert password not in shown
    assert password not in (paths.logs() / "operator.log").read_text()
    objects = flow.api.list_all("v1", "ConfigMap") + flow.api.list_all(STRIMZI, "KafkaConnect")
    assert password not in json.dumps(objects)


def test_pause_pauses_a_connector_with_a_warning_that_v1_has_no_such_field(flow: V1Beta2Flow) -> None:
    flow.file_connector(pause=True)
    flow.expect("KafkaConnector", "Warning", "spec.pause is not in v1 any more")
    status = flow.expect("KafkaConnector", "Ready")
    assert status["connectorStatus"]["connector"]["state"] == "PAUSED"


def test_a_field_that_only_v1beta2_has_is_kept_with_a_warning(flow: V1Beta2Flow) -> None:
    """Writing the status through v1 would drop the field."""
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "uswest", "key": "password"}}}]
    flow.old_connect(externalConfiguration={"env": env})
    flow.expect("KafkaConnect", "Warning", "spec.externalConfiguration is ignored")
    found = flow.api.get(Reference(STRIMZI, "KafkaConnect", NAMESPACE, CONNECT))
    assert found is not None
    assert found["spec"]["externalConfiguration"] == {"env": env}
    flow.old_connect()


def test_oauth_is_reported_as_unsupported(flow: V1Beta2Flow) -> None:
    flow.old_connect(authentication={"type": "oauth", "clientId": "mirror", "tokenEndpointUri": "https://localhost"})
    flow.expect("KafkaConnect", "NotReady", "authentication type oauth is not supported on the local stack")
    flow.old_connect()
    flow.expect("KafkaConnect", "Ready")


def test_a_worker_authenticates_with_mutual_tls(flow: V1Beta2Flow) -> None:
    flow.client_certificate("uswest-client")
    pair = {"secretName": "uswest-client", "certificate": "tls.crt", "key": "tls.key"}
    flow.old_connect(
        bootstrapServers=flow.region("uswest").tls_bootstrap_servers,
        authentication={"type": "tls", "certificateAndKey": pair},
    )
    flow.expect("KafkaConnect", "Ready")
    flow.old_connect()
    flow.expect("KafkaConnect", "Ready")


def test_a_cluster_moves_to_v1_and_back_in_place(flow: V1Beta2Flow) -> None:
    """In v1 the file holds placeholders. Kafka resolves only once, so a connector that reads the file fails."""
    flow.file_connector()
    flow.expect("KafkaConnector", "Ready")
    before, worker = uid(flow), flow.expect("KafkaConnect", "Ready")["url"]
    config = {
        **{f"{topic}.storage.replication.factor": -1 for topic in ("config", "offset", "status")},
        "config.providers": "secret,file",
        "config.providers.secret.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
        "config.providers.file.class": FILE_PROVIDER,
        "connector.client.config.override.policy": "All",
    }
    flow.connect(config=config)
    assert flow.expect("KafkaConnect", "Ready")["url"] == worker
    assert uid(flow) == before
    trust = {f"ssl.truststore.{key}": f"${{file:{FILE}:ssl.truststore.{key}}}" for key in ("certificates", "type")}
    flow.file_connector(security=trust | SASL)
    flow.expect("KafkaConnector", "NotReady", "No matching CERTIFICATE entries in PEM file")
    flow.connector()
    flow.expect("KafkaConnector", "Ready")
    folder = paths.operator() / FOLDER / "pod"
    assert {file.name for file in folder.rglob("*") if file.is_file()} == {"strimzi-connect.properties"}
    flow.old_connect()
    flow.file_connector()
    flow.expect("KafkaConnector", "Ready")
    assert uid(flow) == before


def test_the_workers_folder_of_a_deleted_cluster_is_removed(flow: V1Beta2Flow) -> None:
    flow.delete("KafkaConnect")

    def expect_removed() -> None:
        if (paths.operator() / FOLDER).exists():
            raise NotYetError("the workers' folder is still there")

    wait_for("the workers' folder to be removed", expect_removed, DEADLINE_SECONDS)
