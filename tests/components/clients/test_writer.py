"""What the writer of the positions' topic makes of a cluster that is slow, or that refuses it."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_replication.components.clients import writer
from kafka_replication.components.clients.writer import TopicWriter
from kafka_replication.components.contract.problems import CannotRunError


class Admin:
    """Creates every topic at once."""

    def __init__(self, _: object) -> None: ...

    def create_topics(self, topics: Any, **_: object) -> dict[str, Future[None]]:
        created: Future[None] = Future()
        created.set_result(None)
        return {topics[0].topic: created}


class Refusing:
    """A producer that has no room, or whose transaction was ended by `fencing` `seconds` after it began."""

    full, fencing, seconds = False, KafkaError._FENCED, 0.0
    now = 0.0

    def __init__(self, _: object) -> None: ...

    def init_transactions(self, _: float) -> None: ...

    def begin_transaction(self) -> None: ...

    def flush(self, _: float) -> None: ...

    def produce(self, *_: object) -> None:
        if self.full:
            raise BufferError

    def commit_transaction(self, _: float) -> None:
        type(self).now += self.seconds
        raise KafkaException(KafkaError(self.fencing))


@pytest.mark.parametrize(
    ("producer", "code"),
    [
        ({}, "writer-replaced"),
        ({"fencing": KafkaError.INVALID_PRODUCER_EPOCH}, "writer-replaced"),
        ({"seconds": 101.0}, "not-written"),
        ({"full": True}, "not-written"),
    ],
    ids=["another writer", "another writer, says the broker", "a transaction that took too long", "no room"],
)
def test_only_another_writer_ends_a_writer(
    producer: dict[str, Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = type("Producer", (Refusing,), producer)
    monkeypatch.setattr(writer, "AdminClient", Admin)
    monkeypatch.setattr(writer, "Producer", made)
    monkeypatch.setattr("time.monotonic", lambda: made.now)
    with pytest.raises(CannotRunError) as refused:
        TopicWriter("mm2-positions.orders.internal", "uswest", {}).write([(b"key", b"value")])
    assert refused.value.code == code


def test_a_transaction_has_the_time_to_write_a_million_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the first look at so many positions is never written, because it fails at every attempt."""
    configured: dict[str, object] = {}

    class Recording(Refusing):
        def __init__(self, config: dict[str, object]) -> None:
            configured.update(config)

    monkeypatch.setattr(writer, "AdminClient", Admin)
    monkeypatch.setattr(writer, "Producer", Recording)
    TopicWriter("mm2-positions.orders.internal", "uswest", {})
    assert configured["transaction.timeout.ms"] == 100_000
