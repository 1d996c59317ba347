"""Which offsets operation the annotations ask for, in Strimzi's forms and words."""

from dataclasses import replace

import pytest

from kafka_replication.infra.local.operator.conditions import Condition
from kafka_replication.infra.local.operator.connector_annotations import (
    CONNECTOR,
    OFFSETS,
    OffsetsRequest,
    offsets_request,
)
from kafka_replication.infra.local.operator.resources import KAFKA_MIRROR_MAKER_2, ConnectorResource
from tests.infra.operator.builders import a_connector

NAME = "a->b.MirrorSourceConnector"


def annotated(offsets: str) -> ConnectorResource:
    return replace(a_connector(), annotations={OFFSETS: offsets})


def mirror(annotations: dict[str, str]) -> ConnectorResource:
    return replace(a_connector(), name=NAME, component=KAFKA_MIRROR_MAKER_2, annotations=annotations)


@pytest.mark.parametrize("verb", ["list", "alter", "reset"])
def test_one_annotation_requests_an_offsets_operation_from_a_kafka_connector(verb: str) -> None:
    assert offsets_request(annotated(offsets=verb)) == OffsetsRequest(verb, "offsets.json", (OFFSETS,))


def test_no_annotation_or_the_value_none_requests_nothing() -> None:
    assert offsets_request(annotated(offsets="none")) is None
    assert offsets_request(a_connector()) is None
    assert offsets_request(mirror({})) is None


def test_a_misspelt_value_makes_the_connector_not_ready() -> None:
    found = offsets_request(annotated(offsets="alters"))
    assert isinstance(found, Condition)
    assert (found.type, found.reason) == ("NotReady", "IllegalArgumentException")
    assert found.message.startswith("No enum constant ")


def test_a_connector_of_a_mirror_maker_is_named_by_a_second_annotation() -> None:
    asked = mirror({OFFSETS: "alter", CONNECTOR: NAME})
    assert offsets_request(asked) == OffsetsRequest("alter", "a--b.MirrorSourceConnector.json", (OFFSETS, CONNECTOR))
    assert offsets_request(mirror({OFFSETS: "alter", CONNECTOR: "a->b.MirrorCheckpointConnector"})) is None


@pytest.mark.parametrize(("given", "missing"), [({OFFSETS: "list"}, CONNECTOR), ({CONNECTOR: NAME}, OFFSETS)])
def test_one_of_the_two_annotations_alone_is_a_warning(given: dict[str, str], missing: str) -> None:
    found = offsets_request(mirror(given))
    assert isinstance(found, Condition)
    assert (found.type, found.reason) == ("Warning", "ManageOffsets")
    assert found.message.endswith(f"KafkaMirrorMaker2 resource mirror/orders is missing annotation {missing}")
