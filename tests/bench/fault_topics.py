"""Faults in topics and groups of a running flow: each has a topic and a group of its own, and all are judged at once.

Each topic holds 100 records, replicated by the real connector; its group has committed 60 and been translated.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not in its stubs

from infra.local.endpoints import ADMIN, Region
from infra.waiting import NotYetError, wait_for
from tests.bench.fault_world import Place, Row, delete_topics, recreate
from tests.commits import commit
from tests.local.flows import ARRIVAL_SECONDS
from tests.local.observed import committed
from tests.spark.scenes import CALL_SECONDS, Headers, produce

RECORDS = 100
COMMITTED = 60
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.99"}
EVERY = range(RECORDS)
#: As a topic's configuration sets it, the time of arrival replaces that of each record.
ON_ARRIVAL = {"message.timestamp.type": "LogAppendTime"}

Make = Callable[[Place], object]


@dataclass(frozen=True)
class TopicFault:
    """A fault, made while the source connector is stopped (`stopped`), or afterwards while everything runs.

    `codes` are the findings of which one must name the topic or the group, and `words` must stand in it. Without codes
    it is no fault, and nothing may be found but notes.
    """

    name: str
    what: str
    codes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    make: Make | None = None
    stopped: Make | None = None
    config: dict[str, str] = field(default_factory=dict)
    rows: Callable[[Place], list[Row]] = lambda place: place.rows(EVERY)
    group: str = ""


def _lost(upto: int, more: int, produced: int = 0) -> Make:
    """Produce while nothing is replicated, expire a part of it, and produce on."""

    def make(place: Place) -> None:
        place.write(place.world.east, range(RECORDS, max(upto, RECORDS + produced) + more))
        place.expire(place.world.east, upto)

    return make


def _transaction(region: Region, name: str, topic: str, rows: list[Row], *, commits: bool) -> None:
    producer = Producer({**region.client_config(ADMIN), "transactional.id": name})
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    produce(region, topic, 0, rows, producer)
    (producer.commit_transaction if commits else producer.abort_transaction)(CALL_SECONDS)


def _abort(place: Place) -> None:
    rows = place.rows(range(RECORDS, RECORDS + 7))
    _transaction(place.world.east, place.topic, place.topic, rows, commits=False)


def _lost_in_transactions(place: Place) -> None:
    for first in range(RECORDS, RECORDS + 30, 10):
        rows = place.rows(range(first, first + 10))
        _transaction(place.world.east, place.topic, place.topic, rows, commits=True)
    place.expire(place.world.east, RECORDS + 22)


def leave_open(place: Place, held: ExitStack, region: Region, topic: str) -> None:
    """A transaction that is open until `held` is closed."""
    producer = Producer({**region.client_config(ADMIN), "transactional.id": f"{topic}-open"})
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    produce(region, topic, 0, place.rows(range(RECORDS, RECORDS + 5)), producer)
    held.callback(producer.abort_transaction, CALL_SECONDS)


def _one(number: int, change: Callable[[Row], Row]) -> Make:
    """All records in the remote topic anew, with one of them changed."""

    def make(place: Place) -> None:
        rows = place.rows(EVERY)
        place.rewrite([*rows[:number], change(rows[number]), *rows[number + 1 :]])

    return make


def _all(change: Callable[[Row], Row]) -> Make:
    return lambda place: place.rewrite([change(row) for row in place.rows(EVERY)])


def _held(*numbers: range) -> Make:
    """The remote topic holds these records in this order instead."""
    return lambda place: place.rewrite(place.rows(number for part in numbers for number in part))


def _with_header(row: Row) -> Row:
    headers: Headers = [*row[3], ("added", b"1")]
    return (*row[:3], headers)


def _again_on_source(records: int) -> Make:
    def make(place: Place) -> None:
        recreate(place.world.east, place.topic, 1)
        now = int(time.time() * 1000)
        rows = place.rows(range(1_000, 1_000 + records))
        place.write_rows(place.world.east, [(*row[:2], now + number, row[3]) for number, row in enumerate(rows)])

    return make


def _deleted_on_target(place: Place) -> None:
    delete_topics(place.world.west, [place.remote])


def _more_partitions(place: Place) -> None:
    admin = AdminClient(place.world.west.client_config(ADMIN))
    for future in admin.create_partitions([NewPartitions(place.remote, 3)]).values():
        future.result(CALL_SECONDS)


def _without_one_key(place: Place) -> None:
    """Compacted, with two records of each key: the remote topic lacks the newest record of one key."""
    rows = _two_of_each(place)
    place.rewrite([row for row in rows if row != rows[57]], COMPACTED)


def _without_a_tombstone(place: Place) -> None:
    rows = _two_of_each(place)
    place.rewrite([row for row in rows if row != rows[99]], COMPACTED)


def _two_of_each(place: Place) -> list[Row]:
    """The records with 50 keys, two of each; the last one is a tombstone."""
    rows = place.rows(EVERY)
    keyed: list[Row] = [(f"k{number % 50}".encode(), *row[1:]) for number, row in enumerate(rows)]
    return [*keyed[:99], (keyed[99][0], None, *keyed[99][2:])]


def _committed_on_source(offset: int) -> Make:
    return lambda place: commit(place.world.east, place.group, {(place.topic, 0): offset})


def _committed_on_target(offset: int) -> Make:
    return lambda place: commit(place.world.west, place.group, {(place.remote, 0): offset})


def _stuck(place: Place) -> None:
    """The group is at the end, which the newest offset sync translates, but its newest checkpoint is an old one."""
    commit(place.world.east, place.group, {(place.topic, 0): RECORDS})
    wait_for(f"{place.group} to be translated", lambda: _expect_synced(place, COMMITTED + 1), ARRIVAL_SECONDS)
    place.forge_checkpoint(3, 3)


def _expect_synced(place: Place, offset: int) -> None:
    found = committed(place.world.west, place.group, place.remote).get(0, -1)
    if found < offset:
        raise NotYetError(f"its offset on the target is {found}")


def _checkpoint(upstream: int, downstream: int) -> Make:
    return lambda place: place.forge_checkpoint(upstream, downstream)


_HOLE = "of useast are missing on uswest"
FAULTS: tuple[TopicFault, ...] = (
    TopicFault("healthy", "no fault"),
    TopicFault(
        "lost-fifty",
        "retention removes 50 records before the connector reads them",
        ("lost-to-retention",),
        ("source offsets 100 to 149",),
        stopped=_lost(150, 20),
    ),
    TopicFault(
        "lost-all",
        "retention removes all of 50 records before the connector reads them, and nothing follows",
        ("lost-to-retention",),
        ("source offsets 100 to 149",),
        stopped=_lost(150, 0),
    ),
    TopicFault(
        "lost-single",
        "retention removes one record before the connector reads it",
        ("possible-markers", "lost-to-retention"),
        ("source offsets 100 to 100",),
        stopped=_lost(101, 20),
    ),
    TopicFault(
        "lost-transactions",
        "retention removes 20 records in transactions before the connector reads them",
        ("possible-markers", "lost-to-retention"),
        ("source offsets 100 to 121",),
        stopped=_lost_in_transactions,
    ),
    TopicFault(
        "source-anew-shorter",
        "the source topic is deleted and made anew with 30 records",
        ("source-topic-recreated",),
        ("was deleted and created again",),
        stopped=_again_on_source(30),
    ),
    TopicFault(
        "source-anew-longer",
        "the source topic is deleted and made anew with 150 records, of which the connector skips 100",
        ("source-topic-recreated",),
        ("was deleted and created again",),
        stopped=_again_on_source(150),
    ),
    TopicFault(
        "remote-deleted",
        "somebody deletes the remote topic; the connector makes it anew, empty",
        ("remote-topic-recreated",),
        ("deleted and created again",),
        make=_deleted_on_target,
    ),
    TopicFault(
        "remote-tail-cut",
        "the last 30 records are missing in the remote topic",
        ("remote-topic-recreated", "not-replicated-yet"),
        ("30 records",),
        make=_held(range(70)),
    ),
    TopicFault(
        "stray-record",
        "somebody produces a record to the remote topic",
        ("extra-records",),
        ("1 records on uswest do not exist on useast", "offsets 100 to 100"),
        make=lambda place: place.write(place.world.west, [7_000]),
    ),
    TopicFault(
        "stray-between",
        "the remote topic holds 5 records of somebody else in the middle",
        ("extra-records",),
        ("5 records on uswest do not exist on useast", "offsets 40 to 44"),
        make=_held(range(40), range(7_000, 7_005), range(40, 100)),
    ),
    TopicFault(
        "hole-of-ten",
        "10 records are missing in the middle of the remote topic",
        ("missing-records",),
        (f"10 records {_HOLE}", "offsets 40 to 49"),
        make=_held(range(40), range(50, 100)),
    ),
    TopicFault(
        "hole-of-one",
        "one record is missing in the middle of the remote topic",
        ("missing-records",),
        (f"1 records {_HOLE}", "offsets 40 to 40"),
        make=_held(range(40), range(41, 100)),
    ),
    TopicFault(
        "head-missing",
        "the first 10 records are missing in the remote topic",
        ("missing-records",),
        (f"10 records {_HOLE}", "offsets 0 to 9"),
        make=_held(range(10, 100)),
    ),
    TopicFault(
        "tombstones-missing",
        "the remote topic lacks the records without a value",
        ("missing-records",),
        (f"9 records {_HOLE}",),
        make=lambda place: place.rewrite(row for row in place.rows(EVERY) if row[1] is not None),
    ),
    TopicFault(
        "reversed-blocks",
        "two blocks of the remote topic stand in the other order",
        ("records-reordered",),
        ("in another order",),
        make=_held(range(40), range(70, 100), range(40, 70)),
    ),
    TopicFault(
        "neighbours",
        "two neighbouring records stand in the other order",
        ("records-reordered",),
        ("in another order",),
        make=_held(range(40), range(41, 42), range(40, 41), range(42, 100)),
    ),
    TopicFault(
        "sent-twice",
        "the last 5 records are sent again, as after a restart: no fault",
        make=lambda place: place.write(place.world.west, range(95, 100)),
    ),
    TopicFault(
        "all-twice",
        "every record is sent again",
        ("records-repeated",),
        ("100 records are duplicates",),
        make=lambda place: place.write(place.world.west, EVERY),
    ),
    TopicFault(
        "value-changed",
        "the value of one record is changed on the way",
        ("records-differ",),
        ("1 records of useast",),
        make=_one(50, lambda row: (row[0], b"other", *row[2:])),
    ),
    TopicFault(
        "key-dropped",
        "the key of one record is lost on the way",
        ("records-differ",),
        ("1 records of useast",),
        make=_one(50, lambda row: (None, *row[1:])),
    ),
    TopicFault(
        "empty-for-null",
        "a record without a value arrives with an empty one",
        ("records-differ",),
        ("1 records of useast",),
        make=_one(10, lambda row: (row[0], b"", *row[2:])),
    ),
    TopicFault(
        "header-dropped",
        "one record loses a header on the way",
        ("records-differ",),
        ("1 records of useast",),
        make=_one(48, lambda row: (*row[:3], row[3][1:])),
    ),
    TopicFault(
        "headers-added",
        "every record gains a header on the way",
        ("records-differ",),
        ("100 records of useast differ",),
        make=_all(_with_header),
    ),
    TopicFault(
        "time-on-arrival",
        "the remote topic sets the time of each record on arrival",
        ("records-differ",),
        ("100 records of useast differ", "message.timestamp.type=CreateTime"),
        make=lambda place: place.rewrite(place.rows(EVERY), ON_ARRIVAL),
    ),
    TopicFault(
        "aborted",
        "a producer aborts a transaction whose records the connector has replicated",
        ("aborted-records",),
        ("7 records on uswest belong to transactions that were aborted on useast",),
        stopped=_abort,
    ),
    TopicFault(
        "compacted-newest",
        "a compacted remote topic lacks the newest record of a key",
        ("keys-outdated",),
        ("1 keys have another value on uswest",),
        make=_without_one_key,
        config=COMPACTED,
        rows=_two_of_each,
    ),
    TopicFault(
        "compacted-tombstone",
        "a compacted remote topic lacks a tombstone, so it still holds a deleted key",
        ("keys-undeleted",),
        ("1 keys still have a value on uswest",),
        make=_without_a_tombstone,
        config=COMPACTED,
        rows=_two_of_each,
    ),
    TopicFault(
        "expired-there",
        "the target has removed the records that the group would read next",
        ("target-expired",),
        ("the target no longer holds offset",),
        make=lambda place: place.expire(place.world.west, 80),
    ),
    TopicFault(
        "emptied-there",
        "the target has removed all records",
        ("target-expired",),
        ("the target no longer holds offset",),
        make=lambda place: place.expire(place.world.west, 100),
    ),
    TopicFault(
        "expired-here",
        "the source has removed records that the group has read: no fault",
        make=lambda place: place.expire(place.world.east, 50),
    ),
    TopicFault("partitions-there", "somebody adds partitions to the remote topic: a note", make=_more_partitions),
    TopicFault(
        "checkpoint-ahead",
        "a checkpoint translates 60 to 90",
        ("offset-skips-records",),
        ("the group would skip 30 records",),
        make=_checkpoint(COMMITTED, 90),
    ),
    TopicFault(
        "checkpoint-next",
        "a checkpoint is one record too far",
        ("offset-skips-records",),
        ("the group would skip 1 records",),
        make=_checkpoint(COMMITTED, 61),
    ),
    TopicFault(
        "checkpoint-beyond",
        "a checkpoint translates beyond the end of the remote topic",
        ("checkpoint-past-end",),
        ("the target ends at 100",),
        make=_checkpoint(COMMITTED, 5_000),
    ),
    TopicFault(
        "checkpoint-stuck",
        "a checkpoint does not follow the group",
        ("checkpoint-behind",),
        ("still translates to 3",),
        make=_stuck,
    ),
    TopicFault(
        "group-ahead-there",
        "somebody sets the group's offset on the target past its translation",
        ("group-past-translation",),
        ("its offset on the target is 95", "35 records would be skipped"),
        make=_committed_on_target(95),
    ),
    TopicFault(
        "group-reset",
        "the group is reset to an earlier offset on the source",
        ("group-past-translation", "checkpoint-ahead"),
        ("reset",),
        make=_committed_on_source(10),
    ),
    TopicFault(
        "group-comma",
        "a group with a comma in its name",
        ("group-left-out",),
        ("checkout-group-comma,b", "contains a comma"),
        group=",b",
    ),
    TopicFault("group-colon", "a group with a colon in its name: no fault", group=":b"),
    TopicFault(
        "group-past-end",
        "the group commits an offset beyond the end of the source",
        ("committed-past-end",),
        ("5000",),
        make=_committed_on_source(5_000),
    ),
)
