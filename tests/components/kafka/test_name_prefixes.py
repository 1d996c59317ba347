"""ACLs are derived from how all matches of a pattern begin: too short grants too much, too long denies a topic."""

import pytest

from kafka_replication.components.kafka.name_prefixes import beginnings
from kafka_replication.components.kafka.patterns import matches


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("orders", ["orders!"]),
        ("orders.eu", ["orders"]),
        (r"orders\.eu", ["orders.eu!"]),
        ("orders-.*", ["orders-"]),
        ("^orders-.*$", ["orders-"]),
        ("orders(-.*)?", ["orders!", "orders-"]),
        ("orders-(eu-)?v1", ["orders-eu-v1!", "orders-v1!"]),
        ("shipping-(events|labels)-.*", ["shipping-events-", "shipping-labels-"]),
        ("(orders|orders-eu)-.*", ["orders-"]),
        ("orders-[ab]-.*", ["orders-a-", "orders-b-"]),
        ("orders-[0-9]+", ["orders-"]),
        ("orders-[^a].*", ["orders-"]),
        ("(ab){2}-.*", ["abab-"]),
        ("a+", ["a"]),
        ("x(a|b|c)(a|b)", ["xaa!", "xab!", "xba!", "xbb!", "xca!", "xcb!"]),
        ("x(a|b|c|d|e){3}(-.*)?", [f"x{one}{two}" for one in "abcde" for two in "abcde"]),
        ("(?i)orders", [""]),
        ("(?i:o)rders", [""]),
        ("(orders|.*)", [""]),
        (".*-events", [""]),
        ("(?!tmp).*", [""]),
        ("app/.*", ["app/"]),
        ("(", [""]),
    ],
)
def test_the_beginnings_of_all_matches_of_a_pattern_are_found(pattern: str, found: list[str]) -> None:
    assert [f"{text}{'!' if whole else ''}" for text, whole in beginnings(pattern)] == found
    assert all(matches(pattern, text) for text, whole in beginnings(pattern) if whole)
