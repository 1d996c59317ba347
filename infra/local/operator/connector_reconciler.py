"""Makes the connectors of one Connect cluster match their resources, and writes the statuses of KafkaConnectors without
secret values.

Source: Strimzi AbstractConnectOperator (auto-restart, updateState), KafkaConnectorConfiguration (forbidden keys).
"""

import base64
import json
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from kafka_replication.components.checks.properties import CONNECTOR_FORBIDDEN
from kafka_replication.components.properties.values import value_text
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local.operator import conditions
from kafka_replication.infra.local.operator.conditions import Condition, not_ready, trace_summary
from kafka_replication.infra.local.operator.connect_rest import ConnectRest, RestError, RunningConnector
from kafka_replication.infra.local.operator.connector_annotations import (
    RestartRequest,
    manage_offsets,
    restart_requests,
)
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
        stamp = conditions.timestamp(self.last)
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


_FAILED_LOOKUP = re.compile(r"Failed to retrieve (Secret|ConfigMap) (\S+) from Kubernetes namespace (\S+)")


def explained(api: KubernetesApi, connector: ConnectorResource, message: str) -> str:
    """Return the message; for a failed lookup, also whether RBAC forbids the read to the worker's service account."""
    failed = _FAILED_LOOKUP.search(message)
    if failed is None:
        return message
    kind, name, namespace = failed.groups()
    account = f"system:serviceaccount:{connector.namespace}:{connector.service_account}"
    if api.may_get(account, f"{kind.lower()}s", namespace, name):
        return message
    return f"{message}: Forbidden: no Role lets {account} get {kind} {namespace}/{name}"


HIDDEN = "(hidden)"
SHORTEST_SECRET = 4
"""Shorter values are not hidden: hiding every `1` of a message would make it unreadable."""

_PLACEHOLDER = re.compile(r"\$\{[^:}]+:([^/:}]+)/([^/:}]+):([^}]+)\}")


