"""The objects that validate a flow in the cluster, compared as a whole, and the changes that make a new Job."""

import json
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.components.flows.resolved import flow_digest, resolve_flows
from kafka_replication.components.render import validation_jobs
from kafka_replication.components.render.job_parameters import job_parameters
from kafka_replication.components.render.job_pods import OWN_POD, PARAMETERS, RULE, TEMPLATE
from kafka_replication.components.render.planned_objects import PART_OF, Manifest, PlannedObject
from kafka_replication.components.render.validation_jobs import MODEL_DIGEST, validation_objects
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.parsing import parse_model, parse_topology
from kafka_replication.spark.arguments import parser
from tests.builders import a_cluster, a_flow, a_topology
from tests.repository import ROOT

GOLDEN = ROOT / "tests" / "components" / "render" / "validation_jobs.yaml"
TEMPLATE_GOLDEN = ROOT / "tests" / "components" / "render" / "executor_pod.yaml"
IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"
SPARK = SparkSettings(driver_memory="1536m")


def planned(topology: Any = None, **asked: Any) -> tuple[PlannedObject, ...]:
    flows = resolve_flows(parse_topology(topology or a_topology(a_flow())), None, {})
    return validation_objects(flows, "prod", parse_model(InCluster, {"image": IMAGE, **asked}), SPARK)


def of_kind(objects: tuple[PlannedObject, ...], kind: str) -> list[Manifest]:
    return [planned_object.manifest for planned_object in objects if planned_object.kind == kind]


def test_the_rendered_objects_match_the_golden_file() -> None:
    """Names with a digest and the parameters have tests of their own."""
    manifests = planned(imagePullSecret="registry", timeZone="Europe/Berlin", retries=2)
    (parameters,), (job,) = of_kind(manifests, "ConfigMap"), of_kind(manifests, "Job")
    text = yaml.safe_dump_all(
        [planned_object.manifest for planned_object in manifests if planned_object.kind != "ConfigMap"], sort_keys=False
    )
    for name, shown in ((parameters["metadata"]["name"], "PARAMETERS"), (job["metadata"]["name"], "JOB")):
        text = text.replace(name, shown)
    assert list(yaml.safe_load_all(text)) == list(yaml.safe_load_all(GOLDEN.read_text()))


def test_the_executor_pod_template_matches_the_golden_file() -> None:
    (config_map,) = of_kind(planned(imagePullSecret="registry", executors={}), "ConfigMap")
    assert json.loads(config_map["data"][TEMPLATE]) == yaml.safe_load(TEMPLATE_GOLDEN.read_text())


def test_executors_change_only_the_arguments_the_environment_and_the_role() -> None:
    """Without executors the Role grants nothing on pods."""
    asked = {"instances": 3, "cores": 2, "memory": "3g", "cpu": "500m"}
    before, after = planned(), planned(executors=asked)
    (role_before,), (role,) = of_kind(before, "Role"), of_kind(after, "Role")
    assert role["rules"] == [*role_before["rules"], RULE]
    pods = [of_kind(manifests, "Job")[0]["spec"]["template"]["spec"] for manifests in (before, after)]
    (plain,), (driver,) = pods[0].pop("containers"), pods[1].pop("containers")
    assert driver["env"] == [*plain["env"], *OWN_POD]
    added = driver["args"][len(plain["args"]) :]
    assert driver["args"] == [*plain["args"], *added]
    assert {
        "--master=k8s://https://kubernetes.default.svc",
        "--spark-conf=spark.executor.instances=3",
        "--spark-conf=spark.executor.cores=2",
        "--spark-conf=spark.executor.memory=3g",
        "--spark-conf=spark.kubernetes.executor.request.cores=500m",
        "--spark-conf=spark.kubernetes.namespace=mirror-orders",
        f"--spark-conf=spark.kubernetes.container.image={IMAGE}",
        # Tasks carry the logins of both clusters.
        "--spark-conf=spark.authenticate=true",
        "--spark-conf=spark.network.crypto.enabled=true",
    } <= set(added)
    assert {key for key in driver if driver[key] != plain.get(key)} == {"args", "env"}


def test_no_cpu_request_is_passed_for_executors_unless_the_stack_sets_one() -> None:
    (container,) = job_of(executors={})["spec"]["template"]["spec"]["containers"]
    assert [arg for arg in container["args"] if "request.cores" in arg] == []


def test_the_job_accepts_every_rendered_argument() -> None:
    (container,) = job_of(executors={})["spec"]["template"]["spec"]["containers"]
    given = parser().parse_args(container["args"])
    assert dict(given.spark_conf)["spark.driver.host"] == "$(POD_IP)"


def test_the_job_gets_the_same_parameters_as_every_validation_of_the_stack() -> None:
    topology = a_topology(a_flow())
    (config_map,) = of_kind(planned(topology), "ConfigMap")
    read = Parameters.model_validate_json(config_map["data"][PARAMETERS])
    assert read == job_parameters("prod", resolve_flows(parse_topology(topology), None, {}))
    assert config_map["immutable"] is True


