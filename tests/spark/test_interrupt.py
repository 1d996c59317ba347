"""Ctrl-C while Spark works ends the job and its JVM, and prints nothing but the steps."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.repository import ROOT
from tests.spark.documents import a_cluster, a_document, a_flow_document

pytestmark = pytest.mark.process

_OPEN = {"securityProtocol": "PLAINTEXT", "trust": None, "authentication": None, "bootstrapServers": "127.0.0.1:1"}


def test_an_interrupted_job_prints_no_trace_and_leaves_no_jvm(tmp_path: Path, jars: Path) -> None:
    flow = a_flow_document(source=a_cluster("useast", **_OPEN), target=a_cluster("uswest", **_OPEN))
    parameters = tmp_path / "parameters.json"
    parameters.write_text(json.dumps(a_document(flow)))
    command: list[str | Path] = [
        sys.executable,
        ROOT / "spark" / "validate.py",
        "--parameters",
        parameters,
        "--master",
        "local[1]",
    ]
    variables = os.environ | {"JAVA_HOME": str(find_jdk().home), "REPLICATE_SPARK_JARS": str(jars)}
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if "asking" in line:
                break
        running = psutil.Process(process.pid).children(recursive=True)
        assert running, "\n".join(said)
        assert "WARNING:" not in "\n".join(said), "the JVM warns of modules that Spark's launcher chose"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert (process.returncode, rest) == (-signal.SIGINT, "")
    wait_for("the JVM to end", lambda: _expect_ended(running), deadline_seconds=30)


def _expect_ended(processes: list[psutil.Process]) -> None:
    if living := [each.pid for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]:
        raise NotYetError(f"{living} run")
