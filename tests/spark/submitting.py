"""Runs the job as a user does who has only the zip from the README's recipe."""

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

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.paths import TOP
from tests.repository import ROOT
from tests.spark.scenes import passwords

JOB = ROOT / "spark" / "validate.py"
README = (ROOT / "infra" / "validate" / "README.md").read_text()
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
#: The packages that the job needs besides those in the zip.
NEEDED = ("pyspark", "pydantic", "rich", "kubernetes")
#: Ends a job that hangs; no job takes this long, even on a busy machine.
HANGING_SECONDS = 900


def job_environment(endpoints: Endpoints) -> Mapping[str, str]:
    """What the caller of the job sets: a JDK, the variables that hold passwords, and this Python."""
    java = {"JAVA_HOME": str(find_jdk().home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **java, **passwords(endpoints)}


def without_the_repository(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with a Python that has what pip installed, but nothing of this repository."""
    packages = {str(Path(str(spec.origin)).parents[1]) for name in NEEDED if (spec := find_spec(name))}
    python = {"PYSPARK_PYTHON": str(Path(sys.executable).resolve()), "PYTHONPATH": os.pathsep.join(sorted(packages))}
    return {**environment, **python}


def write_document(folder: Path, *flows: FlowParameters) -> Path:
    """The parameter document of these flows, params.json."""
    path = folder / "params.json"
    documents = [flow.model_dump(mode="json", by_alias=True, exclude_none=True) for flow in flows]
    path.write_text(json.dumps({"schemaVersion": 1, "stack": "tests", "flows": documents}))
    return path


def pack(folder: Path) -> Path:
    """Put only the zip of the README's recipe and a copy of the entry point into the folder."""
    recipe = next(line for line in README.splitlines() if line.startswith("$ git archive"))
    packed = recipe.split(" HEAD ")[1].split()
    with zipfile.ZipFile(folder / "replication-job.zip", "w") as archive:
        archive.write(ROOT / TOP, "kafka_replication/__init__.py")
        for source in (path for each in packed for path in [ROOT / each, *(ROOT / each).rglob("*")]):
            if source.is_file() and "__pycache__" not in source.parts:
                archive.write(source, Path("kafka_replication") / source.relative_to(ROOT))
    shutil.copy(JOB, folder)
    return folder


def recipe_words(jars: Path) -> Sequence[str]:
    """The words of the README's recipe after `spark-submit`, with the jars of the folder."""
    recipe = next(line for line in README.splitlines() if line.startswith("$ spark-submit"))
    _, _, *words = recipe.replace("JARS", ",".join(str(jar) for jar in sorted(jars.glob("*.jar")))).split()
    return words


def run_job(
    command: Sequence[object], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    words = list(map(str, command))
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=HANGING_SECONDS, cwd=folder, env=dict(environment)
    )
