"""Access of a flow: the Role names exactly what connectors read, the ACLs exactly what the parts need."""

from typing import Any

import pytest

from components.specs.access import Acl, access_objects, flow_acls
from components.specs.config_maps import cluster_config_map, replication_config_map
from tests.builders import a_cluster, a_resolved_flow

USER = "User:mirror"


def test_the_role_gives_get_on_exactly_the_objects_that_connectors_read() -> None:
    resolved = a_resolved_flow()
    role, binding = access_objects(resolved)
    config_maps = [
        cluster_config_map(resolved, "source").name,
        cluster_config_map(resolved, "target").name,
        replication_config_map(resolved).name,
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
    """A rule without resourceNames would open every Secret of the namespace."""
    clusters = {
        "useast": a_cluster(tls=None, authentication=None),
        "uswest": a_cluster("us-west-2", tls=None, authentication=None),
    }
    role, _ = access_objects(a_resolved_flow(clusters))
    assert [rule["resources"] for rule in role.manifest["rules"]] == [["configmaps"]]


def test_the_validation_jobs_secret_is_not_readable_by_connectors() -> None:
    validation = {"authentication": {"type": "plain", "username": "validator", "password": {"config": "v"}}}
    role, _ = access_objects(a_resolved_flow({"useast": a_cluster(validation=validation), "uswest": a_cluster("w")}))
    assert role.manifest["rules"][1]["resourceNames"] == ["ca", "mirror"]


def test_the_acls_of_a_flow_whole() -> None:
    remote = ("ALTER", "ALTER_CONFIGS", "CREATE", "READ", "WRITE")
    storage = ("CREATE", "DESCRIBE_CONFIGS", "READ", "WRITE")
    read = ("DESCRIBE_CONFIGS", "READ")
    assert set(flow_acls(a_resolved_flow())) == {
        Acl("useast", USER, "topic", "literal", "orders", read),
        Acl("useast", USER, "topic", "prefixed", "payments-", read),
        Acl("useast", USER, "topic", "literal", "heartbeats", ("CREATE", "DESCRIBE_CONFIGS", "READ", "WRITE")),
        Acl("useast", USER, "topic", "literal", "mm2-offset-syncs.uswest.internal", ("CREATE", "READ", "WRITE")),
        Acl("useast", USER, "group", "prefixed", "checkout-", ("DESCRIBE",)),
        Acl("uswest", USER, "topic", "literal", "mirror-orders-configs-internal", storage),
        Acl("uswest", USER, "topic", "literal", "mirror-orders-offsets-internal", storage),
        Acl("uswest", USER, "topic", "literal", "mirror-orders-status-internal", storage),
        Acl("uswest", USER, "group", "literal", "mirror-orders", ("READ",)),
        Acl("uswest", USER, "topic", "literal", "useast.orders", remote),
        Acl("uswest", USER, "topic", "prefixed", "useast.payments-", remote),
        Acl("uswest", USER, "topic", "literal", "useast.heartbeats", remote),
        Acl("uswest", USER, "topic", "literal", "useast.checkpoints.internal", ("CREATE", "READ", "WRITE")),
        Acl("uswest", USER, "group", "prefixed", "checkout-", ("READ",)),
    }


def test_identity_policy_still_writes_prefixed_heartbeats() -> None:
    acls = flow_acls(a_resolved_flow(policy="identity", topics=["orders"]))
    written = {acl.name for acl in acls if acl.cluster == "uswest" and "ALTER" in acl.operations}
    assert written == {"orders", "useast.heartbeats"}


def test_exactly_once_needs_the_transactions_of_tasks_and_leader() -> None:
    resolved = a_resolved_flow(connect={"config": {"exactly.once.source.support": "enabled"}})
    found = {(acl.pattern, acl.name) for acl in flow_acls(resolved) if acl.resource == "transactional_id"}
    assert found == {("prefixed", "mirror-orders-"), ("literal", "connect-cluster-mirror-orders")}


@pytest.mark.parametrize(
    ("pattern", "kind", "name"),
    [
        pytest.param("orders", "literal", "orders", id="a name"),
        pytest.param(r"orders\.eu", "literal", "orders.eu", id="a name with an escaped dot"),
        pytest.param("orders-.*", "prefixed", "orders-", id="a beginning"),
        pytest.param("orderss?", "prefixed", "orders", id="an optional last letter is not part of the beginning"),
        pytest.param("orders|payments", "literal", "*", id="alternatives share no beginning"),
        pytest.param(".*", "literal", "*", id="everything"),
        pytest.param("a{2}", "literal", "*", id="a repeated first letter"),
    ],
)
def test_a_pattern_becomes_the_narrowest_acl_that_kafka_knows(pattern: str, kind: str, name: str) -> None:
    acls = flow_acls(a_resolved_flow(topics=[pattern]))
    found = {
        (acl.pattern, acl.name)
        for acl in acls
        if acl.cluster == "useast" and acl.operations == ("DESCRIBE_CONFIGS", "READ")
    }
    assert found == {(kind, name)}


def test_a_client_certificates_principal_is_left_to_the_cluster() -> None:
    authentication: dict[str, Any] = {"type": "tls", "secret": "client"}
    clusters = {"useast": a_cluster(authentication=authentication), "uswest": a_cluster("us-west-2")}
    assert {acl.cluster for acl in flow_acls(a_resolved_flow(clusters))} == {"uswest"}
