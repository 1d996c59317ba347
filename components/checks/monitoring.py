"""Monitoring that would report nothing."""

from collections.abc import Iterable, Iterator

from kafka_replication.components.checks.names import check_labels
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.kafka.patterns import matches_any
from kafka_replication.components.render.alerts import translates
from kafka_replication.components.render.metrics import (
    FAILED_TASKS,
    FORMS,
    NEW_NAMES,
    RUNNING_TASKS,
    allow_list,
    reports_both,
    reports_new,
)
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.workers import JmxMetrics, Metrics, ReporterMetrics

#: Without metrics of the workers, `monitoring` itself is a mistake.
_AND_METRICS = ", and `connect.metrics: {type: jmxPrometheusExporter}` here."


def check_monitoring(topology: Topology, flows: Iterable[ExpandedFlow], *, whole: bool) -> Iterator[Problem]:
    """Workers report the metrics that alerts read, and in a `whole` topology, each objective of a flow has an alert."""
    if topology.monitoring is not None:
        yield from check_labels("monitoring.labels", topology.monitoring.labels)
        yield from check_labels("monitoring.dashboardLabels", topology.monitoring.dashboard_labels)
    for flow in flows:
        yield from _check_checkpoint_metrics(flow)
        yield from _check_read_again(topology, flow, whole=whole)
        lag_seconds, metrics = flow.settings.objectives.lag_seconds, flow.settings.connect.metrics
        if whole and topology.monitoring is None and lag_seconds is not None:
            yield warning(
                flow.where("objectives.lagSeconds"),
                "objective-not-watched",
                f"nothing watches the objective of {lag_seconds} s",
                "Only alerts check a flow's objectives, and the topology has no `monitoring`.",
                "set `monitoring: {namespace: NAME}` at the top of the topology"
                + (_AND_METRICS if metrics is None else "."),
            )
        elif topology.monitoring is not None and metrics is None:
            yield Problem(
                flow.where("connect.metrics"),
                "monitoring-without-metrics",
                "`monitoring` is set, but the workers report no metrics",
                "The dashboard would be empty, and the alert MirrorMetricsAbsent would never end.",
                "set `connect.metrics: {type: jmxPrometheusExporter}`, or `{type: strimziMetricsReporter}` from "
                "Strimzi 0.48 on.",
            )
        elif topology.monitoring is not None and metrics is not None:
            yield from _check_metrics(flow, metrics)


def _check_read_again(topology: Topology, flow: ExpandedFlow, *, whole: bool) -> Iterator[Problem]:
    records = flow.settings.objectives.read_again
    if records is None:
        return
    where, what = flow.where("objectives.readAgain"), f"nothing watches the objective of {records} records"
    if not (translates(flow.settings) and flow.settings.groups):
        pair = flow.shape is FlowShape.PREFIXLESS_PAIR
        why = f"{'A pair' if pair else 'The flow'} translates no offsets, so nothing measures what its groups would "
        why += "read again."
        otherwise = "" if pair else ", or let the checkpoint connector run for the flow's `groups`"
        remedy = f"remove `readAgain`{otherwise}."
        yield warning(where, "objective-not-watched", what, why, remedy)
    elif whole and (topology.monitoring is None or not topology.monitoring.exporter):
        why = "None of Kafka's metrics shows it; only those of `replicate exporter` do."
        remedy = "run the exporter, and set `monitoring.exporter: true` at the top of the topology."
        if topology.monitoring is None:
            remedy = (
                "run the exporter, and set `monitoring: {namespace: NAME, exporter: true}` at the top of the topology"
            )
            remedy += _AND_METRICS if flow.settings.connect.metrics is None else "."
        yield warning(where, "objective-not-watched", what, why, remedy)


def _check_metrics(flow: ExpandedFlow, metrics: Metrics) -> Iterator[Problem]:
    allowed = allow_list(metrics) if isinstance(metrics, ReporterMetrics) else None
    if left_out := [name for name in _of_workers(flow) if allowed and not matches_any(allowed, name)]:
        yield Problem(
            flow.where("connect.metrics.allowList"),
            "metrics-left-out",
            f"the allow list leaves out {', '.join(f'`{name}`' for name in left_out)}",
            "Alerts and the dashboard read these metrics of the workers, and would never get them.",
            "add `kafka_connect_.*`, or remove `allowList` for the list of the project.",
        )
    if isinstance(metrics, JmxMetrics) and metrics.config_map is not None:
        yield warning(
            flow.where("connect.metrics.configMap"),
            "metrics-rules-not-read",
            f"the rules in ConfigMap `{metrics.config_map}` are not checked",
            "Alerts and the dashboard read only the metric names that the project's rules produce.",
            "remove `configMap` to use the project's rules, or make yours report the names in stacks/README.md, under "
            '"Metrics".',
        )


def _of_workers(flow: ExpandedFlow) -> tuple[str, ...]:
    """Return the metrics that the workers' own reporter must report; `new` names only if it is the only form."""
    names = (FAILED_TASKS, RUNNING_TASKS)
    connectors = flow.settings.connectors
    configs = [connectors.source.config, *(source.config for source in connectors.sources.values())]
    if not any(reports_new(config) and not reports_both(config) for config in configs):
        return names
    return (*names, *NEW_NAMES)


def _check_checkpoint_metrics(flow: ExpandedFlow) -> Iterator[Problem]:
    """Source: MirrorCheckpointMetrics of Kafka 4.3, one sensor for all groups of a task."""
    checkpoint = flow.settings.connectors.checkpoint
    if checkpoint.enabled and reports_new(checkpoint.config):
        yield warning(
            flow.where(f"connectors.checkpoint.config.{FORMS}"),
            "checkpoint-metrics-refused",
            f"`{FORMS}` of the checkpoint connector is `{checkpoint.config[FORMS]}`",
            "With the new names, Kafka 4.3 refuses the metrics of all groups of a task but the first.",
            f"remove `{FORMS}` from the checkpoint connector; the source connector can keep it.",
        )
