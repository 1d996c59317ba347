"""What explains a difference between two sides: recreated topics, restarts, compaction, late records."""

from dataclasses import replace

import pytest

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.parity.causes import (
    at_end,
    by_newest,
    source_was_recreated,
    with_expired,
    with_late,
    without_time_to_continue,
)
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.excuses import with_surplus
from kafka_replication.spark.checks.parity.findings import parity_findings
from tests.spark.test_parity_findings import ORDERS, sides


def codes(*differences: Difference, of: Sides) -> dict[str, int]:
    found = parity_findings(with_surplus(differences, {ORDERS: of}, {}), {ORDERS: of}, "useast", "uswest")
    return {each.code: each.count for each in found}


@pytest.mark.parametrize(
    ("given", "side", "found"),
    [
        pytest.param([("missing-hole", 1, 50, 50), ("extra", 1, 50, 50)], sides(), {"records-differ": 1}, id="one"),
        pytest.param(
            [("missing-hole", 1, 50, 50), ("extra", 1, 99, 99)],
            sides(),
            {"missing-records": 1, "extra-records": 1},
            id="a missing one, and a surplus one elsewhere",
        ),
        pytest.param(
            [("missing-tail", 10, 90, 99), ("extra", 10, 90, 99)], sides(), {"records-differ": 10}, id="the last ones"
        ),
        pytest.param(
            [("missing-tail", 10, 90, 99), ("extra", 1, 90, 90)],
            sides(target=(0, 91)),
            {"not-replicated-yet": 10, "extra-records": 1},
            id="late ones, and a surplus one at the end",
        ),
        pytest.param(
            [("missing-hole", 1, 50, 50), ("missing-tail", 1, 99, 99), ("extra", 2, 50, 99)],
            sides(),
            {"records-differ": 2},
            id="one in the middle and the last one",
        ),
        pytest.param(
            [("missing-head", 1, 0, 0), ("extra-head", 1, 0, 0), ("missing-hole", 2, 5, 9), ("extra", 2, 5, 9)],
            sides(),
            {"records-differ": 3},
            id="the first one and two in the middle",
        ),
        pytest.param(
            [("missing-hole", 1, 50, 50), ("missing-tail", 5, 95, 99), ("extra", 1, 50, 50)],
            sides(target=(0, 95)),
            {"records-differ": 1, "not-replicated-yet": 5},
            id="one in the middle, while the last ones are late",
        ),
        pytest.param(
            [("missing", 100, 0, 99), ("extra", 99, 0, 98)],
            sides(held=99),
            {"records-differ": 99, "missing-records": 1},
            id="every record, and one is missing",
        ),
        pytest.param(
            [("missing", 100, 0, 99), ("extra", 140, 0, 139)],
            sides(held=140),
            {"records-differ": 100, "extra-records": 40},
            id="every record, and the target has others",
        ),
        pytest.param(
            [("missing", 100, 0, 99), ("extra", 60, 0, 59)],
            sides(held=60, compacted=True),
            {"records-differ": 100, "compacted-apart": 60},
            id="compaction may have removed some of the changed ones",
        ),
    ],
)
def test_as_many_surplus_records_as_are_missing_in_the_same_place_are_reported_as_differing(
    given: list[tuple[str, int, int, int]], side: Sides, found: dict[str, int]
) -> None:
    assert codes(*(Difference(ORDERS, *each) for each in given), of=side) == found


def test_a_block_at_the_end_is_out_of_turn_after_the_time_that_a_restarted_task_has_to_continue() -> None:
    """Its offsets count what a task would still have to send; the finding counts blocks."""
    blocks = Difference(ORDERS, "copied-out-of-turn", 2, 30, 60), Difference(ORDERS, "copied-at-end", 80, 109, 109)
    assert len(at_end(blocks)) == 1
    (finding,) = parity_findings(without_time_to_continue(blocks), {ORDERS: sides(target=(0, 110))}, "useast", "uswest")
    assert (finding.code, finding.count) == ("copied-out-of-turn", 3)
    assert finding.message.startswith(
        "orders: 3 blocks of older records appear again on uswest, and end without the records that follow"
    )
    assert finding.message.endswith("(partition 0 offset 109; partition 0 offsets 30 to 60)")


def test_differences_in_a_recreated_source_topic_are_not_reported_as_extra_records() -> None:
    skipped, old = Difference(ORDERS, "missing-head", 100, 0, 99), Difference(ORDERS, "extra-head", 100, 0, 99)
    anew = replace(sides(source=(0, 150), target=(0, 150)), source_anew=True)
    assert codes(skipped, old, of=anew) == {"source-topic-recreated": 100}
    lagging = Difference(ORDERS, "missing-tail", 5, 145, 149)
    assert codes(lagging, of=anew) == {"not-replicated-yet": 5}


