"""The Connect cluster that the operator's tests share, one after another."""

from collections.abc import Iterator

import pytest

from kafka_replication.infra.kubernetes.api import KubernetesApi
from kafka_replication.infra.local.endpoints import Endpoints
from tests.infra.operator.connect_flow import ConnectFlow


@pytest.fixture(scope="module")
def running_flow(endpoints: Endpoints) -> Iterator[ConnectFlow]:
    """A namespace with credentials and ACLs; each test applies its own Connect cluster."""
    with KubernetesApi(endpoints.kubeconfig, field_manager="test") as api:
        flow = ConnectFlow(api, endpoints)
        flow.set_up()
        yield flow
        flow.tear_down()


@pytest.fixture
def flow(running_flow: ConnectFlow) -> ConnectFlow:
    """A correct Connect cluster and its connector, both Ready."""
    running_flow.connect()
    running_flow.connector()
    running_flow.expect("KafkaConnect", "Ready")
    running_flow.expect("KafkaConnector", "Ready")
    return running_flow