def job_of(topology: Any = None, **asked: Any) -> Manifest:
    (job,) = of_kind(planned(topology, **asked), "Job")
    return job


@pytest.mark.parametrize(
    ("flow", "asked"),
    [
        pytest.param({"topics": ["orders"]}, {}, id="model"),
        pytest.param({"connect": {"replicas": 5}}, {}, id="replicas, which make the proof too old"),
        pytest.param({}, {"executors": {}}, id="executors"),
        pytest.param({}, {"image": IMAGE.replace("0", "1")}, id="image"),
        pytest.param({}, {"deadlineSeconds": 60}, id="deadline"),
        pytest.param({}, {"catchUpSeconds": 60}, id="arguments"),
    ],
)
def test_a_change_makes_a_new_job_because_jobs_are_immutable(flow: dict[str, Any], asked: dict[str, Any]) -> None:
    changed, before = job_of(a_topology(a_flow(**flow)), **asked), job_of()
    assert changed["metadata"]["name"] != before["metadata"]["name"]
    # The CronJob keeps its history.
    names = {body["metadata"]["name"] for body in of_kind(planned(a_topology(a_flow(**flow)), **asked), "CronJob")}
    assert names == {"orders-validation"}


def test_a_deployment_without_a_change_makes_no_new_job() -> None:
    """Another schedule makes no new Job either, because only the CronJob has it."""
    assert job_of() == job_of() == job_of(schedule="@daily")


def test_a_change_of_one_flow_makes_new_jobs_for_all_flows_in_its_namespace() -> None:
    """A promotion refuses verdicts that are older than the last change in the namespace."""

    def jobs(replicas: int, namespace: str) -> dict[str, str]:
        flows = {
            "orders": a_flow(connect={"replicas": replicas}, namespace={"name": "kafka"}),
            "ledger": a_flow(topics=["ledger"], namespace={"name": namespace}),
        }
        jobs = of_kind(planned(a_topology(replications=flows)), "Job")
        return {job["metadata"]["labels"][PART_OF]: job["metadata"]["name"] for job in jobs}

    assert jobs(5, "kafka")["ledger"] != jobs(3, "kafka")["ledger"]
    assert jobs(5, "apart")["ledger"] == jobs(3, "apart")["ledger"]


def test_a_job_is_annotated_with_the_digest_of_its_model() -> None:
    (flow,) = resolve_flows(parse_topology(a_topology(a_flow())), None, {})
    assert job_of()["metadata"]["annotations"] == {MODEL_DIGEST: flow_digest(flow)}


def test_each_flow_of_a_pair_is_validated_in_the_namespace_of_its_secrets() -> None:
    pair = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}
    manifests = planned(a_topology(replications={"ledger": pair}))
    namespaces = {planned_object.manifest["metadata"]["namespace"] for planned_object in manifests}
    assert namespaces == {"mirror-ledger-to-useast", "mirror-ledger-to-uswest"}
    for job in of_kind(manifests, "Job"):
        volumes = job["spec"]["template"]["spec"]["volumes"]
        (secrets,) = [volume["projected"] for volume in volumes if volume["name"] == "secrets"]
        paths = [item["path"] for source in secrets["sources"] for item in source["secret"]["items"]]
        assert {path.partition("/")[0] for path in paths} == {job["metadata"]["namespace"]}


def test_the_role_of_a_mirror_names_its_resource() -> None:
    (role,) = of_kind(planned(a_topology(a_flow(kind="mirrorMaker2"))), "Role")
    assert role["rules"][0] == {
        "apiGroups": ["kafka.strimzi.io"],
        "resources": ["kafkamirrormaker2s"],
        "resourceNames": ["orders"],
        "verbs": ["get"],
    }


def test_clusters_without_a_credential_need_no_mounted_secret() -> None:
    """A projected volume without sources would be an empty folder and look like a mistake."""
    plain: dict[str, Any] = {"bootstrapServers": "kafka:9092", "tls": None, "authentication": None}
    clusters = {"useast": a_cluster(**plain), "uswest": a_cluster("us-west-2", **plain)}
    pod = job_of(a_topology(a_flow(), clusters=clusters))["spec"]["template"]["spec"]
    assert [volume["name"] for volume in pod["volumes"]] == ["parameters", "tmp"]
    assert "--secrets" not in pod["containers"][0]["args"]


def test_parameters_too_large_for_a_config_map_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation_jobs, "_LARGEST", 100)
    with pytest.raises(CannotRunError, match="parameters-too-large: the job's parameters for 1 flows have"):
        planned()


def test_the_executor_template_counts_against_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise Kubernetes refuses the ConfigMap in the middle of a deployment."""
    (config_map,) = of_kind(planned(executors={}), "ConfigMap")
    size = sum(len(key) + len(value) for key, value in config_map["data"].items())
    monkeypatch.setattr(validation_jobs, "_LARGEST", size)
    assert of_kind(planned(executors={}), "ConfigMap") == [config_map]
    monkeypatch.setattr(validation_jobs, "_LARGEST", size - 1)
    planned()
    with pytest.raises(CannotRunError, match=f"have {size} bytes"):
        planned(executors={})
