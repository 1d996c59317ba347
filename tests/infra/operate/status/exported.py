"""Builds healthy statuses, with overrides, for the exporter, and reads what a scrape of them returns."""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.operate.status.document import (
    ConnectorStatus,
    DeletionStatus,
    FlowStatus,
    GroupsStatus,
    GroupStatus,
    Kind,
    LagStatus,
    LossesStatus,
    PartitionStatus,
    Reason,
    ReplacedStatus,
    StackStatus,
    StatusDocument,
    VerdictStatus,
)
from kafka_replication.infra.operate.status.exporter import Newest
from kafka_replication.infra.operate.status.facts import CertificateFacts, LoginFacts

EXPIRES = "2026-04-30T03:00:00+00:00"
NOT_ASKED = (Reason(kind=Kind.UNASKED, text="Kafka cluster useast does not answer"),)


def a_connector(**given: Any) -> ConnectorStatus:
    running = {"wanted": "running", "state": "RUNNING", "tasks": 2, "running_tasks": 2}
    return ConnectorStatus(**{"name": "orders-source", "role": "source", "resource": "r", **running, **given})


def a_lag(partitions: Iterable[PartitionStatus] = (), of: int = 6, missing: tuple[str, ...] = ()) -> LagStatus:
    behind = tuple(partitions)
    return LagStatus(
        records=sum(each.records for each in behind),
        seconds=max((each.seconds or 0 for each in behind), default=None),
        partitions=of,
        behind=len(behind),
        most=behind,
        missing_topics=missing,
        ends=9000,
    )


def behind(partition: str, records: int, seconds: float) -> PartitionStatus:
    return PartitionStatus(partition=partition, records=records, seconds=seconds, position=70)


def a_login(cluster: str = "useast", *, accepted: bool | None = True, **given: Any) -> LoginFacts:
    certificate = CertificateFacts(secret=f"mirror-orders/{cluster}-client", key="user.crt", expires=EXPIRES)
    return LoginFacts(**{"cluster": cluster, "accepted": accepted, "certificates": (certificate,), **given})


def some_groups(*groups: GroupStatus) -> GroupsStatus:
    return GroupsStatus(groups=len(groups), records=sum(each.records for each in groups), most=groups)


def some_losses(**given: Any) -> LossesStatus:
    later = DeletionStatus(partition="orders-0", seconds=7_200, near=False)
    nothing = {"near": 0, "at_least": 0, "at_most": 0, "deletions": (later,), "gaps": ()}
    nothing["replaced"] = (ReplacedStatus(cluster="useast", recreated=(), cut=()),)
    return LossesStatus(**{**nothing, **given})


def a_status(**given: Any) -> FlowStatus:
    well = {
        "name": "orders",
        "replication": "orders",
        "shape": "flow",
        "source": "useast",
        "target": "uswest",
        "could_fail_over": True,
        "reasons": (),
        "connectors": (a_connector(),),
        "heartbeat_seconds": 0.8,
        "lag": a_lag(),
        "losses": some_losses(),
        "read_again": some_groups(GroupStatus(name="checkout-web", records=3)),
        "verdict": VerdictStatus(verdict=Verdict.PASS, time="2026-01-31T02:50:00+00:00", age_seconds=600, current=True),
        "logins": (a_login(),),
        "kept_seconds": 0.4,
        "unasked": (),
    }
    return FlowStatus(**{**well, **given})


def a_document(*flows: FlowStatus, stack: str = "prod") -> StatusDocument:
    return StatusDocument(asked_at="2026-01-31T03:00:00+00:00", stacks=(StackStatus(stack=stack, flows=flows),))


def scraped(newest: Newest) -> str:
    registry = CollectorRegistry()
    registry.register(newest)
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # it has no types
    return text.decode()


def values(text: str, flow: str | None = None) -> dict[str, float]:
    """The values that a scrape returns, of one flow or of everything, as the parser of Prometheus' client reads them.

    The keys are the names with the labels, but without the labels that every flow has.
    """
    return {
        sample.name + "".join(f" {sample.labels[key]}" for key in sample.labels if key not in _OF_FLOWS): sample.value
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # it has no types
        for sample in family.samples
        if flow in (None, sample.labels.get("flow"))
    }


_OF_FLOWS = {"stack", "flow", "source", "target"}
