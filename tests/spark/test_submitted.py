"""The job as a user starts it: a process of its own, by spark-submit or by Python."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from kubernetes import client, config

from infra.local.endpoints import Endpoints
from infra.local.jdk import find_jdk
from tests.spark.scenes import Scene, passwords

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "spark" / "validate.py"
SCHEMA = json.loads((ROOT / "spark" / "report.schema.json").read_text())
NAMESPACE = "submitted-tests"
CALL_SECONDS = 20
#: Ends a job that hangs; none takes so long, on however busy a machine.
HANGING_SECONDS = 3600


@pytest.fixture
def environment(endpoints: Endpoints) -> Mapping[str, str]:
    """As the caller of the job sets it: a JDK, the variables that hold passwords, and this Python."""
    java = {"JAVA_HOME": str(find_jdk().home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **java, **passwords(endpoints)}


def a_document(scene: Scene, folder: Path) -> Path:
    flow = scene.parameters(namespace=NAMESPACE).model_dump(mode="json", by_alias=True, exclude_none=True)
    path = folder / "parameters.json"
    path.write_text(json.dumps({"schemaVersion": 1, "stack": "tests", "flows": [flow]}))
    return path


def run_job(
    command: Sequence[object], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    words = list(map(str, command))
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=HANGING_SECONDS, cwd=folder, env=dict(environment)
    )


def test_spark_submit_alone_proves_a_flow_and_shows_no_password(
    endpoints: Endpoints, environment: Mapping[str, str], jars: Path, tmp_path: Path
) -> None:
    """Spark's own logging is on here: it prints every client's configuration."""
    scene = Scene(endpoints, "submitted").replicate()
    scene.translate("submitted-a", 45, 41)
    report = tmp_path / "report.json"
    submit = Path(sys.executable).parent / "spark-submit"
    command = [
        submit, "--master", "local[2]", "--jars", ",".join(str(jar) for jar in sorted(jars.glob("*.jar"))),
        JOB, "--parameters", a_document(scene, tmp_path), "--report", report,
    ]  # fmt: skip
    answer = run_job(command, tmp_path, environment)
    assert answer.returncode == 0, answer.stdout
    written = report.read_text()
    Draft202012Validator(SCHEMA).validate(json.loads(written))
    assert "offsets-translate" in answer.stdout
    for password in passwords(endpoints).values():
        assert password not in answer.stdout + answer.stderr + written


def test_a_found_problem_ends_with_one_and_is_published_as_a_failure(
    endpoints: Endpoints, environment: Mapping[str, str], jars: Path, tmp_path: Path
) -> None:
    scene = Scene(endpoints, "injured").replicate()
    scene.translate("injured-a", 45, 41)
    scene.write(scene.target, scene.remote("injured"), 1, [777])
    api = config.new_client_from_config(str(endpoints.kubeconfig))  # type: ignore[no-untyped-call]
    core = client.CoreV1Api(api)
    named = client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE))
    core.create_namespace(named, _request_timeout=CALL_SECONDS)
    command = [
        sys.executable, JOB, "--parameters", a_document(scene, tmp_path), "--json", "--publish",
        "--kubeconfig", endpoints.kubeconfig, "--jars-dir", jars, "--master", "local[2]", "--catch-up-seconds", "2",
    ]  # fmt: skip
    answer = run_job(command, tmp_path, environment)
    assert answer.returncode == 1, answer.stderr
    (flow,) = json.loads(answer.stdout)["flows"]
    codes = {finding["code"] for check in flow["checks"] for finding in check["findings"]}
    assert codes == {"extra-records"}
    published = core.read_namespaced_config_map("injured-validation", NAMESPACE, _request_timeout=CALL_SECONDS).data
    core.delete_namespace(NAMESPACE, _request_timeout=CALL_SECONDS)
    assert published is not None
    assert (published["verdict"], published["digest"]) == ("fail", "sha256:0f")