def placeholders(config: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return (namespace, name) of every object that a placeholder in the configuration refers to."""
    return {(match[1], match[2]) for value in config.values() for match in _PLACEHOLDER.finditer(value)}


def secret_values(api: KubernetesApi, names: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values of the Secrets among these objects, longest first."""
    values: set[str] = set()
    for namespace, name in names:
        secret = api.get(Reference("v1", "Secret", namespace, name)) or {}
        values |= {base64.b64decode(encoded).decode(errors="replace") for encoded in secret.get("data", {}).values()}
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def redacted(value: Any, secrets: Iterable[str]) -> Any:
    """Return the same value with every secret in every text replaced."""
    if isinstance(value, Mapping):
        return {key: redacted(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [redacted(item, secrets) for item in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
    return value


log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Pause before a refused configuration is tried again: a missing Secret or Role may be created later."""

TOPICS_SECONDS = 10.0
"""How long to remember the topics that a connector has used: Connect answers for only one connector per call."""


@dataclass(frozen=True)
class Refusal:
    """Connect refused this configuration; `due` is the time of the next attempt on the monotonic clock."""

    config: dict[str, str]
    condition: Condition
    due: float


@dataclass
class ConnectorReconciler:
    """Remembers refusals, used topics and the resources that it looked at, each until a time on the monotonic clock; it
    asks for everything else each time.

    With `interval_seconds` it looks at a connector that often only, or when its resource changes, as the real operator
    does. Until then the status says what Connect answered right after the last change, with the condition Ready: often
    the old state, or no task. Source: Strimzi AbstractConnectOperator.maybeCreateOrUpdateConnector.
    """

    api: KubernetesApi
    interval_seconds: float = 0.0
    _refusals: dict[tuple[str, str, str], Refusal] = field(default_factory=dict)
    _topics: dict[tuple[str, str, str], tuple[list[str], float]] = field(default_factory=dict)
    _looks: dict[tuple[str, str, str], tuple[object, float]] = field(default_factory=dict)

    def reconcile(self, rest: ConnectRest, connectors: Sequence[ConnectorResource]) -> None:
        """Do one round over all KafkaConnectors of one cluster, and write their statuses."""
        outcomes = self.outcomes(rest, connectors)
        for connector in connectors:
            if connector.name in outcomes:
                self._write(connector, outcomes[connector.name])

    def outcomes(self, rest: ConnectRest, connectors: Sequence[ConnectorResource]) -> dict[str, Outcome]:
        """Do one round over all connectors of one cluster. Return the outcomes that are known already, by name.

        Deletes connectors of Connect that are not in `connectors`.
        """
        try:
            running = rest.connectors()
            for name in sorted(running.keys() - {connector.name for connector in connectors}):
                log.info("connector %s deleted: it no longer has a resource", name)
                rest.call(name, "DELETE")
        except RestError as error:
            if error.passing:
                return {}
            refusal = not_ready("ConnectRestError", str(error))
            return {connector.name: _unreached(connector, refusal) for connector in connectors}
        outcomes = {}
        for connector in connectors:
            if not self._is_due(connector):
                continue
            outcome = self._outcome(rest, connector, running.get(connector.name))
            if outcome is not None:
                outcomes[connector.name] = outcome
                self._looks[connector.key] = _content(connector), time.monotonic() + self.interval_seconds
        return outcomes

    def _is_due(self, connector: ConnectorResource) -> bool:
        seen, due = self._looks.get(connector.key, (None, 0.0))
        return seen != _content(connector) or time.monotonic() >= due

    def not_ready(self, connectors: Sequence[ConnectorResource], reason: str, message: str) -> None:
        """Write in all of these statuses why the connectors cannot be handled."""
        for connector in connectors:
            self._write(connector, _unreached(connector, not_ready(reason, message)))

    def _outcome(
        self, rest: ConnectRest, connector: ConnectorResource, running: RunningConnector | None
    ) -> Outcome | None:
        now = datetime.now(UTC)
        restarts = restarts_after(connector, running, now)
        step = next_step(connector, running, now)
        condition, failed = self._earlier_refusal(connector, step), None
        try:
            if condition is None and step is not None:
                _take(rest, connector, step)
                match step:
                    case RestartFailed(count):
                        restarts = Restarts(count, now)
                    case Transition() if running is not None:
                        # Connect changes the state slowly; like Strimzi, report at once, often the old state.
                        running = replace(running, status=rest.status(connector.name))
                    case Create(config) | Configure(config) if self.interval_seconds:
                        running = RunningConnector(config, rest.status(connector.name))
                    case _:
                        # Connect still reports the state before the step; the next round reads the new one.
                        return None
            # Like Strimzi, in every round that does not create or configure the connector.
            failed = manage_offsets(self.api, rest, connector) if running is not None and condition is None else None
            if step is None and running is not None and self._restarted(rest, connector):
                return None
            topics = self._used_topics(rest, connector) if running and running.state == "RUNNING" else []
        except RestError as error:
            if error.passing:
                return None
            condition, topics = self._refused(connector, step, error), []
        if running is not None and running.failures:
            secrets = self._secrets(connector)
            running = replace(running, status=redacted(running.status, secrets))
        if failed is not None and failed.type != "Warning":
            condition, failed = failed, None
        return Outcome(condition, running, topics, restarts, (failed,) if failed else ())

    def _restarted(self, rest: ConnectRest, connector: ConnectorResource) -> bool:
        requests = [request for request in restart_requests(connector) if isinstance(request, RestartRequest)]
        for request in requests:
            log.info("connector %s/%s: %s", connector.namespace, connector.name, request.path)
            rest.call(connector.name, "POST", f"/{request.path}")
            self.api.patch(connector.declared_by, request.removal)
        return bool(requests)

    def _used_topics(self, rest: ConnectRest, connector: ConnectorResource) -> list[str]:
        names, due = self._topics.get(connector.key, ([], 0.0))
        if time.monotonic() >= due:
            names = rest.topics(connector.name)
            self._topics[connector.key] = names, time.monotonic() + TOPICS_SECONDS
        return names

    def _earlier_refusal(self, connector: ConnectorResource, step: ConnectorStep) -> Condition | None:
        """Return the earlier refusal, if this step is the same one and it is too soon to try it again."""
        refusal = self._refusals.get(connector.key)
        if refusal is None:
            return None
        same = isinstance(step, Create | Configure) and step.config == refusal.config
        if same and time.monotonic() < refusal.due:
            return refusal.condition
        del self._refusals[connector.key]
        return None

    def _refused(self, connector: ConnectorResource, step: ConnectorStep, error: RestError) -> Condition:
        secrets = self._secrets(connector)
        told = explained(self.api, connector, redacted(str(error), secrets))
        condition = not_ready("ConnectRestError", f"Connect answered {error.status}: {told}")
        if isinstance(step, Create | Configure):
            due = time.monotonic() + RETRY_SECONDS
            self._refusals[connector.key] = Refusal(dict(step.config), condition, due)
        return condition

    def _secrets(self, connector: ConnectorResource) -> list[str]:
        """Return every secret value that Connect may have read for the connector."""
        named = placeholders(connector_config(connector))
        return secret_values(self.api, named | {(connector.namespace, name) for name in connector.file_secrets})

    def _write(self, connector: ConnectorResource, outcome: Outcome) -> None:
        condition, running = outcome.refusal or condition_of(connector, outcome.running), outcome.running
        if condition.reason == OTHER_STATE and self.interval_seconds:
            condition = conditions.READY
        if running is not None and running.failures:
            condition = replace(condition, message=explained(self.api, connector, condition.message))
        body = status_body(connector, condition, outcome, datetime.now(UTC))
        conditions.write_status(self.api, connector.reference, connector.status, body)


def _content(connector: ConnectorResource) -> tuple[object, ...]:
    """Return what a change of the resource changes, except its status."""
    return connector.generation, tuple(sorted(connector.annotations.items()))


def _unreached(connector: ConnectorResource, refusal: Condition) -> Outcome:
    return Outcome(refusal, None, [], restarts_after(connector, None, datetime.now(UTC)))


def _take(
    rest: ConnectRest, connector: ConnectorResource, step: Create | Configure | Transition | RestartFailed
) -> None:
    name = connector.name
    match step:
        case Create(config, initial_state):
            told, call = f"created, {initial_state}", partial(rest.create, name, config, initial_state)
        case Configure(config):
            told, call = "configured", partial(rest.call, name, "PUT", "/config", dict(config))
        case Transition(verb):
            told, call = verb, partial(rest.call, name, "PUT", f"/{verb}")
        case RestartFailed(count):
            told = f"automatic restart {count}"
            call = partial(rest.call, name, "POST", "/restart?includeTasks=true&onlyFailed=true")
    log.info("connector %s/%s: %s", connector.namespace, name, told)
    call()
