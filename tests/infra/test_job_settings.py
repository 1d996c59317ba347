"""`replication:validation` of a stack file, and the options that override it: where the validation job runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from components.contract.problems import ReplicationError
from components.contract.spark_conf import SparkSettings
from infra.commands.app import app
from infra.stack.settings import StackSettings, read_settings
from infra.stack.stack_checks import problems
from infra.stack.validation_job import spark_problems, spark_settings
from infra.validate.run import ValidationRun, run_validation
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


def settings(tmp_path: Path, validation: Any) -> StackSettings:
    return read_settings("test", write_stack(tmp_path, a_topology(a_flow()), validation=validation))


def test_the_job_gets_the_spark_settings_of_the_stack_file(tmp_path: Path) -> None:
    read = settings(tmp_path, CLUSTER)
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
        replace(settings(tmp_path, {"spark": {"master": "here"}})), tmp_path / "report.json", declared=True
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
