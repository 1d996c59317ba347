"""A deployment between the two halves of a move would start a flow without its offsets."""

from collections.abc import Iterable

import pytest

from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.render.kafka_connectors import waiting_for_offsets
from kafka_replication.components.render.planned_objects import PART_OF
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object
from kafka_replication.infra.kubernetes.preconditions import require_no_unfinished_move
from kafka_replication.infra.program import unfinished_move
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from tests.builders import a_resolved_flow
from tests.repository import STACKS


def connector(namespace: str = "mirror-orders", flow: str = "orders") -> Object:
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnector",
        "metadata": {"namespace": namespace, "name": "orders-source", "labels": {PART_OF: flow}},
        "spec": {"class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "config": {}},
    }


class _Holding(KubernetesApi):
    """A cluster with these KafkaConnectors."""

    def __init__(self, *connectors: Object) -> None:
        self._connectors = list(connectors)

    def list_where_allowed(
        self, api_version: str, kind: str, namespaces: Iterable[str], *, label_selector: str
    ) -> list[Object]:
        assert (api_version, kind, list(namespaces)) == ("kafka.strimzi.io/v1", "KafkaConnector", ["mirror-orders"])
        assert label_selector == "app.kubernetes.io/managed-by=kafka-replication"
        return self._connectors


def test_a_flow_that_waits_for_offsets_is_refused_with_the_command_to_continue() -> None:
    api = _Holding(waiting_for_offsets(connector(), "KafkaMirrorMaker2 kafka/mm2"))
    with pytest.raises(RefusedError) as refused:
        require_no_unfinished_move(api, "prod", [a_resolved_flow(strimzi="1.2")])
    assert refused.value.code == "move-unfinished"
    assert refused.value.what == (
        "KafkaConnector mirror-orders/orders-source waits for the offsets of KafkaMirrorMaker2 kafka/mm2"
    )
    assert "`replicate adopt prod --from kafka/mm2`" in refused.value.remedy


@pytest.mark.parametrize(
    "connectors",
    [
        pytest.param([], id="not-deployed"),
        pytest.param([connector()], id="running"),
        pytest.param([waiting_for_offsets(connector("another"), "KafkaMirrorMaker2 kafka/mm2")], id="of-another-stack"),
        pytest.param(
            [waiting_for_offsets(connector(flow="stock"), "KafkaMirrorMaker2 kafka/mm2")],
            id="of-another-stack-in-the-same-namespace",
        ),
    ],
)
def test_running_flows_and_flows_of_other_stacks_are_not_refused(connectors: list[Object]) -> None:
    require_no_unfinished_move(_Holding(*connectors), "prod", [a_resolved_flow(strimzi="1.2")])


def test_the_unfinished_move_of_a_stack_is_looked_up_in_its_cluster() -> None:
    held = waiting_for_offsets(connector(), "KafkaMirrorMaker2 kafka/mm2")
    settings = read_settings("prod-us-west-2", STACKS)
    for cluster, code in ((_Holding(held), "move-unfinished"), (_Holding(), None)):
        stack = OpenStack(settings)
        stack.kubernetes = cluster
        assert getattr(unfinished_move(stack), "code", None) == code
