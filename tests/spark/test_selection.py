"""Topic and group selection by MirrorMaker's rules."""

import pytest

from spark.selection import Selection, upstream_hops
from tests.spark.documents import a_flow


@pytest.mark.parametrize(
    ("topic", "selected"),
    [
        pytest.param("orders", True, id="a name"),
        pytest.param("payments-eu", True, id="a pattern"),
        pytest.param("orders-old", False, id="a name is matched whole"),
        pytest.param("payments-internal", False, id="an excluded pattern"),
        pytest.param("__consumer_offsets", False, id="Kafka's own"),
    ],
)
def test_topics_are_selected_by_whole_name(topic: str, selected: bool) -> None:
    assert Selection(a_flow()).topic(topic) is selected


def test_everything_never_includes_what_would_cycle_or_is_internal() -> None:
    """A topic that came from the target must not be awaited there a second time."""
    names = ["orders", "uswest.orders", "eu.uswest.orders", "heartbeats", "eu.heartbeats", ".hidden", "a.internal"]
    assert Selection(a_flow(topics=[".*"], topicsExclude=[])).topics(names) == ["orders"]


@pytest.mark.parametrize("policy", ["default", "identity"])
def test_what_ends_like_an_internal_topic_of_the_flows_separator_is_none_of_its_topics(policy: str) -> None:
    names = ["orders_internal", "orders-internal", "orders"]
    flow = a_flow(topics=[".*"], topicsExclude=[], separator="_", policy=policy)
    assert Selection(flow).topics(names) == ["orders"]


def test_the_identity_policy_does_not_stop_a_cycle() -> None:
    names = ["orders", "uswest.orders"]
    assert Selection(a_flow(topics=[".*"], policy="identity")).topics(names) == names


def test_remote_topics_carry_the_source_alias_only_under_the_default_policy() -> None:
    assert Selection(a_flow(separator="_")).remote("orders") == "useast_orders"
    assert Selection(a_flow(policy="identity")).remote("orders") == "orders"


def test_the_identity_policy_prefixes_what_looks_like_heartbeats() -> None:
    """Such a topic is not missing on the target: it has another name there, and does not go back."""
    selection = Selection(a_flow(policy="identity", topics=[".*"]))
    assert selection.remote("device-heartbeats") == "useast.device-heartbeats"
    assert selection.original("useast.device-heartbeats") == "device-heartbeats"
    assert selection.original("useast.orders") == "useast.orders"
    assert selection.topics(["device-heartbeats", "uswest.device-heartbeats"]) == ["device-heartbeats"]


def test_groups_are_selected_and_exclusions_are_told_apart() -> None:
    selection = Selection(a_flow(groups=[".*"]))
    names = ["checkout-a", "connect-x", "console-consumer-1"]
    assert selection.groups(names) == ["checkout-a"]
    assert selection.excluded_groups(names) == ["connect-x", "console-consumer-1"]


def test_only_plain_names_must_exist() -> None:
    assert Selection(a_flow(topics=["orders", "a.b", "payments-.*"])).literal_topics() == ["orders", "a.b"]


def test_heartbeat_topics_name_every_cluster_on_the_way_and_the_shortest_way() -> None:
    names = ["heartbeats", "useast.heartbeats", "useast.eu.heartbeats", "ap.eu.heartbeats.", "x.y.eu.heartbeats"]
    assert upstream_hops(names, ".") == {"useast": 1, "eu": 2, "x": 1, "y": 2}
