"""Alerts of a flow for Prometheus. Each names the flow, says what it means, and names the command to run next.

They read only metrics that every Kafka, exporter and form of names has (`tests/contract/test_metrics.py`). Kafka has no
metric of a single group's checkpoints, so no alert is on one group. Nor has it one by which a partition can be seen to
stand still: the lag of a consumer is that of its last fetch, and records that a transform drops are not counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from components.flows.naming import replication_policy
from components.flows.resolved import ResolvedFlow
from components.kafka.mirror_connectors import ConnectorRole
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from components.render.deployments import declared_connectors
from components.render.metrics import FAILED_TASKS, LATENCY_MAX, RECORD_COUNT, RUNNING_TASKS
from components.render.planned_objects import Manifest
from components.topology.connectors import ConnectorState, SourceConnector

#: Shortest silence of heartbeats that counts, and how many intervals between heartbeats it is at least.
_SILENCE_SECONDS, _SILENT_INTERVALS = 300, 10


@dataclass(frozen=True)
class Alert:
    """One alert: a PromQL expression that has a result while something is wrong, and for how long it must have one."""

    name: str
    severity: str
    expression: str
    minutes: int
    summary: str
    meaning: str
    command: str


def flow_alerts(flow: ResolvedFlow) -> Iterator[Alert]:
    """Yield the alerts of a flow; a flow that is paused or stopped on purpose has only that of failed tasks."""
    yield _task_failed(flow)
    connectors = flow.settings.connectors
    sources: list[SourceConnector] = [*connectors.sources.values()] or [connectors.source]
    if any(source.state is not ConnectorState.RUNNING for source in sources):
        return
    yield _metrics_absent(flow)
    if HEARTBEATS_TOPIC in flow.heartbeat_topics and flow.settings.replicate_heartbeats:
        yield _heartbeat_silent(flow)
    if flow.settings.objectives.lag_seconds is not None:
        yield _latency_high(flow, flow.settings.objectives.lag_seconds)
    if connectors.sources:
        yield _source_missing(flow)
    if connectors.checkpoint.enabled and connectors.checkpoint.state is ConnectorState.RUNNING:
        yield _checkpoints_missing(flow)


def alert_rule(alert: Alert, flow: ResolvedFlow, stack: str, runbooks: str | None) -> Manifest:
    """Return the alert as a rule of Prometheus."""
    command = alert.command.format(stack=stack, flow=flow.name)
    annotations = {"summary": f"{flow.name}: {alert.summary}", "description": f"{alert.meaning} Next: `{command}`."}
    if runbooks is not None:
        annotations["runbook_url"] = f"{runbooks.partition('#')[0]}#{alert.name.lower()}"
    labels = {
        "severity": alert.severity,
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


_STATUS = "replicate status {stack}"


def _task_failed(flow: ResolvedFlow) -> Alert:
    return Alert(
        "MirrorTaskFailed",
        "critical",
        # Every worker with a task of the connector reports the number of the whole connector.
        f'max by (flow, connector) ({FAILED_TASKS}{{flow="{flow.name}"}}) > 0',
        5,
        "a task of connector {{ $labels.connector }} has failed",
        "Its partitions or groups stand still, although the connector's resource can be Ready.",
        _STATUS,
    )


def _metrics_absent(flow: ResolvedFlow) -> Alert:
    return Alert(
        "MirrorMetricsAbsent",
        "critical",
        f'absent({RECORD_COUNT}{{flow="{flow.name}"}})',
        10,
        "no worker reports its records",
        "No source task runs, or Prometheus does not reach the workers: the other alerts on the flow are blind.",
        _STATUS,
    )


def _heartbeat_silent(flow: ResolvedFlow) -> Alert:
    seconds = max(_SILENCE_SECONDS, _SILENT_INTERVALS * flow.settings.intervals.emit_heartbeats_seconds)
    topic = replication_policy(flow.settings).remote(HEARTBEATS_TOPIC)
    records = f'{RECORD_COUNT}{{flow="{flow.name}"}}'
    heartbeats = f'{RECORD_COUNT}{{flow="{flow.name}",topic="{topic}"}}'
    return Alert(
        "MirrorHeartbeatSilent",
        "critical",
        f"sum by (flow) (increase({heartbeats}[{seconds}s])) == 0\n"
        # Workers that have not replicated a heartbeat since they started have no series of them.
        f"or count by (flow) ({records} offset {seconds}s)\n"
        f"and on (flow) count by (flow) ({records})\n"
        f"unless on (flow) count by (flow) (count_over_time({heartbeats}[{seconds}s]))",
        1,
        f"no heartbeat of {flow.settings.source} has been replicated for {seconds} s",
        "Nothing shows that records still cross, even if no records are due.",
        _STATUS,
    )


def _latency_high(flow: ResolvedFlow, seconds: int) -> Alert:
    return Alert(
        "MirrorLatencyHigh",
        "warning",
        f'max by (flow) ({LATENCY_MAX}{{flow="{flow.name}"}}) / 1000 > {seconds}',
        5,
        f"records take {{{{ $value | humanizeDuration }}}}, and the objective is {seconds} s",
        "The slowest partition decides. After a failover, consumers would miss what has not crossed yet.",
        _STATUS,
    )


def _source_missing(flow: ResolvedFlow) -> Alert:
    return Alert(
        "MirrorSourceMissing",
        "critical",
        _without_tasks(flow, "source"),
        10,
        "no task of connector {{ $labels.connector }} runs",
        "The topics of this source connector stand still; those of the others go on.",
        _STATUS,
    )


def _checkpoints_missing(flow: ResolvedFlow) -> Alert:
    return Alert(
        "MirrorCheckpointsMissing",
        "warning",
        _without_tasks(flow, "checkpoint"),
        15,
        "no task writes checkpoints",
        "The connector has failed, or no group matches `groups`: after a failover, groups would start without offsets.",
        _STATUS,
    )


def _without_tasks(flow: ResolvedFlow, role: ConnectorRole) -> str:
    """Return an expression for each connector of this role that runs no task while the flow reports records."""
    of_flow = f'flow="{flow.name}"'
    named = [each.connector for each in declared_connectors(flow) if each.role == role]
    none = "\nor ".join(f'absent({RUNNING_TASKS}{{{of_flow},connector="{each}"}} > 0)' for each in named)
    return f"({none})\nand on () count({RECORD_COUNT}{{{of_flow}}}) > 0"