@pytest.mark.parametrize(
    ("syncs", "log", "anew"),
    [
        pytest.param([(0, 0), (99, 99)], (0, 30), True, id="the log ends before what was replicated"),
        pytest.param([(0, 0), (99, 99)], (0, 100), False, id="the same topic"),
        pytest.param([(0, 0), (99, 99)], (100, 150), False, id="those records have expired"),
        pytest.param([], (0, 150), False, id="nothing was replicated"),
    ],
)
def test_offset_syncs_show_that_a_source_topic_was_recreated(
    syncs: list[tuple[int, int]], log: tuple[int, int], anew: bool
) -> None:
    """The times of records show nothing: producers' clocks may be ahead."""
    history = SyncHistory(tuple(OffsetSync(*each) for each in syncs))
    assert source_was_recreated(history, OffsetRange(*log)) is anew


def test_records_sent_again_that_have_expired_on_the_source_are_not_reported_as_extra() -> None:
    history = SyncHistory((OffsetSync(0, 0), OffsetSync(99, 99), OffsetSync(80, 100)))
    again, stray = Difference(ORDERS, "extra", 10, 100, 109), Difference(ORDERS, "extra", 1, 120, 120)
    given = {ORDERS: sides(source=(90, 130), target=(0, 150))}
    assert with_expired([again, stray], given, {ORDERS: history}) == [again._replace(kind="extra-head"), stray]


def test_records_that_the_flow_has_not_read_are_late_and_not_expired_on_an_empty_target() -> None:
    """Retention has emptied the target and the connector has stopped, so later source records are late."""
    given = {ORDERS: sides(target=(60, 60), held=0)}
    history = {ORDERS: SyncHistory((OffsetSync(40, 40),))}
    expired = Difference(ORDERS, "missing", 60, 0, 59)
    assert with_late([expired], given, history) == [expired]
    both = Difference(ORDERS, "missing", 100, 0, 99)
    late = Difference(ORDERS, "missing-tail", 40, 60, 99)
    assert with_late([both], given, history) == [late, expired]
    assert with_late([both._replace(records=40, first=60)], given, history) == [late]
    codes = {each.code: each.severity for each in parity_findings([late, expired], given, "useast", "uswest")}
    assert codes == {"not-replicated-yet": FindingSeverity.FAIL, "expired-on-target": FindingSeverity.NOTE}
    never_replicated = both._replace(kind="missing-tail")
    assert with_late([both], given, {ORDERS: SyncHistory()}) == [never_replicated]
    assert with_late([both], given, {}) == [both]


def a_difference(kind: str, first: int = 5) -> Difference:
    return Difference(ORDERS, kind, 1, first, first)


@pytest.mark.parametrize(
    ("given", "side", "kinds"),
    [
        pytest.param(
            [a_difference("missing-tail")], sides(compacted=True), ["missing-hole"], id="old tombstones at the end"
        ),
        pytest.param([a_difference("missing-tail")], sides(), ["missing-tail"], id="not compacted"),
        pytest.param(
            [a_difference("missing-tail"), a_difference("newest-outdated", 6)],
            sides(compacted=True),
            ["missing-tail"],
            id="lag",
        ),
        pytest.param(
            [a_difference("missing-tail"), a_difference("newest-missing", 4)],
            sides(compacted=True),
            ["missing-tail", "newest-missing"],
            id="lag, and a key that was lost before",
        ),
        pytest.param(
            [a_difference("missing-tail"), a_difference("newest-foreign", 9)],
            sides(compacted=True),
            ["missing-tail", "newest-foreign"],
            id="lag, and a key that the source never had",
        ),
        pytest.param(
            [a_difference("missing"), a_difference("newest-missing")],
            sides(target=(0, 0), compacted=True),
            ["missing"],
            id="an empty target",
        ),
        pytest.param(
            [a_difference("missing"), a_difference("newest-missing")],
            sides(compacted=True),
            ["missing-hole", "newest-missing"],
            id="other keys",
        ),
        pytest.param(
            [a_difference("missing"), a_difference("newest-outdated")],
            sides(compacted=True),
            ["missing"],
            id="every key is outdated",
        ),
        pytest.param(
            [a_difference("missing"), a_difference("newest-outdated")],
            replace(sides(compacted=True), source_unread=OffsetRange(100, 120)),
            ["missing-hole", "newest-outdated"],
            id="an open transaction may have replaced every key",
        ),
    ],
)
def test_the_newest_record_of_each_key_decides_what_is_missing_from_a_compacted_topic(
    given: list[Difference], side: Sides, kinds: list[str]
) -> None:
    assert [each.kind for each in by_newest(given, {ORDERS: side})] == kinds
