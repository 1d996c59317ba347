"""Which changes count as made by hand, and for which flow."""

from typing import Any

import pytest

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract.exported_series import ABOUT_FLOWS, ALIVE, FLOW_LABELS, LOOK_TIME, READY
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.operate.status.document import (
    DeletionStatus,
    FlowStatus,
    GroupStatus,
    Kind,
    Reason,
    ReplacedStatus,
    StatusDocument,
    StopStatus,
    VerdictStatus,
)
from kafka_replication.infra.operate.status.exporter import DriftCounts, Newest, by_flow
from kafka_replication.infra.review.comparison import Drift
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.operate.status.exported import (
    NOT_ASKED,
    a_connector,
    a_document,
    a_lag,
    a_login,
    a_status,
    behind,
    scraped,
    some_groups,
    some_losses,
    values,
)


def drift(code: str, flow: str = "orders", severity: Impact = Impact.RESTART) -> Drift:
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
        pytest.param([drift("temporary-state", severity=Impact.DATA)], 1, id="announced, but expired"),
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


BEHIND = (behind("orders-0", 5, 3.5), behind("orders-1", 900, 1.0), behind("a-b-12", 40, 2.0))
NO_POSITION = GroupStatus(name="checkout-new", records=0, without_position=("orders-0",))


LOSING = some_losses(
    near=1,
    replaced=[ReplacedStatus(cluster="useast", recreated=("orders",), cut=("a-b-1", "a-b-2"))],
    at_least=30,
    at_most=45,
    stopped=[StopStatus(partition=name, position=1, start=2, end=9, certain=name != "c-0") for name in ("b-0", "c-0")],
    unstarted=("a-b-0", "a-b-3"),
    deletions=[
        DeletionStatus(partition="orders-0", seconds=40, near=True),
        DeletionStatus(partition="a-b-12", seconds=900, near=False),
        DeletionStatus(partition="orders-1", seconds=901, near=False),
    ],
)

NOT_TRIED = a_login(accepted=None, why="no answer", certificates=())
#: Somebody changed two things of `orders` by hand.
DRIFT = {"prod": {"orders": 2}}


def served(document: StatusDocument, worst: int = 20, drift: DriftCounts = DRIFT) -> str:
    newest = Newest(worst, every_seconds=60)
    newest.take(document, drift)
    return scraped(newest)


def series_of(flow: FlowStatus, worst: int = 20) -> dict[str, float]:
    return values(served(a_document(flow), worst))


def test_every_known_fact_about_a_flow_has_a_series() -> None:
    status = a_status(
        lag=a_lag(BEHIND, missing=("useast.audit",)),
        losses=LOSING,
        read_again=some_groups(GroupStatus(name="checkout-web", records=3), NO_POSITION),
        connectors=(a_connector(running_tasks=1, failures=("orders-source task 0: x",)),),
        could_fail_over=False,
        reasons=(Reason(kind=Kind.PROBLEM, text="a task failed"),),
    )
    assert series_of(status, worst=2) == {
        "mirror_look_timestamp_seconds": 1769828400,
        "mirror_flow_could_fail_over": 0,
        "mirror_flow_unasked connectors": 0,
        "mirror_flow_unasked heartbeatSeconds": 0,
        "mirror_flow_unasked lag": 0,
        "mirror_flow_unasked losses": 0,
        "mirror_flow_unasked readAgain": 0,
        "mirror_flow_unasked verdict": 0,
        "mirror_flow_unasked logins": 0,
        "mirror_flow_unasked drift": 0,
        "mirror_connector_running orders-source": 1,
        "mirror_connector_running_tasks orders-source": 1,
        "mirror_connector_failures orders-source": 1,
        "mirror_heartbeat_age_seconds": 0.8,
        "mirror_kept_positions_age_seconds": 0.4,
        "mirror_partitions": 6,
        "mirror_partitions_behind": 3,
        "mirror_missing_topics": 1,
        "mirror_lag_records": 945,
        "mirror_lag_seconds": 3.5,
        "mirror_source_end_offsets": 9000,
        # The partitions that are behind for the longest time, not those with the most records.
        "mirror_partition_lag_records 0 orders": 5,
        "mirror_partition_lag_seconds 0 orders": 3.5,
        "mirror_partition_position 0 orders": 70,
        "mirror_partition_position 12 a-b": 70,
        "mirror_partition_lag_records 12 a-b": 40,
        "mirror_partition_lag_seconds 12 a-b": 2,
        "mirror_other_partitions_lag_records": 900,
        "mirror_partitions_near_deletion": 1,
        "mirror_partition_deletion_seconds 0 orders": 40,
        "mirror_partition_deletion_seconds 12 a-b": 900,
        "mirror_recreated_topics useast": 1,
        "mirror_cut_partitions useast": 2,
        "mirror_lost_offsets": 30,
        "mirror_lost_offsets_at_most": 45,
        "mirror_stopped_partitions": 3,
        "mirror_groups": 2,
        "mirror_read_again_records": 3,
        "mirror_groups_without_position": 1,
        "mirror_group_read_again_records checkout-web": 3,
        "mirror_group_read_again_records checkout-new": 0,
        "mirror_other_groups_read_again_records": 0,
        "mirror_verdict pass": 1,
        "mirror_verdict fail": 0,
        "mirror_verdict error": 0,
        "mirror_verdict none": 0,
        "mirror_verdict_timestamp_seconds": 1769827800,
        "mirror_verdict_current": 1,
        "mirror_login_refused useast": 0,
        "mirror_certificate_expiry_timestamp_seconds useast user.crt mirror-orders/useast-client": 1777518000,
        "mirror_drift": 2,
    }


