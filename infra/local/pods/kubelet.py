"""One round over all Pods of validation Jobs: starts their processes, and writes how they ended into their status."""

import logging
import os
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from components.render.job_pods import COMPONENT, EXECUTOR, VALIDATION
from infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, reference
from infra.local.operator.service_account import TOKEN_LIFETIME_SECONDS, cluster_entry, worker_kubeconfig
from infra.local.parts.processes import last_lines
from infra.local.pods.pod_plan import POD_IP, NotRunError, PodPlan, container_status, pod_plan
from infra.local.pods.pod_processes import PodProcesses, PodRecord
from infra.machine.class_archives import class_archive
from infra.machine.jdk import Jdk
from infra.machine.paths import PACKAGES

log = logging.getLogger(__name__)

_OURS = f"{COMPONENT} in ({VALIDATION},{EXECUTOR})"
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
        there = {pod["metadata"]["uid"] for pod in pods}
        for uid in self.processes.uids() - there:
            record = self.processes.of(uid)
            if record is not None and self.processes.stop(record):
                self.processes.forget(record)
        for pod in pods:
            try:
                self._one(pod)
            except ApiError as error:
                self._complain(pod["metadata"]["uid"], f"{reference(pod)}: {error}")

    def _one(self, pod: Object) -> None:
        plan, record = pod_plan(pod), self.processes.of(pod["metadata"]["uid"])
        if (pod.get("status") or {}).get("phase") in _ENDED:
            return
        if "deletionTimestamp" in pod["metadata"]:
            if record is None or self.processes.stop(record):
                self._write(pod, plan, "Failed", {"terminated": self._terminated(record, 143)})
            return
        if record is None:
            self._start(pod, plan)
            return
        if plan.seconds is not None and time.time() > record.started + plan.seconds:
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
            if plan.refused is not None:
                raise plan.refused
            objects = {each: found for each in plan.needed if (found := self.api.get(each)) is not None}
            folder = self.processes.folder(plan.namespace, plan.name)
            files = dict(plan.files(objects, folder))
        except NotRunError as error:
            state = {"waiting": {"reason": error.reason, "message": str(error)}}
            if not _shows(pod, state):
                self._write(pod, plan, "Pending", state)
            return
        for path in plan.mounts:
            Path(f"{folder}{path}").mkdir(parents=True, exist_ok=True, mode=0o700)
        cluster = cluster_entry(self.kubeconfig)
        variables = {**self._image(), **plan.environment(folder)}
        if plan.account is not None:
            token = self.api.service_account_token(plan.namespace, plan.account, TOKEN_LIFETIME_SECONDS)
            files["/kubeconfig"] = worker_kubeconfig(cluster, plan.namespace, token).encode()
            variables["KUBECONFIG"] = f"{folder}/kubeconfig"
        self.processes.start(
            (plan.namespace, plan.name, plan.uid),
            plan.command(sys.executable, folder, cluster["server"]),
            variables,
            files,
        )
        log.info("pod %s/%s started", plan.namespace, plan.name)
        self._write(pod, plan, "Running", {"running": {"startedAt": _text(time.time())}})

    def _image(self) -> dict[str, str]:
        """The variables of the job's image, with this machine's values."""
        archive = class_archive(self.jdk, "validate.py", self.spark_lib, sys.executable)
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(PACKAGES),
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
            "startedAt": _text(record.started if record is not None else now),
            "finishedAt": _text(now),
            **({"message": said} if said else {}),
        }

    def _write(self, pod: Object, plan: PodPlan, phase: str, state: Mapping[str, Any], reason: str = "") -> None:
        status = {"phase": phase, "containerStatuses": [container_status(plan, state)]}
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


def _shows(pod: Object, state: Mapping[str, Any]) -> bool:
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return [each.get("state") for each in containers] == [state]


def _text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
