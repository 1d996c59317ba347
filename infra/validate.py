"""Runs the validation job on what a stack deployed: writes its parameters, starts Spark, hands back its exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from infra.local import maven, paths
from infra.local.jdk import find_jdk
from infra.settings import ROOT

JOB = ROOT / "spark" / "validate.py"


@dataclass(frozen=True)
class ValidationRun:
    """One run of the job: its parameter document, where the report goes, and whom it asks for Secrets.

    `kubeconfig` is None for the environment's own; `options` are passed to the job as they are.
    """

    stack: str
    document: dict[str, Any]
    report: Path
    kubeconfig: Path | None
    options: Sequence[str] = ()


def run_validation(run: ValidationRun, console: Console) -> int:
    """Exit code of the job: 0 everything passed, 1 something failed, 2 something could not be checked.

    Ctrl-C reaches the job, too, and ends it.
    """
    folder = paths.VALIDATION / run.stack
    folder.mkdir(parents=True, exist_ok=True)
    parameters = folder / "parameters.json"
    parameters.write_text(json.dumps(run.document, indent=2) + "\n")
    jdk = find_jdk()
    jars = maven.ensure_jars(maven.SPARK, jdk, console)
    environment = {**os.environ, "JAVA_HOME": str(jdk.home), "REPLICATE_SPARK_JARS": str(jars)}
    if run.kubeconfig is not None:
        environment["KUBECONFIG"] = str(run.kubeconfig)
    command = [sys.executable, str(JOB), "--parameters", str(parameters), "--report", str(run.report), *run.options]
    return subprocess.run(command, env=environment, check=False).returncode
