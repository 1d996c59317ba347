"""Runs the Pods of validations and exporters as processes of this machine, in place of a kubelet, and writes their
status.
"""

import base64
import logging
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka_replication.components.render import job_pods
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, reference
from kafka_replication.infra.local.operator.ledger import PODS, Ledger, PodRecord
from kafka_replication.infra.local.operator.worker_objects import (
    TOKEN_LIFETIME_SECONDS,
    cluster_entry,
    container_status,
)
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.control_plane import kubeconfig
from kafka_replication.infra.local.parts.processes import last_lines
from kafka_replication.infra.local.state import write_private
from kafka_replication.infra.machine.jdk import Jdk, class_archive

_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
_COMMANDS = (job_pods.COMMAND, job_pods.DRIVER_COMMAND, job_pods.EXECUTOR_COMMAND, job_pods.EXPORTER_COMMAND)
#: Files in which Spark's submission writes paths of the container.
_PROPERTIES = ".properties"
#: The address of every process of this machine.
POD_IP = "127.0.0.1"


class NotRunError(Exception):
    """Why a container cannot start; `reason` is the word that a kubelet would write into its status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class PodPlan:
    """A Pod with one container: `account` is None without a token, `mounts` maps paths in it to names of volumes."""

    namespace: str
    name: str
    uid: str
    account: str | None
    seconds: int | None
    container: Object
    volumes: Mapping[str, Object]
    mounts: Mapping[str, str]

    def refuse_others(self) -> None:
        """Raise NotRunError for a command that the stand-in does not run."""
        if tuple(self.container.get("command") or ()) not in _COMMANDS:
            known = " and ".join(f"`{' '.join(command)}`" for command in _COMMANDS)
            raise NotRunError("CreateContainerError", f"this stand-in for a kubelet runs only {known}")

    @property
    def needed(self) -> tuple[Reference, ...]:
        """Return the ConfigMaps and Secrets whose entries become files."""
        return tuple(reference for name in self.mounts.values() for reference, _ in self._sources(name))

    def files(self, objects: Mapping[Reference, Object], folder: Path) -> Iterator[tuple[str, bytes]]:
        """Yield the mounted files by path; paths in properties files point to `folder`. Raises NotRunError."""
        for path, volume in self.mounts.items():
            for source, items in self._sources(volume):
                if source not in objects:
                    raise NotRunError("ContainerCreating", f"{source} not found")
                for name, content in _entries(source, objects[source], items):
                    properties = name.endswith(_PROPERTIES)
                    yield f"{path}/{name}", self.here(content.decode(), folder).encode() if properties else content

    def _sources(self, volume: str) -> Iterator[tuple[Reference, Iterable[Mapping[str, str]] | None]]:
        body = self.volumes[volume]
        for source in body.get("projected", {}).get("sources", [body]):
            for kind, key, named in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
                if key in source:
                    name = source[key].get(named) or source[key]["name"]
                    yield Reference("v1", kind, self.namespace, name), source[key].get("items")

    def command(self, python: str, folder: Path, server: str) -> list[str]:
        """Return the container's command here; `folder` holds what is mounted."""
        module = self.container["command"][1:]
        known = self.environment(folder)
        # Replace each $(NAME) of a known variable. Source: k8s.io/kubernetes/third_party/forked/golang.
        arguments = (
            re.sub(r"\$\((\w+)\)", lambda match: known.get(match[1], match[0]), argument)
            for argument in self.container.get("args") or ()
        )
        # There is no cluster DNS here.
        return [
            python,
            *module,
            *(self.here(argument, folder).replace(job_pods.API_SERVER, server) for argument in arguments),
        ]

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the container's own variables."""
        return {
            variable["name"]: self.here(self._value(variable), folder) for variable in self.container.get("env") or ()
        }

    def _value(self, variable: Mapping[str, Any]) -> str:
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        known = {"metadata.name": self.name, "metadata.namespace": self.namespace, "status.podIP": POD_IP}
        return str(variable.get("value", "") if field is None else known[field])

    def here(self, text: str, folder: Path) -> str:
        """Return the text with each path below a mount replaced by the path on this machine."""
        paths = "|".join(re.escape(path) for path in sorted(self.mounts, key=len, reverse=True))
        pattern = rf"(?m)(^|=)({paths})(?=/|$)"
        return re.sub(pattern, lambda match: f"{match[1]}{folder}{match[2]}", text) if paths else text


