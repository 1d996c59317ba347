"""The image of the job: its Dockerfile installs all that the job needs, pinned as everywhere else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from kafka_replication.components.render.job_pods import COMMAND, EXECUTOR_COMMAND, EXPORTER_COMMAND
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.toolchain import SPARK, ensure_jars
from tests import job_image
from tests.repository import ROOT

pytestmark = pytest.mark.process

DOCKERFILE = (ROOT / "spark" / "Dockerfile").read_text()


def test_the_requirements_of_the_image_are_up_to_date() -> None:
    assert job_image.REQUIREMENTS.read_text() == job_image.requirements(), "run `make lock`"


def test_the_job_imports_nothing_that_the_image_lacks(tmp_path: Path) -> None:
    """The image installs only the distributions in its requirements."""
    modules = ", ".join(f"kafka_replication.spark.{name}" for name in ("validate", "command_line", "report.page"))
    program = f"import sys, {modules}; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path)},
    )
    loaded = {name.removeprefix("kafka_replication.").partition(".")[0] for name in answer.stdout.split()}
    assert not loaded & {"infra", "pulumi", "typer", "httpx", "psutil", "cryptography", "grpc"}


def test_the_jars_have_the_checksums_that_the_image_verifies() -> None:
    folder = ensure_jars(SPARK, find_jdk(), Console(quiet=True))
    assert job_image.JARS.read_text() == "".join(job_image.sums(folder.glob("*.jar")))


def test_the_image_starts_the_same_commands_as_the_pods() -> None:
    assert " ".join(COMMAND) in DOCKERFILE
    assert " ".join(EXECUTOR_COMMAND) in DOCKERFILE
    assert " ".join(EXPORTER_COMMAND) in DOCKERFILE
    assert re.search(r"^USER [1-9][0-9]*$", DOCKERFILE, re.MULTILINE), "Kubernetes cannot see that a name is not root"


def test_the_job_can_be_run_as_a_command() -> None:
    answer = subprocess.run(
        [sys.executable, *COMMAND[1:], "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--secrets DIR" in answer.stdout
