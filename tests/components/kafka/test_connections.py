"""Bootstrap addresses as each version of Kafka's clients reads them."""

import pytest

from components.kafka.connections import refuses_empty_entries


@pytest.mark.parametrize(("kafka", "refused"), [("3.9", False), ("4.1", False), ("4.2", True), ("4.10", True)])
def test_clients_refuse_an_empty_entry_from_4_2_on(kafka: str, refused: bool) -> None:
    assert refuses_empty_entries(kafka) is refused
