"""The job on a standalone Spark master with two workers: the verdict of `local[2]`, and no password anywhere."""

import json
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.infra.local.endpoints import Endpoints, Region
from tests.spark.documents import Json
from tests.spark.scenes import Scene, cluster_document, passwords
from tests.spark.standalone import Standalone, standalone
from tests.spark.submitting import SUBMIT, job_environment, pack, recipe_words, run_job, without_the_repository
from tests.spark.submitting import write_document as a_document
from tests.spark.uncompiled import WITHOUT_COMPILING, conf_words

pytestmark = pytest.mark.process

PAGE_SECONDS = 60
#: The keys of a report that depend on when the job ran and how long it took.
_OF_THE_RUN = {"checkedAt", "readSeconds", "newestSyncSeconds", "at", "provenAt", "seconds"}


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("standalone"), workers=2) as running:
        yield running


def by_certificate(region: Region) -> Json:
    """How the job reaches a region with mutual TLS: a certificate and a key, both by file."""
    keys = region.users["validator"].certificate
    return {
        "alias": region.alias,
        "bootstrapServers": region.tls_bootstrap_servers,
        "securityProtocol": "SSL",
        "trust": cluster_document(region)["trust"],
        "authentication": {
            "type": "tls",
            "certificate": {"file": str(keys.certificate)},
            "key": {"file": str(keys.key)},
        },
    }


def flows(endpoints: Endpoints) -> list[FlowParameters]:
    """A proven flow whose clients have certificates, and a flow with a missing, a changed and a late record."""
    proven = Scene(endpoints, "workers").replicate()
    proven.translate("workers-a", 45, 41)
    damaged = Scene(endpoints, "damaged").replicate()
    damaged.write(damaged.source, "damaged", 0, range(60, 80))
    damaged.write(damaged.target, damaged.remote("damaged"), 0, [*range(60, 70), 171, *range(72, 79)])
    damaged.sync("damaged", 0, (79, 77))
    by_key = {"source": by_certificate(proven.source), "target": by_certificate(proven.target)}
    return [proven.parameters(**by_key), damaged.parameters()]


def test_two_workers_find_the_same_as_one_process_and_no_password_is_shown(
    endpoints: Endpoints, jars: Path, master: Standalone, tmp_path: Path
) -> None:
    """The job runs from an empty folder, by the README's recipe. The workers have only Spark: no Kafka jar, no Python,
    no file of this project. The event log holds all that Spark's web pages show of the application and its
    environment."""
    folder, alone = pack(tmp_path), without_the_repository(job_environment(endpoints))
    given = flows(endpoints)
    a_document(folder, *given)
    (tmp_path / "events").mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{tmp_path}/events",
        "spark.pyspark.driver.python": alone["PYSPARK_PYTHON"],
        "spark.pyspark.python": "/nowhere/python",
        **WITHOUT_COMPILING,
    }
    reports, output = [], ""
    for where in ("local[2]", master.url):
        recipe = [*conf_words(settings), *recipe_words(jars), "--catch-up-seconds", "2"]
        answer = run_job([SUBMIT, "--master", where, *recipe], folder, alone)
        written = (folder / "report.json").read_text()
        output += answer.stdout + answer.stderr + written
        assert answer.returncode == 1, answer.stdout + answer.stderr
        reports.append(lasting(json.loads(written)["flows"]))
        (folder / "report.json").unlink()
    assert [verdict(flow) for flow in reports[0]] == ["pass", "fail"]
    assert reports[1] == reports[0]
    assert len(master.executors()) == 2
    shown = output + master.logs() + "".join(pages(master))
    shown += "".join(each.read_text(errors="replace") for each in (tmp_path / "events").rglob("*") if each.is_file())
    assert "SparkListenerEnvironmentUpdate" in shown
    assert "ssl.keystore.key" in shown, "Spark's own log of the readers' options is on"
    for secret in secrets(endpoints):
        assert secret not in shown


def secrets(endpoints: Endpoints) -> list[str]:
    """The passwords, and the first line of each private key."""
    keys = [region.users["validator"].certificate.key.read_text() for region in endpoints.regions.values()]
    return [*passwords(endpoints).values(), *(key.splitlines()[1] for key in keys)]


def pages(master: Standalone) -> list[str]:
    """What the master shows of itself and of its applications."""
    with urllib.request.urlopen(f"{master.pages}/json/", timeout=PAGE_SECONDS) as answer:
        found = answer.read().decode()
    ids = [each["id"] for each in json.loads(found)["completedapps"]]
    assert ids
    for each in (f"app/?appId={ids[0]}", "environment"):
        with urllib.request.urlopen(f"{master.pages}/{each}", timeout=PAGE_SECONDS) as answer:
            found += answer.read().decode()
    return [found]


def verdict(flow: Mapping[str, Any]) -> str:
    return str(flow["verdict"])


def lasting(value: Any) -> Any:
    """The report without what differs between any two runs."""
    if isinstance(value, dict):
        return {key: lasting(each) for key, each in value.items() if key not in _OF_THE_RUN}
    return [lasting(each) for each in value] if isinstance(value, list) else value
