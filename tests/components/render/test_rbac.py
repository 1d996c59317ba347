"""Access of a flow in Kubernetes: the Role names exactly what connectors read."""

from typing import Any

import pytest

from components.flows.resolved import ResolvedFlow
from components.render.config_maps import cluster_config_map, replication_config_map
from components.render.rbac import access_objects
from tests.builders import a_cluster, a_resolved_flow
from tests.components.render.logins import AWS, CUSTOM, OAUTH, TOKEN, TRUST, password_login, with_login


def secrets_in_the_role(flow: ResolvedFlow) -> list[str]:
    role, _ = access_objects(flow)
    return next(rule["resourceNames"] for rule in role.manifest["rules"] if rule["resources"] == ["secrets"])


def test_the_role_gives_get_on_exactly_the_objects_that_connectors_read() -> None:
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


def test_connectors_that_read_the_workers_file_need_nothing_else_of_the_target() -> None:
    source = a_cluster(tls={"trust": TRUST}, authentication=password_login("plain"))
    target = a_cluster(
        "us-west-2",
        tls={"trust": {"secret": "target-ca", "key": "ca.crt"}},
        authentication={"type": "plain", "username": "m", "password": {"secret": "target-login", "key": "password"}},
    )
    flow = a_resolved_flow({"useast": source, "uswest": target}, strimzi="0.45")
    assert cluster_config_map(flow, "target").data == {"alias": "uswest"}
    assert secrets_in_the_role(flow) == ["ca", "login"]


@pytest.mark.parametrize(
    ("login", "strimzi", "wanted"),
    [
        pytest.param(OAUTH, "1.2", ["ca", "login"], id="a mounted certificate is not read by placeholder"),
        pytest.param(
            TOKEN, "1.2", ["ca", "orders-source-credentials", "orders-target-credentials"], id="Secrets of ours"
        ),
        pytest.param(CUSTOM, "1.2", ["ca", "login"], id="Secrets that a custom login names"),
        pytest.param(AWS, "1.2", ["ca"], id="none where a custom login names none"),
    ],
)
def test_the_role_names_what_placeholders_of_a_login_name(
    login: dict[str, Any], strimzi: str, wanted: list[str]
) -> None:
    assert secrets_in_the_role(with_login(login, strimzi)) == wanted


def test_the_role_names_what_placeholders_of_a_property_name() -> None:
    """The remedy for a credential in a property is a placeholder, and workers must be able to read it."""
    here, elsewhere = "${secret:mirror-orders/store:password}", "${secret:vault/other:password}"
    config = {"producer.override.ssl.key.password": here, "producer.override.ssl.keystore.password": elsewhere}
    flow = a_resolved_flow(connectors={"source": {"config": config}})
    assert secrets_in_the_role(flow) == ["ca", "mirror", "store"]
