"""Where the validation job runs: on this machine, on a Spark master, or in the stack's cluster."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import Problem, ReplicationError
from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from kafka_replication.infra.stack.stack_checks import problems
from kafka_replication.infra.stack.validation_job import (
    NAMED,
    in_cluster,
    spark_of_the_job,
    spark_problems,
    spark_settings,
    stack_validation,
    why_no_schedule,
)
from kafka_replication.infra.validate.run import ValidationRun, run_validation
from tests.builders import a_flow, a_topology
from tests.infra.stacks import write_stack
from tests.repository import STACKS

CLUSTER = {
    "spark": {
        "master": "spark://spark.example.com:7077",
        "driverMemory": "4g",
        "conf": {"spark.sql.shuffle.partitions": 400, "spark.eventLog.enabled": False},
    }
}


def settings_of_spark(tmp_path: Path, validation: Any) -> StackSettings:
    return read_settings("test", write_stack(tmp_path, a_topology(a_flow()), validation=validation))


def test_the_job_gets_the_spark_settings_of_the_stack_file(tmp_path: Path) -> None:
    read = settings_of_spark(tmp_path, CLUSTER)
    assert problems(read) == []
    assert sorted(ValidationRun(read, Path("report.json")).arguments[3:]) == [
        "--depth",
        "--driver-memory=4g",
        "--master=spark://spark.example.com:7077",
        "--spark-conf=spark.eventLog.enabled=false",
        "--spark-conf=spark.sql.shuffle.partitions=400",
        "full",
    ]


def test_an_option_overrides_the_stack_file_key_by_key() -> None:
    given = SparkSettings("local[4]", None, {"spark.sql.shuffle.partitions": "8"})
    assert given.over(spark_settings(CLUSTER)) == SparkSettings(
        "local[4]", "4g", {"spark.sql.shuffle.partitions": "8", "spark.eventLog.enabled": "false"}
    )


def test_without_spark_settings_the_job_gets_no_arguments() -> None:
    assert spark_settings(None).arguments == spark_settings({"spark": None}).arguments == []


@pytest.mark.parametrize(
    ("validation", "where", "what"),
    [
        pytest.param("local[*]", "", "`local[*]` is not a mapping", id="not-a-mapping"),
        pytest.param({"secure": "v1:abc"}, ".secure", "`secure` is not a key here", id="encrypted"),
        pytest.param({"spark": "local[*]"}, ".spark", "`local[*]` is not a mapping", id="spark-is-not-a-mapping"),
        pytest.param({"spark": {"memory": "4g"}}, ".spark.memory", "`memory` is not a key here", id="unknown-key"),
        pytest.param(
            {"spark": {"master": "spark.example.com"}},
            ".spark.master",
            "`spark.example.com` is not a value of `master`: Spark knows `local[N]`, `spark://HOST:PORT`, "
            "`k8s://HOST:PORT` and `yarn`",
            id="unknown-master",
        ),
        pytest.param(
            {"spark": {"driverMemory": 4}},
            ".spark.driverMemory",
            "`4` is not a value of `driverMemory`: it must be text",
            id="not-text",
        ),
        pytest.param(
            {"spark": {"driverMemory": "4096"}},
            ".spark.driverMemory",
            "`4096` is not a value of `driverMemory`: it is a number with its unit, such as `512m` or `4g`",
            id="no-unit",
        ),
        pytest.param({"spark": {"conf": ["a"]}}, ".spark.conf", "`['a']` is not a mapping", id="conf-is-not-a-mapping"),
        pytest.param(
            {"spark": {"conf": {"executor.memory": "4g"}}},
            ".spark.conf",
            "`executor.memory` cannot be set: Spark ignores a key that does not begin with `spark.`",
            id="not-a-spark-key",
        ),
        pytest.param(
            {"spark": {"conf": {"spark.redaction.regex": "x"}}},
            ".spark.conf",
            "`spark.redaction.regex` cannot be set: the job sets it itself",
            id="set-by-the-job",
        ),
        pytest.param(
            {"spark": {"conf": {"spark.a": {"secure": "v1:abc"}}}},
            ".spark.conf",
            "the value of `spark.a` is neither text nor a number",
            id="encrypted-value",
        ),
    ],
)
def test_a_setting_that_the_job_cannot_use_is_reported_at_its_key(validation: Any, where: str, what: str) -> None:
    (problem,) = spark_problems(validation)
    assert (problem.where, problem.what) == (f"config.replication:validation{where}", what)


def test_a_validation_with_an_invalid_spark_setting_does_not_start(tmp_path: Path) -> None:
    run = ValidationRun(
        replace(settings_of_spark(tmp_path, {"spark": {"master": "here"}})), tmp_path / "report.json", declared=True
    )
    with pytest.raises(ReplicationError, match=r"Pulumi\.test\.yaml:\d+:\d+: bad-spark-setting: `here` is not a value"):
        run_validation(run, Console())


@pytest.mark.parametrize("command", [("validate", "prod-us-west-2"), ("promote",)], ids=["validate", "promote"])
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--master", "here", "Spark knows"),
        ("--driver-memory", "4", "with its unit"),
        ("--spark-conf", "spark.a", "KEY=VALUE"),
        ("--spark-conf", "spark.master=local", "use `--master`"),
    ],
)
def test_an_option_that_the_job_cannot_use_is_refused(
    command: tuple[str, ...], option: str, value: str, said: str
) -> None:
    answer = CliRunner().invoke(app, [*command, "--stacks", str(STACKS), option, value])
    assert answer.exit_code == 2
    assert said in " ".join(answer.output.replace("│", " ").split())


def test_the_remedy_for_an_unknown_key_names_the_right_key() -> None:
    """The user may have meant `inCluster`, which the keys of `spark` do not mention."""
    (problem,) = spark_problems({"incluster": {}})
    assert problem.remedy == "did you mean `inCluster`?"
    (problem,) = spark_problems({"somewhere": {}})
    assert problem.remedy == "write `spark: {…}`, `inCluster: {image: NAME@sha256:DIGEST}`, or both."


@pytest.mark.parametrize(
    "schedule",
    [
        *NAMED,
        "@every 1h30m",
        "17 */6 * * *",
        "0 1 1,15 jan-MAR mon-fri",
        "5/10 0-23/2 ? * 0",
        "59 23 31 12 6",
        "0,,1 * * * *",
    ],
)
def test_a_schedule_that_kubernetes_accepts_is_accepted(schedule: str) -> None:
    assert why_no_schedule(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("daily", "it has 1 fields instead of five"),
        ("@dayly", "the named schedules are"),
        ("@every", "the named schedules are"),
        ("0 17 */6 * * *", "it has 6 fields instead of five: minute, hour,"),
        ("TZ=UTC 0 1 * * *", "the time zone has its own key"),
        ("60 * * * *", "`60` is not a valid minute: values are 0 to 59"),
        ("0 24 * * *", "`24` is not a valid hour: values are 0 to 23"),
        ("0 0 0 * *", "`0` is not a valid day of the month: values are 1 to 31"),
        ("0 0 * 13 *", "`13` is not a valid month: values are 1 to 12, or names of three letters"),
        ("0 0 * * 7", "`7` is not a valid day of the week: values are 0 to 6, or names of three letters"),
        ("0 0 * * monday", "`monday` is not a valid day of the week"),
        ("0 5-1 * * *", "`5-1` is not a valid hour: the range ends before it begins"),
        ("*/0 * * * *", "`*/0` is not a valid minute: a step must be a whole number from 1"),
        ("*/1.5 * * * *", "`*/1.5` is not a valid minute: a step must be a whole number from 1"),
        ("0 0 - * *", "`-` is not a valid day of the month: `-` is neither a value nor a range"),
        ("0 0 L * *", "`L` is not a valid day of the month"),
    ],
)
def test_a_schedule_that_kubernetes_refuses_is_refused_with_the_reason(schedule: str, why: str) -> None:
    assert (why_no_schedule(schedule) or "").startswith(why)


APPLICATION = "SparkApplication"
IMAGE = f"registry.example.com:5000/team/validation:1.0@sha256:{'0' * 64}"


def settings(folder: Path, spark: Any = None, **asked: Any) -> StackSettings:
    validation = {"inCluster": {"image": IMAGE, **asked}} | ({"spark": spark} if spark else {})
    return read_settings("test", write_stack(folder, a_topology(a_flow()), validation=validation))


def found(folder: Path, asked: Any) -> list[Problem]:
    validation = {"inCluster": asked}
    return problems(read_settings("test", write_stack(folder, a_topology(a_flow()), validation=validation)))


def test_an_image_with_a_digest_is_the_only_required_key(tmp_path: Path) -> None:
    assert problems(settings(tmp_path)) == []


@pytest.mark.parametrize("executors", [{}, {"instances": 8, "cores": 4, "memory": "512m", "cpu": "500m"}])
def test_executors_have_defaults(tmp_path: Path, executors: dict[str, Any]) -> None:
    assert problems(settings(tmp_path, executors=executors)) == []


def test_without_in_cluster_no_validation_job_is_rendered(tmp_path: Path) -> None:
    read = read_settings("test", write_stack(tmp_path, a_topology(a_flow()), validation={"spark": {"master": "yarn"}}))
    assert in_cluster(read.validation) is None
    assert stack_validation(read, OpenStack(read).flows) == ()


def test_the_job_in_the_cluster_ignores_the_master_of_the_stack_file() -> None:
    validation = {"spark": {"master": "spark://a:7077", "driverMemory": "1g", "conf": {"spark.a": 1}}}
    assert spark_of_the_job(validation).arguments == ["--driver-memory=1g", "--spark-conf=spark.a=1"]


@pytest.mark.parametrize(
    ("asked", "where", "code"),
    [
        pytest.param("image", "", "wrong-type", id="not-a-mapping"),
        pytest.param(None, "", "wrong-type", id="empty"),
        pytest.param({}, ".image", "missing-key", id="no-image"),
        pytest.param({"image": "validation"}, ".image", "image-without-digest", id="a-name"),
        pytest.param({"image": "validation:1.0"}, ".image", "image-without-digest", id="a-tag"),
        pytest.param({"image": "validation@sha256:0000"}, ".image", "image-without-digest", id="half-a-digest"),
        pytest.param({"image": 7}, ".image", "wrong-type", id="a-number"),
        pytest.param({"image": IMAGE, "shedule": "@daily"}, ".shedule", "unknown-key", id="misspelt"),
        pytest.param({"image": IMAGE, "schedule": "daily"}, ".schedule", "not-accepted", id="not-a-schedule"),
        pytest.param({"image": IMAGE, "schedule": "0 0 * *"}, ".schedule", "not-accepted", id="four-fields"),
        pytest.param({"image": IMAGE, "schedule": "61 * * * *"}, ".schedule", "not-accepted", id="minute-61"),
        pytest.param({"image": IMAGE, "timeZone": "Europe/Belin"}, ".timeZone", "not-accepted", id="unknown-time-zone"),
        pytest.param({"image": IMAGE, "timeZone": "CEST"}, ".timeZone", "not-accepted", id="an-abbreviation"),
        pytest.param(
            {"image": IMAGE, "deadlineSeconds": 600}, ".deadlineSeconds", "deadline-before-verdict", id="short-deadline"
        ),
        pytest.param(
            {"image": IMAGE, "resources": {"requests": {"memory": "3G"}, "limits": {"memory": "2G"}}},
            ".resources.requests.memory",
            "request-exceeds-limit",
            id="request-over-limit",
        ),
        pytest.param(
            {"image": IMAGE, "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}},
            ".resources.requests.cpu",
            "request-exceeds-limit",
            id="cores-over-limit",
        ),
        pytest.param(
            {"image": IMAGE, "resources": {"requests": {"memory": "3Gi"}}},
            ".resources.requests.memory",
            "request-exceeds-limit",
            id="request-over-the-default-limit",
        ),
        pytest.param({"image": IMAGE, "deadlineSeconds": 0}, ".deadlineSeconds", "out-of-range", id="zero-deadline"),
        pytest.param({"image": IMAGE, "retries": -1}, ".retries", "out-of-range", id="negative"),
        pytest.param({"image": IMAGE, "retries": True}, ".retries", "wrong-type", id="a-boolean"),
        pytest.param(
            {"image": IMAGE, "resources": {"limits": {"memory": "2 GB"}}},
            ".resources.limits.memory",
            "not-accepted",
            id="not-a-quantity",
        ),
        *(
            pytest.param({"image": IMAGE, "executors": asked}, f".executors{where}", code, id=f"executors-{name}")
            for name, asked, where, code in (
                ("none", {"instances": 0}, ".instances", "out-of-range"),
                ("half-a-core", {"cores": 0.5}, ".cores", "wrong-type"),
                ("memory-in-kubernetes-units", {"memory": "1Gi"}, ".memory", "not-accepted"),
                ("memory-without-unit", {"memory": 1073741824}, ".memory", "not-accepted"),
                ("memory-below-sparks-minimum", {"memory": "511m"}, ".memory", "out-of-range"),
                ("cpu-with-words", {"cpu": "2 cores"}, ".cpu", "not-accepted"),
                ("misspelt", {"instance": 2}, ".instance", "unknown-key"),
                ("a-number", 2, "", "wrong-type"),
            )
        ),
        pytest.param({"image": IMAGE, "workload": "CronJob"}, ".workload", "not-accepted", id="unknown-workload"),
        pytest.param(
            {"image": IMAGE, "workload": APPLICATION}, ".executors", "missing-key", id="application-without-executors"
        ),
        pytest.param(
            {"image": IMAGE, "workload": APPLICATION, "executors": {}, "resources": {"limits": {"cpu": 2}}},
            ".resources.limits",
            "missing-key",
            id="application-without-limit",
        ),
        pytest.param(
            {"image": IMAGE, "workload": APPLICATION, "executors": {}, "resources": {"requests": {"memory": "1Gi"}}},
            ".resources.requests.memory",
            "not-accepted",
            id="application-below-its-limit",
        ),
        pytest.param(
            {"image": IMAGE, "workload": APPLICATION, "executors": {}, "resources": {"requests": {"memory": "3Gi"}}},
            ".resources.requests.memory",
            "not-accepted",
            id="application-above-its-limit",
        ),
        pytest.param(
            {"image": IMAGE, "imagePullSecret": "Not_A_Name"},
            ".imagePullSecret",
            "not-accepted",
            id="not-a-secret-name",
        ),
    ],
)
def test_a_mistake_in_in_cluster_is_reported_at_its_key(tmp_path: Path, asked: Any, where: str, code: str) -> None:
    (problem,) = found(tmp_path, asked)
    assert (problem.where, problem.code) == (f"config.replication:validation.inCluster{where}", code)


@pytest.mark.parametrize(
    ("heap", "limit", "fits"),
    [
        (None, "1408Mi", True),
        (None, "1407Mi", False),
        ("1536m", "2Gi", True),
        ("2g", "2Gi", False),
        ("2G", "3e9", True),
        ("2gb", "2500M", False),
        ("2g", "2550136832", True),
        ("2g", "2550136832000m", True),
        ("2g", "2550136831", False),
    ],
)
def test_a_heap_that_does_not_fit_into_the_memory_limit_is_reported(
    tmp_path: Path, heap: str | None, limit: str, fits: bool
) -> None:
    """Otherwise the kernel kills each run, and the Job reports only BackoffLimitExceeded."""
    spark = {"driverMemory": heap} if heap else None
    resources = {"requests": {}, "limits": {"memory": limit}}
    codes = [each.code for each in problems(settings(tmp_path, spark, resources=resources))]
    assert codes == ([] if fits else ["job-exceeds-its-memory"])


def test_without_a_limit_any_heap_fits(tmp_path: Path) -> None:
    assert problems(settings(tmp_path, {"driverMemory": "64g"}, resources={"limits": {}})) == []


@pytest.mark.parametrize("spark", ["local[*]", {"driverMemory": 4}, {"driverMemory": "lots"}, {"conf": ["spark.a"]}])
def test_an_invalid_spark_setting_is_reported_once(tmp_path: Path, spark: Any) -> None:
    assert [each.code for each in problems(settings(tmp_path, spark, executors={}))] == ["bad-spark-setting"]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("spark.executor.instances", "remove it; use `inCluster.executors.instances`."),
        ("spark.executor.cores", "remove it; use `inCluster.executors.cores`."),
        ("spark.executor.memory", "remove it; use `inCluster.executors.memory`."),
        ("spark.kubernetes.executor.request.cores", "remove it; use `inCluster.executors.cpu`."),
        ("spark.kubernetes.container.image", "remove it; use `inCluster.image`."),
        ("spark.kubernetes.namespace", "remove it: the job sets it itself."),
        ("spark.authenticate", "remove it: the job sets it itself."),
    ],
)
def test_a_setting_that_executors_replace_is_a_problem(tmp_path: Path, key: str, remedy: str) -> None:
    spark = {"conf": {key: "7", "spark.kubernetes.node.selector.pool": "batch"}}
    (problem,) = problems(settings(tmp_path, spark, executors={"cpu": "500m"}))
    assert (problem.where, problem.code) == ("config.replication:validation.spark.conf", "bad-spark-setting")
    assert problem.what == f"`{key}` is `7`, and `inCluster.executors` replaces it"
    assert problem.remedy == remedy


def test_an_executor_setting_is_accepted_unless_in_cluster_executors_replaces_it(tmp_path: Path) -> None:
    assert problems(settings(tmp_path, {"conf": {"spark.executor.memory": "4g"}})) == []
    spark = {"conf": {"spark.kubernetes.executor.request.cores": "500m"}}
    assert problems(settings(tmp_path, spark, executors={})) == []


@pytest.mark.parametrize("limit", ["1800Mi", "3Gi"])
def test_a_spark_application_may_leave_out_its_memory_request(tmp_path: Path, limit: str) -> None:
    """The request then equals the limit, because Spark has one size for both."""
    asked = {"workload": APPLICATION, "executors": {}, "resources": {"limits": {"memory": limit}}}
    assert problems(settings(tmp_path, **asked)) == []


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({}, "Kubernetes refuses the CronJob: "),
        ({"workload": APPLICATION, "executors": {}}, "The Spark operator never runs the ScheduledSparkApplication: "),
    ],
)
def test_an_invalid_schedule_or_time_zone_is_reported_with_its_consequence(
    tmp_path: Path, asked: dict[str, Any], refusal: str
) -> None:
    found = problems(settings(tmp_path, schedule="x", timeZone="Mars/Base", **asked))
    assert [each.why.startswith(refusal) for each in found] == [True, True]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("spark.executor.memory", "remove it; use `inCluster.executors.memory`."),
        ("spark.driver.memoryOverhead", "remove it; use `inCluster.resources.limits.memory`."),
        ("spark.kubernetes.driver.request.cores", "remove it; use `inCluster.resources.requests.cpu`."),
        ("spark.kubernetes.executor.container.image", "remove it; use `inCluster.image`."),
        ("spark.kubernetes.authenticate.driver.serviceAccountName", "remove it: the job sets it itself."),
        ("spark.kubernetes.authenticate.oauthToken", "remove it: the job sets it itself."),
        ("spark.kubernetes.driver.master", "remove it: the job sets it itself."),
        ("spark.kubernetes.driver.podTemplateFile", "remove it: the job sets it itself."),
        ("spark.kubernetes.submitInDriver", "remove it: the job sets it itself."),
        ("spark.submit.pyFiles", "remove it: the job sets it itself."),
        ("spark.driver.host", "remove it: the job sets it itself."),
    ],
)
def test_a_setting_that_an_application_replaces_is_a_problem(tmp_path: Path, key: str, remedy: str) -> None:
    """The operator's webhook would refuse some of these settings in the middle of a deployment."""
    spark = {"conf": {key: "7", "spark.kubernetes.node.selector.pool": "batch"}}
    (problem,) = problems(settings(tmp_path, spark, workload=APPLICATION, executors={}))
    assert (problem.code, problem.remedy) == ("bad-spark-setting", remedy)


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("o" * 32, []),
        ("o" * 33, ["job-name-too-long"]),
        ("7-orders", ["not-accepted"]),
    ],
)
def test_a_flow_name_that_the_spark_operator_cannot_use_for_a_run_is_reported(
    tmp_path: Path, name: str, codes: list[str]
) -> None:
    """The operator appends 20 characters, uses the name as a label, and names a Service after it."""
    validation = {"inCluster": {"image": IMAGE, "workload": APPLICATION, "executors": {}}}
    topology = a_topology(replications={name: a_flow()})
    found = problems(read_settings("test", write_stack(tmp_path, topology, validation=validation)))
    assert [each.code for each in found] == codes
