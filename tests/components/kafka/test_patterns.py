"""Patterns have one meaning in Java and in Python, or are refused with the reason."""

import pytest

from components.kafka.patterns import pattern_error
from components.kafka.selection import Selection


@pytest.mark.parametrize(
    "pattern",
    [
        "orders",
        ".*",
        r"orders\.v[0-9]+",
        "(orders|payments)-.*",
        "a{3}",
        "[a-z]+",
        "(?!internal).*",
        "orders?",
        r"a\{b",
        "orders(-[a-z]+)*",
        "(a?)*",
        "(a{3})*",
        "(a+){3}",
        "(a|b+)*",
    ],
)
def test_a_pattern_of_both_languages_is_taken(pattern: str) -> None:
    assert pattern_error(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("", id="empty"),
        pytest.param(" orders", id="a space that the connector strips"),
        pytest.param("a{1,3}", id="a comma splits the connector's list"),
        pytest.param("orders(", id="does not compile anywhere"),
        pytest.param("(?P<name>a)", id="Python's named group"),
        pytest.param("(?#comment)a", id="Python's comment"),
        pytest.param(r"a\Z", id="end of input, which differs"),
        pytest.param(r"\p{Alpha}", id="Java's property class"),
        pytest.param(r"\Qa.b\E", id="Java's quotation"),
        pytest.param(r"\101", id="Python's octal, Java's reference"),
        pytest.param("[a&&b]", id="Java's intersection"),
        pytest.param("[[a]b]", id="Java's union"),
        pytest.param("[]a]", id="a bracket that opens a class"),
        pytest.param("a{b}", id="a brace that begins no repetition"),
        pytest.param("(.*)*x", id="a repetition of a repetition, for which Python tries for ever"),
        pytest.param("(?:(a+?))+b", id="the same in more groups"),
        pytest.param("x|(orders-(.*){50})", id="so many that Java does, too"),
    ],
)
def test_a_pattern_that_one_language_reads_otherwise_is_refused(pattern: str) -> None:
    assert pattern_error(pattern)


@pytest.mark.parametrize(
    ("patterns", "name", "selected"),
    [
        (("orders",), "orders", True),
        (("orders",), "orders-v2", False),
        ((".*",), "anything", True),
        (("a.*", "b.*"), "bc", True),
        ((".*",), "tmp-1", False),
    ],
    ids=["by name", "a name is no beginning", "everything", "any of several", "exclusion wins"],
)
def test_a_selection_matches_whole_names_and_exclusions_win(
    patterns: tuple[str, ...], name: str, selected: bool
) -> None:
    assert (name in Selection(patterns, ("tmp-.*",))) is selected
