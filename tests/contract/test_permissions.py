"""The ClusterRole that infra/README.md shows is what an account needs for every object of ours, and no more."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.flows.resolved import resolve_flows
from components.render.deployments import deployments
from components.render.kafka_users import kafka_user_objects
from components.topology.parsing import parse_topology
from infra.kubernetes.api import ApiError, KubernetesApi, Reference, reference
from infra.waiting import NotYetError, wait_for
from tests.builders import a_cluster, a_flow, a_topology
from tests.contract.api_servers import NAMESPACE, ApiServer
from tests.infra.readmes import Readme
from tests.repository import ROOT

ACCOUNT = "deployer"
SECONDS = 30.0


def shown_role() -> dict[str, Any]:
    blocks = [
        yaml.safe_load(each.text) for each in Readme(ROOT / "infra" / "README.md").blocks() if "yaml" in each.language
    ]
    (role,) = [block for block in blocks if block.get("kind") == "ClusterRole"]
    return dict(role)


def objects() -> list[dict[str, Any]]:
    """One of each kind at least, in the order of their creation."""
    login = {"type": "scram-sha-512", "username": "m", "password": {"config": "password"}}
    user = {"cluster": "kafka", "namespace": "mirror-permitted"}
    clusters = {
        "useast": a_cluster(authentication=login, kafkaUser=user),
        "uswest": a_cluster("us-west-2", authentication=login),
    }
    quota = {"hard": {"pods": 4}, "defaultLimits": {"cpu": "1"}}
    flow, mirror = a_flow(quota=quota), a_flow(kind="mirrorMaker2", topics=["ledger"])
    replications = {"permitted": flow, "mirrored": mirror}
    topology = parse_topology(a_topology(clusters=clusters, replications=replications))
    flows = resolve_flows(topology, None, {})
    planned = [each for deployed in deployments(flows) for each in deployed.objects]
    return [each.manifest for each in (*planned, *kafka_user_objects(topology, None))]


@pytest.fixture
def account(api_server_of: Callable[[str], ApiServer], tmp_path: Path) -> Iterator[KubernetesApi]:
    """An account that has the role and nothing else."""
    server = api_server_of("v1")
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    server.api.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}}
    )
    role = shown_role()
    server.api.apply(role)
    server.api.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ACCOUNT},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role["metadata"]["name"],
            },
            "subjects": [subject],
        }
    )
    kubeconfig = yaml.safe_load(server.kubeconfig.read_text())
    kubeconfig["users"][0]["user"] = {"token": server.api.service_account_token(NAMESPACE, ACCOUNT, 600)}
    file = tmp_path / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(kubeconfig))
    with KubernetesApi(file, field_manager="deployer") as api:
        wait_for("the role to count", lambda: allowed(api), SECONDS)
        yield api


def allowed(api: KubernetesApi) -> None:
    try:
        api.list_all("v1", "Namespace")
    except ApiError as error:
        if not error.forbidden:
            raise
        raise NotYetError(error.message) from error


def test_the_shown_role_suffices_to_deploy_compare_prove_and_destroy(account: KubernetesApi) -> None:
    made = objects()
    for item in made:
        account.apply(item)
    for item in made:
        assert account.get(reference(item)) is not None
        assert reference(item) in {reference(each) for each in account.list_all(item["apiVersion"], item["kind"])}
    evidence = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "e", "namespace": "mirror-permitted"}}
    account.replace(account.create(evidence))
    for item in reversed(made):
        assert account.delete(reference(item))


def test_the_shown_role_names_the_kinds_that_are_rendered_and_no_others() -> None:
    rendered = {
        (item["apiVersion"].rpartition("/")[0].removesuffix("v1"), f"{item['kind'].lower()}s") for item in objects()
    }
    shown = {
        (group, each) for rule in shown_role()["rules"] for group in rule["apiGroups"] for each in rule["resources"]
    }
    assert shown == rendered


def test_the_shown_role_allows_nothing_else(account: KubernetesApi) -> None:
    with pytest.raises(ApiError) as refused:
        account.get(Reference("v1", "ServiceAccount", NAMESPACE, ACCOUNT))
    assert refused.value.forbidden
