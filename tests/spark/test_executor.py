"""The program that Spark starts in the pod of an executor."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_replication.components.render.job_pods import EXECUTOR_COMMAND
from kafka_replication.spark.executor import executor_command
from tests.repository import ROOT

pytestmark = pytest.mark.process

#: What Spark 4.2 sets in the pod of an executor, as seen on the local stack.
VARIABLES = {
    "JAVA_HOME": "/opt/java",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:40001",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.8",
    "SPARK_EXECUTOR_POD_NAME": "validation-exec-1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    **{f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number}" for number in range(11)},
}
SPARK_HOME = Path("/opt/spark")


def test_the_executor_command_is_built_from_the_variables() -> None:
    command = executor_command(VARIABLES, SPARK_HOME)
    assert command[0] == "/opt/java/bin/java"
    options = [each for each in command if each.startswith("-Dnumber")]
    assert options == [f"-Dnumber={number}" for number in range(11)], "in the order of their numbers"
    assert {"-Xms1024m", "-Xmx1024m"} <= set(command)
    assert command[command.index("-cp") + 1] == "/opt/spark/jars/*"
    backend = command.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert dict(zip(command[backend + 1 :: 2], command[backend + 2 :: 2], strict=True)) == {
        "--driver-url": "spark://CoarseGrainedScheduler@10.0.0.7:40001",
        "--executor-id": "1",
        "--cores": "2",
        "--app-id": "spark-application-1",
        "--hostname": "10.0.0.8",
        "--resourceProfileId": "0",
        "--podName": "validation-exec-1",
    }


def test_the_class_path_of_a_user_comes_after_that_of_spark() -> None:
    command = executor_command({**VARIABLES, "SPARK_CLASSPATH": "/extra.jar"}, SPARK_HOME)
    assert command[command.index("-cp") + 1] == "/opt/spark/jars/*:/extra.jar"


def test_without_java_home_java_is_found_on_the_path() -> None:
    variables = {name: value for name, value in VARIABLES.items() if name != "JAVA_HOME"}
    assert executor_command(variables, SPARK_HOME)[0] == "java"


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["driver"], VARIABLES, "with the one argument `executor`"),
        ([], VARIABLES, "with the one argument `executor`"),
        (["executor"], {}, "Spark did not set the variable 'SPARK_EXECUTOR_MEMORY'"),
        (
            ["executor"],
            {key: value for key, value in VARIABLES.items() if key != "SPARK_DRIVER_URL"},
            "Spark did not set the variable 'SPARK_DRIVER_URL'",
        ),
        (["executor"], VARIABLES, "/opt/java/bin/java: No such file or directory; set JAVA_HOME"),
    ],
)
def test_an_executor_that_cannot_start_says_why(arguments: list[str], variables: dict[str, str], message: str) -> None:
    """Kubernetes shows the reason in the status of the pod."""
    program = [sys.executable, *EXECUTOR_COMMAND[1:], *arguments]
    answer = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, env=variables)
    assert answer.returncode == 2
    assert message in answer.stderr


def test_an_executor_runs_in_its_home_because_the_image_is_read_only(tmp_path: Path) -> None:
    """Spark writes the jars that it gets from the driver into the current folder; in the image that is `/`."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\npwd\n")
    java.chmod(0o755)
    variables = {**VARIABLES, "JAVA_HOME": str(java.parents[1]), "HOME": str(tmp_path)}
    program = [sys.executable, *EXECUTOR_COMMAND[1:], "executor"]
    answer = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, env=variables, check=True)
    assert answer.stdout.strip() == str(tmp_path)
