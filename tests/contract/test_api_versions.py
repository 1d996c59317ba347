"""Both versions of Strimzi's API, as each release defines it and as the local stack serves the two together."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.api_servers import ApiServer, strict_apply

NAMES = {"groupId": "g", "configStorageTopic": "g-c", "offsetStorageTopic": "g-o", "statusStorageTopic": "g-s"}
V1 = {"replicas": 1, "bootstrapServers": "kafka:9093", **NAMES, "config": {"offset.flush.timeout.ms": 5000}}
V1BETA2 = {"replicas": 1, "bootstrapServers": "kafka:9093", "config": {"group.id": "g"}}
"""A Connect cluster as either version writes it."""


def a_connect(version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnect",
        "metadata": {"name": "flow", "namespace": "contract"},
        "spec": spec,
    }


def test_a_server_takes_its_own_version(api_server: ApiServer) -> None:
    spec = {"v1": V1, "v1beta2": V1BETA2}[api_server.version]
    assert strict_apply(api_server, a_connect(api_server.version, spec)) == []


def test_a_server_does_not_know_the_other_version(api_server: ApiServer) -> None:
    other, spec = {"v1": ("v1beta2", V1BETA2), "v1beta2": ("v1", V1)}[api_server.version]
    (complaint,) = strict_apply(api_server, a_connect(other, spec))
    assert "the API server does not serve KafkaConnect" in complaint


@pytest.mark.parametrize("field", NAMES)
def test_a_field_of_v1_is_refused_by_name_in_v1beta2(api_server_of: Callable[[str], ApiServer], field: str) -> None:
    """Operators before 0.49 would drop it; without it in `config` the worker joins the group `connect-cluster`."""
    (complaint,) = strict_apply(api_server_of("v1beta2"), a_connect("v1beta2", {**V1BETA2, field: "x"}))
    assert f".spec.{field}: field not declared in schema" in complaint