def pod_plan(pod: Object) -> PodPlan:
    """Read a Pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    container = spec["containers"][0]
    mounts = {mount["mountPath"]: mount["name"] for mount in container.get("volumeMounts") or ()}
    return PodPlan(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        spec.get("serviceAccountName", "default") if spec.get("automountServiceAccountToken", True) else None,
        spec.get("activeDeadlineSeconds"),
        container,
        {volume["name"]: volume for volume in spec.get("volumes") or ()},
        {path: name for path, name in mounts.items() if path != _TOKEN},
    )


def _entries(source: Reference, body: Object, items: Iterable[Mapping[str, str]] | None) -> Iterator[tuple[str, bytes]]:
    encoded = {**(body.get("binaryData") or {}), **((body.get("data") or {}) if source.kind == "Secret" else {})}
    plain = (body.get("data") or {}) if source.kind == "ConfigMap" else {}
    contents = {key: base64.b64decode(value) for key, value in encoded.items()}
    contents |= {key: value.encode() for key, value in plain.items()}
    paths = {entry["key"]: entry["path"] for entry in items} if items is not None else {key: key for key in contents}
    for key, path in paths.items():
        if key not in contents:
            raise NotRunError("ContainerCreating", f"{source} has no key {key}")
        yield path, contents[key]


KILL_AFTER_SECONDS = 10.0
#: What a kubelet writes for a container whose end it has not seen.
UNKNOWN_EXIT_CODE = 137


class PodProcesses:
    """All processes of Pods. Raises DamagedLedgerError."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.ledger = folder, Ledger(folder / PODS, PodRecord)

    def folder(self, name: str) -> Path:
        """Return the folder with the log of a Pod, called namespace/name, and with its files while it runs."""
        return self._folder / "pods" / name

    def start(
        self, name: str, uid: str, command: Sequence[str], environment: Mapping[str, str], files: Mapping[str, bytes]
    ) -> None:
        """Start the process of a Pod, called namespace/name; `files` are what is mounted, by path."""
        folder = self.folder(name)
        for path, content in files.items():
            write_private(Path(f"{folder}{path}"), content)
        process = processes.start(name, command, folder / "log", environment, folder)
        self.ledger.put(PodRecord(**process.model_dump(), uid=uid))

    def exit_code(self, record: PodRecord) -> int | None:
        """Return the exit code of a process that has ended; None while it runs."""
        if processes.alive(record) or processes.is_ending(record):
            return None
        code = processes.exit_code(record)
        return UNKNOWN_EXIT_CODE if code is None else code if code >= 0 else 128 - code

    def stop(self, record: PodRecord) -> bool:
        """Ask a process to end, and kill it if it has not ended in time; whether it has ended."""
        return self.ledger.stop(record, KILL_AFTER_SECONDS)

    def clean(self, record: PodRecord) -> None:
        """Remove the files of a process that has ended, including credentials but not its log."""
        for path in self.folder(record.name).glob("*"):
            if path.name != "log":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def forget(self, record: PodRecord) -> None:
        """Remove every trace of a Pod that no longer exists."""
        shutil.rmtree(self.folder(record.name), ignore_errors=True)
        self.ledger.remove(record)

    def stop_all(self) -> None:
        """Stop every process and wait for the last."""
        records = self.ledger.all()
        processes.stop_all(records, KILL_AFTER_SECONDS)
        for record in records:
            self.clean(record)


log = logging.getLogger(__name__)

_OURS = f"{job_pods.COMPONENT} in ({job_pods.VALIDATION},{job_pods.EXECUTOR},{job_pods.EXPORTER})"
_ENDED = ("Succeeded", "Failed")
#: As much of a log as a kubelet writes into the status of a container that failed. Source: FallbackToLogsOnError.
_SAID = 2048
#: Source: kubelet, activeDeadlineHandler.
_DEADLINE = "DeadlineExceeded"


