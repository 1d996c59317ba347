"""What the Prometheus operator and Grafana need to watch the flows of a stack: scraping, alerts, a dashboard.

Every series gets the labels `stack` and `flow`, which Kafka does not have. Names in the form `new` become names in the
form `legacy`, so one alert fits both. Names of a connector that reports both forms stay, or they would count twice.
Source: Prometheus operator, PodMonitor and PrometheusRule.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kafka_replication.components.flows.operators import CLUSTER_LABEL, WORKER_KINDS
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.alerts import alert_rules
from kafka_replication.components.render.config_layers import Config, values
from kafka_replication.components.render.connector_config import changeable_layers
from kafka_replication.components.render.dashboard import dashboard
from kafka_replication.components.render.deployments import Deployment, declared_connectors, deployments
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.render.kafka_connectors import connector_roles, name_in_connect
from kafka_replication.components.render.metrics import LEGACY_NAMES, RECORDS_LAG, reports_both
from kafka_replication.components.render.planned_objects import ObjectRole, PlannedObject, manifest
from kafka_replication.components.topology.model import MonitoringSettings, Topology

#: The objects' `part-of` label, in place of a flow's name.
_MONITORING = "monitoring"
API_VERSION = "monitoring.coreos.com/v1"

Relabeling = dict[str, Any]


def monitoring_objects(topology: Topology, stack: str, region: str | None) -> tuple[PlannedObject, ...]:
    """Return what watches the flows of a region (None: all), if the checked topology asks for it."""
    monitoring = topology.monitoring
    flows = flows_without_addresses(topology, region)
    if monitoring is None or not flows:
        return ()
    return (
        *(_pod_monitor(deployment, stack, monitoring) for deployment in deployments(flows)),
        *(_rules(flow, flows, stack, monitoring) for flow in flows),
        _dashboard([flow.name for flow in flows], stack, monitoring),
    )


def _dashboard(flows: list[str], stack: str, monitoring: MonitoringSettings) -> PlannedObject:
    # Stacks can have names that Kubernetes does not allow.
    name = f"mirror-dashboard-{re.sub('[^a-z0-9.-]', '-', stack.lower())}".rstrip(".-")
    data = {f"{name}.json": dashboard(stack, flows, exporter=monitoring.exporter)}
    body = manifest("v1", "ConfigMap", name, monitoring.namespace, _MONITORING, data=data)
    return PlannedObject(ObjectRole.DASHBOARD, body).with_own(monitoring.dashboard_labels, {})


def _pod_monitor(deployment: Deployment, stack: str, monitoring: MonitoringSettings) -> PlannedObject:
    workers = [planned for planned in deployment.objects if planned.kind in WORKER_KINDS]
    spec = {
        "namespaceSelector": {"matchNames": [deployment.flows[0].namespace]},
        "selector": {
            "matchExpressions": [
                _in(CLUSTER_LABEL, [planned.name for planned in workers]),
                # A Kafka cluster in the namespace can have the same name.
                _in("strimzi.io/kind", sorted({planned.kind for planned in workers})),
            ]
        },
        "podMetricsEndpoints": [
            {"port": "tcp-prometheus", "path": "/metrics", "metricRelabelings": relabelings(deployment.flows, stack)}
        ],
    }
    body = manifest(
        API_VERSION, "PodMonitor", f"mirror-{deployment.name}", monitoring.namespace, _MONITORING, spec=spec
    )
    return PlannedObject(ObjectRole.POD_MONITOR, body, part=deployment.name).with_own(monitoring.labels, {})


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


def relabelings(flows: Sequence[ResolvedFlow], stack: str) -> list[Relabeling]:
    """Return what Prometheus does with each series: one name per metric, and the labels for stack and flow."""
    names = [*_legacy_names(flows)]
    # Consumers write `_` for the dots of a topic; from Kafka 4.1 on they report the real name as well (KIP-1109).
    names.append({"sourceLabels": ["__name__", "topic"], "regex": rf"{RECORDS_LAG};.*\..*", "action": "drop"})
    names.append({"targetLabel": "stack", "replacement": stack})
    if len(flows) == 1:
        return [*names, {"targetLabel": "flow", "replacement": flows[0].name}]
    return [*names, *(rule for flow in flows for rule in _of_flow(flow))]


def _legacy_names(flows: Sequence[ResolvedFlow]) -> Iterator[Relabeling]:
    """Yield the rules that turn names of the form `new` into those of `legacy`."""
    configs = {name: config for flow in flows for name, config in _configs(flow)}
    renamed = [re.escape(name) for name, config in configs.items() if not reports_both(config)]
    for pattern, name in LEGACY_NAMES.items():
        if len(renamed) == len(configs):
            yield {"sourceLabels": ["__name__"], "regex": pattern, "targetLabel": "__name__", "replacement": name}
        elif renamed:
            yield {
                "sourceLabels": ["__name__", "connector"],
                "regex": f'{pattern};"?({"|".join(renamed)})"?',
                "targetLabel": "__name__",
                "replacement": name,
            }


def _configs(flow: ResolvedFlow) -> Iterator[tuple[str, Config]]:
    """Yield the name in Connect of each connector that reports metrics, and what the user configures for it."""
    for role, part in connector_roles(flow.settings):
        if role != "heartbeat":
            yield name_in_connect(flow, role, part), values(changeable_layers(flow.expanded, role, part))


def _of_flow(flow: ResolvedFlow) -> Iterator[Relabeling]:
    """Yield the labels that distinguish a mirror's series from those of others in the same workers."""
    source, target = (re.escape(flow.alias(side)) for side in ("source", "target"))
    connectors = "|".join(re.escape(connector.connector) for connector in declared_connectors(flow))
    for labels, pattern in (
        (["source", "target"], f"{source};{target}"),
        (["connector"], f'"?({connectors})"?'),
        (["client_id"], rf'"?{source}->{target}\|.*'),
    ):
        yield {"sourceLabels": labels, "regex": pattern, "targetLabel": "flow", "replacement": flow.name}


def _rules(
    flow: ResolvedFlow, flows: Sequence[ResolvedFlow], stack: str, monitoring: MonitoringSettings
) -> PlannedObject:
    rules = [*alert_rules(flow, flows, stack, monitoring.runbooks, exporter=monitoring.exporter)]
    name = f"mirror-{flow.name}"
    spec = {"groups": [{"name": name, "rules": rules}]}
    body = manifest(API_VERSION, "PrometheusRule", name, monitoring.namespace, _MONITORING, spec=spec)
    return PlannedObject(ObjectRole.PROMETHEUS_RULE, body, part=flow.name).with_own(monitoring.labels, {})
