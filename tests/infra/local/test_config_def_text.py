"""How the text of Kafka's ConfigDefs is read. A mistake would refuse a setting that Kafka accepts, or the reverse."""

import pytest

from tests.contract.property_definitions import accepted_values, as_text, definition, first_sentence, number_range


@pytest.mark.parametrize(
    ("validator", "expected"),
    [
        pytest.param("[0,...]", (0, None), id="at least"),
        pytest.param("[0,...,3600]", (0, 3600), id="from to"),
        pytest.param("[...,5]", (None, 5), id="at most"),
        pytest.param("[-131072,...,22]", (-131072, 22), id="below zero"),
        pytest.param("[0.0,...,0.25]", (0.0, 0.25), id="fractions"),
        pytest.param("[1,...,9] or -1", (1, 9), id="a range and a value beside it"),
        pytest.param("Positive number, or -1 to use the broker's default", (1, None), id="in words"),
        pytest.param("[none, all]", (None, None), id="a set is no range"),
        pytest.param("", (None, None), id="nothing"),
    ],
)
def test_a_range_is_read_from_a_validators_text(validator: str, expected: tuple[float | None, float | None]) -> None:
    assert number_range(validator) == expected


@pytest.mark.parametrize(
    ("validator", "config_type", "expected"),
    [
        pytest.param("[none, all]", "STRING", ["none", "all"], id="in Kafka's order"),
        pytest.param("(case insensitive) [SSL, PLAINTEXT]", "STRING", ["PLAINTEXT", "SSL"], id="of a set, sorted"),
        pytest.param("[all, -1, 0, 1]", "STRING", ["all", "-1", "0", "1"], id="numbers as words"),
        pytest.param("[1,...,9] or -1", "INT", ["-1"], id="a number beside its range"),
        pytest.param("[0,...]", "INT", [], id="a range is no set"),
        pytest.param("non-null string, unique transformation aliases", "LIST", [], id="prose"),
        pytest.param("org.apache.kafka.connect.Validator@23a9ba52", "STRING", [], id="an object without a text"),
    ],
)
def test_accepted_values_are_read_from_a_validators_text(validator: str, config_type: str, expected: list[str]) -> None:
    assert accepted_values(validator, config_type) == expected


@pytest.mark.parametrize(
    ("documentation", "sentence"),
    [
        ("Whether to sync. It is slow.", "Whether to sync."),
        ("A protocol, e.g. SSL. Long.", "A protocol, e.g. SSL."),
        ("If set to <code>none</code>, x &lt; y.\nMore.", "If set to none, x < y."),
        ("Valid values:<ul><li>one</li></ul>", "Valid values"),
        ("No full stop", "No full stop"),
        ("", ""),
    ],
    ids=["the first of two", "an abbreviation ends no sentence", "without HTML", "before a list", "unfinished", "none"],
)
def test_the_first_sentence_is_plain_text(documentation: str, sentence: str) -> None:
    assert first_sentence(documentation) == sentence


def test_a_definition_keeps_its_range_and_leaves_out_false_flags() -> None:
    read = {
        "name": "linger.ms",
        "type": "LONG",
        "required": False,
        "default": "5",
        "importance": "MEDIUM",
        "documentation": "How long. And why.",
        "internal": False,
        "refusesEmpty": False,
        "refusesRepeated": False,
        "validator": "[0,...]",
        "validatorClass": "Range",
    }
    expected = {"type": "long", "default": "5", "importance": "medium", "documentation": "How long.", "atLeast": 0}
    assert definition(read) == expected


def test_the_text_of_definitions_does_not_depend_on_their_order() -> None:
    one, other = {"type": "int"}, {"type": "long"}
    assert as_text("4.2.0", {"admin": {"a": one, "b": other}}) == as_text("4.2.0", {"admin": {"b": other, "a": one}})
