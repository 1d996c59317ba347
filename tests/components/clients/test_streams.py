"""How records are read: the calls that reach the client."""

from typing import Any

from confluent_kafka import Message

from kafka_replication.components.clients.streams import RangeReader
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


class Arrived(Message):
    """A record that has arrived, with nothing in it."""

    def __init__(self, partition: TopicPartition, offset: int) -> None:
        super().__init__(topic=partition.topic, partition=partition.partition, offset=offset)


class ClientCalls:
    """A client that delivers one record after the other from where it was told to begin, and notes what it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.places: list[Any] = []

    def assign(self, places: list[Any]) -> None:
        self._note("assign", places)
        self.places = places

    def pause(self, places: list[Any]) -> None:
        self._note("pause", places)

    def resume(self, places: list[Any]) -> None:
        self._note("resume", places)

    def consume(self, _number: int, _seconds: float) -> list[Message]:
        return [Arrived(TopicPartition(place.topic, place.partition), place.offset) for place in self.places]

    def _note(self, call: str, places: list[Any]) -> None:
        self.calls.append((call, sorted(place.topic for place in places)))


def test_what_is_paused_resumes_before_it_is_assigned_again_and_never_while_its_reading_starts() -> None:
    """librdkafka numbers what it is asked. A resumption that overtakes the start of a reading makes all records of the
    partition look old, and it drops them: the cluster seems silent."""
    client: Any = ClientCalls()
    reader = RangeReader(client, 20)
    for _ in range(2):
        assert len(list(reader.records([(ORDERS, OffsetRange(3, 4)), (PAYMENTS, OffsetRange(7, 8))]))) == 2
    read = [("assign", ["orders", "payments"]), ("pause", ["orders"]), ("pause", ["payments"])]
    assert client.calls == [("resume", []), *read, ("resume", ["orders", "payments"]), *read]
