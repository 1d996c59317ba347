"""Makes the workers and connectors of KafkaMirrorMaker2s match the resources, and writes their statuses.

A failed connector makes the resource NotReady; a failed task only shows in `connectors`. Source: Strimzi
KafkaMirrorMaker2AssemblyOperator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kafka_replication.components.kafka.connectors import failures
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, reference
from kafka_replication.infra.local.operator import conditions, connector_plan
from kafka_replication.infra.local.operator.conditions import (
    Condition,
    not_ready,
    status_body,
    trace_summary,
    write_status,
)
from kafka_replication.infra.local.operator.connect_clusters import ConnectClusters
from kafka_replication.infra.local.operator.connector_plan import Outcome
from kafka_replication.infra.local.operator.connector_reconciler import ConnectorReconciler
from kafka_replication.infra.local.operator.mirror_maker2 import (
    InvalidResourceError,
    connect_resource,
    connector_resources,
    for_one_machine,
)
from kafka_replication.infra.local.operator.resources import ConnectorResource


def reconcile_mirror_maker(
    api: KubernetesApi, clusters: ConnectClusters, connectors: ConnectorReconciler, item: Object
) -> None:
    """Do one round for a KafkaMirrorMaker2. Raises ApiError."""
    previous, now = item.get("status") or {}, datetime.now(UTC)
    try:
        connect, wanted = connect_resource(item), connector_resources(for_one_machine(item))
    except InvalidResourceError as error:
        said = [not_ready("InvalidResource", str(error))]
        written = conditions.written(said, previous.get("conditions") or [], now)
        body: Object = {"observedGeneration": item["metadata"]["generation"], "conditions": written}
        write_status(api, reference(item), previous, body)
        return
    workers = clusters.run(connect)
    outcomes: dict[str, Outcome] = {}
    seen: list[Object] = []
    condition = workers.condition
    if workers.rest is not None:
        outcomes = connectors.outcomes(workers.rest, clusters.placed(connect, wanted))
        seen = seen_connectors(wanted, outcomes, previous)
        if condition == conditions.READY:
            condition = readiness(wanted, outcomes, seen)
    body = status_body(
        connect, condition, [*workers.warnings, *_failed(outcomes), *warnings(wanted)], workers.reports, now
    )
    parts = {"connectors": seen, "autoRestartStatuses": restart_statuses(wanted, outcomes, now)}
    write_status(api, connect.reference, previous, body | {key: part for key, part in parts.items() if part})


def seen_connectors(
    connectors: Sequence[ConnectorResource], outcomes: Mapping[str, Outcome], previous: Object
) -> list[Object]:
    """Return what Connect reports of each connector, by name; the previous report for one without an outcome."""
    before = {connector["name"]: connector for connector in previous.get("connectors") or []}
    reports = []
    for name in sorted(connector.name for connector in connectors):
        outcome = outcomes.get(name)
        if outcome is None and name in before:
            reports.append(before[name])
        elif outcome is not None and outcome.running is not None:
            reports.append(outcome.running.status)
    return reports


def readiness(
    connectors: Sequence[ConnectorResource], outcomes: Mapping[str, Outcome], seen: Sequence[Object]
) -> Condition:
    """Ready if every connector exists and none has failed; a failed task does not count."""
    for name, outcome in sorted(outcomes.items()):
        if outcome.refusal is not None:
            return replace(outcome.refusal, message=f"{name}: {outcome.refusal.message}")
    missing = {connector.name for connector in connectors} - {connector["name"] for connector in seen}
    if missing:
        return not_ready("Creating", f"connectors being created: {', '.join(sorted(missing))}")
    failed = [
        f"{connector['name']}: {trace_summary(failure.trace)}"
        for connector in seen
        for failure in failures(connector)
        if failure.task is None
    ]
    if failed:
        return not_ready("ConnectorFailed", "One or more connectors are in FAILED state: " + "; ".join(failed))
    return conditions.READY


def _failed(outcomes: Mapping[str, Outcome]) -> list[Condition]:
    """Return the failures of all connectors; a problem of the resource is reported once, not once per connector."""
    return list(dict.fromkeys(condition for _, outcome in sorted(outcomes.items()) for condition in outcome.warnings))


def warnings(connectors: Sequence[ConnectorResource]) -> list[Condition]:
    return [
        replace(condition, message=f"{connector.name}: {condition.message}")
        for connector in connectors
        for condition in connector_plan.warnings(connector)
    ]


def restart_statuses(
    connectors: Sequence[ConnectorResource], outcomes: Mapping[str, Outcome], now: datetime
) -> list[Object]:
    """Return the automatic restarts of each connector that are still remembered."""
    statuses = []
    for connector in sorted(connectors, key=lambda connector: connector.name):
        outcome = outcomes.get(connector.name)
        restarts = outcome.restarts if outcome else connector_plan.restarts_after(connector, None, now)
        if restarts is not None:
            statuses.append(restarts.as_status(connector.name))
    return statuses
