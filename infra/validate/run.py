"""Runs the validation job for a stack, and prints what the operator reports about connectors that cannot replicate."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import yaml
from rich.console import Console
from rich.markup import escape

from kafka_replication.components.contract.parameters import JsonObject
from kafka_replication.components.contract.problems import CannotRunError, raise_errors
from kafka_replication.components.contract.report import Depth
from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connectors import Failure, failures, reported_connectors
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.job_parameters import job_parameters
from kafka_replication.components.render.planned_objects import PART_OF
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.kubernetes.access import api_client, asking_kubernetes, current_context
from kafka_replication.infra.kubernetes.api import reference
from kafka_replication.infra.machine import toolchain
from kafka_replication.infra.machine.jdk import Jdk, class_archive, find_jdk
from kafka_replication.infra.machine.paths import FOLDERS
from kafka_replication.infra.machine.waiting import try_lock
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import KubernetesAccess, StackSettings, stack_file
from kafka_replication.infra.stack.validation_job import spark_problems, spark_settings
from kafka_replication.infra.stack.yaml_files import placed, shown

_REMEDY = (
    "Remedy: correct the credential that the flow logs in with, and deploy it with `replicate up --refresh`, which "
    "also restores a Secret that was edited, and restarts what reads it"
)
Object = Mapping[str, Any]


def silent_connectors(objects: Iterable[Object]) -> Iterator[str]:
    """Yield a sentence for each failed connector or task, and for each connector without a task. A refused login leaves
    a source connector without a task, so a login refused in the same flow is the likely reason."""
    reported: list[tuple[str, str, Object]] = []
    for live in objects:
        metadata = live["metadata"]
        flow = (metadata.get("labels") or {}).get(PART_OF, metadata["name"])
        reported += ((flow, status.get("name", metadata["name"]), status) for status in reported_connectors(live))
    refused = {
        flow: f"{name}: {failure.reason}"
        for flow, name, connector in reported
        for failure in failures(connector)
        if _is_refused_login(failure)
    }
    for flow, name, connector in reported:
        found = list(failures(connector))
        for failure in found:
            refusal = _login_refused(f"{name} is deployed", failure.reason)
            yield refusal if _is_refused_login(failure) else failure.of(name)
        runs = (connector.get("connector") or {}).get("state") == "RUNNING"
        if runs and not connector.get("tasks") and not found and flow in refused:
            yield _login_refused(f"{name} runs", refused[flow])
        elif runs and not connector.get("tasks") and not found:
            yield (
                f"{name} runs, but nothing arrives through it, because it has no task: nothing that it selects exists, "
                "or a cluster refuses its login. Remedy: the log of its Connect workers names the reason; correct the "
                "topology or the credential, and deploy it with `replicate up`"
            )


def _is_refused_login(failure: Failure) -> bool:
    return "AuthenticationException" in failure.reason


def _login_refused(what: str, reason: str) -> str:
    return f"{what}, but nothing arrives through it: authentication failed ({reason}). {_REMEDY}"


_ALONE = "the job validates what {file} declares, but does not check that this is deployed"
_CURRENT = "nothing names a Kubernetes context, so the current one of your kubeconfig is used: `{context}`"
_RUN_CONNECTORS = ("KafkaConnector", "KafkaMirrorMaker2")
_PERMISSION = "let the account of the Kubernetes context get KafkaConnectors and KafkaMirrorMaker2s."
JOB = FOLDERS / "spark" / "validate.py"
CLASS_PATH_VARIABLES = ("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


@dataclass(frozen=True)
class ValidationRun:
    """One run of the job, for one flow or all. With `declared` it validates what the files declare, not what Pulumi
    deployed; `spark` takes precedence over the stack file."""

    settings: StackSettings
    report: Path
    flow: str | None = None
    publish: bool = False
    catch_up_seconds: float = 30
    as_json: bool = False
    declared: bool = False
    html: Path | None = None
    spark: SparkSettings = field(default_factory=SparkSettings)
    depth: Depth = Depth.FULL

    @property
    def name(self) -> str:
        """Return what is validated, for messages."""
        alone = self.settings.without_stack
        return f"stack {self.settings.stack}" if alone is None else f"topology {shown(alone)}"

    @cached_property
    def flows(self) -> tuple[ResolvedFlow, ...]:
        """Return the flows that the stack's files declare."""
        return OpenStack(self.settings).flows

    def document(self) -> JsonObject:
        """Return the job's parameters, as Pulumi deployed them or as the files declare them."""
        if self.declared:
            alone = self.settings.without_stack
            return job_parameters(self.settings.stack, self.flows, shown(alone) if alone else None).document()
        return cast(JsonObject, deployment.outputs(self.settings)["validation"])

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of the job, without its parameters file."""
        options = ["--report", str(self.report), f"--catch-up-seconds={self.catch_up_seconds:g}"]
        options += ["--depth", self.depth.value]
        options += ["--flow", self.flow] if self.flow else []
        options += ["--html", str(self.html)] if self.html else []
        options += self.spark.over(spark_settings(self.settings.validation)).arguments
        return options + [option for option, on in (("--publish", self.publish), ("--json", self.as_json)) if on]


def run_validation(run: ValidationRun, console: Console) -> int:
    """Run the job; return 0 if everything passed, 1 if something failed, 2 if something could not be checked. First
    prints failed connectors, because the job waits for records; in the end, what else may explain the result."""
    environment = stack_environment(run.settings)
    access, folder = environment.kubernetes_access(), environment.validation_folder
    file = stack_file(run.settings.stack, run.settings.stacks)
    raise_errors(placed(spark_problems(run.settings.validation), file))
    document = run.document()
    folder.mkdir(parents=True, exist_ok=True)
    with _noting_others(run, folder, console), TemporaryDirectory(prefix="run-", dir=folder) as own:
        parameters = Path(own) / "parameters.json"
        parameters.write_text(json.dumps(document, indent=2) + "\n")
        if run.settings.without_stack is not None:
            _say(console, [_ALONE.format(file=shown(run.settings.without_stack))])
        if access == KubernetesAccess() and (current := current_context()) is not None:
            _say(console, [_CURRENT.format(context=current)])
        jdk = find_jdk()
        if find_spec("pyspark") is None:
            # The job is a process of its own, which would end with a traceback.
            raise ModuleNotFoundError(name="pyspark")
        jars = toolchain.ensure_jars(toolchain.SPARK, jdk, console)
        variables = {**os.environ, "JAVA_HOME": str(jdk.home), "REPLICATE_SPARK_JARS": str(jars)}
        variables |= kubernetes_variables(access, Path(own)) | quick_start(jdk, jars)
        command = [sys.executable, str(JOB), "--parameters", str(parameters), *run.arguments]
        known = set(_say(console, _about_connectors(run, access)))
        code = run_job(command, variables)
        if code != 0:
            _say(console, (sentence for sentence in _about_connectors(run, access) if sentence not in known))
        return code


@contextmanager
def _noting_others(run: ValidationRun, folder: Path, console: Console) -> Iterator[None]:
    """Print whether another validation of the same stack runs on this machine: they share its processors."""
    with (folder / "running").open("a+") as running:
        # The kernel releases the lock even after a kill -9.
        if try_lock(running):
            running.truncate(0)
            running.write(f"since {datetime.now(UTC):%H:%M:%SZ} (process {os.getpid()})")
            running.flush()
        else:
            running.seek(0)
            since = f"another validation of {run.name} has been running {running.read()}"
            _say(console, [f"{since}; they share this machine, so each takes longer"])
        yield


def run_job(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Return the exit code of the job, run as a separate process with these environment variables."""
    return subprocess.run(command, env=variables, check=False).returncode


