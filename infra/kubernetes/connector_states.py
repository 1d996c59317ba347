"""Compares what the operator reports of connectors with the states that their resources ask for. Pure.

The operator writes what Connect answers right after a change, often still the old state or no task, with the condition
Ready, and looks again at its next reconciliation. Source: Strimzi AbstractConnectOperator.maybeCreateOrUpdateConnector.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from kafka_replication.components.changes.deployment_state import deployment_state
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.kubernetes.managed_fields import status_time

#: The states of a resource's spec, as Connect names them.
REPORTED = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}


def wanted_connectors(live: Manifest) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield name, wanted state and status of the connectors that a resource runs; the status is empty without one."""
    status = live.get("status") or {}
    if live["kind"] == "KafkaConnector":
        yield live["metadata"]["name"], live["spec"].get("state", "running"), status.get("connectorStatus") or {}
    elif live["kind"] == "KafkaMirrorMaker2":
        wanted = {connector.name: connector.state for connector in deployment_state("", {"": live}).connectors}
        reported = {connector["name"]: connector for connector in status.get("connectors") or []}
        for name in {**reported, **wanted}:
            yield name, wanted.get(name, "running"), reported.get(name, {})


def connector_progress(
    live: Manifest, taskless: Collection[str], now: datetime, reconciliation_seconds: float
) -> tuple[list[str], list[str]]:
    """Return what the connectors of a resource do not do yet, and which of them run without a task, as reported for
    longer than the operator takes to look again. Those that are `taskless` never have one.
    """
    waiting: list[str] = []
    idle: list[str] = []
    for name, wanted, status in wanted_connectors(live):
        state = (status.get("connector") or {}).get("state", "")
        tasks = status.get("tasks") or []
        if state != REPORTED[wanted]:
            waiting.append(f"{name} is {state or 'not reported yet'}, and should be {REPORTED[wanted]}")
        elif wanted == "running" and tasks:
            others = (task for task in tasks if task.get("state") != "RUNNING")
            waiting += [f"{name} task {task['id']} is {task.get('state')}" for task in others]
        elif wanted == "running" and name not in taskless:
            if _age_seconds(live, now) < reconciliation_seconds:
                waiting.append(f"{name} has no task yet")
            else:
                idle.append(name)
    return waiting, idle


def _age_seconds(live: Manifest, now: datetime) -> float:
    """Return how long the operator has reported the same."""
    written = status_time(live)
    return (now - datetime.fromisoformat(written)).total_seconds() if written else 0.0
