"""Makes the workers and connectors of KafkaMirrorMaker2s match the resources, and writes their statuses."""

from dataclasses import dataclass
from datetime import UTC, datetime

from infra.kubernetes.api import KubernetesApi, Object, reference
from infra.local.operator import conditions, connect_status, mirror_maker2_status
from infra.local.operator.conditions import not_ready
from infra.local.operator.connect_clusters import ConnectClusters
from infra.local.operator.connector_plan import Outcome
from infra.local.operator.connector_reconciler import ConnectorReconciler
from infra.local.operator.mirror_maker2 import connect_resource, connector_resources, for_one_machine
from infra.local.operator.mirror_maker2_versions import InvalidResourceError
from infra.local.operator.resources import ConnectorResource
from infra.local.operator.statuses import write_status


@dataclass(frozen=True)
class MirrorMakers:
    """Reconciles KafkaMirrorMaker2s one at a time."""

    api: KubernetesApi
    clusters: ConnectClusters
    connectors: ConnectorReconciler

    def reconcile(self, item: Object) -> None:
        """Do one round for a KafkaMirrorMaker2. Raises ApiError."""
        previous, now = item.get("status") or {}, datetime.now(UTC)
        try:
            connect, wanted = connect_resource(item), connector_resources(for_one_machine(item))
        except InvalidResourceError as error:
            said = [not_ready("InvalidResource", str(error))]
            written = conditions.written(said, previous.get("conditions") or [], now)
            body: Object = {"observedGeneration": item["metadata"]["generation"], "conditions": written}
            write_status(self.api, reference(item), previous, body)
            return
        found = self.clusters.run(connect)
        outcomes: dict[str, Outcome] = {}
        seen: list[Object] = []
        condition = found.condition
        if found.rest is not None:
            outcomes = self.connectors.outcomes(found.rest, self.clusters.placed(connect, wanted))
            seen = mirror_maker2_status.seen_connectors(wanted, outcomes, previous)
            if condition == conditions.READY:
                condition = mirror_maker2_status.readiness(wanted, outcomes, seen)
        warnings = [*found.warnings, *mirror_maker2_status.warnings(wanted)]
        body = connect_status.status_body(connect, condition, warnings, found.reports, now)
        body |= _about_connectors(wanted, outcomes, seen, now)
        write_status(self.api, connect.reference, previous, body)


def _about_connectors(
    wanted: list[ConnectorResource], outcomes: dict[str, Outcome], seen: list[Object], now: datetime
) -> Object:
    restarts = mirror_maker2_status.restart_statuses(wanted, outcomes, now)
    parts = {"connectors": seen, "autoRestartStatuses": restarts}
    return {key: value for key, value in parts.items() if value}
