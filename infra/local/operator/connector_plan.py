"""Decides what to do with one KafkaConnector, and writes its status. Pure.

Source: Strimzi AbstractConnectOperator (auto-restart, updateState), KafkaConnectorConfiguration (forbidden keys).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafka_replication.components.checks.properties import CONNECTOR_FORBIDDEN
from kafka_replication.components.properties.values import value_text
from kafka_replication.infra.kubernetes.api import Object
from kafka_replication.infra.local.operator import conditions
from kafka_replication.infra.local.operator.conditions import Condition, not_ready, timestamp, trace_summary
from kafka_replication.infra.local.operator.connect_rest import RunningConnector
from kafka_replication.infra.local.operator.connector_annotations import restart_requests
from kafka_replication.infra.local.operator.resources import ConnectorResource
from kafka_replication.infra.local.operator.worker_properties import in_folder

LONGEST_BACKOFF_MINUTES = 60

OTHER_STATE = "ConnectorState"
"""The reason of a connector that is in another state than its resource asks for; the real operator has no such one."""

_REST_STATES = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}
_VERBS = {"running": "resume", "paused": "pause", "stopped": "stop"}


@dataclass(frozen=True)
class Create:
    config: Mapping[str, str]
    initial_state: str


@dataclass(frozen=True)
class Configure:
    config: Mapping[str, str]


@dataclass(frozen=True)
class Transition:
    """`pause`, `resume` or `stop`."""

    verb: str


@dataclass(frozen=True)
class RestartFailed:
    """Restart what failed; `count` includes this restart."""

    count: int


ConnectorStep = Create | Configure | Transition | RestartFailed | None


@dataclass(frozen=True)
class Restarts:
    """Automatic restarts so far, as the status remembers them."""

    count: int
    last: datetime

    def as_status(self, connector_name: str) -> Object:
        stamp = timestamp(self.last)
        return {"count": self.count, "connectorName": connector_name, "lastRestartTimestamp": stamp}


@dataclass(frozen=True)
class Outcome:
    """What a round found about one connector, without secrets; `warnings` are failures that are not refusals."""

    refusal: Condition | None
    running: RunningConnector | None
    topics: list[str]
    restarts: Restarts | None
    warnings: tuple[Condition, ...] = ()


def connector_config(connector: ConnectorResource) -> dict[str, str]:
    """Return the configuration as Connect takes it, every value as text."""
    config = {"connector.class": connector.connector_class}
    if connector.tasks_max is not None:
        config["tasks.max"] = str(connector.tasks_max)
    if connector.version is not None:
        config["connector.plugin.version"] = connector.version
    return config | {key: _text(value) for key, value in connector.config.items() if key not in CONNECTOR_FORBIDDEN}


def connector_on_one_machine(
    connector: ConnectorResource, folder: Path, file_secrets: Iterable[str]
) -> ConnectorResource:
    """Return the connector as Connect gets it here: the files that it would read in its pod's /tmp are in `folder`."""
    config = {key: in_folder(_text(value), folder) for key, value in connector.config.items()}
    return replace(connector, config=config, file_secrets=tuple(file_secrets))


def next_step(connector: ConnectorResource, running: RunningConnector | None, now: datetime) -> ConnectorStep:
    """Return the one step to take now; the next round decides on the next."""
    config = connector_config(connector)
    if running is None:
        return Create(config, _REST_STATES[connector.state])
    if {key: value for key, value in running.config.items() if key != "name"} != config:
        return Configure(config)
    if _must_change_state(connector.state, running.state):
        return Transition(_VERBS[connector.state])
    if running.failures and connector.auto_restart and connector.state == "running":
        restarts = _restarts(connector)
        if restarts is None:
            return RestartFailed(1)
        if connector.max_restarts is not None and restarts.count >= connector.max_restarts:
            return None
        due = restarts.last + timedelta(minutes=backoff_minutes(restarts.count))
        return RestartFailed(restarts.count + 1) if now >= due else None
    return None


def backoff_minutes(count: int) -> int:
    """Return the minutes to wait after this many restarts: n² + n, at most an hour."""
    return min(count * count + count, LONGEST_BACKOFF_MINUTES)


def restarts_after(connector: ConnectorResource, running: RunningConnector | None, now: datetime) -> Restarts | None:
    """Return the restarts that the status remembers: none once the connector has run for longer than the next pause."""
    restarts = _restarts(connector)
    if restarts is None or running is None or running.failures:
        return restarts
    recovered = now - restarts.last > timedelta(minutes=backoff_minutes(restarts.count))
    return None if recovered else restarts


def condition_of(connector: ConnectorResource, running: RunningConnector | None) -> Condition:
    """Ready, or why not, from what Connect reports."""
    if running is None:
        return not_ready("ConnectorMissing", "Connect does not have the connector yet")
    if running.failures:
        lines = [
            f"{'connector' if failure.task is None else f'task {failure.task}'} failed: {trace_summary(failure.trace)}"
            for failure in running.failures
        ]
        connector_failed = any(failure.task is None for failure in running.failures)
        return not_ready("ConnectorFailed" if connector_failed else "TaskFailed", "\n".join(lines))
    wanted = _REST_STATES[connector.state]
    if running.state != wanted:
        return not_ready(OTHER_STATE, f"the connector is {running.state} and should be {wanted}")
    return conditions.READY


def warnings(connector: ConnectorResource) -> list[Condition]:
    dropped = sorted(CONNECTOR_FORBIDDEN.keys() & connector.config.keys())
    ignored = [
        conditions.warning("ForbiddenConfiguration", f"config {key} is dropped: spec sets it") for key in dropped
    ]
    ignored += [request for request in restart_requests(connector) if isinstance(request, Condition)]
    return ignored + [
        conditions.warning("DeprecatedFields", f"spec.{field} is not in v1 any more: use spec.state")
        for field in connector.deprecated_fields
    ]


def status_body(connector: ConnectorResource, condition: Condition, outcome: Outcome, now: datetime) -> Object:
    """Return the whole status of the resource."""
    said = [condition, *outcome.warnings, *warnings(connector)]
    body: Object = {
        "observedGeneration": connector.generation,
        "conditions": conditions.written(said, connector.status.get("conditions") or [], now),
        "topics": outcome.topics,
    }
    if connector.tasks_max is not None:
        body["tasksMax"] = connector.tasks_max
    if outcome.running is not None:
        body["connectorStatus"] = outcome.running.status
    if outcome.restarts is not None:
        body["autoRestart"] = outcome.restarts.as_status(connector.name)
    return body


def _must_change_state(wanted: str, seen: str) -> bool:
    if wanted == "running":
        # A connector that should run may also be FAILED or UNASSIGNED.
        return seen in {"PAUSED", "STOPPED"}
    return seen != _REST_STATES[wanted]


def _restarts(connector: ConnectorResource) -> Restarts | None:
    remembered = connector.status.get("autoRestart") or {}
    if not remembered.get("lastRestartTimestamp"):
        return None
    last = datetime.strptime(remembered["lastRestartTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return Restarts(int(remembered.get("count", 0)), last)


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else value_text(value)
