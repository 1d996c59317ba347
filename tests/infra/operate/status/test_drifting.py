"""Which changes count as made by hand, and for which flow."""

import pytest

from components.changes.effect import Severity
from components.render.acls import flows_without_addresses
from components.topology.parsing import parse_topology
from infra.operate.status.drifting import by_flow
from infra.review.comparison import Drift
from tests.builders import a_cluster, a_flow, a_topology


def drift(code: str, flow: str = "orders", severity: Severity = Severity.RESTART) -> Drift:
    return Drift(severity, code, flow, "KafkaConnector mirror-orders/orders-source", "…", "ann", "", "…")


@pytest.mark.parametrize(
    ("found", "count"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([drift("field-edited"), drift("object-missing")], 2, id="two things"),
        pytest.param([drift("reconciliation-paused")], 1, id="reconciliation is paused"),
        pytest.param([drift("connector-failed"), drift("not-ready")], 0, id="other series report it"),
        pytest.param([drift("validation-failed"), drift("foreign-topic")], 0, id="the verdict reports it"),
        pytest.param([drift("temporary-state")], 0, id="announced"),
        pytest.param([drift("temporary-state", severity=Severity.DATA)], 1, id="announced, but expired"),
        pytest.param([drift("field-edited", "monitoring")], 0, id="belongs to no flow"),
    ],
)
def test_manual_changes_are_counted_for_their_flow(found: list[Drift], count: int) -> None:
    flows = flows_without_addresses(parse_topology(a_topology(a_flow())))
    assert by_flow(found, flows) == {"orders": count}


def test_a_change_to_shared_workers_counts_for_every_flow_that_they_run() -> None:
    """A KafkaMirrorMaker2 with several sources has the label of its workers; one mirror's parts have their flow's."""
    sources = {"useast": {"topics": ["orders"]}, "eucentral": {"topics": ["orders"]}}
    replication = {"kind": "mirrorMaker2", "sources": sources, "target": "uswest"}
    clusters = {each: a_cluster() for each in sources} | {"uswest": a_cluster("us-west-2")}
    flows = flows_without_addresses(parse_topology(a_topology(replication, clusters=clusters)))
    shared, own = (flows[0].workers, flows[0].name)
    assert len(flows) == 2
    assert by_flow([drift("field-edited", shared), drift("secret-written", own)], flows) == {
        own: 2,
        flows[1].name: 1,
    }
