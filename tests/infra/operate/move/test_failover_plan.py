"""What a failover plans: unmet preconditions, groups left alone, and the positions to commit."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.components.contract.problems import NoAnswer, RefusedError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.kafka.exact_positions import ExactPosition, NotProvenError, PartitionPositions
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.move.facts import (
    FailoverFacts,
    Group,
    Growth,
    Mode,
    NewPosition,
    Precondition,
)
from kafka_replication.infra.operate.move.failover_plan import next_steps, plan, refuse_unsuited
from kafka_replication.infra.operate.move.run import print_plan, topics_of
from kafka_replication.infra.operate.status.facts import ConnectorFacts, VerdictFacts
from tests.builders import a_resolved_flow
from tests.infra.readmes import shown

NOW = datetime(2026, 1, 31, 3, 0, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
FLOW = flow_parameters(a_resolved_flow())
MOVE = NewPosition("checkout-web", ORDERS, 412, REMOTE, 398)


def a_connector(**given: Any) -> ConnectorFacts:
    running = {"wanted": "running", "state": "RUNNING", "tasks": ("RUNNING",)}
    return ConnectorFacts(**{"name": "orders-source", "role": "source", "resource": "r", **running, **given})


def walked(**given: Any) -> PartitionPositions:
    found = {"positions": {412: ExactPosition(412, 398), 500: ExactPosition(500, 486)}, "on_target": 88}
    return PartitionPositions(**{**found, **given})


def a_group(**given: Any) -> Group:
    well = {"name": "checkout-web", "members_on_source": 0, "members_on_target": 0}
    return Group(**{**well, "committed": {ORDERS: 412}, "on_target": {REMOTE: 390}, **given})


def looked(**given: Any) -> FailoverFacts:
    well = {
        "connectors": (a_connector(),),
        "verdict": VerdictFacts(Verdict.PASS, NOW - timedelta(minutes=10), current=True),
        "groups": (a_group(),),
        "positions": {ORDERS: walked()},
        "ends": {ORDERS: 500},
        "watched_seconds": 10.0,
    }
    return FailoverFacts(**{**well, **given})


def test_the_groups_of_a_healthy_flow_are_moved() -> None:
    found = plan(FLOW, Mode.PLANNED, looked(), NOW_MS)
    assert (found.unmet, found.positions, found.left_alone) == ((), (MOVE,), {})
    printed = StringIO()
    print_plan(found, Console(file=printed, width=300))
    assert printed.getvalue().splitlines() == [
        "✓ connectors    orders-source RUNNING with 1 of 1 task",
        "✓ topics        1 topic with 1 partition on uswest",
        "✓ producers     nothing was written for 10 s",
        "✓ drained       each of the last 88 records of useast is on uswest",
        "✓ positions     computed from records; 0 records are duplicated on the target",
        "✓ groups        1 group to move",
        "✓ verdict       pass, 10 min ago",
        "checkout-web: orders-0 at 412 -> useast.orders-0 at 398, nothing read again",
    ]


DIFFERENT = NotProvenError(
    "the target has record 7 where the source's record 9 was expected, and record 7 equals no earlier source record"
)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        pytest.param(
            {"connectors": (a_connector(state="FAILED"),)},
            "connectors",
            "orders-source FAILED with 1 of 1 task",
            id="a connector failed",
        ),
        pytest.param(
            {"connectors": (a_connector(tasks=()),)}, "connectors", "orders-source RUNNING", id="without a task"
        ),
        pytest.param({"connectors": NoAnswer("403")}, "connectors", "not known: 403", id="connectors unknown"),
        pytest.param(
            {"missing": (REMOTE,)}, "topics", "useast.orders-0 not on uswest yet", id="a remote topic is missing"
        ),
        pytest.param({"positions": {}}, "topics", "0 topics with 0 partitions on uswest", id="nothing replicated"),
        pytest.param(
            {"grown": (Growth(ORDERS, 500, 503),)},
            "producers",
            "a producer still writes: orders-0 grew from 500 to 503",
            id="a producer writes",
        ),
        pytest.param(
            {"grown": (Growth(ORDERS, 500, 480),)},
            "producers",
            "useast lost records while it was watched: orders-0 ends at 480, and ended at 500",
            id="the source lost records",
        ),
        pytest.param(
            {"open": (ORDERS,)},
            "producers",
            "a transaction is open, or something is written, on orders-0",
            id="open transaction",
        ),
        pytest.param(
            {"positions": {ORDERS: walked(waiting=3)}},
            "drained",
            "3 records not on the target yet: 3 of orders-0",
            id="not drained",
        ),
        pytest.param(
            {"positions": {ORDERS: DIFFERENT}}, "positions", f"not proven in orders-0: {DIFFERENT}", id="not proven"
        ),
        pytest.param({"groups": ()}, "groups", "0 groups to move", id="no group"),
    ],
)
def test_an_unmet_precondition_is_named_with_its_value(given: dict[str, Any], name: str, value: str) -> None:
    unmet = plan(FLOW, Mode.PLANNED, looked(**given), NOW_MS).unmet
    assert (name, value) in [(each.name, each.value) for each in unmet]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(
            {"members_on_source": 2}, "it runs on useast with 2 members: stop it there first", id="runs on the source"
        ),
        pytest.param(
            {"members_on_target": 1}, "it runs on uswest with 1 member: stop it there first", id="runs on the target"
        ),
        pytest.param(
            {"on_target": {REMOTE: 450}},
            "it is at 450 in useast.orders-0, past its new position 398: it consumed on uswest, or its offset was "
            "reset on useast. Delete the group on uswest to move it",
            id="ahead on the target",
        ),
        pytest.param(
            {"committed": {ORDERS: 501}},
            "it is at 501 in orders-0, after the end of the source",
            id="past the end of the source",
        ),
    ],
)
def test_a_group_that_must_not_be_moved_is_left_alone(given: dict[str, Any], why: str) -> None:
    other = a_group(name="checkout-app")
    found = plan(FLOW, Mode.PLANNED, looked(groups=(a_group(**given), other)), NOW_MS)
    assert found.left_alone == {"checkout-web": why}
    assert [move.group for move in found.positions] == ["checkout-app"]
    assert found.unmet == ()


def test_the_plan_names_the_streams_groups_that_it_moves() -> None:
    """Whether they run is not known, and nothing may commit for a group that runs."""
    groups = (a_group(name="app", streams=True), a_group(), a_group(name="idle", streams=True, committed={}))
    found = plan(FLOW, Mode.PLANNED, looked(groups=groups), NOW_MS)
    assert [(each.value, each.met) for each in found.preconditions if each.name == "streams"] == [
        ("app: stop every instance first, because this command cannot see whether one runs", None)
    ]
    assert {move.group for move in found.positions} == {"app", "checkout-web"}


def test_the_plan_says_where_a_group_without_an_offset_starts() -> None:
    groups = (a_group(on_target={TopicPartition("useast.orders", 2): 7}), a_group(name="idle", members_on_source=1))
    ends = {ORDERS: 500, TopicPartition("orders", 1): 9, TopicPartition("orders", 2): 9, TopicPartition("orders", 3): 0}
    found = plan(FLOW, Mode.PLANNED, looked(groups=groups, ends=ends | {TopicPartition("other", 0): 5}), NOW_MS)
    assert [(each.value, each.met) for each in found.preconditions if each.name == "no offset"] == [
        (
            "checkout-web begins in useast.orders-1 at its `auto.offset.reset`, in useast.orders-2 at 7, its offset on "
            "uswest, and skips what is before it",
            None,
        )
    ]


def test_groups_without_an_offset_are_all_named() -> None:
    groups = tuple(a_group(name=name) for name in "abcde")
    found = plan(FLOW, Mode.PLANNED, looked(groups=groups, ends={ORDERS: 500, TopicPartition("orders", 1): 9}), NOW_MS)
    said = [each.value for each in found.preconditions if each.name == "no offset"]
    assert (len(said), said[-1]) == (4, "others also lack one in some partitions: d, e")


def test_a_group_is_left_alone_if_the_target_lost_records_that_it_has_not_consumed() -> None:
    lost = walked(positions={412: ExactPosition(412, 398, not_there=5)})
    (why,) = plan(FLOW, Mode.PLANNED, looked(positions={ORDERS: lost}), NOW_MS).left_alone.values()
    assert why == "the target does not have 5 records of orders-0 that the group has not consumed"


def test_the_number_of_re_reads_is_a_minimum_if_records_are_indistinguishable() -> None:
    equal = walked(positions={412: ExactPosition(412, 398, read_again=2, at_least=True)})
    (move,) = plan(FLOW, Mode.PLANNED, looked(positions={ORDERS: equal}), NOW_MS).positions
    assert move.text.endswith("useast.orders-0 at 398, at least 2 records read again")


def test_a_group_is_left_alone_if_only_the_target_still_holds_unread_records() -> None:
    older = walked(positions={412: ExactPosition(412, 398, expired=5)})
    (why,) = plan(FLOW, Mode.PLANNED, looked(positions={ORDERS: older}), NOW_MS).left_alone.values()
    assert why == (
        "it is at 412 in orders-0, but the source has deleted the next records, and the group may not have read 5 "
        "older records on the target: set its position by hand"
    )


def test_the_drained_precondition_counts_only_records_that_the_target_holds() -> None:
    mostly_deleted = walked(source_records=1_000, on_target=100)
    (drained,) = [
        each.value
        for each in plan(FLOW, Mode.PLANNED, looked(positions={ORDERS: mostly_deleted}), NOW_MS).preconditions
        if each.name == "drained"
    ]
    assert drained == "each of the last 100 records of useast is on uswest"


@pytest.mark.parametrize("mode", [Mode.PLANNED, Mode.CONTINUOUS])
def test_a_stopped_checkpoint_connector_does_not_block_a_failover(mode: Mode) -> None:
    """An earlier run that was interrupted has stopped it."""
    stopped = looked(connectors=(a_connector(), a_connector(name="c", role="checkpoint", state="STOPPED", tasks=())))
    assert plan(FLOW, mode, stopped, NOW_MS).unmet == ()


def test_a_continuous_failover_is_planned_while_producers_write_to_the_source() -> None:
    busy = looked(grown=(Growth(ORDERS, 500, 503),), positions={ORDERS: walked(waiting=3)})
    found = plan(FLOW, Mode.CONTINUOUS, busy, NOW_MS)
    assert (found.unmet, found.positions) == ((), (MOVE,))


def test_a_missing_verdict_is_reported_but_is_not_a_precondition() -> None:
    found = plan(FLOW, Mode.PLANNED, looked(verdict=None), NOW_MS)
    assert [(each.value, each.met) for each in found.preconditions if each.name == "verdict"] == [
        ("no validation was ever published", None)
    ]


def test_the_next_steps_name_addresses_and_topics() -> None:
    assert list(next_steps(FLOW, Mode.PLANNED, topics_of([MOVE]))) == [
        f"Start the consumers on uswest: {FLOW.target.bootstrap_servers}",
        "  checkout-web subscribes to orders, useast.orders",
        "Then start the producers on uswest, where they write to orders",
    ]


def test_the_document_lists_every_position() -> None:
    found = plan(FLOW, Mode.PLANNED, looked(), NOW_MS).document(committed=False)
    assert found["committed"] is False
    assert found["positions"] == [
        {
            "group": "checkout-web",
            "source": "orders-0",
            "sourceOffset": 412,
            "target": "useast.orders-0",
            "targetOffset": 398,
            "readAgain": 0,
            "readAgainIs": "exactly",
        }
    ]


def test_transforms_and_unsuited_modes_are_refused() -> None:
    with pytest.raises(RefusedError, match="records-not-comparable"):
        refuse_unsuited(FLOW.model_copy(update={"transformed": True}), Mode.PLANNED)
    identity = FLOW.model_copy(update={"policy": Policy.IDENTITY})
    refuse_unsuited(identity, Mode.PLANNED)
    with pytest.raises(RefusedError, match="mode-unsuited"):
        refuse_unsuited(identity, Mode.CONTINUOUS)


def test_the_readme_shows_a_plan_as_it_is_printed() -> None:
    tasks = ("RUNNING",) * 3
    found = (a_connector(tasks=tasks), a_connector(name="orders-checkpoint", role="checkpoint"))
    printed = StringIO()
    shown_plan = plan(FLOW, Mode.PLANNED, looked(connectors=found), NOW_MS)
    rights = Precondition("rights", "the connectors' user may commit for 1 group on uswest")
    ready = Precondition("ready", "2 applications can start on uswest, as far as ACLs, users and topic settings show")
    shown_plan = replace(shown_plan, preconditions=(*shown_plan.preconditions, rights, ready))
    print_plan(shown_plan, Console(file=printed, width=300))
    assert printed.getvalue() == shown("✓ drained")
