"""Selections match whole names, and an exclusion wins."""

import pytest

from components.kafka.selection import Selection
from components.kafka.topic_names import is_name, is_topic_name


@pytest.mark.parametrize(
    ("name", "selected"),
    [
        pytest.param("orders", True, id="a name"),
        pytest.param("payments-eu", True, id="a pattern"),
        pytest.param("orders-old", False, id="a name is matched whole"),
        pytest.param("payments-internal", False, id="an excluded pattern"),
        pytest.param("__consumer_offsets", False, id="Kafka's own"),
    ],
)
def test_a_selection_matches_whole_names(name: str, selected: bool) -> None:
    selection = Selection(("orders", "payments-.*"), (r".*[\-\.]internal", "__.*"))
    assert (name in selection) is selected


def test_selected_and_excluded_names_are_listed_separately() -> None:
    selection = Selection((".*",), ("console-consumer-.*", "connect-.*", "__.*"))
    names = ["checkout-a", "connect-x", "console-consumer-1"]
    assert selection.of(names) == ["checkout-a"]
    assert selection.excluded_of(names) == ["connect-x", "console-consumer-1"]


def test_a_pattern_that_does_not_compile_matches_nothing() -> None:
    assert "orders" not in Selection(("orders-(",))
    assert "orders" in Selection(("orders",), ("(",))


def test_a_dot_alone_does_not_make_an_entry_a_pattern() -> None:
    entries = ["orders", "a.b", "team:checkout", "payments-.*"]
    assert [entry for entry in entries if is_name(entry)] == ["orders", "a.b", "team:checkout"]


@pytest.mark.parametrize(
    ("name", "valid"),
    [("orders.eu_1-a", True), (".", False), ("..", False), ("a:b", False), ("", False), ("a" * 250, False)],
    ids=["every kind of character", "a dot", "two dots", "a colon", "nothing", "too long"],
)
def test_a_topic_name_is_what_kafka_accepts(name: str, valid: bool) -> None:
    assert is_topic_name(name) is valid
