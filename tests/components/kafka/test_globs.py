"""Globs are told apart from regular expressions: a false alarm would refuse a pattern that works."""

import pytest

from components.kafka.globs import written_as_glob
from components.kafka.patterns import matches, pattern_error


@pytest.mark.parametrize(
    "entry",
    [
        "orders",
        "orders.eu",
        ".*",
        "orders-.*",
        "orders.*",
        "orders.*.eu",
        "orders-.*-*",
        "logs?",
        "orders-?eu",
        "orders.?",
        "orders-+",
        "orders(-)*",
        "(orders|payments)*",
        "orders-[0-9]*",
        "orders[-_]*",
        r"orders\.v[0-9]*",
        r"orders-\w*",
        "(a|b)*",
        "a{3}",
        "a{2,}",
        "a{1,3}",
        "[a-z]+",
        "(?!internal).*",
        "(?i)orders-.*",
        "[^!]+",
        "orders-*(eu|us)",
    ],
)
def test_a_regular_expression_is_no_glob(entry: str) -> None:
    assert written_as_glob(entry) is None


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("orders-*", "orders-.*"),
        ("orders*", "orders.*"),
        ("*", ".*"),
        ("**", ".*"),
        ("*-orders", ".*-orders"),
        ("*.orders", ".*.orders"),
        ("orders-*-v*", "orders-.*-v.*"),
        (".*-orders-*", ".*-orders-.*"),
        ("orders-?", "orders-."),
        ("orders-??", "orders-.."),
        ("app/*", "app/.*"),
        ("(orders|payments)-*", "(orders|payments)-.*"),
        ("orders-*|logs_*", "orders-.*|logs_.*"),
        ("^orders-*$", "^orders-.*$"),
        (r"orders\.*", r"orders\..*"),
        ("orders-{eu,us}-*", "orders-(eu|us)-.*"),
        ("orders-[!a]", "orders-[^a]"),
    ],
)
def test_a_glob_is_recognized_and_the_intended_pattern_is_suggested(entry: str, meant: str) -> None:
    found = written_as_glob(entry)
    assert found is not None
    assert (found.meant, pattern_error(found.meant)) == (meant, None)
    assert all(matches(entry, name) for name in found.matched)
    assert not found.missed or (matches(found.meant, found.missed) and not matches(entry, found.missed))
    assert not found.exactly or (written_as_glob(found.exactly) is None and pattern_error(found.exactly) is None)
