"""Records which ranges of offsets the job reads from the clusters of a flow."""

from collections.abc import Iterable
from typing import Any

import pytest

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord

Ranges = list[OffsetRange]


def ranges_read(monkeypatch: pytest.MonkeyPatch) -> Ranges:
    """The ranges that are read from now on, in the order in which they are asked for."""
    ranges: Ranges = []
    read = KafkaReader.read

    def recorded(
        self: KafkaReader, what: str, wanted: Iterable[tuple[TopicPartition, OffsetRange]], **options: Any
    ) -> Iterable[KafkaRecord]:
        held = list(wanted)
        ranges.extend(offsets for _, offsets in held)
        return read(self, what, held, **options)

    monkeypatch.setattr(KafkaReader, "read", recorded)
    return ranges
