"""What a failback plans: positions on the source, groups left alone, and records that only one side has."""

from typing import Any

import pytest

from kafka_replication.components.contract.parameters import GuardParameters
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.kafka.exact_positions import NotProvenError
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.kafka.return_positions import PartitionBack, PositionBack
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.move.facts import Group, NewPosition
from kafka_replication.infra.operate.move.failback import FailbackFacts, plan_back, refuse_unsuited_back
from kafka_replication.infra.operate.move.source_only import SourceOnly
from tests.builders import a_resolved_flow

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
FLOW = flow_parameters(a_resolved_flow())


def back(**given: Any) -> PartitionBack:
    return PartitionBack(**{"positions": {398: PositionBack(398, 412)}, "only_here": OffsetRange(500, 500), **given})


def a_group(**given: Any) -> Group:
    well = {"name": "checkout-web", "members_on_source": 0, "members_on_target": 0}
    return Group(**{**well, "committed": {ORDERS: 390}, "on_target": {REMOTE: 398}, **given})


def looked(**given: Any) -> FailbackFacts:
    return FailbackFacts(**{"groups": (a_group(),), "positions": {ORDERS: back()}, "own_records": {}, **given})


def test_a_group_returns_to_the_record_that_it_had_reached_on_the_target() -> None:
    found = plan_back(FLOW, looked(), ())
    assert (found.unmet, found.left_alone) == ((), {})
    assert found.positions == (NewPosition("checkout-web", REMOTE, 398, ORDERS, 412),)


def test_a_group_does_not_read_again_what_it_consumed_before_the_failover() -> None:
    """In a disaster, the last records that the group consumed on the source never reached the target."""
    found = plan_back(FLOW, looked(groups=(a_group(committed={ORDERS: 420}),)), ())
    assert [move.offset for move in found.positions] == [420]


def test_records_that_a_group_may_not_have_consumed_are_read_again_and_announced() -> None:
    """Records 405 to 411 were sent again after the group's position; it may have started after their first copies."""
    found = plan_back(
        FLOW,
        looked(positions={ORDERS: back(positions={398: PositionBack(398, 412, unless_before=405)}, began={390: 399})}),
        (),
    )
    assert found.positions == (NewPosition("checkout-web", REMOTE, 398, ORDERS, 405, 7, "at most"),)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"groups": (a_group(members_on_target=2),)}, "it runs on uswest with 2 members: stop it there first"),
        ({"groups": (a_group(members_on_source=1),)}, "it runs on useast with 1 member: stop it there first"),
        (
            {"positions": {ORDERS: back(positions={398: PositionBack(398, 412, deleted=3)})}},
            "the source has deleted 3 records of orders-0 that the group has not consumed",
        ),
    ],
    ids=["it runs on the target", "it runs on the source", "the source has deleted records"],
)
def test_a_group_that_cannot_go_back_is_left_alone(given: dict[str, Any], why: str) -> None:
    found = plan_back(FLOW, looked(**given), ())
    assert found.left_alone == {"checkout-web": why}
    assert [each.name for each in found.unmet] == ["groups"]


def test_a_position_that_is_not_proven_is_an_unmet_precondition() -> None:
    found = plan_back(FLOW, looked(positions={ORDERS: NotProvenError("they differ")}), ())
    assert [each.value for each in found.unmet if each.name == "positions"] == ["not proven in orders-0: they differ"]


def test_records_that_only_one_side_has_are_named() -> None:
    alone = (
        SourceOnly(ORDERS, OffsetRange(7, 8), 1, 0, 0, passed=True),
        SourceOnly(ORDERS, OffsetRange(500, 520), 20, 0, 61_000, passed=False),
    )
    one_way = plan_back(FLOW, looked(source_only=alone, own_records={"orders": 30}), ())
    both_ways = plan_back(FLOW, looked(own_records={"orders": 30}), ("orders-back",))
    assert [(each.name, each.value) for each in (*one_way.preconditions[2:], *both_ways.preconditions[2:])] == [
        (
            "only source",
            "20 records never reached uswest, and groups now read them: orders-0, offsets 500 to 519, written "
            "1970-01-01T00:00:00Z to 1970-01-01T00:01:01Z",
        ),
        (
            "never sent",
            "1 record never reached uswest, and groups will not read it: orders-0, offset 7, written "
            "1970-01-01T00:00:00Z",
        ),
        ("only target", "producers on uswest wrote 30 records to orders: no flow of the stack copies them to useast"),
        (
            "only target",
            "producers on uswest wrote 30 records to orders: run `replicate failover` of orders-back to move the "
            "groups' positions in these topics",
        ),
    ]


def test_an_unproven_partition_without_groups_is_reported_but_does_not_block_the_failback() -> None:
    unknown = {TopicPartition("orders", 3): NotProvenError("they differ")}
    found = plan_back(FLOW, looked(unknown=unknown), ())
    assert found.unmet == ()
    assert [each.value for each in found.preconditions if each.name == "only source"] == [
        "none of the groups that were looked at has an offset in orders-3, and it is unknown which records only useast "
        "has there: they differ"
    ]


def test_ranges_after_the_first_twenty_are_only_counted() -> None:
    alone = tuple(
        SourceOnly(TopicPartition("orders", each), OffsetRange(5, 7), 2, 0, 0, passed=False) for each in range(22)
    )
    found = plan_back(FLOW, looked(source_only=alone), ())
    said = [each.value for each in found.preconditions if each.name == "only source"]
    assert (len(said), said[-1]) == (21, "4 records more, which `--json` lists and `--export` writes to a file")


@pytest.mark.parametrize(
    ("given", "code", "remedy"),
    [
        ({"transformed": True}, "records-not-comparable", "by hand"),
        (
            {"policy": Policy.IDENTITY, "guard": GuardParameters(filter="from-b", mark="from-a")},
            "failback-unsuited",
            "run `replicate failover` of `orders-back`",
        ),
    ],
    ids=["transforms", "pair"],
)
def test_an_unsuited_failback_is_refused_with_a_remedy(given: dict[str, Any], code: str, remedy: str) -> None:
    with pytest.raises(RefusedError) as caught:
        refuse_unsuited_back(FLOW.model_copy(update=given), ("orders-back",))
    assert caught.value.code == code
    assert remedy in caught.value.remedy
