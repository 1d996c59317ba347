"""Records which ranges of offsets the job reads from the clusters of a flow."""

from collections.abc import Iterable

import pytest

from components.kafka.positions import OffsetRange, TopicPartition
from spark.read.clusters import Cluster
from spark.read.small_reads import KafkaRecord

Ranges = list[OffsetRange]


def ranges_read(monkeypatch: pytest.MonkeyPatch) -> Ranges:
    """The ranges that are read from now on, in the order in which they are asked for."""
    ranges: Ranges = []
    reads = Cluster.records

    def records(
        self: Cluster, wanted: Iterable[tuple[TopicPartition, OffsetRange]], doing: str
    ) -> Iterable[KafkaRecord]:
        kept = list(wanted)
        ranges.extend(each for _, each in kept)
        return reads(self, kept, doing)

    monkeypatch.setattr(Cluster, "records", records)
    return ranges
