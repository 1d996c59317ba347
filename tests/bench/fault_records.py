"""Faults in the records of a topic: lost, added, changed, reordered, repeated, expired, or in a recreated topic."""

from kafka_replication.components.contract.report import Verdict
from tests.bench.fault_makers import (
    COMPACTED,
    ON_ARRIVAL,
    Make,
    aborted,
    again_on_source,
    deleted_on_target,
    each,
    expired,
    head_behind_start,
    held,
    left_open,
    lost,
    lost_in_transactions,
    more_partitions,
    nothing,
    one,
    running,
    shuffled,
    with_header,
    without,
    written,
)
from tests.bench.fault_places import EVERY
from tests.bench.fault_rows import Fault, Making, at

_HOLE = "of useast are missing on uswest"
PASS, FAIL, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.ERROR


def _fault(
    name: str, what: str, verdict: Verdict, making: Making, codes: tuple[str, ...] = (), words: tuple[str, ...] = ()
) -> Fault:
    return Fault(name, what, verdict, making, codes, words, prepares=True)


def _stopped(
    name: str, what: str, verdict: Verdict, making: Making, codes: tuple[str, ...] = (), words: tuple[str, ...] = ()
) -> Fault:
    """A fault that is made while the flow's source connector is stopped."""
    return Fault(name, what, verdict, making, codes, words, prepares=True, stops=True)


def _compacted(name: str, what: str, code: str, make: Make) -> Fault:
    return Fault(
        name,
        what,
        FAIL,
        running(make),
        (code,),
        at(),
        prepares=True,
        config=COMPACTED,
        keyed=True,
    )


_RETENTION = (
    _stopped(
        "lost-fifty", "retention removes 50 records before the connector reads them", FAIL, running(lost(150, 20)),
        ("lost-to-retention",), ("{topic}-0", "100 to 149"),
    ),
    _stopped(
        "lost-all", "retention removes 50 records before the connector reads them, and nothing follows", FAIL,
        running(lost(150, 0)), ("lost-to-retention",), ("{topic}-0", "100 to 149"),
    ),
    _stopped(
        "lost-single", "retention removes one record before the connector reads it", ERROR, running(lost(101, 20)),
        ("possible-markers",), ("{topic}-0", "100"),
    ),
    _stopped(
        "lost-transactions", "retention removes 20 records in transactions before the connector reads them", ERROR,
        running(lost_in_transactions), ("possible-markers",), ("{topic}-0", "100 to 121"),
    ),
    _fault(
        "expired-there", "the target has removed the records that the group would read next", ERROR,
        running(expired("west", 80)), ("target-expired",), ("{group}", "{topic}-0", "no longer holds offset"),
    ),
    _fault(
        "emptied-there", "the target has removed all records", ERROR, running(expired("west", 100)),
        ("target-expired",), ("{group}", "{topic}-0"),
    ),
    _fault("expired-here", "no fault: the source has removed records that the group has read", PASS,
           running(expired("east", 50))),
)  # fmt: skip

_ANEW = (
    _stopped(
        "source-anew-shorter", "the source topic is deleted and recreated with 30 records", FAIL,
        running(again_on_source(30)), ("source-topic-recreated",), ("{topic}", "deleted and created again"),
    ),
    _stopped(
        "source-anew-longer", "the source topic is deleted and recreated with 150 records; the connector skips 100",
        FAIL, running(again_on_source(150)), ("records-differ",), ("{topic}", "deleted and created again"),
    ),
    _fault(
        "remote-deleted", "somebody deletes the remote topic; the connector creates it again, empty", FAIL,
        running(deleted_on_target), ("remote-topic-recreated",), at("on uswest", "deleted and created again"),
    ),
    _fault(
        "remote-tail-cut", "the remote topic is recreated without its last 30 records", FAIL, running(held(range(70))),
        ("remote-topic-recreated",), at("on uswest", "deleted and created again"),
    ),
    _fault("partitions-there", "no fault: somebody adds partitions to the remote topic", PASS,
           running(more_partitions("west")), ("foreign-partitions",), ("{remote}",)),
    _fault("partitions-here", "no fault: partitions are added to the source topic while everything runs", PASS,
           running(more_partitions("east"))),
)  # fmt: skip

