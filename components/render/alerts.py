"""The rules of a flow for Prometheus: the alerts of `alerts.yaml`, with the values of the flow."""

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from kafka_replication.components.contract import exported_series as series
from kafka_replication.components.contract.published_verdict import PROOF_HOURS
from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.flows.selections import each_source
from kafka_replication.components.kafka.connectors import BEHIND_SECONDS, ConnectorRole
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC
from kafka_replication.components.render.deployments import declared_connectors
from kafka_replication.components.render.metrics import RECORD_COUNT, RUNNING_TASKS
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.connectors import ConnectorState, SourceConnector
from kafka_replication.components.topology.model import Flow

#: How long heartbeats must be missing at least, in seconds and in heartbeat intervals.
_SILENCE_SECONDS, _SILENT_INTERVALS = 300, 10
#: Minutes over which records that return are counted. The short one soon finds circling records; the long one also
#: finds records that come back only once, because its ends weigh less.
_RETURN_MINUTES = (10, 60)
#: New offsets are counted over a longer time than records: from this much earlier until this much later. The exporter's
#: values can be this much older than those of the workers.
_RETURN_MARGIN_MINUTES = 2
#: `increase` extrapolates to the ends of its range.
_RETURN_TOLERANCE = 1.1


@dataclass(frozen=True)
class Alert:
    """An entry of `alerts.yaml`, where the fields are explained."""

    name: str
    severity: str
    minutes: int | str
    expression: str
    summary: str
    meaning: str
    command: str = "replicate status @stack"
    by_refused_login: bool = False


@functools.cache
def _alerts() -> Mapping[str, Sequence[Alert]]:
    groups = yaml.safe_load(Path(__file__).with_name("alerts.yaml").read_text())
    return {group: [Alert(**alert) for alert in alerts] for group, alerts in groups.items()}


def alert_rules(
    flow: ResolvedFlow, flows: Sequence[ResolvedFlow], stack: str, runbooks: str | None, *, exporter: bool
) -> Iterator[Manifest]:
    """Yield a flow's rules; `flows` are all those of the stack, `exporter` adds alerts on the exporter's series."""
    groups = ["always", "always_on_exporter"] if exporter else ["always"]
    if runs(flow.settings):
        groups += ["on_metrics", "on_exporter"] if exporter else ["on_metrics"]
    values = _values(flow, flows, stack)
    known = {name for name, value in values.items() if value is not None}
    for alert in (alert for group in groups for alert in _alerts()[group]):
        used = set(re.findall(r"@(\w+)", f"{alert.expression} {alert.summary} {alert.meaning} {alert.command}"))
        if used <= known:
            silent = exporter and alert.by_refused_login
            yield _rule(alert, flow, values, runbooks, silent_on_refusal=silent)


def _rule(
    alert: Alert, flow: ResolvedFlow, values: Mapping[str, object], runbooks: str | None, *, silent_on_refusal: bool
) -> Manifest:
    def filled(text: str) -> str:
        return re.sub(r"@(\w+)", lambda name: str(values[name[1]]), text)

    expression = filled(alert.expression)
    if silent_on_refusal:
        expression = f"({expression})\nunless on () max({series.LOGIN_REFUSED.name}{{{values['flow']}}}) > 0"
    annotations = {
        "summary": f"{flow.name}: {filled(alert.summary)}",
        "description": f"{filled(alert.meaning)} Next: `{filled(alert.command)}`.",
    }
    if runbooks is not None:
        annotations["runbook_url"] = f"{runbooks.partition('#')[0]}#{alert.name.lower()}"
    return {
        "alert": alert.name,
        "expr": expression,
        "for": f"{filled(str(alert.minutes))}m",
        "labels": {
            "severity": alert.severity,
            "stack": values["stack"],
            "flow": flow.name,
            "source": flow.settings.source,
            "target": flow.settings.target,
        },
        "annotations": annotations,
    }


