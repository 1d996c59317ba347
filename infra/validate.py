"""Runs the validation job on what a stack deployed: writes its parameters, starts Spark, hands back its exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from infra.local import maven, paths
from infra.local.jdk import find_jdk
from infra.settings import ROOT

JOB = ROOT / "spark" / "validate.py"


@dataclass(frozen=True)
class ValidationRun:
    """One run of the job: its parameter document, where the report goes, and whom it asks for Secrets.

    `kubeconfig` is None for the environment's own, `context` for its current one; `options` are passed to the job as
    they are.
    """

    stack: str
    document: dict[str, Any]
    report: Path
    kubeconfig: Path | None
    options: Sequence[str] = ()
    context: str | None = None


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
    environment |= kubernetes_environment(run, folder)
    command = [sys.executable, str(JOB), "--parameters", str(parameters), "--report", str(run.report), *run.options]
    return subprocess.run(command, env=environment, check=False).returncode


def kubernetes_environment(run: ValidationRun, folder: Path) -> dict[str, str]:
    """Variables by which the job finds the stack's cluster; a file in `folder` chooses the context.

    The Python client merges the files that KUBECONFIG names, and the last one's current context holds.
    """
    given = str(run.kubeconfig) if run.kubeconfig is not None else None
    if run.context is None:
        return {} if given is None else {"KUBECONFIG": given}
    chosen = folder / "context.yaml"
    chosen.write_text(yaml.safe_dump({"current-context": run.context, "clusters": [], "contexts": [], "users": []}))
    return {"KUBECONFIG": f"{given or os.environ.get('KUBECONFIG', '~/.kube/config')}{os.pathsep}{chosen}"}
