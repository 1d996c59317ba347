"""How a fault in a topic is made, from a few lines about its records."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.infra.local.endpoints import ADMIN, Region
from tests.bench.fault_places import EVERY, RECORDS, Place, Row, recreate
from tests.bench.fault_rows import Making
from tests.bench.fault_stack import World
from tests.spark.scenes import CALL_SECONDS, Headers, produce
from tests.topics import delete_topics

COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.99"}
#: With this topic configuration, the time of arrival replaces the timestamp of each record.
ON_ARRIVAL = {"message.timestamp.type": "LogAppendTime"}

Make = Callable[[Place], object]


def running(make: Make) -> Making:
    """A fault that need not be undone, because its topic is deleted."""

    @contextmanager
    def making(_: World, place: Place) -> Iterator[None]:
        make(place)
        yield

    return making


def nothing(place: Place) -> None:
    """No fault."""


def lost(upto: int, more: int) -> Make:
    """Produce up to an offset while nothing is replicated, expire all of it, and produce `more`."""

    def make(place: Place) -> None:
        place.write(place.world.east, range(RECORDS, upto + more))
        place.expire(place.world.east, upto)

    return make


def transaction(region: Region, topic: str, rows: list[Row], *, commits: bool) -> None:
    producer = Producer({**region.client_config(ADMIN), "transactional.id": topic})
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    produce(region, topic, 0, rows, producer)
    (producer.commit_transaction if commits else producer.abort_transaction)(CALL_SECONDS)


def aborted(place: Place) -> None:
    rows = place.rows(range(RECORDS, RECORDS + 7))
    transaction(place.world.east, place.topic, rows, commits=False)
    place.write(place.world.east, range(RECORDS + 7, RECORDS + 10))


def lost_in_transactions(place: Place) -> None:
    for first in range(RECORDS, RECORDS + 30, 10):
        transaction(place.world.east, place.topic, place.rows(range(first, first + 10)), commits=True)
    place.expire(place.world.east, RECORDS + 22)


@contextmanager
def left_open(world: World, place: Place) -> Iterator[None]:
    """A transaction on the source that stays open."""
    # Longer than the validation takes; by default, the coordinator aborts a transaction after a minute.
    lasting = {"transactional.id": place.topic, "transaction.timeout.ms": 600_000}
    producer = Producer({**world.east.client_config(ADMIN), **lasting})
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    produce(world.east, place.topic, 0, place.rows(range(RECORDS, RECORDS + 5)), producer)
    try:
        yield
    finally:
        producer.abort_transaction(CALL_SECONDS)


def one(number: int, change: Callable[[Row], Row]) -> Make:
    """Write all records of the remote topic again, with one of them changed."""

    def make(place: Place) -> None:
        rows = place.rows(EVERY)
        place.rewrite([*rows[:number], change(rows[number]), *rows[number + 1 :]])

    return make


def each(change: Callable[[Row], Row]) -> Make:
    return lambda place: place.rewrite([change(row) for row in place.rows(EVERY)])


def held(*numbers: range) -> Make:
    """Make the remote topic hold these records in this order instead."""
    return lambda place: place.rewrite(place.rows(number for part in numbers for number in part))


def shuffled(place: Place) -> None:
    numbers = list(EVERY)
    random.Random(1).shuffle(numbers)
    place.rewrite(place.rows(numbers))


def head_behind_start(place: Place) -> None:
    """The target's log starts at 1, but it lacks 10 records."""
    place.rewrite(place.rows([0, *range(10, RECORDS)]))
    place.expire(place.world.west, 1)


def with_header(row: Row) -> Row:
    headers: Headers = [*row[3], ("added", b"1")]
    return (*row[:3], headers)


def again_on_source(records: int) -> Make:
    def make(place: Place) -> None:
        recreate(place.world.east, place.topic, 1)
        now = int(time.time() * 1000)
        rows = place.rows(range(1_000, 1_000 + records))
        place.write_rows(place.world.east, [(*row[:2], now + number, row[3]) for number, row in enumerate(rows)])

    return make


def deleted_on_target(place: Place) -> None:
    delete_topics(place.world.west, [place.remote])


def more_partitions(side: str) -> Make:
    def make(place: Place) -> None:
        region, topic = {"east": (place.world.east, place.topic), "west": (place.world.west, place.remote)}[side]
        admin = AdminClient(region.client_config(ADMIN))
        for future in admin.create_partitions([NewPartitions(topic, 3)]).values():
            future.result(CALL_SECONDS)

    return make


def two_of_each(place: Place) -> list[Row]:
    """The records with 50 keys, two of each; the newest of one key is a tombstone."""
    rows = place.rows(EVERY)
    keyed: list[Row] = [(f"k{number % 50}".encode(), *row[1:]) for number, row in enumerate(rows)]
    return [*keyed[:70], (keyed[70][0], None, *keyed[70][2:]), *keyed[71:]]


def without(number: int) -> Make:
    """A compacted topic with two records of each key: the remote topic lacks one of the newest."""

    def make(place: Place) -> None:
        rows = two_of_each(place)
        place.rewrite([*rows[:number], *rows[number + 1 :]], COMPACTED)

    return make


def expired(side: str, before: int) -> Make:
    return lambda place: place.expire(place.world.east if side == "east" else place.world.west, before)


def written(side: str, *numbers: int) -> Make:
    return lambda place: place.write(place.world.east if side == "east" else place.world.west, numbers)
