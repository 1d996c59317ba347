"""Bootstrap addresses as each version of Kafka's clients reads them, and lines for login modules."""

import pytest

from kafka_replication.components.kafka.connections import may_hold_secret, refuses_empty_entries


@pytest.mark.parametrize(("kafka", "refused"), [("3.9", False), ("4.1", False), ("4.2", True), ("4.10", True)])
def test_clients_refuse_an_empty_entry_from_4_2_on(kafka: str, refused: bool) -> None:
    assert refuses_empty_entries(kafka) is refused


@pytest.mark.parametrize(
    ("line", "secret"),
    [("hunter2", True), ("${secret:mirror:jaas}", False), ("PlainLoginModule", False), ("com.example.Own", False)],
)
def test_one_word_that_is_neither_a_class_nor_a_reference_may_be_a_secret(line: str, secret: bool) -> None:
    assert may_hold_secret(line) is secret
