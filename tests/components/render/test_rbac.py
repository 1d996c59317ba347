"""A flow's access in Kubernetes: the Role names exactly the objects that its connectors read."""

from typing import Any

import pytest

from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.components.render.kafka_connectors import cluster_config_map, replication_config_map
from kafka_replication.components.render.kafka_mirror_maker2 import mirror_maker2_objects
from kafka_replication.components.render.namespaces import access_objects
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_resolved_flow, a_topology
from tests.components.render.logins import AWS, CUSTOM, OAUTH, TOKEN, TRUST, password_login, with_login

#: A user's own properties, which are in Secrets and a ConfigMap of the workers' namespace.
VALUES = {"a": "${secret:mine:key}", "b": "${secret:mirror-orders/also-mine:key}", "c": "${cfmap:settings:key}"}


def secrets_in_the_role(flow: ResolvedFlow) -> list[str]:
    role, _ = access_objects(flow)
    return next(rule["resourceNames"] for rule in role.manifest["rules"] if rule["resources"] == ["secrets"])


def test_the_role_grants_get_on_exactly_the_objects_that_connectors_read() -> None:
    flow = a_resolved_flow()
    role, binding = access_objects(flow)
    config_maps = [
        cluster_config_map(flow, "source").name,
        cluster_config_map(flow, "target").name,
        replication_config_map(flow).name,
    ]
    assert role.manifest["rules"] == [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": config_maps, "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["ca", "mirror"], "verbs": ["get"]},
    ]
    assert binding.manifest["roleRef"]["name"] == role.name
    assert binding.manifest["subjects"] == [
        {"kind": "ServiceAccount", "name": "orders-connect", "namespace": "mirror-orders"}
    ]


def test_without_a_secret_the_role_has_no_rule_for_secrets() -> None:
    """A rule without resourceNames would allow every Secret of the namespace."""
    clusters = {
        "useast": a_cluster(tls=None, authentication=None),
        "uswest": a_cluster("us-west-2", tls=None, authentication=None),
    }
    role, _ = access_objects(a_resolved_flow(clusters))
    assert [rule["resources"] for rule in role.manifest["rules"]] == [["configmaps"]]


def test_the_validation_jobs_secret_is_not_readable_by_connectors() -> None:
    validation = {"authentication": {"type": "plain", "username": "validator", "password": {"config": "v"}}}
    flow = a_resolved_flow({"useast": a_cluster(validation=validation), "uswest": a_cluster("w")})
    assert secrets_in_the_role(flow) == ["ca", "mirror"]


def test_connectors_that_read_the_worker_file_get_no_access_to_the_targets_secrets() -> None:
    source = a_cluster(tls={"trust": TRUST}, authentication=password_login("plain"))
    target = a_cluster(
        "us-west-2",
        tls={"trust": {"secret": "target-ca", "key": "ca.crt"}},
        authentication={"type": "plain", "username": "m", "password": {"secret": "target-login", "key": "password"}},
    )
    flow = a_resolved_flow({"useast": source, "uswest": target}, strimzi="0.45")
    assert cluster_config_map(flow, "target").manifest["data"] == {"alias": "uswest"}
    assert secrets_in_the_role(flow) == ["ca", "login"]


@pytest.mark.parametrize(
    ("login", "strimzi", "wanted"),
    [
        pytest.param(OAUTH, "1.2", ["ca", "login"], id="a mounted certificate is not read by placeholder"),
        pytest.param(
            TOKEN, "1.2", ["ca", "orders-source-credentials", "orders-target-credentials"], id="Secrets that we create"
        ),
        pytest.param(CUSTOM, "1.2", ["ca", "login"], id="Secrets that a custom login names"),
        pytest.param(AWS, "1.2", ["ca"], id="a custom login that names no Secret"),
    ],
)
def test_the_role_grants_the_secrets_that_a_login_names_by_placeholder(
    login: dict[str, Any], strimzi: str, wanted: list[str]
) -> None:
    assert secrets_in_the_role(with_login(login, strimzi)) == wanted


def test_the_role_grants_the_secrets_that_a_property_names_by_placeholder() -> None:
    """We tell users to replace a credential in a property with a placeholder, so workers must be able to read it."""
    here, elsewhere = "${secret:mirror-orders/store:password}", "${secret:vault/other:password}"
    config = {"producer.override.ssl.key.password": here, "producer.override.ssl.keystore.password": elsewhere}
    flow = a_resolved_flow(connectors={"source": {"config": config}})
    assert secrets_in_the_role(flow) == ["ca", "mirror", "store"]


def read_by(flow: ResolvedFlow) -> dict[str, list[str]]:
    (role,) = (planned for planned in flow_objects(flow) if planned.manifest["kind"] == "Role")
    return {rule["resources"][0]: rule["resourceNames"] for rule in role.manifest["rules"]}


@pytest.mark.parametrize(
    "given",
    [
        {"transforms": {"before": {"mask": {"type": "com.acme.Mask", "config": VALUES}}}},
        {"transforms": {"after": {"mask": {"type": "com.acme.Mask", "predicate": {"type": "P", "config": VALUES}}}}},
        {"connectors": {"source": {"config": VALUES}}},
        {"topics": [], "connectors": {"sources": {"fast": {"topics": ["orders"], "config": VALUES}}}},
        {"connect": {"config": VALUES}},
    ],
    ids=["a transform", "a predicate", "a connector", "one of several connectors", "the workers"],
)
def test_the_role_grants_secrets_and_config_maps_that_a_users_properties_name(given: dict[str, Any]) -> None:
    """Otherwise Kubernetes refuses access when Connect starts the connector."""
    read = read_by(a_resolved_flow(**given))
    assert {"mine", "also-mine"} <= set(read["secrets"])
    assert read["configmaps"][-1] == "settings"


def test_a_secret_in_another_namespace_grants_no_secret_of_the_same_name_here() -> None:
    config = {"producer.override.linger.ms": "${secret:elsewhere/tuning:linger}"}
    assert "tuning" not in read_by(a_resolved_flow(connectors={"source": {"config": config}}))["secrets"]


def test_a_mirrors_role_grants_secrets_and_config_maps_that_its_properties_name() -> None:
    mirror = {
        "kind": "mirrorMaker2",
        "source": "useast",
        "target": "uswest",
        "topics": ["orders"],
        "groups": ["checkout"],
        "connectors": {"source": {"config": VALUES}},
    }
    (flow,) = resolve_flows(parse_topology(a_topology(mirror)), None, {})
    role = next(planned for planned in mirror_maker2_objects((flow,)) if planned.manifest["kind"] == "Role")
    assert {rule["resources"][0]: rule["resourceNames"] for rule in role.manifest["rules"]} == {
        "configmaps": ["settings"],
        "secrets": ["also-mine", "mine"],
    }
