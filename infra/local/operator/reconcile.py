"""Does one round over all resources, and asks the API server again only for what may have changed since the last.

A failed connector of a KafkaMirrorMaker2 makes the resource NotReady; a failed task only shows in `connectors`. Source:
Strimzi KafkaMirrorMaker2AssemblyOperator.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.flows.operators import USES_CONNECTOR_RESOURCES
from kafka_replication.components.kafka.connectors import failures
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, reference
from kafka_replication.infra.local.operator import conditions, connector_reconciler, mirror_maker2, resources
from kafka_replication.infra.local.operator.conditions import Condition, not_ready, trace_summary, write_status
from kafka_replication.infra.local.operator.connect_clusters import ConnectClusters
from kafka_replication.infra.local.operator.connector_reconciler import ConnectorReconciler, Outcome
from kafka_replication.infra.local.operator.resources import ConnectorResource, ConnectResource

#: Every list carries the revision of the whole store. The API server reads Events from the store, not from a cache.
_ANY_LIST = "/api/v1/events"


class CachedReads(KubernetesApi):
    """Answers a GET from memory until a write, or a round after a change. The answers are shared: never change them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._revision = ""
        self._answers: dict[tuple[object, ...], Object] = {}

    def begin_round(self) -> None:
        """Forget the answers if anything has changed. Raises ApiError."""
        now = str(super()._call("GET", _ANY_LIST, params={"limit": "1"})["metadata"]["resourceVersion"])
        if now != self._revision:
            self._answers.clear()
            self._revision = now

    def _call(self, method: str, path: str, **request: Any) -> Object:
        if method != "GET":
            if not path.endswith("/subjectaccessreviews"):
                self._answers.clear()
            return super()._call(method, path, **request)
        question = path, *sorted((request.get("params") or {}).items())
        if question not in self._answers:
            self._answers[question] = super()._call(method, path, **request)
        return self._answers[question]


log = logging.getLogger(__name__)


@dataclass
class Operator:
    """Level-triggered: a round looks at everything and needs nothing from the previous round."""

    api: CachedReads
    clusters: ConnectClusters
    connectors: ConnectorReconciler
    _last_complaint: str = field(default="", init=False)

    def round(self) -> None:
        """Reconcile once. If the API server does not answer, the round ends and the workers keep running."""
        try:
            self._round()
        except ApiError as error:
            self._complain(str(error))
        else:
            self._complain("")

    def _round(self) -> None:
        self.clusters.workers.refresh(time.time())
        self.api.begin_round()
        connects = [resources.connect_resource(item) for item in self._living("KafkaConnect")]
        every = map(resources.connector_resource, self._living("KafkaConnector"))
        by_cluster = grouped(((connector.namespace, connector.cluster or ""), connector) for connector in every)
        mirror_makers = self._living("KafkaMirrorMaker2")
        wanted = {connect.key for connect in connects} | {mirror_maker2.key_of(item) for item in mirror_makers}
        for key in self.clusters.workers.components() - wanted:
            self.clusters.stop(key)
        for connect in connects:
            connectors = by_cluster.pop((connect.namespace, connect.name), [])
            self._one(connect.reference, partial(self._reconcile, connect, connectors))
        for item in mirror_makers:
            self._one(reference(item), partial(reconcile_mirror_maker, self.api, self.clusters, self.connectors, item))
        for (_, cluster), orphans in by_cluster.items():
            missing = "the label strimzi.io/cluster, which names the KafkaConnect, is missing"
            told = f"there is no KafkaConnect {cluster} in this namespace" if cluster else missing
            self.connectors.not_ready(orphans, "NoConnectCluster", told)

    def _reconcile(self, connect: ConnectResource, connectors: list[ConnectorResource]) -> None:
        rest = self.clusters.reconcile(connect)
        if not connect.uses_connector_resources:
            told = f"KafkaConnect {connect.name} lacks the annotation {USES_CONNECTOR_RESOURCES}: true"
            self.connectors.not_ready(connectors, "ConnectorResourcesNotUsed", told)
        elif rest is None:
            told = f"KafkaConnect {connect.name} has no worker that is ready"
            self.connectors.not_ready(connectors, "ConnectNotReady", told)
        else:
            self.connectors.reconcile(rest, self.clusters.placed(connect, connectors))

    def _one(self, target: Reference, work: Callable[[], None]) -> None:
        try:
            work()
        except ApiError as error:
            if error.unreachable:
                raise
            # A problem of one resource (its namespace may be being deleted) must not affect the others.
            self._complain(f"{target}: {error}")

    def _living(self, kind: str) -> list[Object]:
        return [
            item
            for item in self.api.list_all(resources.API_VERSION, kind)
            if "deletionTimestamp" not in item["metadata"]
        ]

    def _complain(self, complaint: str) -> None:
        if complaint and complaint != self._last_complaint:
            log.warning("%s", complaint)
        self._last_complaint = complaint


def reconcile_mirror_maker(
    api: KubernetesApi, clusters: ConnectClusters, connectors: ConnectorReconciler, item: Object
) -> None:
    """Do one round for a KafkaMirrorMaker2. Raises ApiError."""
    previous, now = item.get("status") or {}, datetime.now(UTC)
    try:
        connect = mirror_maker2.connect_resource(item)
        wanted = mirror_maker2.connector_resources(mirror_maker2.for_one_machine(item))
    except mirror_maker2.InvalidResourceError as error:
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
    body = conditions.status_body(
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
        for condition in connector_reconciler.warnings(connector)
    ]


def restart_statuses(
    connectors: Sequence[ConnectorResource], outcomes: Mapping[str, Outcome], now: datetime
) -> list[Object]:
    """Return the automatic restarts of each connector that are still remembered."""
    statuses = []
    for connector in sorted(connectors, key=lambda connector: connector.name):
        outcome = outcomes.get(connector.name)
        restarts = outcome.restarts if outcome else connector_reconciler.restarts_after(connector, None, now)
        if restarts is not None:
            statuses.append(restarts.as_status(connector.name))
    return statuses
