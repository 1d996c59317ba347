"""What explains a difference between two sides: recreated topics, restarts, compaction, late records."""

from dataclasses import replace

import pytest

from components.contract.report import FindingSeverity
from components.kafka.mirror_records import OffsetSync
from components.kafka.offset_syncs import SyncHistory
from components.kafka.positions import OffsetRange
from spark.checks.parity.causes import by_newest, source_was_recreated, with_expired, with_late, with_replaced
from spark.checks.parity.differences import Difference, Sides
from spark.checks.parity.findings import parity_findings
from tests.spark.test_parity_findings import ORDERS, sides


def codes(*differences: Difference, of: Sides) -> dict[str, int]:
    found = parity_findings(differences, with_replaced(differences, {ORDERS: of}))
    return {each.code: each.count for each in found}


def test_an_extra_record_in_the_place_of_a_missing_one_is_reported_as_differing() -> None:
    hole, stray = Difference(ORDERS, "missing-hole", 1, 50, 50), Difference(ORDERS, "extra", 1, 50, 50)
    assert codes(hole, stray, of=sides()) == {"records-differ": 1}
    elsewhere = Difference(ORDERS, "extra", 1, 99, 99)
    assert codes(hole, elsewhere, of=sides()) == {"missing-records": 1, "extra-records": 1}
    every = Difference(ORDERS, "missing", 100, 0, 99), Difference(ORDERS, "extra", 60, 0, 59)
    assert codes(*every, of=sides(held=60)) == {"records-differ": 100}


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
    codes = {each.code: each.severity for each in parity_findings([late, expired], given)}
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
    ],
)
def test_the_newest_record_of_each_key_decides_what_is_missing_from_a_compacted_topic(
    given: list[Difference], side: Sides, kinds: list[str]
) -> None:
    assert [each.kind for each in by_newest(given, {ORDERS: side})] == kinds
