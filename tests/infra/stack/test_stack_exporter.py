"""The exporter that a stack runs in its cluster: its objects as a whole, its own project, and what cannot work."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.components.contract.exported_series import ALIVE, READY
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.exporter import FOLDER, exporter_name
from kafka_replication.components.render.job_pods import EXPORTER_COMMAND
from kafka_replication.components.render.planned_objects import Manifest, PlannedObject
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.review.render import rendered_files
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from kafka_replication.infra.stack.stack_checks import problems, raise_mistakes
from kafka_replication.infra.stack.validation_job import in_cluster_problems, stack_exporter
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.stacks import write_stack
from tests.repository import ROOT

GOLDEN = ROOT / "tests" / "infra" / "stack" / "exporter.yaml"
IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"
MONITORING = {"namespace": "monitoring", "exporter": True}
MEASURED = {"connect": {"metrics": {"type": "jmxPrometheusExporter"}}}


def settings(folder: Path, asked: Any, topology: Any = None, **config: Any) -> StackSettings:
    given = topology or a_topology(a_flow(**MEASURED), monitoring=MONITORING)
    validation = {"inCluster": {"image": IMAGE, "imagePullSecret": "registry", "exporter": asked}}
    return read_settings("test", write_stack(folder, given, validation=validation, **config))


def rendered(read: StackSettings) -> tuple[PlannedObject, ...]:
    return stack_exporter(read, resolve_flows(read.topology, read.region, read.values))


def of_kind(objects: tuple[PlannedObject, ...], kind: str) -> list[Manifest]:
    return [planned.manifest for planned in objects if planned.kind == kind]


def test_the_rendered_objects_match_the_golden_file(tmp_path: Path) -> None:
    """The project in the ConfigMap has tests of its own."""
    objects = rendered(settings(tmp_path, {}))
    (config_map,) = of_kind(objects, "ConfigMap")
    text = yaml.safe_dump_all([planned.manifest for planned in objects if planned.kind != "ConfigMap"])
    text = text.replace(config_map["metadata"]["name"], "PROJECT")
    assert list(yaml.safe_load_all(text)) == list(yaml.safe_load_all(GOLDEN.read_text()))


def mounted(folder: Path, objects: tuple[PlannedObject, ...]) -> Path:
    """Write what the pod mounts, as a kubelet does."""
    (config_map,), (deployment,) = of_kind(objects, "ConfigMap"), of_kind(objects, "Deployment")
    (volume,) = (each for each in deployment["spec"]["template"]["spec"]["volumes"] if "configMap" in each)
    assert volume["configMap"]["name"] == config_map["metadata"]["name"]
    for item in volume["configMap"]["items"]:
        file = folder / item["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(config_map["data"][item["key"]])
    return folder


ADDRESS = {"config": "uswestServers"}


@pytest.mark.parametrize(
    ("config", "clusters"),
    [
        pytest.param({}, None, id="plain"),
        pytest.param({"region": "us-west-2", "deploy": "gitops"}, None, id="of a region and by GitOps"),
        pytest.param(
            {"uswestServers": "kafka.uswest.example.com:9093", "allowUnproven": "a test"},
            {"useast": a_cluster(), "uswest": a_cluster("us-west-2", bootstrapServers=ADDRESS)},
            id="address from the configuration",
        ),
    ],
)
def test_the_exporter_renders_from_its_own_files_exactly_what_the_stack_renders(
    tmp_path: Path, config: dict[str, Any], clusters: Any
) -> None:
    """Otherwise it would report drift in a cluster that runs as declared."""
    given, seen = tmp_path / "given", tmp_path / "seen"
    given.mkdir()
    read = settings(
        given, {"worst": 5}, a_topology(a_flow(**MEASURED), clusters=clusters, monitoring=MONITORING), **config
    )
    again = read_settings("test", mounted(seen, rendered(read)))
    raise_mistakes(again)
    assert rendered_files(again, again.values) == rendered_files(read, read.values)


@pytest.mark.parametrize("asked", [{"everySeconds": 30}, {"keep": True}])
def test_the_pod_calls_the_command_with_arguments_that_it_accepts(tmp_path: Path, asked: dict[str, object]) -> None:
    (deployment,) = of_kind(rendered(settings(tmp_path, asked)), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"] == list(EXPORTER_COMMAND)
    folder, arguments = container["args"][1], container["args"][2:]
    assert folder == FOLDER
    assert ("--keep" in arguments) is ("keep" in asked)
    answer = CliRunner().invoke(app, ["--project", str(ROOT), *arguments, "--help"])
    assert answer.exit_code == 0
    assert [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")] == [ALIVE, READY]


def test_a_stack_of_several_flows_has_one_exporter_with_a_role_in_each_namespace(tmp_path: Path) -> None:
    password = {"type": "scram-sha-512", "username": "m", "password": {"config": "password"}}
    user = {"cluster": "kafka", "namespace": "kafka"}
    clusters = {"useast": a_cluster(authentication=password), "uswest": a_cluster("us-west-2", kafkaUser=user)}
    flows = {"orders": a_flow(), "ledger": a_flow(topics=["ledger"], namespace={"name": "own", "create": False})}
    topology = a_topology(clusters=clusters, replications=flows, monitoring=MONITORING)
    objects = rendered(settings(tmp_path, {}, topology))
    assert len(of_kind(objects, "Deployment")) == 1
    secrets = {
        role["metadata"]["namespace"]: [
            (rule["resources"][0], rule["resourceNames"]) for rule in role["rules"] if "resourceNames" in rule
        ]
        for role in of_kind(objects, "Role")
    }
    assert secrets == {
        "kafka": [],
        "mirror-orders": [
            ("namespaces", ["mirror-orders"]),
            ("secrets", ["ca", "mirror", "orders-source-credentials"]),
        ],
        "monitoring": [],
        "own": [("secrets", ["ca", "ledger-source-credentials", "mirror"])],
    }
    for binding in of_kind(objects, "RoleBinding"):
        (subject,) = binding["subjects"]
        assert subject == {"kind": "ServiceAccount", "name": "replicate-exporter-test", "namespace": "monitoring"}


@pytest.mark.parametrize("keeps", [False, True])
def test_only_an_exporter_that_keeps_positions_may_read_the_keepers_password(tmp_path: Path, keeps: bool) -> None:
    password = {"secret": "keeper", "key": "password"}
    keeper = {"authentication": {"type": "plain", "username": "keeper", "password": password}}
    clusters = {"useast": a_cluster(), "uswest": a_cluster("us-west-2", keeper=keeper)}
    topology = a_topology(a_flow(**MEASURED), clusters=clusters, monitoring=MONITORING)
    roles = of_kind(rendered(settings(tmp_path, {"keep": keeps}, topology)), "Role")
    named = {name for role in roles for rule in role["rules"] for name in rule.get("resourceNames", ())}
    assert ("keeper" in named) is keeps


def test_a_stack_that_keeps_positions_grants_it_in_its_kafkausers(tmp_path: Path) -> None:
    user = {"cluster": "kafka", "namespace": "kafka"}
    clusters = {"useast": a_cluster(), "uswest": a_cluster("us-west-2", kafkaUser=user)}
    topology = a_topology(a_flow(**MEASURED), clusters=clusters, monitoring=MONITORING)
    for keeps in (True, False):
        read = settings(tmp_path, {"keep": keeps}, topology)
        files = rendered_files(read, read.values)
        assert ("mm2-positions.orders.internal" in files["kafka_users/user-uswest.yaml"]) is keeps


def test_no_right_changes_anything_or_lists_secrets(tmp_path: Path) -> None:
    rules = [rule for role in of_kind(rendered(settings(tmp_path, {})), "Role") for rule in role["rules"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert all(rule["verbs"] == ["get"] and rule["resourceNames"] for rule in rules if "secrets" in rule["resources"])


def test_without_monitoring_the_exporter_has_a_service_and_no_pod_monitor(tmp_path: Path) -> None:
    objects = rendered(settings(tmp_path, {"namespace": "tools"}, a_topology()))
    assert {body["metadata"]["namespace"] for body in of_kind(objects, "Service")} == {"tools"}
    assert of_kind(objects, "PodMonitor") == []


def test_a_stack_without_flows_runs_no_exporter(tmp_path: Path) -> None:
    read = settings(tmp_path, {})
    assert stack_exporter(read, ()) == ()


def test_stacks_whose_names_differ_only_in_what_kubernetes_refuses_get_different_names() -> None:
    names = {exporter_name(stack) for stack in ("prod-a", "prod.a", "prod_a", "Prod-a", "prod-a-")}
    assert len(names) == 5
    assert "replicate-exporter-prod-a" in names


@pytest.mark.parametrize(
    ("asked", "topology", "found"),
    [
        pytest.param({}, a_topology(), {".namespace": "missing-key"}, id="no namespace"),
        pytest.param({"namespace": "tools"}, a_topology(), {}, id="a namespace, no monitoring"),
        pytest.param(
            {},
            a_topology(a_flow(**MEASURED), monitoring={"namespace": "monitoring"}),
            {"": "exporter-unread"},
            id="nobody reads",
        ),
        pytest.param({"namespace": "Tools"}, None, {".namespace": "not-accepted"}, id="not a namespace"),
        pytest.param({"everySeconds": 0}, None, {".everySeconds": "out-of-range"}, id="no pause"),
        pytest.param({"worst": 0}, None, {".worst": "out-of-range"}, id="no series"),
        pytest.param({"replicas": 2}, None, {".replicas": "unknown-key"}, id="two of them"),
        pytest.param(True, None, {"": "wrong-type"}, id="a switch"),
        pytest.param(
            {"resources": {"requests": {"memory": "1Gi"}}},
            None,
            {".resources.requests.memory": "request-exceeds-limit"},
            id="request over the default limit",
        ),
    ],
)
def test_what_the_exporter_cannot_do_is_reported_at_its_key(
    tmp_path: Path, asked: Any, topology: Any, found: dict[str, str]
) -> None:
    where = "config.replication:validation.inCluster.exporter"
    reported = {each.where.removeprefix(where): each.code for each in problems(settings(tmp_path, asked, topology))}
    assert reported == found


def test_an_exporter_without_image_is_refused(tmp_path: Path) -> None:
    validation: dict[str, Any] = {"inCluster": {"exporter": {}}}
    read = read_settings("test", write_stack(tmp_path, a_topology(monitoring=MONITORING), validation=validation))
    codes = {each.where: each.code for each in problems(read)}
    assert codes["config.replication:validation.inCluster.image"] == "missing-key"


def test_names_that_kubernetes_refuses_or_that_a_flow_has_are_refused(tmp_path: Path) -> None:
    long = replace(settings(tmp_path, {}), stack="prod-" + "x" * 45)
    assert "name-too-long" in {each.code for each in problems_of_stack_file(long)}
    topology = a_topology(name="replicate-exporter", monitoring=MONITORING)
    clash = replace(settings(tmp_path, {}, topology), stack="validation")
    (problem,) = (each for each in problems_of_stack_file(clash) if each.code == "resource-name-shared")
    assert "its Role would be `replicate-exporter-validation`" in problem.what


def problems_of_stack_file(read: StackSettings) -> list[Problem]:
    return list(in_cluster_problems(read))