_OTHERS = (
    _fault("healthy", "no fault", PASS, running(nothing)),
    _fault(
        "stray-record", "somebody produces a record to the remote topic", FAIL, running(written("west", 7_000)),
        ("extra-records",), at("1 record on uswest does not exist on useast", "100"),
    ),
    _fault(
        "stray-between", "the remote topic holds 5 records of another producer in the middle", FAIL,
        running(held(range(40), range(7_000, 7_005), range(40, 100))),
        ("extra-records",), at("5 records on uswest do not exist on useast", "40 to 44"),
    ),
    _fault(
        "hole-of-ten", "10 records are missing in the middle of the remote topic", FAIL,
        running(held(range(40), range(50, 100))),
        ("missing-records",), at(f"10 records {_HOLE}", "40 to 49"),
    ),
    _fault(
        "hole-of-one", "one record is missing in the middle of the remote topic", FAIL,
        running(held(range(40), range(41, 100))), ("missing-records",),
        at("1 record of useast is missing on uswest", "offset 40"),
    ),
    _fault(
        "head-missing", "the first 10 records are missing in the remote topic", FAIL, running(held(range(10, 100))),
        ("missing-records",), at(f"10 records {_HOLE}", "0 to 9"),
    ),
    _fault(
        "head-behind-start", "9 records are missing at the beginning of a remote topic whose log starts at 1", FAIL,
        running(head_behind_start), ("missing-records",), at(),
    ),
    _fault(
        "tombstones-missing", "the remote topic lacks the records without a value", FAIL,
        running(lambda place: place.rewrite(row for row in place.rows(EVERY) if row[1] is not None)),
        ("missing-records",), at(f"9 records {_HOLE}"),
    ),
)  # fmt: skip

_ORDER = (
    _fault(
        "reversed-blocks", "two blocks of the remote topic are swapped", FAIL,
        running(held(range(40), range(70, 100), range(40, 70))), ("records-reordered",),
        at("30 records are out of order", "70 to 99"),
    ),
    _fault(
        "reversed-at-group", "blocks are reversed where a group is: it would skip 5 records", FAIL,
        running(held(range(55), range(60, 65), range(55, 60), range(65, 100))), ("records-reordered",),
        at("5 records are out of order", "60 to 64"),
    ),
    _fault(
        "neighbours", "two neighbouring records are swapped", FAIL,
        running(held(range(40), range(41, 42), range(40, 41), range(42, 100))), ("records-reordered",),
        at("1 record is out of order", "offset 41"),
    ),
    _fault("shuffled", "all 100 records are shuffled", FAIL, running(shuffled), ("records-reordered",), at()),
    _fault(
        "sent-twice", "no fault: the last 5 records are sent again, as after a restart", PASS,
        running(written("west", *range(95, 100))), ("duplicated-records",), at(),
    ),
    _fault(
        "all-twice", "every record is sent again by somebody else", FAIL, running(written("west", *EVERY)),
        ("records-repeated",), at("100 records are duplicates"),
    ),
)  # fmt: skip

_CHANGED = (
    _fault(
        "value-changed", "the value of one record is changed on the way", FAIL,
        running(one(50, lambda row: (row[0], b"other", *row[2:]))),
        ("records-differ",), at("1 record of useast"),
    ),
    _fault(
        "key-dropped", "the key of one record is lost on the way", FAIL, running(one(50, lambda row: (None, *row[1:]))),
        ("records-differ",), at("1 record of useast"),
    ),
    _fault(
        "empty-for-null", "a record without a value arrives with an empty one", FAIL,
        running(one(10, lambda row: (row[0], b"", *row[2:]))),
        ("records-differ",), at("1 record of useast"),
    ),
    _fault(
        "header-dropped", "one record loses a header on the way", FAIL,
        running(one(48, lambda row: (*row[:3], row[3][1:]))), ("records-differ",), at("1 record of useast"),
    ),
    _fault(
        "headers-added", "every record gains a header on the way", FAIL, running(each(with_header)),
        ("records-differ",), at("100 records of useast differ"),
    ),
    _fault(
        "time-on-arrival", "the remote topic sets the time of each record on arrival", FAIL,
        running(lambda place: place.rewrite(place.rows(EVERY), ON_ARRIVAL)), ("records-differ",),
        at("100 records of useast differ", "message.timestamp.type"),
    ),
    _stopped(
        "aborted", "a producer aborts a transaction of 7 records that the connector replicates", FAIL, running(aborted),
        ("aborted-records",), at("7 records on uswest belong to transactions that were aborted on useast"),
    ),
    _fault(
        "open-transaction", "a transaction on the source stays open", ERROR, left_open, ("open-transaction",),
        ("{topic} on useast", "partition 0"),
    ),
    _compacted("compacted-newest", "a compacted remote topic lacks the newest record of a key", "keys-outdated",
               without(57)),
    _compacted("compacted-tombstone", "a compacted remote topic lacks a tombstone, so it still holds a deleted key",
               "keys-undeleted", without(70)),
)  # fmt: skip

RECORD_FAULTS = (*_OTHERS, *_ORDER, *_CHANGED, *_RETENTION, *_ANEW)