def test_every_series_about_a_flow_carries_the_labels_of_the_flow() -> None:
    newest = Newest(20, every_seconds=60)
    newest.take(a_document(a_status(lag=a_lag(BEHIND))), DRIFT)
    found = {metric.name: metric.samples for metric in newest.collect()}
    assert set(found) == {LOOK_TIME.name, *(each.name for each in ABOUT_FLOWS)}
    for each in ABOUT_FLOWS:
        for sample in found[each.name]:
            assert set(sample.labels) == {*FLOW_LABELS, *each.more}
            assert [sample.labels[key] for key in FLOW_LABELS] == ["prod", "orders", "useast", "uswest"]


@pytest.mark.parametrize(
    ("given", "question", "missing"),
    [
        ({"connectors": None}, "connectors", "mirror_connector"),
        ({"heartbeat_seconds": None}, "heartbeatSeconds", "mirror_heartbeat"),
        (
            {"lag": None},
            "lag",
            ("mirror_lag", "mirror_partitions_behind", "mirror_missing", "mirror_source", "mirror_other_partitions"),
        ),
        (
            {"losses": None},
            "losses",
            (
                *("mirror_partitions_near", "mirror_partition_deletion", "mirror_lost", "mirror_stopped"),
                *("mirror_recreated", "mirror_cut"),
            ),
        ),
        ({"logins": (NOT_TRIED,)}, "logins", ("mirror_login", "mirror_certificate")),
        ({"read_again": None}, "readAgain", ("mirror_read", "mirror_group", "mirror_other_groups")),
        ({"verdict": None}, "verdict", "mirror_verdict"),
    ],
)  # fmt: skip
def test_an_unknown_fact_has_no_series_and_is_counted_as_unasked(
    given: dict[str, Any], question: str, missing: str | tuple[str, ...]
) -> None:
    unasked = series_of(a_status(**given, unasked=(question,), could_fail_over=False, reasons=NOT_ASKED))
    assert unasked[f"mirror_flow_unasked {question}"] == 1
    assert sum(value for name, value in unasked.items() if name.startswith("mirror_flow_unasked")) == 1
    assert not [name for name in unasked if name.startswith(missing)]
    assert "mirror_flow_could_fail_over" not in unasked
    assert [name for name in series_of(a_status()) if name.startswith(missing)]


def test_a_flow_with_a_problem_could_not_fail_over_even_if_other_facts_are_unknown() -> None:
    reasons = (*NOT_ASKED, Reason(kind=Kind.PROBLEM, text="a task failed"))
    assert series_of(a_status(lag=None, unasked=("lag",), could_fail_over=False, reasons=reasons))[
        "mirror_flow_could_fail_over"
    ] == 0  # fmt: skip


def test_lag_seconds_is_zero_without_lag_and_absent_if_the_age_is_unknown() -> None:
    assert series_of(a_status())["mirror_lag_seconds"] == 0
    assert "mirror_lag_seconds" not in series_of(a_status(lag=a_lag(BEHIND).model_copy(update={"seconds": None})))


