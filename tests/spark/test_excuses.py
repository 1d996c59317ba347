"""Each excuse explains at most as many records as its evidence shows; the others are judged as if there were none."""

from dataclasses import replace

import pytest

from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.excuses import with_surplus
from kafka_replication.spark.checks.parity.findings import parity_findings
from tests.spark.test_parity_findings import ORDERS, sides

ONE_TO_ONE = SyncHistory((OffsetSync(0, 0), OffsetSync(199, 199)))


def codes(*differences: tuple[str, int], of: Sides, history: SyncHistory = ONE_TO_ONE) -> dict[str, int]:
    given = [Difference(ORDERS, kind, records, 0, 199) for kind, records in differences]
    found = with_surplus(given, {ORDERS: of}, {ORDERS: history})
    return {each.code: each.count for each in parity_findings(found, {ORDERS: of}, "useast", "uswest")}


HEAD = sides(source=(80, 200), target=(100, 200), held=100, at_source=120)
EMPTIED = sides(source=(80, 200), target=(200, 200), held=0, at_source=120)
OLD = sides(source=(80, 200), target=(0, 200), held=200, at_source=120)
COMPACTED = sides(source=(0, 100), target=(0, 97), held=90, compacted=True)
OLDER = sides(source=(0, 97), target=(0, 100), held=100, at_source=90, compacted=True)
UNREAD = replace(sides(target=(0, 107), held=107, compacted=True), source_unread=OffsetRange(100, 107))
OPEN = replace(sides(), source_unread=OffsetRange(100, 103))


@pytest.mark.parametrize(
    ("kind", "records", "given", "found"),
    [
        pytest.param("missing-head", 20, HEAD, {"expired-on-target": 20}, id="as many as the target removed"),
        pytest.param(
            "missing-head", 80, HEAD, {"expired-on-target": 20, "missing-records": 60},
            id="the target also removed copies of what the source has removed",
        ),
        pytest.param("missing", 120, EMPTIED, {"expired-on-target": 120}, id="an emptied target"),
        pytest.param(
            "missing", 125, EMPTIED, {"expired-on-target": 120, "missing-records": 5},
            id="more than an emptied target held",
        ),
        pytest.param("extra-head", 80, OLD, {"expired-on-source": 80}, id="as many as the source removed"),
        pytest.param(
            "extra-head", 81, OLD, {"expired-on-source": 80, "extra-records": 1}, id="one more than the source removed"
        ),
        pytest.param(
            "extra-head", 81, replace(OLD, target=OffsetRange(40, 200)), {"expired-on-source": 40, "extra-records": 41},
            id="the target has removed some of them as well",
        ),
        pytest.param(
            "missing-hole", 10, COMPACTED, {"compacted-apart": 7, "missing-records": 3},
            id="compaction leaves an offset for each record that arrived",
        ),
        pytest.param(
            "extra", 10, OLDER, {"compacted-apart": 7, "extra-records": 3},
            id="compaction on the source leaves an offset for each record",
        ),
        pytest.param(
            "extra", 7, UNREAD, {"compacted-apart": 7}, id="records of an open transaction in a compacted topic",
        ),
        pytest.param(
            "newest-missing", 25, replace(HEAD, compacted=True), {"compacted": 20, "missing-records": 5},
            id="more keys than the target removed by age",
        ),
        pytest.param(
            "newest-foreign", 90, replace(OLD, compacted=True), {"compacted": 80, "keys-undeleted": 10},
            id="more keys than the source removed by age",
        ),
        pytest.param(
            "extra", 5, OPEN, {"records-not-judged": 3, "extra-records": 2},
            id="more records than an open transaction may hold",
        ),
        pytest.param(
            "missing-head", 20, replace(HEAD, guarded=True), {"losses-not-visible": 20},
            id="a target with records of its own",
        ),
    ],
)  # fmt: skip
def test_more_than_an_excuse_explains_is_judged_as_if_there_were_none(
    kind: str, records: int, given: Sides, found: dict[str, int]
) -> None:
    assert codes((kind, records), of=given) == found


def test_without_offset_syncs_an_excuse_explains_all_that_a_side_has_removed() -> None:
    nothing = SyncHistory()
    assert codes(("missing-head", 80), of=HEAD, history=nothing) == {"expired-on-target": 80}
    assert codes(("missing-head", 101), of=HEAD, history=nothing) == {"expired-on-target": 100, "missing-records": 1}


RESTARTED = SyncHistory((OffsetSync(0, 0), OffsetSync(60, 60), OffsetSync(50, 70), OffsetSync(180, 200)))


@pytest.mark.parametrize(
    ("of", "records", "found"),
    [
        pytest.param(
            sides(source=(50, 200), target=(80, 220)), 11, {"expired-on-target": 10, "missing-records": 1},
            id="both copies have expired",
        ),
        pytest.param(
            sides(source=(50, 200), target=(60, 220)), 1, {"missing-records": 1}, id="the second copy has not expired"
        ),
        pytest.param(
            sides(source=(0, 200), target=(80, 220)), 61, {"expired-on-target": 60, "missing-records": 1},
            id="offsets of second copies explain no others",
        ),
    ],
)  # fmt: skip
def test_records_that_a_restart_sent_again_have_expired_once(of: Sides, records: int, found: dict[str, int]) -> None:
    """Records 50 to 69 are at the offsets 50 to 69, and again at 70 to 89."""
    assert codes(("missing-head", records), of=of, history=RESTARTED) == found


def test_what_an_open_transaction_holds_is_not_in_the_place_of_what_has_expired() -> None:
    """The target has removed the copies of everything committed, and holds only records of the open transaction."""
    given = replace(sides(source=(0, 10), target=(10, 13), held=3, at_source=10), source_unread=OffsetRange(10, 13))
    expired = {"expired-on-target": 10, "records-not-judged": 3}
    assert codes(("missing", 10), ("extra", 3), of=given) == expired
    others = {"expired-on-target": 10, "missing-records": 1, "records-differ": 2, "records-not-judged": 3}
    assert codes(("missing", 13), ("extra", 5), of=given) == others
