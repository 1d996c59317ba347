"""Mistakes in the form of a topology file are told in YAML's words, by the key and its place in the file."""

from typing import Any

import pytest

from components.parsing import parse_topology
from components.problems import ReplicationError
from tests.builders import a_flow, a_topology


def told(data: object) -> list[str]:
    with pytest.raises(ReplicationError) as refused:
        parse_topology(data)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            {"topics": "orders"},
            "wrong-type: `topics` is text, at replications.orders.topics. Accepted is a list. Remedy: write `topics` "
            "as a list.",
            id="text for a list",
        ),
        pytest.param(
            {"topics": ["orders", 1]},
            "wrong-type: `topics.1` is a number, at replications.orders.topics.1. Without quotation marks YAML reads "
            "no text here. Remedy: put it in quotation marks.",
            id="a number for text in a list",
        ),
        pytest.param(
            {"connect": ["replicas"]},
            "wrong-type: `connect` is a list, at replications.orders.connect. Accepted is a mapping. Remedy: write "
            "`connect` as a mapping.",
            id="a list for a mapping",
        ),
        pytest.param(
            {"intervals": {"emitHeartbeatsSeconds": "often"}},
            "wrong-type: `emitHeartbeatsSeconds` is text, at replications.orders.intervals.emitHeartbeatsSeconds. "
            "Accepted is a whole number. Remedy: write `emitHeartbeatsSeconds` as a whole number.",
            id="text for a number",
        ),
    ],
)
def test_a_value_of_another_type_is_told_in_yamls_words(settings: dict[str, Any], words: str) -> None:
    assert told(a_topology(a_flow(**settings))) == [words]


def test_an_empty_file_is_said_to_be_empty() -> None:
    assert told(None) == [
        "wrong-type: `the file` is empty, at the top of the file. Accepted is a mapping. Remedy: write `the file` as a "
        "mapping."
    ]


def test_a_property_that_is_neither_text_nor_number_is_told_by_its_name() -> None:
    """Pydantic names the types that it tried after the key, and they are none of the file's."""
    flow = a_flow(connect={"config": {"topic.creation.enable": [1]}})
    assert all(
        "at replications.orders.connect.config.topic.creation.enable." in each for each in told(a_topology(flow))
    )
