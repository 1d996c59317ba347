"""The job as a user starts it: by spark-submit in a process of its own, and by its command line."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from kubernetes import client, config
from pyspark.sql import SparkSession

from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.command_line import entry
from tests.repository import ROOT
from tests.spark.scenes import Scene, passwords
from tests.spark.submitting import (
    SUBMIT,
    job_environment,
    pack,
    recipe_words,
    run_job,
    without_the_repository,
    write_document,
)
from tests.spark.uncompiled import WITHOUT_COMPILING, conf_words

pytestmark = pytest.mark.process

SCHEMA = json.loads((ROOT / "spark" / "report" / "schema.json").read_text())
NAMESPACE = "submitted-tests"
CALL_SECONDS = 60


@pytest.fixture
def environment(endpoints: Endpoints) -> Mapping[str, str]:
    return job_environment(endpoints)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that contains only the zip of the README's recipe and a copy of the entry point."""
    return pack(tmp_path)


def a_document(scene: Scene, folder: Path) -> Path:
    return write_document(folder, scene.parameters(namespace=NAMESPACE))


def test_spark_submit_proves_a_flow_in_an_empty_folder_and_shows_no_password(
    endpoints: Endpoints, environment: Mapping[str, str], jars: Path, elsewhere: Path
) -> None:
    """Nothing of the repository is on the path. Spark's own logging is on: it prints every client's configuration."""
    alone = without_the_repository(environment)
    assert run_job([alone["PYSPARK_PYTHON"], "-c", "import spark"], elsewhere, alone).returncode != 0
    scene = Scene(endpoints, "submitted").replicate()
    scene.translate("submitted-a", 45, 41)
    a_document(scene, elsewhere)
    words = [*conf_words(WITHOUT_COMPILING), *recipe_words(jars)]
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
    """Runs in the tests' own session, because a JVM takes longer to start than the job takes to run."""
    assert spark
    scene = Scene(endpoints, "injured").replicate()
    scene.translate("injured-a", 45, 41)
    scene.write(scene.target, scene.remote("injured"), 1, [777])
    api = config.new_client_from_config(str(endpoints.kubeconfig))  # type: ignore[no-untyped-call]
    core = client.CoreV1Api(api)
    namespace = client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE))
    core.create_namespace(namespace, _request_timeout=CALL_SECONDS)
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