def test_a_validation_that_was_never_published_has_the_verdict_none_and_no_time() -> None:
    never = series_of(a_status(verdict=None))
    assert (never["mirror_verdict none"], never["mirror_verdict pass"]) == (1, 0)
    assert not [name for name in never if name.startswith("mirror_verdict_")]
    other = VerdictStatus(verdict=Verdict.FAIL, time="2026-01-31T02:50:00+00:00", age_seconds=600, current=False)
    failed = series_of(a_status(verdict=other))
    assert (failed["mirror_verdict fail"], failed["mirror_verdict_current"]) == (1, 0)


def test_refused_logins_and_the_certificates_of_untried_logins_have_series() -> None:
    """A certificate is read from a Secret, so its expiry is known even if its cluster does not answer."""
    logins = (a_login(accepted=False, why="no"), a_login("uswest", accepted=None, why="no answer"))
    found = series_of(a_status(logins=logins, unasked=("logins",)))
    assert found["mirror_login_refused useast"] == 1
    assert "mirror_login_refused uswest" not in found
    assert len([name for name in found if name.startswith("mirror_certificate_expiry")]) == 2


def test_drift_is_absent_and_not_zero_if_a_stack_could_not_be_compared() -> None:
    found = values(served(a_document(a_status()), drift={"test": {"orders": 2}}))
    assert found["mirror_flow_unasked drift"] == 1
    assert "mirror_drift" not in found
    assert values(served(a_document(a_status()), drift={"prod": {}}))["mirror_drift"] == 0


def test_flows_with_the_same_name_in_two_stacks_have_separate_series() -> None:
    (first,), (second,) = a_document(a_status()).stacks, a_document(a_status(), stack="test").stacks
    text = served(StatusDocument(asked_at="2026-01-31T03:00:00+00:00", stacks=(first, second)))
    assert 'mirror_lag_records{flow="orders",source="useast",stack="prod",target="uswest"} 0.0\n' in text
    assert 'mirror_lag_records{flow="orders",source="useast",stack="test",target="uswest"} 0.0\n' in text


@pytest.mark.parametrize("many", [30, 300])
def test_the_number_of_series_does_not_grow_with_partitions_and_groups(many: int) -> None:
    partitions = [behind(f"orders-{number}", number, number / 10) for number in range(many)]
    groups = [GroupStatus(name=f"checkout-{number}", records=number) for number in range(many)]
    found = series_of(a_status(lag=a_lag(partitions, of=many), read_again=some_groups(*groups)), worst=20)
    assert len(found) == 4 * 20 + 42
    for total, one, others in (
        ("mirror_lag_records", "mirror_partition_lag_records ", "mirror_other_partitions_lag_records"),
        ("mirror_read_again_records", "mirror_group_read_again_records ", "mirror_other_groups_read_again_records"),
    ):
        assert found[total] == sum(range(many))
        assert sum(value for name, value in found.items() if name.startswith(one)) + found[others] == found[total]


def test_only_the_time_of_an_outdated_look_is_still_exported() -> None:
    now = 0.0
    newest = Newest(20, every_seconds=30, clock=lambda: now)
    assert values(scraped(newest)) == {}
    newest.take(a_document(a_status()))
    now = 3 * 30 + 60
    assert "mirror_lag_records" in values(scraped(newest))
    now += 1
    assert values(scraped(newest)) == {"mirror_look_timestamp_seconds": 1769828400}
    newest.take(a_document(a_status()))
    assert "mirror_lag_records" in values(scraped(newest))


@pytest.mark.parametrize(
    ("seconds", "looked", "alive", "ready"),
    [
        pytest.param(0, False, True, False, id="no look has ended yet"),
        pytest.param(960, False, True, False, id="the first look takes long"),
        pytest.param(961, False, False, False, id="the first look hangs"),
        pytest.param(240, True, True, True, id="the look counts"),
        pytest.param(241, True, True, False, id="the look is outdated"),
        pytest.param(961, True, False, False, id="the next look hangs"),
    ],
)
def test_probes_learn_whether_the_exporter_looks_and_whether_a_look_counts(
    seconds: int, looked: bool, alive: bool, ready: bool
) -> None:
    """An outdated look ends readiness, and only one that hangs for much longer a restart."""
    now = [0.0]
    newest = Newest(20, every_seconds=60, clock=lambda: now[0])
    if looked:
        newest.take(a_document(a_status()))
    now[0] = seconds
    assert (newest.answers(ALIVE), newest.answers(READY)) == (alive, ready)
    assert newest.answers("/metrics") is None
