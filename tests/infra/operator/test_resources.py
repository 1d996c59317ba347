"""One view of both versions of the API: it loses no field that one version writes in another way."""

from typing import Any

import pytest

from kafka_replication.infra.local.operator.conditions import warnings as connect_warnings
from kafka_replication.infra.local.operator.connector_reconciler import warnings
from kafka_replication.infra.local.operator.resources import connect_resource
from tests.infra.operator.builders import a_connect, a_connector, a_v1beta2_connect


def group(connect: Any) -> tuple[str, ...]:
    return tuple(connect.group.values())


def test_v1_takes_the_group_from_its_own_fields_and_not_from_the_config() -> None:
    connect = a_connect(config={"group.id": "other"})
    assert group(connect) == (
        "mirror-orders",
        "mirror-orders-configs",
        "mirror-orders-offsets",
        "mirror-orders-status",
    )
    assert not connect.has_values_in_files


def test_v1beta2_takes_the_group_from_the_config() -> None:
    config = {f"{each}.storage.topic": f"mine-{each}" for each in ("config", "offset", "status")}
    connect = a_v1beta2_connect(config={"group.id": "mine", **config, "offset.flush.timeout.ms": 5000})
    assert group(connect) == ("mine", "mine-config", "mine-offset", "mine-status")
    assert connect.config == {"offset.flush.timeout.ms": 5000}
    assert connect.has_values_in_files


def test_a_v1beta2_connect_without_a_group_has_the_operators_defaults() -> None:
    """Two such clusters on one Kafka join the same group. With other defaults that clash would not show."""
    assert group(a_v1beta2_connect()) == (
        "connect-cluster",
        "connect-cluster-configs",
        "connect-cluster-offsets",
        "connect-cluster-status",
    )


def test_a_resource_of_v1beta2_without_replicas_has_three() -> None:
    assert a_v1beta2_connect(replicas=2).replicas == 2
    item = {"metadata": {"name": "o", "namespace": "m", "uid": "u", "generation": 1}, "spec": {"bootstrapServers": "b"}}
    assert connect_resource(item).replicas == 3


def test_a_field_that_only_v1beta2_has_is_ignored_with_a_warning() -> None:
    connect = a_v1beta2_connect(externalConfiguration={"env": []})
    assert [each.message for each in connect_warnings(connect, [])] == [
        "spec.externalConfiguration is ignored on the local stack"
    ]


@pytest.mark.parametrize(
    ("spec", "state"),
    [
        pytest.param({}, "running", id="neither"),
        pytest.param({"pause": True}, "paused", id="pause"),
        pytest.param({"pause": False}, "running", id="no-pause"),
        pytest.param({"pause": True, "state": "stopped"}, "stopped", id="state-takes-precedence"),
    ],
)
def test_the_wanted_state_comes_from_state_or_else_from_pause(spec: dict[str, Any], state: str) -> None:
    assert a_connector(**spec).state == state


def test_a_field_that_v1_dropped_is_a_warning_that_names_its_replacement() -> None:
    assert [each.message for each in warnings(a_connector(pause=False))] == [
        "spec.pause is not in v1 any more: use spec.state"
    ]
    assert warnings(a_connector(state="paused")) == []
