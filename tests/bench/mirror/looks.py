"""How many records the target has, and the steady rate of what was seen of that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # not in its stubs

from tests.bench.mirror.cluster import Broker, not_running

#: So many fetches after a pause give a rate.
ENOUGH = 3
_UNTIL_SECONDS = 10.0


@dataclass(frozen=True)
class Look:
    """How many records had been copied at a time, in seconds."""

    at: float
    copied: int


def arrivals(looks: Sequence[Look]) -> list[Look]:
    """Return the last look before each fetch that arrived after a pause."""
    return [
        before
        for (earlier, before), after in zip(pairwise(looks), looks[2:], strict=False)
        if earlier.copied == before.copied < after.copied
    ]


def paused(looks: Sequence[Look]) -> bool:
    """Return whether records came in bursts."""
    return any(earlier.copied == later.copied for earlier, later in pairwise(looks))


def rate(looks: Sequence[Look]) -> float:
    """Return the records a second.

    A fetch arrives at once and may have been under way for seconds, so a window with one arrival too many says too
    much: where pauses fill most of the time, it goes from one arrival to another.
    """
    first, last = looks[0], looks[-1]
    between = arrivals(looks)
    if len(between) >= ENOUGH and between[-1].at - between[0].at >= (last.at - first.at) / 2:
        first, last = between[0], between[-1]
    return (last.copied - first.copied) / (last.at - first.at)


@dataclass
class Target:
    """Asks the target for the ends of a topic's partitions."""

    broker: Broker
    topic: str
    partitions: int
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        self.admin = AdminClient({"bootstrap.servers": self.broker.address})

    def copied(self) -> int:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = self.admin.list_offsets(dict.fromkeys(self._places(), latest), request_timeout=_UNTIL_SECONDS)
        try:
            return sum(answer.result().offset for answer in asked.values())
        except KafkaException:
            # The topic was created a moment ago, or was not yet.
            return 0

    def times(self, records: int) -> Iterator[tuple[int, int]]:
        """Yield when each record was written to the source and appended on the target, in milliseconds."""
        consumer = Consumer({"bootstrap.servers": self.broker.address, "group.id": "looks"})
        consumer.assign(self._places())
        for _ in range(records):
            message = consumer.poll(30)
            if message is None or message.error():
                raise not_running("the copies cannot be read", self.topic, str(message and message.error()))
            yield int.from_bytes(message.key() or b"", "big"), message.timestamp()[1]

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self.topic, number, offset=0) for number in range(self.partitions)]
