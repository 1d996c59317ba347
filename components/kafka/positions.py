"""Partitions, ranges of offsets, and committed offsets."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

V = TypeVar("V")


class TopicPartition(NamedTuple):
    """A partition of a topic on one cluster."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(values: Mapping[TopicPartition, V]) -> dict[str, dict[int, V]]:
    """Return the values of partitions by topic, then by the partition's number."""
    topics: dict[str, dict[int, V]] = {}
    for (topic, partition), value in values.items():
        topics.setdefault(topic, {})[partition] = value
    return topics


class OffsetRange(NamedTuple):
    """The offsets [start, end) of a partition."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Return the number of offsets. There may be fewer records, because not every offset holds one."""
        return max(0, self.end - self.start)

    def after(self, offset: int) -> "OffsetRange":
        """Return the offsets from `offset` on, none of them before the start."""
        return OffsetRange(max(self.start, offset), max(self.end, offset))

    def within(self, other: "OffsetRange") -> "OffsetRange":
        return OffsetRange(max(self.start, other.start), min(self.end, other.end))


class CommittedOffset(NamedTuple):
    """An offset that a group has committed, with the application's `metadata`; Kafka Streams stores its clock."""

    offset: int
    metadata: str = ""
