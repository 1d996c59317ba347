"""What looks faulty and is not: a pass, by the semantics of Kafka and MirrorMaker."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its stubs
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import ADMIN, APP
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.fault_makers import COMPACTED, ON_ARRIVAL, nothing, running, transaction, written
from tests.bench.fault_places import COMMITTED, RECORDS, Place, Row, expect_ends, expect_synced
from tests.bench.fault_rows import Fault, Making
from tests.bench.fault_stack import World
from tests.local.flows import ARRIVAL_SECONDS
from tests.spark.scenes import CALL_SECONDS

_CLEANED = {"min.cleanable.dirty.ratio": "0.01", "segment.ms": "100", "delete.retention.ms": "0"}
_HEADERS = [("a", b"1"), ("a", b"2"), ("", b"x"), ("bytes", bytes(range(256))), ("none", None)]


def consumer_protocol_group(place: Place, offset: int, ending: str) -> None:
    """A group of the consumer protocol (KIP-848), which commits an offset and leaves."""
    config = {**place.world.east.client_config(APP), "group.id": place.group + ending, "group.protocol": "consumer"}
    consumer = Consumer({**config, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    with closing(consumer):
        _joined(consumer, place.topic)
        consumer.commit(offsets=[TopicPartition(place.topic, 0, offset)], asynchronous=False)


def _joined(consumer: Consumer, topic: str) -> None:
    consumer.subscribe([topic])

    def read() -> None:
        if not consumer.consume(1, timeout=1.0):
            raise NotYetError("nothing consumed")

    wait_for("a member that consumes", read, ARRIVAL_SECONDS)


def _translated(place: Place, ending: str) -> None:
    wait_for(f"{place.group}{ending} to be translated", lambda: expect_synced(place, 0, ending), ARRIVAL_SECONDS)


def _consumer_protocol(place: Place) -> None:
    consumer_protocol_group(place, COMMITTED, "-848")
    _translated(place, "-848")


def _committed(offset: int, ending: str = "") -> Callable[[Place], None]:
    return lambda place: place.commit(offset, ending)


def _after_marker(place: Place) -> None:
    transaction(place.world.east, place.topic, place.rows(range(RECORDS, RECORDS + 5)), commits=True)
    expect_ends(place.world.west, {place.remote: RECORDS + 5})
    place.commit(RECORDS + 6)


def _transactions(place: Place) -> None:
    for first in range(RECORDS, RECORDS + 15, 5):
        transaction(place.world.east, place.topic, place.rows(range(first, first + 5)), commits=True)
    expect_ends(place.world.west, {place.remote: RECORDS + 15})
    place.commit(RECORDS + 5)


def _empty_records(place: Place) -> None:
    place.write_rows(place.world.east, [(None, None, place.world.began_ms, [])] * 50)
    expect_ends(place.world.west, {place.remote: RECORDS + 50})


def _odd_headers(place: Place) -> None:
    rows: list[Row] = [(key, value, time_ms, [*_HEADERS]) for key, value, time_ms, _ in place.rows(range(100, 110))]
    place.write_rows(place.world.east, rows)
    expect_ends(place.world.west, {place.remote: RECORDS + 10})


def _epoch_times(place: Place) -> None:
    place.write_rows(place.world.east, [(*row[:2], 1, row[3]) for row in place.rows(range(100, 110))])
    expect_ends(place.world.west, {place.remote: RECORDS + 10})


def _expired_at_end(place: Place) -> None:
    place.commit(RECORDS)
    wait_for(f"{place.group} at the end", lambda: expect_synced(place, COMMITTED + 1), ARRIVAL_SECONDS)
    place.expire(place.world.west, 80)


def _expired_both(place: Place) -> None:
    place.expire(place.world.east, 50)
    place.expire(place.world.west, 20)


@contextmanager
def _static_member(world: World, place: Place) -> Iterator[None]:
    config = {**world.east.client_config(APP), "group.id": place.group, "group.instance.id": "one"}
    consumer = Consumer({**config, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    with closing(consumer):
        _joined(consumer, place.topic)
        consumer.commit(offsets=[TopicPartition(place.topic, 0, 70)], asynchronous=False)
        yield


def _compacted(place: Place) -> None:
    """Only the remote topic is compacted: two more records, an hour newer, let its broker close the segment."""
    _configure(place, _CLEANED)
    now = int(time.time() * 1000)
    for number, (key, value, _, headers) in enumerate(place.rows(range(RECORDS, RECORDS + 2)), 1):
        place.write_rows(place.world.east, [(key, value, now + 1_000 * number, headers)])
        expect_ends(place.world.west, {place.remote: RECORDS + number})
    config = {**place.world.west.client_config(APP), "group.id": "unused", "enable.auto.commit": False}
    with closing(Consumer(config)) as consumer:
        wait_for(f"{place.remote} to be compacted", lambda: _expect_compacted(consumer, place.remote), ARRIVAL_SECONDS)
    _configure(place, dict.fromkeys(_CLEANED) | {key: COMPACTED[key] for key in _CLEANED if key in COMPACTED})


def _configure(place: Place, config: Mapping[str, str | None]) -> None:
    """Set properties of the remote topic; one without a value gets the broker's default again."""
    change = AlterConfigOpType
    entries = [
        ConfigEntry(key, value, incremental_operation=change.DELETE if value is None else change.SET)
        for key, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, place.remote, incremental_configs=entries)
    admin = AdminClient(place.world.west.client_config(ADMIN))
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(CALL_SECONDS)


