"""The validation as a SparkApplication: the whole objects, and what each setting of a stack changes in them."""

from importlib.metadata import version
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.job_pods import RULE
from kafka_replication.components.render.planned_objects import Manifest, PlannedObject
from kafka_replication.components.render.validation_jobs import (
    SPARK_VERSION,
    VALIDATION_KINDS,
    longest_seconds,
    validation_objects,
)
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.parsing import parse_model, parse_topology
from kafka_replication.spark.arguments import parser
from tests.builders import a_flow, a_topology
from tests.repository import ROOT

GOLDEN = ROOT / "tests" / "components" / "render" / "spark_application.yaml"
IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"
CONF = {"spark.kubernetes.node.selector.pool": "batch"}


def planned(**asked: Any) -> tuple[PlannedObject, ...]:
    flows = resolve_flows(parse_topology(a_topology(a_flow())), None, {})
    given = {"image": IMAGE, "workload": "SparkApplication", "executors": {}, **asked}
    return validation_objects(flows, "prod", parse_model(InCluster, given), SparkSettings(None, "1536m", CONF))


def application(**asked: Any) -> Manifest:
    (application,) = [
        planned_object.manifest for planned_object in planned(**asked) if planned_object.kind == "SparkApplication"
    ]
    return application


def test_the_rendered_objects_match_the_golden_file() -> None:
    manifests = planned(imagePullSecret="registry", timeZone="Europe/Berlin", retries=2, executors={"cpu": "500m"})
    names = {planned_object.kind: planned_object.name for planned_object in manifests}
    text = yaml.safe_dump_all(
        [planned_object.manifest for planned_object in manifests if planned_object.kind in VALIDATION_KINDS],
        sort_keys=False,
    )
    for kind, shown in (("ConfigMap", "PARAMETERS"), ("SparkApplication", "APPLICATION")):
        text = text.replace(names[kind], shown)
    assert list(yaml.safe_load_all(text)) == list(yaml.safe_load_all(GOLDEN.read_text()))


def test_the_role_has_the_rules_of_a_job_with_executors() -> None:
    (role,) = [planned_object.manifest for planned_object in planned() if planned_object.kind == "Role"]
    assert role["rules"][-1] == RULE
    assert len(role["rules"]) == 3


def test_the_rendered_spark_version_is_that_of_the_pinned_pyspark() -> None:
    assert version("pyspark") == SPARK_VERSION


def test_the_job_accepts_every_rendered_argument() -> None:
    assert parser().parse_args(application()["spec"]["arguments"]).publish


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"executors": {"instances": 3}}, id="executors"),
        pytest.param({"image": IMAGE.replace("0", "1")}, id="image"),
        pytest.param({"deadlineSeconds": 60}, id="deadline"),
        pytest.param({"retries": 0}, id="retries"),
    ],
)
def test_a_change_makes_a_new_application_because_the_operator_runs_each_once(asked: dict[str, Any]) -> None:
    assert application(**asked)["metadata"]["name"] != application()["metadata"]["name"]
    assert {
        planned_object.name for planned_object in planned(**asked) if planned_object.kind == "ScheduledSparkApplication"
    } == {"orders-validation"}


def test_a_new_schedule_makes_no_new_application() -> None:
    assert application() == application(schedule="@daily")


@pytest.mark.parametrize(
    ("retries", "policy", "seconds"),
    [
        (0, {"type": "Never"}, 100),
        (
            2,
            {
                "type": "OnFailure",
                "onFailureRetries": 2,
                "onFailureRetryInterval": 10,
                "onSubmissionFailureRetries": 2,
                "onSubmissionFailureRetryInterval": 10,
            },
            # It waits 10 s before the second try and 20 s before the third.
            330,
        ),
    ],
)
def test_each_try_has_the_whole_deadline(retries: int, policy: dict[str, Any], seconds: int) -> None:
    asked = {"retries": retries, "deadlineSeconds": 100}
    spec = application(**asked)["spec"]
    assert spec["restartPolicy"] == policy
    assert spec["driver"]["template"]["spec"]["activeDeadlineSeconds"] == 100
    assert longest_seconds(parse_model(InCluster, {"image": IMAGE, **asked})) == seconds


@pytest.mark.parametrize(
    ("resources", "driver"),
    [
        ({}, {"coreRequest": "500m", "memoryOverhead": "512m"}),
        ({"limits": {"memory": "3G"}}, {"coreRequest": "500m", "memoryOverhead": "1325m"}),
        ({"limits": {"memory": "2Gi", "cpu": 2}}, {"coreRequest": "500m", "coreLimit": "2", "memoryOverhead": "512m"}),
        ({"requests": {}, "limits": {"memory": "2Gi", "cpu": "2"}}, {"coreRequest": "2", "coreLimit": "2"}),
        ({"requests": {}}, {"coreRequest": "0"}),
    ],
)
def test_heap_and_overhead_add_up_to_the_memory_limit(resources: dict[str, Any], driver: dict[str, str]) -> None:
    spec = application(resources=resources)["spec"]["driver"]
    assert {key: spec.get(key) for key in driver} == driver
    assert spec["memory"] == "1536m"
    assert "resources" not in spec["template"]["spec"]["containers"][0]


def test_other_resources_are_in_the_template() -> None:
    limits = {"memory": "2Gi", "ephemeral-storage": "1Gi"}
    (container,) = application(resources={"limits": limits})["spec"]["driver"]["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"ephemeral-storage": "1Gi"}}


def test_a_user_cannot_turn_off_the_settings_that_protect_logins() -> None:
    flows = resolve_flows(parse_topology(a_topology(a_flow())), None, {})
    asked = parse_model(InCluster, {"image": IMAGE, "workload": "SparkApplication", "executors": {}})
    spark = SparkSettings(conf={"spark.authenticate": "false", "spark.network.crypto.enabled": "false"})
    for planned_object in validation_objects(flows, "prod", asked, spark):
        if planned_object.kind in VALIDATION_KINDS:
            spec = planned_object.manifest["spec"]
            conf = spec.get("template", spec)["sparkConf"]
            assert conf["spark.authenticate"] == conf["spark.network.crypto.enabled"] == "true"
