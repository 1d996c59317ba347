"""A deployed flow, for real: it replicates, changes take effect, access is least, and nothing secret leaks."""

from pathlib import Path

import httpx
import pytest
from kubernetes import client

from kafka_replication.components.render.connections import secrets_read
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.stack.listed_names import names_in_clusters
from kafka_replication.infra.stack.project import local_folder
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.validate.run import ValidationRun
from tests.local.flows import Deployed


def test_the_validation_document_is_the_same_from_the_files_and_from_pulumi(deployed: Deployed) -> None:
    """A stack that GitOps deploys has no outputs."""
    run = ValidationRun(deployed.settings, Path("report.json"), declared=True)
    assert run.document() == deployed.document


def test_a_second_up_changes_nothing(deployed: Deployed) -> None:
    assert set(deployment.up(deployed.settings, lambda _: None)) == {"same"}


def test_the_service_account_may_read_only_the_secrets_that_connect_needs(deployed: Deployed) -> None:
    api = deployed.api
    api.default_headers["Impersonate-User"] = "system:serviceaccount:mirror-orders:orders-connect"
    api.default_headers["Impersonate-Group"] = "system:serviceaccounts"
    core = client.CoreV1Api(api)
    flow = deployed.flow()
    for name in secrets_read(flow, "source") | secrets_read(flow, "target"):
        assert core.read_namespaced_secret(name, "mirror-orders").data
    for refused in ("orders-source-validation", "anything-else"):
        with pytest.raises(client.ApiException) as caught:
            core.read_namespaced_secret(refused, "mirror-orders")
        assert caught.value.status == 403
    with pytest.raises(client.ApiException) as caught:
        core.list_namespaced_secret("mirror-orders")
    assert caught.value.status == 403


def test_no_password_is_in_the_state_or_in_a_log(deployed: Deployed) -> None:
    """Whoever reads the state's backend, or a log collector, must not be able to log in."""
    passwords = {user.password for region in deployed.endpoints.regions.values() for user in region.users.values()}
    files = [path for folder in ("pulumi", "logs", "validation") for path in (local_folder() / folder).rglob("*")]
    read = {path: path.read_text(errors="replace") for path in files if path.is_file()}
    assert any("orders-source-credentials" in text for text in read.values())
    assert [path for path, text in read.items() if any(password in text for password in passwords)] == []


@pytest.mark.parametrize("name", ["orders-source", "orders-checkpoint", "orders-heartbeat"])
def test_connect_finds_no_error_in_a_connectors_configuration(deployed: Deployed, name: str) -> None:
    """The connector itself decides which properties are valid."""
    spec = deployed.connector(name)["spec"]
    config = {**{key: str(value) for key, value in spec["config"].items()}, "connector.class": spec["class"]}
    (port,) = {worker.port for worker in operator_part.workers() if "mirror-orders/" in worker.name}
    plugin = spec["class"].rsplit(".", 1)[-1]
    answer = httpx.put(
        f"http://127.0.0.1:{port}/connector-plugins/{plugin}/config/validate", json={**config, "name": name}, timeout=60
    )
    answer.raise_for_status()
    found = answer.json()
    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"] if each["value"]["errors"]}
    assert (found["error_count"], errors) == (0, {})


def test_check_reads_the_names_of_topics_and_groups_from_the_running_clusters(deployed: Deployed) -> None:
    """Reads one cluster by password and the other by certificate, with credentials that the stack itself created."""
    names = names_in_clusters(OpenStack(deployed.settings))
    assert {"orders", "ledger", "heartbeats"} <= set(names["useast"].topics)
    assert names["useast-tls"].topics == names["useast"].topics
    assert "ledger-audit" in (names["useast"].groups or ())
