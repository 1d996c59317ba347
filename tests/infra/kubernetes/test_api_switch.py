"""A switch of Strimzi's API that the provider would leave half done is refused before it begins."""

from collections.abc import Iterable
from typing import Any

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object
from kafka_replication.infra.kubernetes.preconditions import require_ready_for_v1
from tests.builders import a_resolved_flow

OLD: dict[str, Any] = {"config": {"group.id": "g"}}


class _Holding(KubernetesApi):
    """A cluster with one KafkaConnect."""

    def __init__(self, name: str, spec: Object) -> None:
        metadata = {"namespace": "mirror-orders", "name": name}
        self._held = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnect", "metadata": metadata, "spec": spec}

    def list_where_allowed(
        self, api_version: str, kind: str, namespaces: Iterable[str], *, label_selector: str
    ) -> list[Object]:
        assert (api_version, list(namespaces), label_selector.count("=")) == (
            "kafka.strimzi.io/v1",
            ["mirror-orders"],
            1,
        )
        return [self._held] if kind == "KafkaConnect" else []


def test_a_connect_cluster_without_v1s_fields_is_refused_with_the_intermediate_step() -> None:
    with pytest.raises(CannotRunError) as caught:
        require_ready_for_v1(_Holding("orders", OLD), [a_resolved_flow(strimzi="0.51")])
    assert caught.value.code == "api-switch-in-one-step"
    assert caught.value.what.startswith("KafkaConnect mirror-orders/orders cannot change")
    assert "`strimzi: '0.51/v1beta2'`" in caught.value.remedy


@pytest.mark.parametrize(
    ("strimzi", "name", "spec"),
    [
        pytest.param("0.51", "orders", {"groupId": "g"}, id="ready"),
        pytest.param("0.51/v1beta2", "orders", OLD, id="the-intermediate-step"),
        pytest.param("0.48", "orders", OLD, id="no-switch"),
        pytest.param("1.2", "another", OLD, id="of-another-stack"),
    ],
)
def test_other_switches_and_other_stacks_are_not_refused(strimzi: str, name: str, spec: Object) -> None:
    require_ready_for_v1(_Holding(name, spec), [a_resolved_flow(strimzi=strimzi)])
