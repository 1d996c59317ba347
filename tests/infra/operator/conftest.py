"""Lifetime of the Connect cluster on which the operator's tests work, one after another."""

from collections.abc import Iterator

import pytest

from infra.kubernetes.api import KubernetesApi
from infra.local.endpoints import Endpoints
from tests.infra.operator.connect_flow import ConnectFlow


@pytest.fixture(scope="module")
def running_flow(endpoints: Endpoints) -> Iterator[ConnectFlow]:
    """Credentials and rights are there; the Connect cluster is what a test makes it."""
    with KubernetesApi(endpoints.kubeconfig, field_manager="test") as api:
        flow = ConnectFlow(api, endpoints)
        flow.set_up()
        yield flow
        flow.tear_down()


@pytest.fixture
def flow(running_flow: ConnectFlow) -> ConnectFlow:
    """The Connect cluster and its connector, as they should be and ready."""
    running_flow.connect()
    running_flow.connector()
    running_flow.expect("KafkaConnect", "Ready")
    running_flow.expect("KafkaConnector", "Ready")
    return running_flow