def _say(console: Console, sentences: Iterable[str]) -> list[str]:
    said = list(sentences)
    for sentence in said:
        console.print(f"[yellow]![/] {escape(sentence)}", soft_wrap=True)
    return said


def _about_connectors(run: ValidationRun, access: KubernetesAccess) -> list[str]:
    """Return what may explain a failed validation, or why the cluster could not be asked."""
    planned = (item for deployment_ in deployments(run.flows) for item in deployment_.objects)
    targets = [reference(item.manifest) for item in planned if item.manifest["kind"] in _RUN_CONNECTORS]
    try:
        with asking_kubernetes(run.name, "The status of connectors may explain the result.", _PERMISSION):
            api = api_client(run.settings, access)
            return list(silent_connectors(live for target in targets if (live := api.get(target)) is not None))
    except CannotRunError as error:
        return [str(error)]


def quick_start(jdk: Jdk, jars: Path) -> dict[str, str]:
    """Return the variable that gives Spark's JVM an archive of its classes; none if the class path has folders."""
    if any(os.environ.get(variable) for variable in CLASS_PATH_VARIABLES):
        return {}
    # Spark's own classes are beside the Python that runs it.
    archive = shlex.join(class_archive(jdk, JOB.name, jars, sys.executable))
    return {"SPARK_SUBMIT_OPTS": f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {archive}".strip()}


def kubernetes_variables(access: KubernetesAccess, folder: Path) -> dict[str, str]:
    """Return variables that point the job to the stack's cluster; a file in `folder`, merged last, names the
    context."""
    if access.context is None:
        return {} if access.kubeconfig is None else {"KUBECONFIG": access.kubeconfig}
    chosen = folder / "context.yaml"
    chosen.write_text(yaml.safe_dump({"current-context": access.context, "clusters": [], "contexts": [], "users": []}))
    files = access.kubeconfig or os.environ.get("KUBECONFIG", "~/.kube/config")
    return {"KUBECONFIG": f"{files}{os.pathsep}{chosen}"}