@dataclass
class Kubelet:
    """Level-triggered: a round looks at everything. `spark_lib` is the folder with the jars of the job's image."""

    api: KubernetesApi
    kubeconfig: Path
    jdk: Jdk
    spark_lib: Path
    processes: PodProcesses
    _complaints: dict[str, str] = field(default_factory=dict, init=False)

    def round(self) -> None:
        """Do one round. If the API server does not answer, the round ends and the processes keep running."""
        try:
            pods = self.api.list_all("v1", "Pod", label_selector=_OURS)
        except ApiError as error:
            self._complain("", str(error))
            return
        existing = {pod["metadata"]["uid"] for pod in pods}
        for record in self.processes.ledger.all():
            if record.uid not in existing and self.processes.stop(record):
                self.processes.forget(record)
        for pod in pods:
            try:
                self._one(pod)
            except ApiError as error:
                self._complain(pod["metadata"]["uid"], f"{reference(pod)}: {error}")

    def _one(self, pod: Object) -> None:
        plan, record = pod_plan(pod), self.processes.ledger.get(pod["metadata"]["uid"])
        if (pod.get("status") or {}).get("phase") in _ENDED:
            return
        if "deletionTimestamp" in pod["metadata"]:
            if record is None or self.processes.stop(record):
                self._write(pod, plan, "Failed", {"terminated": self._terminated(record, 143)})
            return
        if record is None:
            self._start(pod, plan)
            return
        if plan.seconds is not None and time.time() > record.created + plan.seconds:
            if self.processes.stop(record):
                log.info("pod %s ran longer than its activeDeadlineSeconds", record.name)
                self._write(pod, plan, "Failed", {"terminated": self._terminated(record, 143)}, _DEADLINE)
            return
        code = self.processes.exit_code(record)
        if code is not None:
            self.processes.clean(record)
            log.info("pod %s ended with %d", record.name, code)
            self._write(pod, plan, "Failed" if code else "Succeeded", {"terminated": self._terminated(record, code)})

    def _start(self, pod: Object, plan: PodPlan) -> None:
        try:
            plan.refuse_others()
            objects = {reference: item for reference in plan.needed if (item := self.api.get(reference)) is not None}
            folder = self.processes.folder(f"{plan.namespace}/{plan.name}")
            files = dict(plan.files(objects, folder))
        except NotRunError as error:
            state = {"waiting": {"reason": error.reason, "message": str(error)}}
            containers = (pod.get("status") or {}).get("containerStatuses") or []
            if [container.get("state") for container in containers] != [state]:
                self._write(pod, plan, "Pending", state)
            return
        for path in plan.mounts:
            Path(f"{folder}{path}").mkdir(parents=True, exist_ok=True, mode=0o700)
        cluster = cluster_entry(self.kubeconfig)
        variables = {**self._image(), **plan.environment(folder)}
        if plan.account is not None:
            token = self.api.service_account_token(plan.namespace, plan.account, TOKEN_LIFETIME_SECONDS)
            files["/kubeconfig"] = kubeconfig(cluster, "worker", token, namespace=plan.namespace).encode()
            variables["KUBECONFIG"] = f"{folder}/kubeconfig"
        name, command = f"{plan.namespace}/{plan.name}", plan.command(sys.executable, folder, cluster["server"])
        self.processes.start(name, plan.uid, command, variables, files)
        log.info("pod %s started", name)
        self._write(pod, plan, "Running", {"running": {"startedAt": _text(time.time())}})

    def _image(self) -> dict[str, str]:
        """Return the variables of the job's image, with this machine's values."""
        archive = class_archive(self.jdk, "validate.py", self.spark_lib, sys.executable)
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "JAVA_HOME": str(self.jdk.home),
            "REPLICATE_SPARK_JARS": str(self.spark_lib),
            # A local job has few records, for which compiling well costs more than it gains.
            "SPARK_SUBMIT_OPTS": shlex.join(("-XX:TieredStopAtLevel=1", *archive)),
        }

    def _terminated(self, record: PodRecord | None, code: int) -> Object:
        now = time.time()
        said = last_lines(record.log if record is not None else None)[-_SAID:] if code else ""
        return {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": _text(record.created if record is not None else now),
            "finishedAt": _text(now),
            **({"message": said} if said else {}),
        }

    def _write(self, pod: Object, plan: PodPlan, phase: str, state: Mapping[str, Any], reason: str = "") -> None:
        status = {"phase": phase, "containerStatuses": [container_status(plan.container, "running" in state, state)]}
        if reason:
            status["reason"] = reason
        if phase != "Pending":
            status["startTime"] = pod["metadata"]["creationTimestamp"]
            status |= {"podIP": POD_IP, "podIPs": [{"ip": POD_IP}]}
            status["conditions"] = [{"type": "Ready", "status": str(phase == "Running")}]
        self.api.apply_status(Reference("v1", "Pod", plan.namespace, plan.name), status)

    def _complain(self, about: str, complaint: str) -> None:
        if self._complaints.get(about) != complaint:
            log.warning("%s", complaint)
        self._complaints[about] = complaint


def _text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
