"""Java's patterns are evaluated as Java evaluates them, refused as Java refuses them, or reported as not judged.

tests/contract/test_patterns.py asks Java about the same patterns.
"""

import warnings

import pytest

from kafka_replication.components.kafka import patterns
from kafka_replication.components.kafka.patterns import (
    Selection,
    alternatives,
    flags_for_later_entries,
    matches,
    pattern_error,
    written_as_glob,
)
from kafka_replication.components.kafka.topic_names import is_name, is_topic_name


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
        "(?<name>a)",
        r"(?<name>a)-\k<name>",
        r"\Qa.b\E",
        "a*+b",
        "(?i:a)b",
        "[{]a",
        r"a\\z",
    ],
)
def test_a_pattern_that_can_be_evaluated_is_accepted(pattern: str) -> None:
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
        pytest.param("a**", id="a repetition that Java calls dangling"),
        pytest.param(r"a\y", id="an escape of neither language"),
        pytest.param("[b-a]", id="a range that ends before it begins"),
        pytest.param("a{b}", id="a brace that begins no repetition"),
        pytest.param("(.*)*x", id="a nested repetition that Python would try for ever"),
        pytest.param("(?:(a+?))+b", id="a nested repetition in more groups"),
        pytest.param("x|(orders-(.*){50})", id="a nested repetition that Java would try for ever, too"),
    ],
)
def test_a_pattern_that_connectors_cannot_use_is_refused(pattern: str) -> None:
    error = pattern_error(pattern)
    assert error is not None
    assert error.refused


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("(?-i)a", id="a flag that is switched off"),
        pytest.param("a(?i)b", id="a flag in the middle"),
        pytest.param("(?x)a b", id="a flag with other rules"),
        pytest.param(r"\p{Alpha}", id="a property class"),
        pytest.param(r"[\p{Lower}_]", id="a property class in a class"),
        pytest.param(r"\Qa.b", id="a quotation without an end"),
        pytest.param(r"a\Z", id="end of input, which differs"),
        pytest.param(r"\101", id="Python's octal, Java's reference"),
        pytest.param("[a&&b]", id="an intersection"),
        pytest.param("[[a]b]", id="a union"),
        pytest.param(r"a\b+", id="a repeated anchor"),
        pytest.param("[b[a]]", id="a union that does not begin with its set"),
        pytest.param("[^[a]]", id="a union within a negation"),
        pytest.param("[]a]", id="a bracket that opens a class"),
        pytest.param("(?<=a+)b", id="a look-behind without a fixed length"),
        pytest.param("a{2}{3}", id="a repetition of a repetition"),
        pytest.param(r"(a)\2", id="a reference to a group that is not there"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_pattern_that_only_java_can_evaluate_is_not_judged(pattern: str) -> None:
    error = pattern_error(pattern)
    assert error is not None
    assert not error.refused


def test_a_pattern_is_read_without_turning_the_warnings_of_other_threads_into_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Filters of warnings belong to the process, and a thread that restores them may leave it those of another."""
    before, meanwhile = list(warnings.filters), []
    parse = patterns._parser.parse

    def noting(*given: object) -> object:
        meanwhile.append(list(warnings.filters))
        return parse(*given)

    monkeypatch.setattr(patterns._parser, "parse", noting)
    assert pattern_error("read-in-a-thread-[a-z]+") is None
    assert meanwhile
    assert all(each == before for each in meanwhile)


@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        (r"\Qa.b\E-.*", ["a.b-c"], ["axb-c"]),
        (r"(?<team>eu|us)-\k<team>", ["eu-eu"], ["eu-us"]),
        ("[(?<a>]", ["a"], ["P"]),
    ],
)
def test_javas_own_syntax_matches_as_in_java(pattern: str, names: list[str], others: list[str]) -> None:
    assert [name for name in (*names, *others) if matches(pattern, name)] == names


@pytest.mark.parametrize(("entry", "flags"), [("(?i)orders", "(?i)"), ("(?i:orders)", None), ("orders", None)])
def test_a_flag_holds_for_the_entries_after_it(entry: str, flags: str | None) -> None:
    assert flags_for_later_entries(entry) == flags


@pytest.mark.parametrize(
    ("pattern", "entries"),
    [
        ("orders", ("orders",)),
        ("orders.*|payments|audit", ("orders.*", "payments", "audit")),
        ("(eu|us)-.*|a[|]b", ("(eu|us)-.*", "a[|]b")),
        (r"a\|b|c", (r"a\|b", "c")),
        ("a|", ("a",)),
        ("|", ("|",)),
        ("(?i)a|b", ("(?i)a|b",)),
        (r"\Qa|b\E|c", (r"\Qa|b\E|c",)),
        (r"(a)b\1|(c)d\1", (r"(a)b\1|(c)d\1",)),
        ("(a|b", ("(a|b",)),
    ],
    ids=["a name", "several", "in a group", "escaped", "empty", "nothing else", "flags", "quoted", "numbered", "wrong"],
)
def test_a_pattern_of_several_alternatives_is_split_into_entries(pattern: str, entries: tuple[str, ...]) -> None:
    assert alternatives(pattern) == entries


@pytest.mark.parametrize(
    ("patterns", "name", "selected"),
    [
        (("orders",), "orders", True),
        (("orders",), "orders-v2", False),
        ((".*",), "anything", True),
        (("a.*", "b.*"), "bc", True),
        ((".*",), "tmp-1", False),
    ],
    ids=["by name", "a name is not a prefix", "everything", "any of several", "exclusion wins"],
)
def test_a_selection_matches_whole_names_and_exclusions_win(
    patterns: tuple[str, ...], name: str, selected: bool
) -> None:
    assert (name in Selection(patterns, ("tmp-.*",))) is selected


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
