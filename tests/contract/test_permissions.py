"""The ClusterRole in infra/deploy/README.md grants exactly what an account needs for all objects that we render."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.exporter import exporter_objects
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.render.validation_jobs import API_VERSION as SPARK_OPERATOR
from kafka_replication.components.render.validation_jobs import validation_objects
from kafka_replication.components.topology.in_cluster import Executors, Exporter, InCluster, Workload
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Reference, reference
from kafka_replication.infra.kubernetes.preconditions import KINDS as MONITORING_KINDS
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.review.live_comparison import read_objects
from kafka_replication.infra.review.snapshots import Snapshot
from tests.builders import a_cluster, a_flow, a_topology
from tests.contract.api_servers import NAMESPACE, ApiServer
from tests.definitions import definition
from tests.infra.readmes import shown

ACCOUNT, EXPORTER, WATCHED = "deployer", "replicate-exporter-permitted", "watched"
IMAGE = f"validation@sha256:{'0' * 64}"
APPLICATIONS = ("SparkApplication", "ScheduledSparkApplication")
SECONDS = 30.0


def shown_role() -> dict[str, Any]:
    return dict(yaml.safe_load(shown("kind: ClusterRole")))


def objects() -> list[dict[str, Any]]:
    """At least one object of each kind, in the order of their creation."""
    login = {"type": "scram-sha-512", "username": "m", "password": {"config": "password"}}
    user = {"cluster": "kafka", "namespace": "mirror-permitted"}
    clusters = {
        "useast": a_cluster(authentication=login, kafkaUser=user),
        "uswest": a_cluster("us-west-2", authentication=login),
    }
    quota = {"hard": {"pods": 4}, "defaultLimits": {"cpu": "1"}}
    metrics = {"metrics": {"type": "jmxPrometheusExporter"}}
    flow = a_flow(quota=quota, connect=metrics)
    mirror = a_flow(kind="mirrorMaker2", topics=["ledger"], connect=metrics)
    replications = {"permitted": flow, "mirrored": mirror}
    monitoring = {"namespace": NAMESPACE}
    topology = parse_topology(a_topology(clusters=clusters, replications=replications, monitoring=monitoring))
    flows = resolve_flows(topology, None, {})
    planned = [each for deployed in deployments(flows) for each in deployed.objects]
    applications = InCluster(image=IMAGE, workload=Workload.SPARK_APPLICATION, executors=Executors())
    of_stack = (
        *kafka_user_objects(topology, None),
        *monitoring_objects(topology, "permitted", None),
        *validation_objects(flows, "permitted", InCluster(image=IMAGE, executors=Executors())),
        *(each for each in validation_objects(flows, "permitted", applications) if each.kind in APPLICATIONS),
    )
    others = (*planned, *of_stack)
    exporter = InCluster(image=IMAGE, exporter=Exporter())
    files = {"Pulumi.yaml": "name: replication"}
    runs = exporter_objects("permitted", flows, exporter, topology.monitoring, files, others)
    return [each.manifest for each in (*others, *runs)]


@pytest.fixture
def account(api_server_of: Callable[[str], ApiServer], tmp_path: Path) -> Iterator[KubernetesApi]:
    """An account with only this role."""
    with an_account(api_server_of("v1"), tmp_path, ACCOUNT, shown_role()["rules"]) as api:
        wait_for("the role to count", lambda: allowed(api), SECONDS)
        yield api


@contextmanager
def an_account(server: ApiServer, folder: Path, name: str, rules: list[dict[str, Any]]) -> Iterator[KubernetesApi]:
    """An account with these rights in the whole cluster, where the kinds of two other operators are installed."""
    for kind in MONITORING_KINDS:
        server.api.apply(definition("monitoring.coreos.com/v1", kind))
    for kind in APPLICATIONS:
        server.api.apply(definition(SPARK_OPERATOR, kind))
    account = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    server.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}})
    rbac = "rbac.authorization.k8s.io"
    server.api.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    server.api.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [account],
        }
    )
    kubeconfig = yaml.safe_load(server.kubeconfig.read_text())
    kubeconfig["users"][0]["user"] = {"token": server.api.service_account_token(NAMESPACE, name, 600)}
    file = folder / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(kubeconfig))
    with KubernetesApi(file, field_manager=name) as api:
        yield api


def allowed(api: KubernetesApi, kinds: Sequence[str] = MONITORING_KINDS) -> None:
    try:
        api.list_all("v1", "Namespace")
        for kind in kinds:
            api.list_all("monitoring.coreos.com/v1", kind)
        if kinds:
            for kind in APPLICATIONS:
                api.list_all(SPARK_OPERATOR, kind)
    except ApiError as error:
        if not error.forbidden and not error.not_found:
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


def test_the_shown_role_covers_exactly_the_rendered_kinds_and_the_rights_they_grant() -> None:
    """It also needs the rights of the rendered Roles: Kubernetes lets nobody grant a right that they do not have."""
    made = objects()
    rendered = {(item["apiVersion"].rpartition("/")[0].removesuffix("v1"), f"{item['kind'].lower()}s") for item in made}
    granted = granted_resources(rule for item in made if item["kind"] == "Role" for rule in item["rules"])
    assert granted_resources(shown_role()["rules"]) == rendered | granted


def granted_resources(rules: Iterable[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(group, each) for rule in rules for group in rule["apiGroups"] for each in rule["resources"]}


def test_the_shown_role_does_not_allow_reading_an_endpoint(account: KubernetesApi) -> None:
    with pytest.raises(ApiError) as refused:
        account.get(Reference("v1", "Endpoints", NAMESPACE, ACCOUNT))
    assert refused.value.forbidden


@pytest.mark.parametrize("declared", [False, True])
def test_only_a_stack_with_monitoring_needs_rights_on_monitoring_objects(
    declared: bool, api_server_of: Callable[[str], ApiServer], tmp_path: Path
) -> None:
    rules = [rule for rule in shown_role()["rules"] if "podmonitors" not in rule["resources"]]
    shown = {str(at): each for at, each in enumerate(objects()) if declared or each["kind"] not in MONITORING_KINDS}
    snapshot = Snapshot(others={"stack": shown})
    forbidden = pytest.raises(ApiError, match="forbidden") if declared else nullcontext()
    with an_account(api_server_of("v1"), tmp_path, "deployer-of-flows", rules) as api:
        wait_for("the role to count", lambda: allowed(api, ()), SECONDS)
        with forbidden:
            read_objects(api, snapshot, "kafka.strimzi.io/v1")


def test_the_exporter_can_read_with_its_roles_and_needs_each_of_their_rights(
    api_server_of: Callable[[str], ApiServer], tmp_path: Path
) -> None:
    """It is served in its namespaces only, so a list of the whole cluster is forbidden. Without any one of the kinds or
    names in a Role, the comparison that counts drift is refused.
    """
    # Another test deletes its namespaces, and here no controller completes that.
    made = json.loads(
        json.dumps(objects()).replace('"mirror-permitted"', f'"{WATCHED}"').replace("mirror-mirrored", "seen")
    )
    snapshot = Snapshot(others={"stack": {str(at): item for at, item in enumerate(made)}})
    roles = [item for item in made if item["kind"] == "Role" and item["metadata"]["name"] == EXPORTER]
    server = api_server_of("v1")
    with an_account(server, tmp_path, EXPORTER, []) as api:
        for item in made:
            if item["kind"] in ("Namespace", *MONITORING_KINDS) or item["metadata"]["name"] == EXPORTER:
                server.api.apply(item)

        def read() -> None:
            try:
                read_objects(api, snapshot, "kafka.strimzi.io/v1", lists_secrets=False)
            except ApiError as error:
                if not error.forbidden:
                    raise
                raise NotYetError(error.message) from error

        def refused() -> None:
            with suppress(NotYetError):
                read()
                raise NotYetError("everything can be read")

        wait_for("the roles to count", read, SECONDS)
        (role,) = (each for each in roles if each["metadata"]["namespace"] == WATCHED)
        for rules in without_one(role["rules"]):
            server.api.replace({**role, "rules": rules})
            wait_for(f"the lack of a right to count: {rules}", refused, SECONDS)
            server.api.replace(role)
            wait_for("the whole role to count", read, SECONDS)
        with pytest.raises(ApiError, match="forbidden"):
            api.list_all("v1", "Secret", namespace=WATCHED)


def without_one(rules: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The rules, each time without one of their resources."""
    for at, rule in enumerate(rules):
        for resource in rule["resources"]:
            left = [each for each in rule["resources"] if each != resource]
            yield [*rules[:at], *([{**rule, "resources": left}] if left else []), *rules[at + 1 :]]
