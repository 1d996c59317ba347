"""Partitions and offsets. Pure; imports nothing."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic, by the topic's name on one cluster."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetRange(NamedTuple):
    """Offsets [start, end) of a partition."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Offsets in the range, in records if none is missing; 0 when it is empty."""
        return max(0, self.end - self.start)

    def within(self, other: "OffsetRange") -> "OffsetRange":
        return OffsetRange(max(self.start, other.start), min(self.end, other.end))