def _expect_compacted(consumer: Consumer, topic: str) -> None:
    consumer.assign([TopicPartition(topic, 0, 0)])
    first = [record.offset() for record in consumer.consume(1, timeout=5.0)]
    if not first or first[0] == 0:
        raise NotYetError(f"it begins at {first}")


@contextmanager
def _pending(world: World, place: Place) -> Iterator[None]:
    """The group's next offset is in a transaction that is still open."""
    settings = {"transactional.id": place.topic, "transaction.timeout.ms": 600_000}
    producer = Producer({**world.east.client_config(ADMIN), **settings})
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    config = {**world.east.client_config(APP), "group.id": place.group, "enable.auto.commit": False}
    with closing(Consumer(config)) as consumer:
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition(place.topic, 0, 80)], metadata, CALL_SECONDS)
    try:
        yield
    finally:
        producer.abort_transaction(CALL_SECONDS)


def _group_deleted(place: Place) -> None:
    place.commit(COMMITTED, "-deleted")
    _translated(place, "-deleted")
    admin = AdminClient(place.world.east.client_config(ADMIN))
    for future in admin.delete_consumer_groups([f"{place.group}-deleted"]).values():
        future.result(CALL_SECONDS)


def _odd(name: str, what: str, making: Making, config: Mapping[str, str] | None = None, ending: str = "") -> Fault:
    return Fault(
        name, f"no fault: {what}", Verdict.PASS, making, prepares=True, config=config or {},
        keyed=config == COMPACTED, ending=ending,
    )  # fmt: skip


ODDITIES = (
    _odd("time-on-arrival-here", "the source topic sets the time of each record on arrival", running(nothing),
         config=ON_ARRIVAL),
    _odd("consumer-protocol", "a group uses the consumer protocol", running(_consumer_protocol)),
    _odd("group-at-zero", "a group has committed offset 0", running(_committed(0, "-zero"))),
    _odd("group-after-marker", "a group is at the end, after the marker of a transaction", running(_after_marker)),
    _odd("group-at-marker", "a group is at the marker of a transaction", running(_transactions)),
    _odd("empty-records", "50 identical records without key, value and headers", running(_empty_records)),
    _odd("odd-headers", "headers with the same name, without a name, and without a value", running(_odd_headers)),
    _odd("expired-at-end", "the target has removed records that every group has read", running(_expired_at_end)),
    _odd("expired-both", "the source has removed more records than the target", running(_expired_both)),
    _odd("resent-forty", "the last 40 records are sent again, as after a crash",
         running(written("west", *range(60, 100)))),
    _odd("static-member", "a static member consumes on the source", _static_member),
    _odd("epoch-times", "records with timestamps of 1970", running(_epoch_times), config={"retention.ms": "-1"}),
    _odd("dots.in_name", "a topic with a dot and an underscore in its name", running(nothing)),
    _odd("group-spaces", "a group with a blank, a slash and an umlaut in its name", running(nothing), ending=" b/ü"),
    _odd("compacted-there", "only the target has compacted the topic so far", running(_compacted), config=COMPACTED),
    _odd("offsets-pending", "a group's next offset is in an open transaction", _pending),
    _odd("checkpoint-coarser", "a checkpoint translates 60 to 40, so the group would read records again",
         running(lambda place: place.forge_checkpoint(COMMITTED, 40))),
    _odd("group-deleted", "a group is deleted on the source, but not on the target", running(_group_deleted)),
    _odd("group-there-only", "a group that does not exist on the source has an offset on the target",
         running(lambda place: place.commit_there(95, "-there"))),
)  # fmt: skip
