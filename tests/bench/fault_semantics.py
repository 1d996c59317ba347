"""Faults invented from the semantics of Kafka and MirrorMaker, not from the checks: each has its right answer here."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.machine.waiting import wait_for
from tests.bench.fault_clusters import acl, acl_changed
from tests.bench.fault_makers import COMPACTED, ON_ARRIVAL, Make, left_open, lost, running, transaction, two_of_each
from tests.bench.fault_oddities import consumer_protocol_group
from tests.bench.fault_places import COMMITTED, EVERY, RECORDS, Place, Row, expect_ends, expect_synced, recreate
from tests.bench.fault_rows import Fault, Making, at
from tests.bench.fault_stack import World
from tests.local.flows import ARRIVAL_SECONDS
from tests.spark.scenes import CALL_SECONDS, Headers, new_producer, produce

FAIL, ERROR = Verdict.FAIL, Verdict.ERROR
_DELETING = {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.99"}
_SYNCS = "mm2-offset-syncs.uswest.internal"
_EXTENDED = range(RECORDS, RECORDS + 50)


def _held(*numbers: Iterable[int]) -> Make:
    """Make the remote topic hold these records in this order."""
    return lambda place: place.rewrite(place.rows(number for part in numbers for number in part))


def _write(place: Place, region: Region, topic: str, numbers: Iterable[int], partition: int) -> None:
    """Write records with a new producer: an older one may not know the partition yet."""
    produce(region, topic, partition, place.rows(numbers), new_producer(region))


def _more(place: Place, rows: list[Row]) -> None:
    """Replicate more records, after the first 100."""
    place.write_rows(place.world.east, rows)
    expect_ends(place.world.west, {place.remote: RECORDS + len(rows)})


def _altered(*columns: tuple[bytes | None, bytes | None, Headers], followed: int = 5) -> Make:
    """Record 100 has the key, value and headers of `columns[0]` on the source, and of `columns[1]` on the target."""

    def make(place: Place) -> None:
        (_, _, time_ms, _), *others = place.rows(range(RECORDS, RECORDS + 1 + followed))
        there, here = ((key, value, time_ms, headers) for key, value, headers in columns)
        _more(place, [there, *others])
        place.rewrite([*place.rows(EVERY), here, *others])

    return make


def _replaced(change: Callable[[list[Row]], list[Row]], config: Mapping[str, str] | None = None) -> Make:
    """Make the remote topic hold the changed records."""
    return lambda place: place.rewrite(change(place.rows(EVERY)), config)


def _values_swapped(rows: list[Row]) -> list[Row]:
    first, second = rows[41], rows[42]
    return [*rows[:41], (first[0], second[1], *first[2:]), (second[0], first[1], *second[2:]), *rows[43:]]


def _later(rows: list[Row]) -> list[Row]:
    key, value, time_ms, headers = rows[50]
    return [*rows[:50], (key, value, time_ms + 1, headers), *rows[51:]]


def _foreign(place: Place) -> None:
    rows = place.rows(EVERY)
    place.rewrite([*rows[:40], *place.rows([7_000]), *rows[41:]])


def _identical(place: Place) -> None:
    same, *others = place.rows(range(RECORDS, RECORDS + 6))
    _more(place, [same, same, same, *others])
    place.rewrite([*place.rows(EVERY), same, same, *others])


def _resent_changed(place: Place) -> None:
    again = place.rows(range(95, 100))
    again[2] = (again[2][0], b"other", *again[2][2:])
    place.rewrite([*place.rows(EVERY), *again])


def _tail_cut(place: Place) -> None:
    _more(place, place.rows(range(RECORDS, RECORDS + 20)))
    place.rewrite(place.rows([*range(90), *range(RECORDS, RECORDS + 20)]))


def _expired_both(place: Place) -> None:
    _held(range(50), range(51, 100))(place)
    place.expire(place.world.east, 30)
    place.expire(place.world.west, 20)


def _hole_expired(place: Place) -> None:
    _held(range(10), range(40, 100))(place)
    place.expire(place.world.east, 50)


def _aborted_and_hole(place: Place) -> None:
    transaction(place.world.east, place.topic, place.rows(range(RECORDS, RECORDS + 7)), commits=False)
    place.write(place.world.east, range(RECORDS + 7, RECORDS + 10))
    expect_ends(place.world.west, {place.remote: RECORDS + 10})
    _held(range(40), range(41, RECORDS + 10))(place)


def _transaction_lost(place: Place) -> None:
    transaction(place.world.east, place.topic, place.rows(range(RECORDS, RECORDS + 5)), commits=True)
    place.write(place.world.east, range(RECORDS + 5, RECORDS + 15))
    expect_ends(place.world.west, {place.remote: RECORDS + 15})
    _held(EVERY, range(RECORDS + 5, RECORDS + 15))(place)


@contextmanager
def _open_and_hole(world: World, place: Place) -> Iterator[None]:
    with left_open(world, place):
        expect_ends(world.west, {place.remote: RECORDS + 5})
        _held(range(40), range(41, RECORDS + 5))(place)
        yield


def _extended(place: Place) -> None:
    """Add a partition to the source topic, with 50 records, and wait until they are replicated."""
    admin = AdminClient(place.world.east.client_config(ADMIN))
    for future in admin.create_partitions([NewPartitions(place.topic, 2)]).values():
        future.result(CALL_SECONDS)
    _write(place, place.world.east, place.topic, _EXTENDED, 1)
    expect_ends(place.world.west, {place.remote: len(_EXTENDED)}, partition=1)


def _rewritten(first: Iterable[int], second: Iterable[int]) -> Make:
    """Make the two partitions of the remote topic hold these records."""

    def make(place: Place) -> None:
        _extended(place)
        recreate(place.world.west, place.remote, 2)
        for partition, numbers in enumerate((first, second)):
            _write(place, place.world.west, place.remote, numbers, partition)

    return make


def _offset_in_other(place: Place) -> None:
    _extended(place)
    place.commit_there(40, partition=1)


def _source_again(partitions: int, *numbers: Iterable[int]) -> Make:
    """Recreate the source topic; each partition holds the next ones of these records."""

    def make(place: Place) -> None:
        recreate(place.world.east, place.topic, partitions)
        for partition, held in enumerate(numbers):
            _write(place, place.world.east, place.topic, held, partition)

    return make


def _ahead_and_hole(place: Place) -> None:
    ahead = int(time.time() * 1000) + 1_800_000
    rows = [(key, value, ahead + n, headers) for n, (key, value, _, headers) in enumerate(place.rows(range(100, 200)))]
    _more(place, rows)
    place.rewrite([*place.rows(EVERY), *rows[:40], *rows[41:]])


def _compacted(change: Callable[[list[Row]], list[Row]]) -> Make:
    return lambda place: place.rewrite(change(two_of_each(place)), COMPACTED)


def _forged(*, ending: str) -> Make:
    """Another group commits 60, which is translated; then its checkpoint says 90."""

    def make(place: Place) -> None:
        place.commit(COMMITTED, ending)
        _forge(place, ending)

    return make


def _forge(place: Place, ending: str) -> None:
    wait_for(f"{place.group}{ending} to be translated", lambda: expect_synced(place, 0, ending), ARRIVAL_SECONDS)
    place.forge_checkpoint(COMMITTED, 90, ending)


def _protocol_ahead(place: Place) -> None:
    consumer_protocol_group(place, COMMITTED, "-848")
    _forge(place, "-848")


def _lost_under_group(place: Place) -> None:
    place.write(place.world.east, range(RECORDS, 170))
    place.commit(120)
    place.expire(place.world.east, 150)


def _group_denied(world: World, place: Place) -> AbstractContextManager[None]:
    return acl_changed(world, "uswest", acl("GROUP", "LITERAL", place.group, "READ", allow=False), created=True)


def _other_host(world: World, place: Place) -> AbstractContextManager[None]:
    binding = acl("TOPIC", "LITERAL", place.topic, "READ", allow=False, host="192.0.2.1")
    return acl_changed(world, "useast", binding, created=True)


@contextmanager
def _prefix_denied(world: World, place: Place) -> Iterator[None]:
    create_topics(world.east, {place.topic: 1})
    place.write(world.east, EVERY)
    expect_ends(world.west, {place.remote: RECORDS})
    binding = acl("TOPIC", "PREFIXED", place.topic[:-1], "READ", allow=False)
    with acl_changed(world, "useast", binding, created=True):
        yield


@contextmanager
def _syncs_recreated(world: World, place: Place) -> Iterator[None]:
    """50 records are lost to retention, and then the offset syncs that would show it."""
    with world.source_stopped(place.flow):
        lost(150, 20)(place)
    expect_ends(world.west, {place.remote: RECORDS + 20})
    recreate(world.east, _SYNCS, 1, {"cleanup.policy": "compact"})
    yield


def _checkpoint_deleted(place: Place) -> None:
    key = place.checkpoint_key()
    produce(place.world.west, "useast.checkpoints.internal", 0, [(key, None, int(time.time() * 1000), [])])


def _fault(
    name: str,
    what: str,
    making: Making,
    codes: tuple[str, ...],
    words: tuple[str, ...] = at(),
    *,
    stops: bool = False,
    config: Mapping[str, str] | None = None,
) -> Fault:
    return Fault(
        name, what, FAIL, making, codes, words, prepares=True, stops=stops, config=config or {},
        keyed=config == COMPACTED,
    )  # fmt: skip


_GROUP = ("{group}", "{topic}-0")
_ONE = at("1 record of useast differs")
SEMANTIC_FAULTS = (
    _fault("null-for-empty", "a record with an empty value arrives without a value, as a tombstone",
           running(_altered((b"k100", b"", []), (b"k100", None, []))), ("records-differ",), _ONE),
    _fault("last-changed", "the last record arrives without its value",
           running(_altered((b"k100", b"100", []), (b"k100", None, []), followed=0)), ("records-differ",), _ONE),
    _fault("empty-key", "a record without a key arrives with an empty one",
           running(_altered((None, b"100", []), (b"", b"100", []))), ("records-differ",), _ONE),
    _fault(
        "headers-swapped", "two headers of a record arrive in the other order",
        running(_altered((b"k", b"100", [("a", b"1"), ("b", b"2")]), (b"k", b"100", [("b", b"2"), ("a", b"1")]))),
        ("records-differ",), _ONE,
    ),
    _fault("time-one-ms", "the timestamp of one record is a millisecond later", running(_replaced(_later)),
           ("records-differ",), _ONE),
    _fault("values-swapped", "two records with different keys arrive with each other's value",
           running(_replaced(_values_swapped)), ("records-differ",), at("2 records of useast differ")),
    _fault("replaced-record", "a foreign record stands where a record is missing", running(_foreign),
           ("records-differ",), at("1 record of useast differs", "somebody replaced it", "offset 40")),
    _fault("identical-one-lost", "one of three identical records is missing", running(_identical),
           ("missing-records",), at("1 record of useast is missing")),
    _fault("lone-old-record", "an old record arrives again between newer ones, alone",
           running(_held(range(81), [40], range(81, 100))), ("copied-out-of-turn",),
           at("1 block of older records appears again", "offset 81")),
    _fault("old-block-at-end", "10 old records arrive again at the end, without those that follow them",
           running(_held(EVERY, range(10, 20))), ("copied-out-of-turn",),
           at("1 block of older records appears again", "offset 109")),
    _fault("late-block", "5 records arrive 85 records late", running(_held(range(10), range(15, 100), range(10, 15))),
           ("records-reordered",), at("5 records are out of order")),
    _fault("interleaved-twice", "each record arrives twice in a row",
           running(_held(number // 2 for number in range(200))), ("records-repeated",),
           at("100 records are duplicates")),
    _fault("resent-hole", "the last 5 records are sent twice, but one of them never arrives",
           running(_held(range(97), [98, 99], [95, 96, 98, 99])), ("missing-records",),
           at("1 record of useast is missing", "offset 97")),
    _fault("resent-changed", "the last 5 records are sent again, one of them with another value",
           running(_resent_changed), ("extra-records", "records-differ"), at("1 record")),
    _fault("last-missing", "the remote topic lacks only the last record", running(_held(range(99))),
           ("missing-records", "remote-topic-recreated"), at("1 record", "offset 99")),
    _fault("tail-cut-continued", "the remote topic loses its last 10 records, and replication continues",
           running(_tail_cut), ("missing-records", "remote-topic-recreated"), at("10 records", "90 to 99")),
    _fault("arrival-and-hole", "the remote topic sets the time on arrival, and one record is missing",
           running(_replaced(lambda rows: [*rows[:40], *rows[41:]], ON_ARRIVAL)),
           ("missing-records", "records-differ"), at("1 record of useast is missing")),
    _fault("expired-both-hole", "both sides have removed old records, and one newer record is missing",
           running(_expired_both), ("missing-records",), at("1 record of useast is missing", "offset 50")),
    _fault("hole-expired-here", "30 records are missing, and the source has removed them since",
           running(_hole_expired), ("offset-skips-records", "translated-record-differs", "group-past-translation"),
           _GROUP),
    _fault("aborted-and-hole", "7 records of an aborted transaction arrive, and another record is missing",
           running(_aborted_and_hole), ("missing-records",), at("1 record of useast is missing", "offset 40")),
    _fault("open-and-hole", "a transaction stays open, and an older record is missing", _open_and_hole,
           ("missing-records",), at("1 record of useast is missing", "offset 40")),
    _fault("transaction-lost", "the 5 records of a committed transaction are missing", running(_transaction_lost),
           ("missing-records",), at("5 records of useast are missing", "100 to 104")),
    _fault("other-partition", "a record arrives in another partition",
           running(_rewritten(range(1, 100), [*_EXTENDED, 0])), ("missing-records", "extra-records"),
           ("{topic}:", "1 record")),
    _fault("partition-emptied", "the remote topic is recreated with the records of one of its two partitions",
           running(_rewritten(EVERY, [])), ("remote-topic-recreated", "missing-records"),
           ("{topic}:", "50 records of useast are missing", "partition 1")),
    _fault("source-anew-wider", "the source topic is deleted and recreated with more partitions",
           running(_source_again(3, *[range(1_000 + 30 * n, 1_030 + 30 * n) for n in range(3)])),
           ("source-topic-recreated",), ("{topic}:", "100 records"), stops=True),
    _fault("source-tail-replaced", "the source topic is recreated with its first 90 records and 10 others",
           running(_source_again(1, [*range(90), *range(200, 210)])),
           ("records-differ",), at("10 records of useast differ", "deleted and created again"), stops=True),
    _fault("compacted-key-absent", "a compacted remote topic lacks every record of a key",
           running(_compacted(lambda rows: [row for n, row in enumerate(rows) if n not in (5, 55)])),
           ("missing-records",), at("2 records of useast are missing"), config=COMPACTED),
    _fault("compacted-older-last", "the two records of a key arrive in the other order in a compacted topic",
           running(_compacted(lambda rows: [*rows[:7], rows[57], *rows[8:57], rows[7], *rows[58:]])),
           ("keys-outdated", "records-reordered"), ("{topic}:", "1 "), config=COMPACTED),
    _fault("compacted-tombstone-there", "somebody deletes a key in the compacted remote topic",
           running(_compacted(lambda rows: [*rows, (b"k8", None, rows[-1][2] + 1, [])])),
           ("extra-records", "keys-outdated"), ("{topic}:", "1 "), config=COMPACTED),
    _fault("clock-ahead-hole", "a producer's clock is 30 minutes ahead, and one record is missing",
           running(_ahead_and_hole), ("missing-records",), at("1 record of useast is missing", "offset 140")),
    _fault("protocol-ahead", "a checkpoint translates 60 to 90 for a group with the consumer protocol",
           running(_protocol_ahead), ("offset-skips-records",), ("{group}-848", "{topic}-0", "skip 30 records")),
    _fault("one-of-two-ahead", "a checkpoint translates 60 to 90 for one of two groups", running(_forged(ending="-b")),
           ("offset-skips-records",), ("{group}-b", "{topic}-0", "skip 30 records")),
    _fault("offset-in-other", "a group has an offset on the target in a partition in which it has none on the source",
           running(_offset_in_other), (), ("{group}", "{topic}-1", "skips up to 40")),
    _fault("group-past-end-there", "somebody sets the group's offset on the target beyond the end",
           running(lambda place: place.commit_there(5_000)), ("group-past-translation", "checkpoint-past-end"),
           (*_GROUP, "5000")),
    _fault("lost-under-group", "retention removes 50 records at which a group is", running(_lost_under_group),
           ("lost-to-retention",), ("{topic}-0", "100 to 149"), stops=True),
    Fault("lost-deleting", "a topic that is compacted and deleted loses 50 records before the connector reads them",
          ERROR, running(lost(150, 20)), ("possible-markers",), ("{topic}-0", "100 to 149"), prepares=True,
          config=_DELETING, stops=True),
    _fault("hole-under-group", "5 records just before the group's offset are missing",
           running(_held(range(55), range(60, 100))), ("missing-records",),
           at("5 records of useast are missing", "55 to 59")),
    _fault("denied-group", "an ACL denies the connectors READ on a group on the target", _group_denied,
           ("acl-denied",), ("{group}", "READ", "uswest")),
    Fault("other-host", "an ACL denies the flow's user a source topic from one host", ERROR, _other_host,
          ("acl-of-hosts",), ("{topic}", "READ"), prepares=True),
    Fault("denied-prefix", "an ACL denies the connectors READ on source topics with a prefix", FAIL, _prefix_denied,
          ("acl-denied",), ("READ", "useast"), owns=True),
)  # fmt: skip
#: Faults after which the flow translates no offsets that were committed before, so they are made last.
LASTING_FAULTS = (
    Fault("syncs-recreated", "retention removes 50 records, and then somebody recreates the offset-syncs topic", ERROR,
          _syncs_recreated, ("losses-not-visible", "no-offset-sync"), (), prepares=True, only={}),
    Fault("checkpoint-deleted", "somebody writes a tombstone for the group's checkpoint", ERROR,
          running(_checkpoint_deleted), ("checkpoint-undecodable",),
          ("useast.checkpoints.internal", "It has no value"), prepares=True, only={}),
)  # fmt: skip
