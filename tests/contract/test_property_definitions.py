"""The committed property definitions are what the pinned Kafka artifacts say.

Without it a new Kafka is pinned, its properties stay unknown, and every check of a property speaks of another Kafka.
"""

import pytest
from rich.console import Console

from components.properties.definitions import supported_versions
from infra.machine.jdk import find_jdk
from tests.contract.property_definitions import KAFKAS, data_file, generate


@pytest.mark.parametrize("kafka", KAFKAS)
def test_the_definitions_are_those_of_the_pinned_artifacts(kafka: str) -> None:
    generated = generate(kafka, find_jdk(), Console(quiet=True))
    stale = "the definitions are not those of the pinned Kafka; run `make properties`"
    assert generated == data_file(kafka).read_text(encoding="utf-8"), stale


def test_every_pinned_kafka_has_definitions_and_no_other() -> None:
    assert tuple(KAFKAS) == supported_versions()