def _values(flow: ResolvedFlow, flows: Sequence[ResolvedFlow], stack: str) -> dict[str, object]:
    """Return the values that alerts name, None for what this flow does not have."""
    settings, lag_seconds = flow.settings, flow.settings.objectives.lag_seconds
    of_flow = _labels(flow, stack)
    silence = max(_SILENCE_SECONDS, _SILENT_INTERVALS * settings.intervals.emit_heartbeats_seconds)
    heartbeats = HEARTBEATS_TOPIC in flow.heartbeat_topics and settings.replicate_heartbeats
    translating = translates(settings)
    # If transforms change records, it is not known whether the newest ones would pass them.
    unchanged = not any(source.transforms.change_records for _, source in each_source(settings))
    return {
        "stack": stack,
        "namespace": flow.namespace,
        "source": settings.source,
        "target": settings.target,
        "flow": of_flow,
        "translating_flow": of_flow if translating else None,
        "unchanged_flow": of_flow if unchanged else None,
        "stopping_flow": of_flow if settings.on_loss is not None else None,
        "heartbeats_topic": replication_policy(settings).remote(HEARTBEATS_TOPIC) if heartbeats else None,
        "silence": f"{silence}s",
        "silence_seconds": silence,
        "lag_seconds": lag_seconds,
        # Offsets are committed with a delay, so a flow that keeps up can seem this far behind.
        "most_lag_seconds": lag_seconds + BEHIND_SECONDS if lag_seconds is not None and unchanged else None,
        "discovery_minutes": math.ceil(settings.intervals.refresh_topics_seconds / 60) + 1,
        "read_again": settings.objectives.read_again,
        "behind_seconds": BEHIND_SECONDS,
        "proof_hours": PROOF_HOURS,
        "proof_seconds": PROOF_HOURS * 3600,
        "expires_soon_seconds": series.EXPIRES_SOON_DAYS * 86_400,
        "return_minutes": " or ".join(map(str, _RETURN_MINUTES)),
        "sources_without_task": _without_task(flow, "source", of_flow) if settings.connectors.sources else None,
        "checkpoints_without_task": _without_task(flow, "checkpoint", of_flow) if translating else None,
        "returned_records": _returned_records(flow, flows, stack),
    }


def _labels(flow: ResolvedFlow, stack: str) -> str:
    return f'stack="{stack}",flow="{flow.name}"'


def runs(settings: Flow) -> bool:
    """Return whether no source connector is declared paused or stopped."""
    connectors = settings.connectors
    sources: list[SourceConnector] = [*connectors.sources.values()] or [connectors.source]
    return all(source.state is ConnectorState.RUNNING for source in sources)


def translates(settings: Flow) -> bool:
    """Return whether the flow's checkpoint connector is declared to run."""
    checkpoint = settings.connectors.checkpoint
    return checkpoint.enabled and checkpoint.state is ConnectorState.RUNNING


def _without_task(flow: ResolvedFlow, role: ConnectorRole, of_flow: str) -> str:
    """Return an expression for each connector of this role that runs no task while the flow reports records."""
    connectors = [declared.connector for declared in declared_connectors(flow) if declared.role == role]
    none = "\nor ".join(f'absent({RUNNING_TASKS}{{{of_flow},connector="{name}"}} > 0)' for name in connectors)
    return f"({none})\nand on () count({RECORD_COUNT}{{{of_flow}}}) > 0"


def _returned_records(flow: ResolvedFlow, flows: Sequence[ResolvedFlow], stack: str) -> str | None:
    """Return an expression for records that came back to a pair's cluster; None unless both flows run here."""
    pair = flow.expanded.replication if flow.expanded.shape is FlowShape.PREFIXLESS_PAIR else None
    others = [other for other in flows if other.expanded.replication == pair and other.name != flow.name]
    if not others or not all(map(runs, (flow.settings, others[0].settings))):
        return None
    both = [_labels(flow, stack), _labels(others[0], stack)]
    return "\nor ".join(_returned_within(both, minutes) for minutes in _RETURN_MINUTES)


def _returned_within(both: Sequence[str], minutes: int) -> str:
    replicated = " + ".join(
        f'sum(increase({RECORD_COUNT}{{{of_flow},topic!~".*heartbeats"}}[{minutes}m] offset {_RETURN_MARGIN_MINUTES}m))'
        for of_flow in both
    )
    grown = minutes + 2 * _RETURN_MARGIN_MINUTES
    # Records that already waited on the source are new only on the target.
    waited = " - ".join(f"max(max_over_time({series.LAG_RECORDS.name}{{{of_flow}}}[{grown}m]))" for of_flow in both)
    ends = f"{series.SOURCE_ENDS.name}{{{both[0]}}}"
    new = f"{_RETURN_TOLERANCE} * max({ends} - {ends} offset {grown}m)"
    # A deleted topic takes its end offsets with it, so the number of new records is not known.
    return f"{replicated}\n- {waited}\n- {new} > 0\nand on () max(resets({ends}[{grown}m])) == 0"
