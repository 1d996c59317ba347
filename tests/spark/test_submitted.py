"""The job as a user starts it: by spark-submit in a process of its own, and by its command line."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pyspark
import pytest
from jsonschema import Draft202012Validator
from kubernetes import client, config
from pyspark.sql import SparkSession

from infra.local.endpoints import Endpoints
from infra.machine.jdk import find_jdk
from spark.command_line import entry
from tests.spark.scenes import Scene, passwords

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "spark" / "validate.py"
SCHEMA = json.loads((ROOT / "spark" / "report" / "schema.json").read_text())
README = (ROOT / "spark" / "README.md").read_text()
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
#: What the job needs beside Python and what lies in the zip.
NEEDED = ("pyspark", "pydantic", "rich", "kubernetes")
NAMESPACE = "submitted-tests"
CALL_SECONDS = 60
#: Ends a job that hangs; none takes so long, on however busy a machine.
HANGING_SECONDS = 3600


@pytest.fixture
def environment(endpoints: Endpoints) -> Mapping[str, str]:
    """What the caller of the job sets: a JDK, the variables that hold passwords, and this Python."""
    java = {"JAVA_HOME": str(find_jdk().home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **java, **passwords(endpoints)}


def a_document(scene: Scene, folder: Path) -> Path:
    flow = scene.parameters(namespace=NAMESPACE).model_dump(mode="json", by_alias=True, exclude_none=True)
    path = folder / "params.json"
    path.write_text(json.dumps({"schemaVersion": 1, "stack": "tests", "flows": [flow]}))
    return path


def run_job(
    command: Sequence[object], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    words = list(map(str, command))
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=HANGING_SECONDS, cwd=folder, env=dict(environment)
    )


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that contains only the zip of the README's recipe and a copy of the entry point."""
    recipe = next(line for line in README.splitlines() if line.startswith("$ git archive"))
    packed = recipe.split(" HEAD ")[1].split()
    with zipfile.ZipFile(tmp_path / "replication-job.zip", "w") as archive:
        for source in (path for each in packed for path in [ROOT / each, *(ROOT / each).rglob("*")]):
            if source.is_file() and "__pycache__" not in source.parts:
                archive.write(source, source.relative_to(ROOT))
    shutil.copy(JOB, tmp_path)
    return tmp_path


def without_the_repository(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with a Python that has what pip installed, but nothing of this repository."""
    packages = {str(Path(str(spec.origin)).parents[1]) for name in NEEDED if (spec := find_spec(name))}
    python = {"PYSPARK_PYTHON": str(Path(sys.executable).resolve()), "PYTHONPATH": os.pathsep.join(sorted(packages))}
    return {**environment, **python}


def test_spark_submit_proves_a_flow_in_an_empty_folder_and_shows_no_password(
    endpoints: Endpoints, environment: Mapping[str, str], jars: Path, elsewhere: Path
) -> None:
    """Nothing of the repository is on the path. Spark's own logging is on: it prints every client's configuration."""
    alone = without_the_repository(environment)
    assert run_job([alone["PYSPARK_PYTHON"], "-c", "import spark"], elsewhere, alone).returncode != 0
    scene = Scene(endpoints, "submitted").replicate()
    scene.translate("submitted-a", 45, 41)
    a_document(scene, elsewhere)
    recipe = next(line for line in README.splitlines() if line.startswith("$ spark-submit"))
    _, _, *words = recipe.replace("JARS", ",".join(str(jar) for jar in sorted(jars.glob("*.jar")))).split()
    answer = run_job([SUBMIT, "--master", "local[2]", *words], elsewhere, alone)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    written = (elsewhere / "report.json").read_text()
    Draft202012Validator(SCHEMA).validate(json.loads(written))
    assert "offsets-translate" in answer.stdout
    for password in passwords(endpoints).values():
        assert password not in answer.stdout + answer.stderr + written


def test_a_problem_exits_with_one_and_is_published_as_a_failure(
    spark: SparkSession,
    endpoints: Endpoints,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the tests' own session, because a JVM takes longer to start than the job runs."""
    assert spark
    scene = Scene(endpoints, "injured").replicate()
    scene.translate("injured-a", 45, 41)
    scene.write(scene.target, scene.remote("injured"), 1, [777])
    api = config.new_client_from_config(str(endpoints.kubeconfig))  # type: ignore[no-untyped-call]
    core = client.CoreV1Api(api)
    named = client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE))
    core.create_namespace(named, _request_timeout=CALL_SECONDS)
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    arguments = ["--parameters", a_document(scene, tmp_path), "--json", "--publish"]
    code = entry([*map(str, arguments), "--kubeconfig", str(endpoints.kubeconfig), "--catch-up-seconds", "2"])
    printed = capsys.readouterr()
    assert code == 1, printed.err
    (flow,) = json.loads(printed.out)["flows"]
    codes = {finding["code"] for check in flow["checks"] for finding in check["findings"]}
    assert codes == {"extra-records"}
    published = core.read_namespaced_config_map("injured-validation", NAMESPACE, _request_timeout=CALL_SECONDS).data
    core.delete_namespace(NAMESPACE, _request_timeout=CALL_SECONDS)
    assert published is not None
    assert (published["verdict"], published["digest"]) == ("fail", "sha256:0f")
