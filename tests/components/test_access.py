"""Access of a flow in Kubernetes: the Role names exactly what connectors read."""

from components.specs.access import access_objects
from components.specs.config_maps import cluster_config_map, replication_config_map
from tests.builders import a_cluster, a_resolved_flow


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
