"""connectors-run: the flow's own connectors and their tasks run.

Records and heartbeats cannot show this. While no records are due, a stopped flow looks like one that has caught up, and
heartbeats cross through any flow in the same direction. So this check asks Kubernetes what Connect reports. The
operator asks Connect when it reconciles, every two minutes by default, so a status may be that old. A starting
connector gets as much time as records have to catch up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_replication.components.contract.parameters import ConnectorParameters
from kafka_replication.components.contract.report import (
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    error,
    fail,
    not_judged,
    note,
)
from kafka_replication.components.contract.temporary_states import temporary_states
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.connectors import ConnectorRole, failures, is_observed, reported_connectors
from kafka_replication.spark.read.waiting import wait_until

#: What follows if a connector of this role does not run.
_CONSEQUENCES: Mapping[ConnectorRole, str] = {
    "source": "records that are produced now do not reach the target",
    "checkpoint": (
        "offsets that groups commit now are not translated, so after a failover they read records again or start "
        "where their clients start without an offset"
    ),
    "heartbeat": "while no records are produced, nothing shows whether records from the source would cross",
}
_NOT_REPORTED = "connector-not-reported"
_WITHOUT_TASK = "connector-without-task"
_UNKNOWN = (_NOT_REPORTED, "connectors-not-visible")
#: Findings that end by themselves once a connector has started.
_WHILE_STARTING = frozenset({_NOT_REPORTED, _WITHOUT_TASK})


@dataclass(frozen=True)
class ConnectorObject:
    """The Kubernetes object of a connector, as it was read. `live` is None if it does not exist; `refusal` says why it
    could not be read.
    """

    live: Mapping[str, Any] | None = None
    refusal: str = ""


def judge_when_reported(
    flow: str,
    namespace: str,
    read: Callable[[], Mapping[ConnectorParameters, ConnectorObject]],
    deadline_seconds: float,
) -> CheckOutcome:
    """Return the outcome once every connector has started or failed, or at the deadline."""
    outcomes: list[CheckOutcome] = []

    def reported() -> bool:
        outcomes.append(judge(flow, namespace, read()))
        return _WHILE_STARTING.isdisjoint(finding.code for finding in outcomes[-1].findings)

    wait_until(reported, deadline_seconds, every_seconds=1)
    return outcomes[-1]


def judge(flow: str, namespace: str, objects: Mapping[ConnectorParameters, ConnectorObject]) -> CheckOutcome:
    """Return the outcome for a flow's connectors."""
    findings = [finding for connector, at in objects.items() for finding in _findings(connector, at, namespace)]
    unknown = not_judged(findings, _UNKNOWN)
    tasks = sum(
        len(status.get("tasks") or []) for connector, at in objects.items() if (status := _status(connector, at))
    )
    running = sum(_state(_status(connector, at)) == "RUNNING" for connector, at in objects.items())
    return CheckOutcome(
        CheckName.CONNECTORS,
        f"{running} of {numbered(len(objects), 'connector[|s]')} of {flow} {agreeing(running, 'run[s|]')}, with "
        f"{numbered(tasks, 'task[|s]')}",
        {"connectors": len(objects), "running": running, "tasks": tasks},
        tuple(findings),
        coverage=Coverage("connectors", len(objects) - sum(unknown.values()), unknown),
    )


def _findings(connector: ConnectorParameters, at: ConnectorObject, namespace: str) -> list[Finding]:
    where = f"{connector.connector} ({connector.kind} {namespace}/{connector.object_name})"
    if at.refusal:
        what = f"{where}: the job cannot ask whether the connector runs: {at.refusal}"
        return [error("connectors-not-visible", what)]
    if at.live is None:
        return [fail("connector-missing", f"{where} does not exist: {_CONSEQUENCES[connector.role]}")]
    if not is_observed(at.live):
        what = f"{where}: the operator has not reported since the resource was changed, so its status is outdated"
        return [error(_NOT_REPORTED, what)]
    status = _status(connector, at)
    if status is None:
        return [error(_NOT_REPORTED, f"{where}: the operator has not reported whether the connector runs")]
    failed = [
        f"{'the connector' if failure.task is None else f'task {failure.task}'} failed: {failure.reason}"
        for failure in failures(status)
    ]
    if failed:
        return [
            fail("connector-failed", f"{where}: {'; '.join(failed)}. So {_CONSEQUENCES[connector.role]}", len(failed))
        ]
    return _not_running(connector, where, status, at.live)


def _not_running(
    connector: ConnectorParameters, where: str, status: Mapping[str, Any], live: Mapping[str, Any]
) -> list[Finding]:
    consequence, state = _CONSEQUENCES[connector.role], _state(status)
    if state in ("STOPPED", "PAUSED"):
        announced = temporary_states(live).get(connector.connector)
        stopped = announced.text(datetime.now(UTC)) if announced is not None else state.lower()
        return [fail("connector-stopped", f"{where} is {stopped}: {consequence}")]
    tasks = status.get("tasks") or []
    halted = [str(task["id"]) for task in tasks if task.get("state") in ("STOPPED", "PAUSED")]
    if halted:
        return [
            fail("connector-stopped", f"{where}: task {', '.join(halted)} is not running: {consequence}", len(halted))
        ]
    if state != "RUNNING" or any(task.get("state") != "RUNNING" for task in tasks):
        return [error(_NOT_REPORTED, f"{where} is starting: the operator reports {state.lower()}")]
    if tasks:
        return []
    if connector.role == "checkpoint":
        return [note("checkpoints-without-task", f"{where} has no task, because no group that it selects has offsets")]
    return [
        fail(
            _WITHOUT_TASK,
            f"{where} runs, but has no task: nothing that it selects exists, or a cluster refuses its login. "
            f"So {consequence}",
        )
    ]


def _status(connector: ConnectorParameters, at: ConnectorObject) -> Mapping[str, Any] | None:
    """Return what the object reports about this connector; None if it reports nothing."""
    reported = reported_connectors(at.live or {})
    return next((status for status in reported if status.get("name", connector.connector) == connector.connector), None)


def _state(status: Mapping[str, Any] | None) -> str:
    return str(((status or {}).get("connector") or {}).get("state", "unknown"))
