"""Topics on the target that look like remote topics, but have no source topic, or one with fewer partitions."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.spark.checks.topics import colliding_names, foreign_topic_findings, left_out, long_names
from kafka_replication.spark.read.flows import OpenFlow
from tests.spark.documents import a_flow

IDENTITY: dict[str, Any] = {"policy": "identity"}


def found(on_target: Mapping[str, int], **changes: Any) -> list[tuple[str, str]]:
    """Codes and topics for a source that has `orders` with 2 partitions, and no topic that matches `payments-.*`."""
    flow = a_flow(**changes)
    opened = SimpleNamespace(
        name=flow.name,
        parameters=flow,
        policy=flow.replication_policy,
        partitions={"orders": 2},
        remote_partitions=on_target,
        source_topics={"orders", "other"},
        target_topics=set(on_target),
    )
    findings = list(foreign_topic_findings(cast(OpenFlow, opened)))
    assert {each.severity for each in findings} <= {FindingSeverity.NOTE}
    return [(each.code, each.message.split()[0]) for each in findings]


@pytest.mark.parametrize(
    ("on_target", "changes", "expected"),
    [
        pytest.param({"useast.orders": 2, "orders": 9}, {}, [], id="the remote topic, and a topic of the target's own"),
        pytest.param({"useast.payments-eu": 1}, {}, [("foreign-topic", "useast.payments-eu")], id="a pattern matches"),
        pytest.param({"useast.returns": 1, "eucentral.payments-eu": 1}, {}, [], id="topics outside the flow"),
        pytest.param({"useast.heartbeats": 1, "useast.checkpoints.internal": 1}, {}, [], id="MirrorMaker's own"),
        pytest.param({"useast.orders": 3}, {}, [("foreign-partitions", "useast.orders")], id="more partitions"),
        pytest.param({"useast.orders": 1}, {}, [], id="fewer partitions, which MirrorMaker adds"),
        pytest.param({"payments-eu": 1}, IDENTITY, [("foreign-topic", "payments-eu")], id="under the same name"),
        pytest.param({"orders": 3}, IDENTITY, [("foreign-partitions", "orders")], id="more under the same name"),
    ],
)
def test_topics_that_mirror_maker_did_not_create_are_named(
    on_target: Mapping[str, int], changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert found(on_target, **changes) == expected


def test_with_a_guard_each_side_may_have_topics_of_its_own() -> None:
    guard = {"mark": "replicated-from-useast", "filter": "replicated-from-uswest"}
    assert found({"payments-eu": 1}, policy="identity", guard=guard) == []


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        pytest.param("payments-a.uswest.b", ["topic-left-out"], id="the target's alias in the name"),
        pytest.param("uswest.payments-a", [], id="a copy from the target"),
        pytest.param("eucentral.uswest.payments-a", [], id="a copy that came through another cluster"),
        pytest.param("payments-uswest", [], id="the alias without a separator"),
        pytest.param("other.uswest.b", [], id="a topic that the flow does not name"),
        pytest.param("payments-a.uswest.heartbeats", [], id="heartbeats"),
    ],
)
def test_a_topic_that_mirrormaker_leaves_out_because_of_its_name_is_an_error(topic: str, found: list[str]) -> None:
    flow = a_flow(topics=["payments-.*", "uswest.*", "eucentral.*"])
    assert [each.code for each in left_out(flow, {topic, "eucentral.heartbeats"})] == found


def test_a_topic_whose_remote_name_is_too_long_is_found() -> None:
    longest = "o" * 242
    assert long_names(a_flow().replication_policy, [longest, longest + "o"]) == [longest + "o"]
    assert long_names(a_flow(policy="identity").replication_policy, ["o" * 249]) == []


def test_a_topic_whose_remote_name_collides_with_one_on_the_target_is_found() -> None:
    """A broker treats dots and underscores in names alike."""
    policy, there = a_flow().replication_policy, ["useast.paid", "useast_orders.eu", "useast.orders_us"]
    assert colliding_names(policy, ["orders.eu", "orders.us", "paid", "new"], there) == {
        "orders.eu": "useast_orders.eu",
        "orders.us": "useast.orders_us",
    }
