"""Wrong sizes are reported before Kubernetes refuses or kills a worker, and credentials before anyone can read them."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_resolved_flow, a_topology


def reported(**flow: Any) -> list[tuple[str, str]]:
    problems = check_topology(parse_topology(a_topology(a_flow(**flow))))
    return [(problem.code, problem.where.removeprefix("replications.orders.")) for problem in problems]


@pytest.mark.parametrize(
    "quota",
    [
        pytest.param(
            {"hard": {"requests.cpu": 3}, "defaultLimits": {"cpu": 1}}, id="a default limit is a request, too"
        ),
        pytest.param({"hard": {"requests.cpu": "1500m"}, "defaultRequests": {"cpu": 0.5}}, id="millis and a fraction"),
        pytest.param({"hard": {"limits.memory": "3e9"}, "defaultLimits": {"memory": "1G"}}, id="an exponent"),
        pytest.param({"hard": {"services.loadbalancers": 0}}, id="a resource that workers do not use"),
    ],
)
def test_workers_that_fit_in_their_quota_are_accepted(quota: dict[str, Any]) -> None:
    assert reported(quota=quota) == []


def test_a_default_request_is_counted_although_there_is_a_default_limit() -> None:
    quota = {"hard": {"requests.cpu": 1}, "defaultLimits": {"cpu": 4}, "defaultRequests": {"cpu": "500m"}}
    assert reported(quota=quota) == [("quota-exceeded", "quota.hard")]


@pytest.mark.parametrize(
    ("connect", "where"),
    [
        pytest.param(
            {"template": {"connectContainer": {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "hunter2"}]}}},
            "connect.template.connectContainer.env.0",
            id="a variable by its name",
        ),
        pytest.param(
            {"template": {"initContainer": {"env": [{"name": "OPTS", "value": "-Dkey.password=hunter2"}]}}},
            "connect.template.initContainer.env.0",
            id="an option within a variable",
        ),
        pytest.param(
            {"jvmOptions": {"javaSystemProperties": [{"name": "javax.net.ssl.keyStorePassword", "value": "hunter2"}]}},
            "connect.jvmOptions.javaSystemProperties.0",
            id="a system property",
        ),
    ],
)
def test_a_credential_in_the_workers_environment_is_reported_at_its_path(connect: dict[str, Any], where: str) -> None:
    assert reported(connect=connect) == [("plain-text-credential", where)]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, id="a reference"),
        pytest.param({"name": "PASSWORD", "value": "${file:/mnt/p:k}"}, id="a placeholder"),
        pytest.param({"name": "PASSWORD_FILE", "value": "/mnt/secret"}, id="a path to a file"),
        pytest.param({"name": "PARTITION_KEY", "value": "customer"}, id="a key of another kind"),
    ],
)
def test_a_variable_that_only_sounds_like_a_credential_is_accepted(entry: dict[str, Any]) -> None:
    assert reported(connect={"template": {"connectContainer": {"env": [entry]}}}) == []


def test_a_heap_that_leaves_room_below_the_memory_limit_is_accepted() -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}
    assert reported(connect={"jvmOptions": {"-Xms": "1g", "-Xmx": "1536m"}, "resources": resources}) == []


def test_a_heap_size_that_the_jvm_cannot_parse_is_reported() -> None:
    assert reported(connect={"jvmOptions": {"-Xmx": "2Gi"}}) == [("not-accepted", "connect.jvmOptions.-Xmx")]


def test_quantities_are_rendered_as_strimzi_and_kubernetes_take_them() -> None:
    """Strimzi's definitions accept a fraction only as a string."""
    flow = a_resolved_flow(
        connect={"resources": {"limits": {"cpu": 0.5, "memory": "2Gi"}, "requests": {"cpu": 1}}},
        quota={"hard": {"pods": 3}, "defaultLimits": {"cpu": 1.5}},
    )
    rendered = {planned.kind: planned.manifest.get("spec", {}) for planned in flow_objects(flow)}
    assert rendered["KafkaConnect"]["resources"] == {"limits": {"cpu": "0.5", "memory": "2Gi"}, "requests": {"cpu": 1}}
    assert rendered["ResourceQuota"] == {"hard": {"pods": "3"}}
    assert rendered["LimitRange"] == {"limits": [{"type": "Container", "default": {"cpu": "1.5"}}]}


def test_only_the_missing_groups_are_reported_if_checkpoints_are_off() -> None:
    connectors = {"checkpoint": {"config": {"emit.checkpoints.enabled": False}}}
    assert [code for code, _ in reported(groups=[], connectors=connectors)] == ["no-groups"]


@pytest.mark.parametrize("resource", ["memroy", "disk"])
def test_a_resource_that_no_container_has_is_reported(resource: str) -> None:
    assert reported(connect={"resources": {"limits": {resource: "2Gi"}}}) == [
        ("unknown-key", f"connect.resources.limits.{resource}")
    ]


def test_resources_of_vendors_and_claims_are_accepted() -> None:
    resources = {"limits": {"nvidia.com/gpu": 1, "hugepages-2Mi": "2Mi"}, "claims": [{"name": "disk"}]}
    assert reported(connect={"resources": resources}) == []
