"""The alerts of a flow for Prometheus, as a table. Each says what is wrong, what that means, and which command to run
next.

The first alerts read only metrics that exist in every Kafka version, exporter and form of names
(`tests/contract/test_metrics.py`). Kafka has no metric for a single group's checkpoints, and none that shows that a
partition makes no progress: a consumer's lag is that of its last fetch, and records that a transform drops are not
counted. Alerts on groups, partitions and logins therefore read the series of `replicate exporter`. If the exporter gets
no answer to a question, the series is missing; only MirrorExporterAbsent and MirrorNotAsked can then fire.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.contract import exported_series as series
from components.contract.published_verdict import PROOF_HOURS
from components.flows.expansion import FlowShape
from components.flows.naming import replication_policy
from components.flows.resolved import ResolvedFlow
from components.flows.selections import each_source
from components.kafka.connectors import BEHIND_SECONDS, ConnectorRole
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from components.render.deployments import declared_connectors
from components.render.metrics import FAILED_TASKS, LATENCY_MAX, RECORD_COUNT, RUNNING_TASKS
from components.render.planned_objects import Manifest
from components.topology.connectors import ConnectorState, SourceConnector
from components.topology.model import Flow

#: How long heartbeats must be missing at least, in seconds and in heartbeat intervals.
_SILENCE_SECONDS, _SILENT_INTERVALS = 300, 10
#: A partition is stalled if records wait in it now, if they waited this long ago, and if it has not moved since.
_STALLED_MINUTES = 15
#: The lag has grown if, during this time, it was always above its greatest value in the same time before.
_GROWING_MINUTES = 10
_DAY_SECONDS = 86_400
#: Minutes over which records that return are counted. The short one soon finds circling records; the long one also
#: finds records that come back only once, because its ends weigh less.
_RETURN_MINUTES = (10, 60)
#: New offsets are counted over a longer time than records: from this much earlier until this much later. The exporter's
#: values can be this much older than those of the workers.
_RETURN_MARGIN_MINUTES = 2
#: `increase` extrapolates to the ends of its range.
_RETURN_TOLERANCE = 1.1

_STATUS = "replicate status @stack"
_VALIDATE = "replicate validate @stack --publish"


@dataclass(frozen=True)
class Alert:
    """One alert. `expression` (PromQL) has a result while something is wrong, and must have one for `minutes`.

    `@name` in a text is a value of the flow (`_values`); a flow that lacks it does not have the alert. `@flow` is the
    labels of its series. `by_refused_login`: a refused login also causes this, so the alert stays silent meanwhile.
    """

    name: str
    severity: str
    minutes: int
    expression: str
    summary: str
    meaning: str
    command: str = _STATUS
    by_refused_login: bool = False


#: The only alert of a flow that is paused or stopped on purpose.
_TASK_FAILED = Alert(
    "MirrorTaskFailed",
    "critical",
    5,
    # Every worker with a task of the connector reports the number for the whole connector.
    f"max by (flow, connector) ({FAILED_TASKS}{{@flow}}) > 0",
    "a task of connector {{ $labels.connector }} has failed",
    "Its partitions or groups make no progress, although the connector's resource may be Ready.",
    by_refused_login=True,
)

_HEARTBEATS = f'{RECORD_COUNT}{{@flow,topic="@heartbeats_topic"}}'

#: Alerts on the workers' metrics.
_ON_METRICS = (
    Alert(
        "MirrorMetricsAbsent",
        "critical",
        10,
        f"absent({RECORD_COUNT}{{@flow}})",
        "no worker reports a record count for this flow",
        "No source task runs, or Prometheus does not reach the workers. MirrorTaskFailed can still fire if the workers "
        "are reached. Do not rely on the other alerts on the workers' metrics.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorHeartbeatSilent",
        "critical",
        1,
        f"sum by (flow) (increase({_HEARTBEATS}[@silence])) == 0\n"
        # Workers that have not replicated a heartbeat since they started have no heartbeat series.
        f"or count by (flow) ({RECORD_COUNT}{{@flow}} offset @silence)\n"
        f"and on (flow) count by (flow) ({RECORD_COUNT}{{@flow}})\n"
        f"unless on (flow) count by (flow) (count_over_time({_HEARTBEATS}[@silence]))",
        "no heartbeat of @source has been replicated for @silence_seconds s",
        "Heartbeats should arrive even if no records are produced. Without them, an idle flow looks like a broken one.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorLatencyHigh",
        "warning",
        5,
        f"max by (flow) ({LATENCY_MAX}{{@flow}}) / 1000 > @lag_seconds",
        "records take {{ $value | humanizeDuration }}, and the objective is @lag_seconds s",
        "This is the time of the slowest partition. After a failover, consumers would miss records that have not "
        "crossed yet.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorSourceMissing",
        "critical",
        10,
        "@sources_without_task",
        "no task of connector {{ $labels.connector }} runs",
        "The topics of this source connector are not replicated; those of the others still are.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorCheckpointsMissing",
        "warning",
        15,
        "@checkpoints_without_task",
        "no task writes checkpoints",
        "The connector has failed, or no group matches `groups`: after a failover, groups would start without offsets.",
        by_refused_login=True,
    ),
)

_POSITION = f"{series.PARTITION_POSITION.name}{{@flow}}"
_LAG = f"{series.LAG_RECORDS.name}{{@flow}}"
_LEAST_LAG = f"min(min_over_time({_LAG}[{_GROWING_MINUTES}m]))"
_CROSSING = f'{RECORD_COUNT}{{@flow,topic!~".*heartbeats"}}[{_GROWING_MINUTES}m]'
_EXPIRY = f"min by (cluster, secret, key) ({series.CERTIFICATE_EXPIRY.name}{{@flow}}) - time()"
_REFUSED = f"max by (cluster) ({series.LOGIN_REFUSED.name}{{@flow}})"

#: Alerts on the series of `replicate exporter`, for faults that none of Kafka's metrics shows.
_ON_EXPORTER = (
    Alert(
        "MirrorExporterAbsent",
        "warning",
        10,
        f"absent({series.UNANSWERED.name}{{@flow}})",
        "no exporter reports on this flow",
        "The exporter does not run, hangs, watches other stacks, or is not scraped. Alerts on its series cannot fire.",
        "replicate exporter @stack",
    ),
    Alert(
        "MirrorNotAsked",
        "warning",
        15,
        f"max by (what) ({series.UNANSWERED.name}{{@flow}}) > 0",
        "{{ $labels.what }} is unknown to the exporter",
        "Kubernetes or a Kafka cluster does not answer the exporter or refuses it, or the published verdict cannot be "
        "read. Alerts that need this answer cannot fire.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorTopicMissing",
        "warning",
        15,
        f"max({series.MISSING_TOPICS.name}{{@flow}}) > 0",
        "{{ $value }} topics do not exist on @target",
        "They were deleted there, or the flow cannot create them.",
    ),
    Alert(
        "MirrorPartitionStalled",
        "critical",
        5,
        # A partition with this series has waiting records. Their timestamps do not show whether it moves, because
        # producers set them freely.
        f"count({_POSITION} == {_POSITION} offset @stalled_minutes) > 0",
        f"for {_STALLED_MINUTES} minutes {{{{ $value }}}} or more partitions have made no progress",
        "Records wait in them and do not cross. Other partitions may still make progress.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorLagHigh",
        "warning",
        5,
        f"max({series.LAG_SECONDS.name}{{@flow}}) > @most_lag_seconds",
        "a record has waited for {{ $value | humanizeDuration }}, and the objective is @lag_seconds s",
        "It may not be on @target yet, and a failover now would lose it.",
        by_refused_login=True,
    ),
    Alert(
        "MirrorLagGrowing",
        "warning",
        5,
        # The lag goes up and down with every commit of offsets, so its least value is compared with its greatest
        # before. A flow that keeps up with more records than before seems to lag by what crosses between two commits.
        f"{_LEAST_LAG} > max(max_over_time({_LAG}[@growing_minutes] offset {_GROWING_MINUTES + 1}m))\n"
        f"and on () {_LEAST_LAG} > {BEHIND_SECONDS} * sum(rate({_CROSSING}))\n"
        # A stalled flow has its own alerts.
        f"and on () sum(increase({_CROSSING})) > 0",
        f"for {_GROWING_MINUTES} minutes at least {{{{ $value }}}} records have been waiting, more than at any time in "
        f"the {_GROWING_MINUTES} minutes before",
        "Records cross, but more are produced. The longer this lasts, the more records a failover would lose.",
    ),
    Alert(
        "MirrorGroupWithoutPosition",
        "warning",
        15,
        f"max({series.GROUPS_WITHOUT_POSITION.name}{{@translating_flow}}) > 0",
        "{{ $value }} groups have no position on @target",
        "After a failover they would begin at their `auto.offset.reset`: they would skip records, or read all again.",
    ),
    Alert(
        "MirrorReadAgainHigh",
        "warning",
        15,
        f"max by (group) ({series.GROUP_READ_AGAIN.name}{{@translating_flow}}) > @read_again",
        "group {{ $labels.group }} would read {{ $value }} records again, and the objective is @read_again",
        "Its translated position is far behind. `replicate failover` computes exact ones while both clusters answer.",
    ),
    Alert(
        "MirrorVerdictFailed",
        "critical",
        1,
        f'max({series.VERDICT.name}{{@flow,{series.VERDICT.name}=~"fail|error"}}) > 0',
        "its newest validation did not pass",
        "Records or offsets are not on the target as they should be, or a check could not run.",
        _VALIDATE,
    ),
    Alert(
        "MirrorVerdictStale",
        "warning",
        60,
        f'max({series.VERDICT.name}{{@flow,{series.VERDICT.name}="{series.NO_VERDICT}"}}) > 0\n'
        f"or max({series.VERDICT_CURRENT.name}{{@flow}}) == 0\n"
        f"or time() - max({series.VERDICT_TIME.name}{{@flow}}) > {PROOF_HOURS * 3600}",
        "its current state is not proven",
        f"No validation was published, or the newest is about another model or older than {PROOF_HOURS} hours.",
        _VALIDATE,
    ),
    # A worker whose login is refused logs that and keeps trying. Its task stays RUNNING and fails only when the worker
    # restarts, so the exporter tries each login itself. At most one of these alerts fires for one login.
    Alert(
        "MirrorCertificateExpiring",
        "warning",
        60,
        f"{_EXPIRY} < {series.EXPIRES_SOON_DAYS * _DAY_SECONDS} > 0",
        "a certificate in Secret {{ $labels.secret }} ({{ $labels.key }}) expires in {{ $value | humanizeDuration }}",
        "The connectors use it to connect to {{ $labels.cluster }}. Unless it is a spare one in a bundle, they cannot "
        "connect once it has expired.",
    ),
    Alert(
        "MirrorCertificateExpired",
        "critical",
        2,
        # A bundle may hold an old certificate that nobody needs; the cluster then still accepts the login.
        f"({_EXPIRY} <= 0)\nunless on (cluster) {_REFUSED} == 0",
        "a certificate in Secret {{ $labels.secret }} ({{ $labels.key }}) has expired",
        "The connectors use it to connect to {{ $labels.cluster }}. Nothing crosses until it is renewed.",
    ),
    Alert(
        "MirrorLoginRefused",
        "critical",
        2,
        f"{_REFUSED} > 0\nunless on (cluster) {_EXPIRY} <= 0",
        "{{ $labels.cluster }} refuses the login of its connectors",
        "The Secret does not hold the user's password or certificate, or the connectors do not trust the cluster's "
        "certificate.",
    ),
    Alert(
        "MirrorDrift",
        "warning",
        60,
        f"max({series.DRIFT.name}{{@flow}}) > 0",
        "{{ $value }} of its objects and fields are not as deployed",
        "Somebody changed, added or deleted them by hand: the next deployment may undo that, or conflict with it.",
        "replicate diff @stack --against cluster",
    ),
    # Each of a pair's two flows writes to the topics that the other reads. As long as each drops the records that the
    # other wrote, both together replicate no more records than appear in the topics of either side. Any additional
    # records came back, and are sent again and again.
    Alert(
        "MirrorRecordsReturn",
        "critical",
        5,
        "@returned_records",
        f"at least {{{{ $value }}}} records came back in the last {_RETURN_MINUTES[0]} or {_RETURN_MINUTES[1]} minutes",
        "@source or @target receives its own records back, because the loop guard does not drop them.",
    ),
)


def alert_rules(
    flow: ResolvedFlow, flows: Sequence[ResolvedFlow], stack: str, runbooks: str | None, *, exporter: bool
) -> Iterator[Manifest]:
    """Yield the Prometheus rules of a flow; `flows` are all those of the stack, and `exporter` adds the alerts on the
    exporter's series.
    """
    alerts = (_TASK_FAILED,)
    if runs(flow.settings):
        alerts += (*_ON_METRICS, *(_ON_EXPORTER if exporter else ()))
    values = _values(flow, flows, stack)
    known = {name for name, value in values.items() if value is not None}
    for alert in alerts:
        used = set(re.findall(r"@(\w+)", f"{alert.expression} {alert.summary} {alert.meaning} {alert.command}"))
        if used <= known:
            yield _rule(alert, flow, values, stack, runbooks, silent_on_refusal=exporter and alert.by_refused_login)


def _rule(
    alert: Alert,
    flow: ResolvedFlow,
    values: Mapping[str, object],
    stack: str,
    runbooks: str | None,
    *,
    silent_on_refusal: bool,
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
        "for": f"{alert.minutes}m",
        "labels": {
            "severity": alert.severity,
            "stack": stack,
            "flow": flow.name,
            "source": flow.settings.source,
            "target": flow.settings.target,
        },
        "annotations": annotations,
    }


def _values(flow: ResolvedFlow, flows: Sequence[ResolvedFlow], stack: str) -> dict[str, object]:
    """Return the values that alerts name, None for what this flow does not have."""
    settings, objectives = flow.settings, flow.settings.objectives
    of_flow = _labels(flow, stack)
    silence = max(_SILENCE_SECONDS, _SILENT_INTERVALS * settings.intervals.emit_heartbeats_seconds)
    heartbeats = HEARTBEATS_TOPIC in flow.heartbeat_topics and settings.replicate_heartbeats
    translating = translates(settings)
    # If transforms change records, it is not known whether the newest ones would pass them.
    unchanged = not any(source.transforms.change_records for _, source in each_source(settings))
    return {
        "stack": stack,
        "source": settings.source,
        "target": settings.target,
        "flow": of_flow,
        "translating_flow": of_flow if translating else None,
        "heartbeats_topic": replication_policy(settings).remote(HEARTBEATS_TOPIC) if heartbeats else None,
        "silence": f"{silence}s",
        "silence_seconds": silence,
        "lag_seconds": objectives.lag_seconds,
        "most_lag_seconds": _most_lag_seconds(objectives.lag_seconds) if unchanged else None,
        "read_again": objectives.read_again,
        "stalled_minutes": f"{_STALLED_MINUTES}m" if unchanged else None,
        "growing_minutes": f"{_GROWING_MINUTES}m" if unchanged else None,
        "sources_without_task": _without_task(flow, "source", of_flow) if settings.connectors.sources else None,
        "checkpoints_without_task": _without_task(flow, "checkpoint", of_flow) if translating else None,
        "returned_records": _returned_records(flow, flows, stack),
    }


def _labels(flow: ResolvedFlow, stack: str) -> str:
    return f'stack="{stack}",flow="{flow.name}"'


def _most_lag_seconds(objective: int | None) -> int | None:
    # Offsets are committed with a delay, so a flow that keeps up can seem this far behind.
    return None if objective is None else objective + BEHIND_SECONDS


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
    """Return an expression for the least number of records that came back to a cluster of a pair; None unless the stack
    has both flows and both run, because it needs the series of both.
    """
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
