"""The committed property definitions are those of the pinned Kafka artifacts.

Otherwise, after a new Kafka is pinned, its new properties stay unknown, and property checks describe the old Kafka.
"""

import pytest

from kafka_replication.components.properties.definitions import supported_versions
from kafka_replication.infra.machine.jdk import find_jdk
from tests.contract.property_definitions import KAFKAS, data_file, generate


@pytest.mark.parametrize("kafka", KAFKAS)
def test_the_definitions_are_those_of_the_pinned_artifacts(kafka: str) -> None:
    generated = generate(kafka, find_jdk())
    stale = "the definitions are not those of the pinned Kafka; run `make properties`"
    assert generated == data_file(kafka).read_text(encoding="utf-8"), stale


def test_exactly_the_pinned_kafka_versions_have_definitions() -> None:
    assert tuple(KAFKAS) == supported_versions()
