"""Decides and writes the conditions of a custom resource's status, as Strimzi does: when workers are refused, when they
are ready, and what their logs say if they are not.

Source: Strimzi 1.2 KafkaVersion.Lookup, JmxPrometheusExporterModel, LoggingUtils.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_replication.components.flows.operators import strimzi, supported_versions
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local.operator.resources import (
    ConfigMapKey,
    ConnectResource,
    CustomLogin,
    UnsupportedLogin,
)
from kafka_replication.infra.local.operator.worker_processes import VERSIONS, WorkerState
from kafka_replication.infra.local.operator.worker_properties import dropped_keys


@dataclass(frozen=True)
class Condition:
    """Type Ready, NotReady or Warning; a reason is one word in CamelCase, a message one sentence."""

    type: str
    reason: str = ""
    message: str = ""


READY = Condition("Ready")


def not_ready(reason: str, message: str) -> Condition:
    return Condition("NotReady", reason, message)


def warning(reason: str, message: str) -> Condition:
    return Condition("Warning", reason, message)


def written(conditions: Iterable[Condition], previous: Iterable[Object], now: datetime) -> list[Object]:
    """Return the conditions as they go into the status; one whose content has not changed keeps its time."""
    known = {_content(condition): condition.get("lastTransitionTime") for condition in previous}
    time = timestamp(now)
    items = []
    for condition in conditions:
        item = {key: value for key, value in {**asdict(condition), "status": "True"}.items() if value}
        items.append({**item, "lastTransitionTime": known.get(_content(item)) or time})
    return items


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _content(item: Object) -> tuple[str | None, ...]:
    return tuple(item.get(key) for key in ("type", "status", "reason", "message"))


log = logging.getLogger(__name__)


def write_status(api: KubernetesApi, target: Reference, previous: Object, status: Object) -> None:
    """Replace the whole status if it has changed, and log a changed readiness. A missing resource is ignored."""
    if status == previous:
        return
    before, after = _readiness(previous), _readiness(status)
    if before != after:
        log.info("%s: %s", target, after)
    api.apply_status(target, status)


def _readiness(status: Object) -> str:
    told = [
        ": ".join(filter(None, (condition["type"], condition.get("message"))))
        for condition in status.get("conditions") or []
        if condition["type"] in {"Ready", "NotReady"}
    ]
    return "; ".join(told) or "no status"


OAUTH_PACKAGE = "io.strimzi.kafka.oauth"


@dataclass(frozen=True)
class WorkerReport:
    """One worker: its state, its REST port, and if it does not serve, the first problem in its log.

    It is `outdated` if it runs, or ran, with another configuration than the resource has now.
    """

    index: int
    state: WorkerState
    port: int
    problem: str | None = None
    outdated: bool = False


def unsupported(connect: ConnectResource) -> Condition | None:
    """Return why these workers cannot run on one machine; None if they can."""
    if connect.mounts_volumes:
        return not_ready(
            "UnsupportedLocally",
            "spec.template mounts volumes, but the local stack has no containers: store trusted certificates as PEM in "
            "a Secret, and read them through a configuration provider",
        )
    for access in connect.access:
        match access.authentication:
            case UnsupportedLogin(type=kind):
                told = f"authentication type {kind} is not supported on the local stack"
                return not_ready("UnsupportedLocally", told)
            case CustomLogin(config=config) if OAUTH_PACKAGE in str(config.values()):
                library = f"Strimzi's OAuth library ({OAUTH_PACKAGE})"
                told = f"authentication uses {library}, which only Strimzi's images contain"
                return not_ready("UnsupportedLocally", told)
    return None


def readiness(connect: ConnectResource, workers: Sequence[WorkerReport], refused: Mapping[int, str]) -> Condition:
    """Ready if every worker serves with the newest configuration; otherwise the first that does not, and why.

    `refused` holds the API server's answer for each worker whose Pod it refused, by index.
    """
    current = [worker for worker in workers if worker.index < connect.replicas and not worker.outdated]
    serving = [worker for worker in current if worker.state is WorkerState.READY]
    if len(serving) >= connect.replicas:
        return READY
    if refused:
        index = min(refused)
        return not_ready("PodNotCreated", f"worker {index} of {connect.replicas} is not started: {refused[index]}")
    outdated = sum(worker.outdated for worker in workers)
    if outdated:
        return not_ready("Rolling", f"{outdated} of {connect.replicas} workers still have the previous configuration")
    waiting = [worker for worker in current if worker.state is not WorkerState.READY]
    if not waiting:
        return not_ready("Creating", f"{len(serving)} of {connect.replicas} workers started")
    worker = next((worker for worker in waiting if worker.problem), waiting[0])
    said = f"worker {worker.index} {_WORDS[worker.state]}"
    if worker.problem:
        said += f": {worker.problem} (bootstrapServers {connect.bootstrap_servers})"
    return not_ready("WorkerNotReady" if worker.problem else "Creating", said)


_WORDS = {
    WorkerState.STARTING: "does not serve yet",
    WorkerState.STOPPING: "is being stopped",
    WorkerState.ENDED: "ended and is being restarted",
}


def warnings(connect: ConnectResource, jvm_notes: Sequence[str]) -> list[Condition]:
    dropped = [
        warning("ForbiddenConfiguration", f"config {key} is dropped: the operator sets it")
        for key in dropped_keys(connect)
    ]
    ignored = [
        warning("IgnoredLocally", f"spec.{field} is ignored on the local stack") for field in connect.ignored_fields
    ]
    return dropped + ignored + [warning("JvmOptions", note) for note in jvm_notes]


def status_body(
    connect: ConnectResource,
    condition: Condition,
    others: Sequence[Condition],
    workers: Sequence[WorkerReport],
    now: datetime,
) -> Object:
    """Return the whole status; `url` is the REST interface of a worker that serves (the real operator: a Service)."""
    serving = [worker for worker in workers if worker.state is WorkerState.READY]
    body: Object = {
        "observedGeneration": connect.generation,
        "conditions": written([condition, *others], connect.status.get("conditions") or [], now),
        "replicas": len(serving),
        "labelSelector": f"strimzi.io/cluster={connect.name},strimzi.io/name={connect.component_name}",
    }
    if serving:
        body["url"] = f"http://127.0.0.1:{serving[0].port}"
    return body


ConfigMaps = Mapping[str, Mapping[str, Any]]
"""The data of the ConfigMaps that exist, by name."""


def refused_version(connect: ConnectResource) -> Condition | None:
    """Return the refusal of a version of Kafka that the operator has no image for. A custom image may have any."""
    operator = strimzi("0.45" if connect.has_values_in_files else "1.2")
    supported = supported_versions(operator) or ()
    if connect.image is not None or connect.version is None or connect.version in supported:
        return None
    told = f"Kafka version {connect.version} is not supported. Supported versions are: {', '.join(supported)}."
    return not_ready("InvalidResourceException", told)


def missing_version(connect: ConnectResource) -> Condition | None:
    """Return the refusal of a version of Kafka that cannot run on this machine: no other version runs in its place."""
    if connect.version is None or connect.version in VERSIONS:
        return None
    told = (
        f"Kafka {connect.version} cannot run on the local stack, which has only {' and '.join(VERSIONS)}: set "
        f"spec.version to one of these, or remove it to run {VERSIONS[0]}"
    )
    return not_ready("UnsupportedLocally", told)


def refused_config_map(wanted: ConfigMapKey, existing: ConfigMaps) -> Condition | None:
    """Return the refusal of a ConfigMap, or of a key of one, that does not exist."""
    if wanted.key in existing.get(wanted.name, {}):
        return None
    if wanted.field == "logging":
        told = (
            f"ConfigMap {wanted.name} with external logging configuration does not exist or doesn't contain the "
            f"configuration under the {wanted.key} key."
        )
        return not_ready("InvalidResourceException", told)
    missing = f"does not contain specified key {wanted.key}" if wanted.name in existing else "does not exist"
    return not_ready("InvalidConfigurationException", f"ConfigMap {wanted.name} {missing}")


_RECORD = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*?)(?: \(\w+\))?$")
_THROWN = re.compile(r"^(?:Caused by: )?(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): (.*)$")
_TELLING_WARNING = re.compile(
    r"could not be established|terminated during authentication|Bootstrap broker .* disconnected"
    r"|resolve server|[Nn]ot authorized|[Aa]uthorization failed|Forbidden"
)
_JVM_REFUSAL = re.compile(r"^(?:Error: |Unrecognized VM option|Exception in thread)")


def first_problem(log: str) -> str | None:
    """Return the first error with its root cause, or else the last warning about a connection; None without either."""
    lines = log.splitlines()
    telling = None
    for number, line in enumerate(lines):
        record = _RECORD.match(line)
        if record is None:
            if _JVM_REFUSAL.match(line):
                return line.strip()
        elif record[1] in {"ERROR", "FATAL"}:
            return _with_cause(record[2], lines[number + 1 :])
        elif record[1] == "WARN" and _TELLING_WARNING.search(record[2]):
            telling = record[2]
    return telling


def _with_cause(message: str, following: list[str]) -> str:
    """Return the message, the exception that follows it and the last of its causes, without repetition."""
    thrown: list[str] = []
    for line in following:
        if _RECORD.match(line):
            break
        match = _THROWN.match(line)
        if match:
            thrown.append(f"{match[1]}: {match[2]}")
    parts = [message.strip(), *thrown[:1], *thrown[-1:]]
    return "; ".join(dict.fromkeys(parts))


def trace_summary(trace: str) -> str:
    """Return the first line of a stack trace, and its root cause if that is another; `no trace` if there is none."""
    lines = [line.strip() for line in trace.strip().splitlines() if line.strip()]
    causes = [line for line in lines[1:] if line.startswith("Caused by: ")]
    return "; ".join(dict.fromkeys([*lines[:1], *causes[-1:]])) or "no trace"
