"""Alerts of a flow for Prometheus. Each names the flow, says what it means, and names the command to run next. They
read only metrics that exist in every Kafka version, exporter and form of names (`tests/contract/test_metrics.py`).
Kafka has no metric for a single group's checkpoints, so no alert here covers a single group. It has no metric either
that shows that a partition makes no progress: a consumer's lag is that of its last fetch, and records that a transform
drops are not counted. Alerts on groups and partitions are in `exporter_alerts.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from components.flows.naming import replication_policy
from components.flows.resolved import ResolvedFlow
from components.kafka.connectors import ConnectorRole
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from components.render.deployments import declared_connectors
from components.render.metrics import FAILED_TASKS, LATENCY_MAX, RECORD_COUNT, RUNNING_TASKS
from components.render.planned_objects import Manifest
from components.topology.connectors import ConnectorState, SourceConnector
from components.topology.model import Flow

#: How long heartbeats must be missing at least, in seconds and in heartbeat intervals.
_SILENCE_SECONDS, _SILENT_INTERVALS = 300, 10


@dataclass(frozen=True)
class Alert:
    """One alert. `expression` (PromQL) has a result while something is wrong, and must have one for `minutes`."""

    name: str
    severity: str
    expression: str
    minutes: int
    summary: str
    meaning: str
    command: str


def runs(settings: Flow) -> bool:
    """Whether no source connector is declared paused or stopped."""
    connectors = settings.connectors
    sources: list[SourceConnector] = [*connectors.sources.values()] or [connectors.source]
    return all(source.state is ConnectorState.RUNNING for source in sources)


def translates(settings: Flow) -> bool:
    """Whether the flow's checkpoint connector is declared to run."""
    checkpoint = settings.connectors.checkpoint
    return checkpoint.enabled and checkpoint.state is ConnectorState.RUNNING


def of_flow(flow: ResolvedFlow, stack: str) -> str:
    """The labels by which an alert selects a flow's series."""
    return f'stack="{stack}",flow="{flow.name}"'


def flow_alerts(flow: ResolvedFlow, stack: str) -> Iterator[Alert]:
    """Yield the alerts of a flow; a flow that is paused or stopped on purpose has only that of failed tasks."""
    of, connectors = of_flow(flow, stack), flow.settings.connectors
    yield _task_failed(of)
    if not runs(flow.settings):
        return
    yield _metrics_absent(of)
    if HEARTBEATS_TOPIC in flow.heartbeat_topics and flow.settings.replicate_heartbeats:
        yield _heartbeat_silent(flow, of)
    if flow.settings.objectives.lag_seconds is not None:
        yield _latency_high(of, flow.settings.objectives.lag_seconds)
    if connectors.sources:
        yield _source_missing(flow, of)
    if translates(flow.settings):
        yield _checkpoints_missing(flow, of)


def alert_rule(alert: Alert, flow: ResolvedFlow, stack: str, runbooks: str | None) -> Manifest:
    """Return the alert as a Prometheus rule."""
    command = alert.command.format(stack=stack, flow=flow.name)
    annotations = {"summary": f"{flow.name}: {alert.summary}", "description": f"{alert.meaning} Next: `{command}`."}
    if runbooks is not None:
        annotations["runbook_url"] = f"{runbooks.partition('#')[0]}#{alert.name.lower()}"
    labels = {
        "severity": alert.severity,
        "stack": stack,
        "flow": flow.name,
        "source": flow.settings.source,
        "target": flow.settings.target,
    }
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": f"{alert.minutes}m",
        "labels": labels,
        "annotations": annotations,
    }


#: The command that shows the state of a flow.
STATUS = "replicate status {stack}"


def _task_failed(of: str) -> Alert:
    return Alert(
        "MirrorTaskFailed",
        "critical",
        # Every worker with a task of the connector reports the number for the whole connector.
        f"max by (flow, connector) ({FAILED_TASKS}{{{of}}}) > 0",
        5,
        "a task of connector {{ $labels.connector }} has failed",
        "Its partitions or groups make no progress, although the connector's resource may be Ready.",
        STATUS,
    )


def _metrics_absent(of: str) -> Alert:
    return Alert(
        "MirrorMetricsAbsent",
        "critical",
        f"absent({RECORD_COUNT}{{{of}}})",
        10,
        "no worker reports a record count for this flow",
        "No source task runs, or Prometheus does not reach the workers. MirrorTaskFailed can still fire if the workers "
        "are reached. Do not rely on the other alerts on the workers' metrics.",
        STATUS,
    )


def _heartbeat_silent(flow: ResolvedFlow, of: str) -> Alert:
    seconds = max(_SILENCE_SECONDS, _SILENT_INTERVALS * flow.settings.intervals.emit_heartbeats_seconds)
    topic = replication_policy(flow.settings).remote(HEARTBEATS_TOPIC)
    records = f"{RECORD_COUNT}{{{of}}}"
    heartbeats = f'{RECORD_COUNT}{{{of},topic="{topic}"}}'
    return Alert(
        "MirrorHeartbeatSilent",
        "critical",
        f"sum by (flow) (increase({heartbeats}[{seconds}s])) == 0\n"
        # Workers that have not replicated a heartbeat since they started have no heartbeat series.
        f"or count by (flow) ({records} offset {seconds}s)\n"
        f"and on (flow) count by (flow) ({records})\n"
        f"unless on (flow) count by (flow) (count_over_time({heartbeats}[{seconds}s]))",
        1,
        f"no heartbeat of {flow.settings.source} has been replicated for {seconds} s",
        "Heartbeats should arrive even if no records are produced. Without them, an idle flow looks like a broken one.",
        STATUS,
    )


def _latency_high(of: str, seconds: int) -> Alert:
    return Alert(
        "MirrorLatencyHigh",
        "warning",
        f"max by (flow) ({LATENCY_MAX}{{{of}}}) / 1000 > {seconds}",
        5,
        f"records take {{{{ $value | humanizeDuration }}}}, and the objective is {seconds} s",
        "This is the time of the slowest partition. After a failover, consumers would miss records that have not "
        "crossed yet.",
        STATUS,
    )


def _source_missing(flow: ResolvedFlow, of: str) -> Alert:
    return Alert(
        "MirrorSourceMissing",
        "critical",
        _without_tasks(flow, "source", of),
        10,
        "no task of connector {{ $labels.connector }} runs",
        "The topics of this source connector are not replicated; those of the others still are.",
        STATUS,
    )


def _checkpoints_missing(flow: ResolvedFlow, of: str) -> Alert:
    return Alert(
        "MirrorCheckpointsMissing",
        "warning",
        _without_tasks(flow, "checkpoint", of),
        15,
        "no task writes checkpoints",
        "The connector has failed, or no group matches `groups`: after a failover, groups would start without offsets.",
        STATUS,
    )


def _without_tasks(flow: ResolvedFlow, role: ConnectorRole, of: str) -> str:
    """Return an expression for each connector of this role that runs no task while the flow reports records."""
    named = [each.connector for each in declared_connectors(flow) if each.role == role]
    none = "\nor ".join(f'absent({RUNNING_TASKS}{{{of},connector="{each}"}} > 0)' for each in named)
    return f"({none})\nand on () count({RECORD_COUNT}{{{of}}}) > 0"
