"""A flow that starts at latest: where it started, and which missing records that explains."""

from typing import Any

import pytest

from kafka_replication.components.contract.remedies import advice
from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.checkpoints import Patience, position_findings
from kafka_replication.spark.checks.offsets.position_proof import Position
from kafka_replication.spark.checks.parity.causes import arrived, known_starts, owed_ends, without_start
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.findings import final_partitions, parity_findings, totals
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.sums import Sums
from kafka_replication.spark.checks.retention import Replicated, losses
from tests.spark.documents import a_flow, a_pair

ORDERS = TopicPartition("orders", 0)
LATEST = a_flow(startFrom="latest")
SYNCED = SyncHistory((OffsetSync(60, 0), OffsetSync(70, 10)))


def sides(source: tuple[int, int] = (0, 100), target: tuple[int, int] = (0, 0), **changes: Any) -> Sides:
    given = {"source_records": 100, "target_records": 0, "compacted": False, **changes}
    return Sides(OffsetRange(*source), OffsetRange(*target), **given)


def test_the_oldest_offset_sync_shows_where_a_flow_from_latest_started() -> None:
    assert known_starts(LATEST, [ORDERS], {ORDERS: SYNCED}) == {ORDERS: 60}
    assert known_starts(LATEST, [ORDERS], {}) == {ORDERS: None}


def test_a_flow_from_earliest_must_replicate_every_record() -> None:
    assert known_starts(a_flow(), [ORDERS], {ORDERS: SYNCED}) == {ORDERS: 0}


@pytest.mark.parametrize(
    ("flow", "target", "history", "expected"),
    [
        pytest.param(a_flow(), 40, SYNCED, False, id="from earliest: shorter than the source"),
        pytest.param(LATEST, 40, SYNCED, True, id="from latest: as far as the newest sync requires"),
        pytest.param(LATEST, 39, SYNCED, False, id="from latest: one record short"),
        pytest.param(LATEST, 0, SyncHistory(), True, id="from latest: no sync"),
    ],
)
def test_whether_a_target_has_caught_up_depends_on_where_its_flow_started(
    flow: Any, target: int, history: SyncHistory, expected: bool
) -> None:
    assert arrived(flow, OffsetRange(0, 100), OffsetRange(0, target), history) is expected


@pytest.mark.parametrize(
    ("newest", "began", "given", "start", "code", "severity"),
    [
        pytest.param(
            5, 9, sides(), None, "nothing-since-the-start", FindingSeverity.NOTE, id="older than replicated ones"
        ),
        pytest.param(
            9, 9, sides(), None, "start-not-proven", FindingSeverity.ERROR, id="as old as a replicated record"
        ),
        pytest.param(
            5, None, sides(), None, "start-not-proven", FindingSeverity.ERROR, id="nothing replicated anywhere"
        ),
        pytest.param(
            5, None, sides(compacted=True), None, "start-not-proven", FindingSeverity.ERROR, id="a compacted topic"
        ),
        pytest.param(
            5, 9, sides(), 0, "not-replicated-yet", FindingSeverity.FAIL, id="a sync shows replicated records"
        ),
        pytest.param(
            5,
            9,
            sides(target_records=3),
            None,
            "records-differ",
            FindingSeverity.FAIL,
            id="the target has other records",
        ),
        pytest.param(
            5, 9, sides(target=(7, 7)), None, "expired-on-target", FindingSeverity.NOTE, id="deleted on the target"
        ),
    ],
)
def test_a_partition_that_was_never_replicated_is_judged_by_the_other_partitions(
    newest: int, began: int | None, given: Sides, start: int | None, code: str, severity: FindingSeverity
) -> None:
    missing = [Difference(ORDERS, "missing", 100, 0, 99)]
    differences = without_start(missing, {ORDERS: given}, {ORDERS: start}, {ORDERS: newest}, began)
    (finding,) = parity_findings(differences, {ORDERS: given}, "useast", "uswest")
    assert (finding.code, finding.severity, finding.count) == (code, severity, 100)


@pytest.mark.parametrize("compacted", [False, True], ids=["deleted by time", "compacted"])
def test_records_before_the_start_are_counted_in_a_note(compacted: bool) -> None:
    given = {ORDERS: sides(target=(0, 40), target_records=40, compacted=compacted)}
    (finding,) = parity_findings([Difference(ORDERS, "before-start", 60, 0, 59)], given, "useast", "uswest")
    assert (finding.code, finding.severity, finding.count) == ("before-the-start", FindingSeverity.NOTE, 60)
    assert finding.message == (
        "orders: 60 records are only on useast, before the first replicated record: the flow starts at latest "
        "(partition 0 offsets 0 to 59)"
    )


def test_the_note_mentions_records_that_have_expired_on_the_target_since() -> None:
    given = {ORDERS: sides(target=(5, 40), target_records=35)}
    (finding,) = parity_findings([Difference(ORDERS, "before-start", 65, 0, 64)], given, "useast", "uswest")
    assert (finding.code, "records have expired on uswest since" in finding.message) == ("before-the-start", True)


def test_the_job_waits_only_for_records_after_the_start() -> None:
    given = {ORDERS: sides(target=(0, 40))}
    found = [
        Difference(ORDERS, "before-start", 60, 0, 59),
        Difference(ORDERS, "missing-hole", 2, 70, 71),
        Difference(ORDERS, "missing-tail", 3, 97, 99),
    ]
    assert owed_ends(found, given) == {ORDERS: 45}
    assert owed_ends([Difference(ORDERS, "not-begun", 100, 0, 99)], given) == {}
    assert owed_ends([Difference(ORDERS, "unproven", 100, 0, 99)], given) == {ORDERS: 41}
    assert owed_ends([Difference(ORDERS, "copied-at-end", 30, 39, 39)], given) == {ORDERS: 70}


def test_a_partition_that_is_equal_from_its_start_on_counts_as_equal() -> None:
    logs = {ORDERS: OffsetRange(0, 100)}
    first = FirstPass(logs, logs, {ORDERS: Sums(100, 1, 1)}, {ORDERS: Sums(40, 2, 2)}, 0.1)
    counts = totals(final_partitions(first, [Difference(ORDERS, "before-start", 60, 0, 59)]).values())
    assert counts == {"sourceRecords": 100, "targetRecords": 40, "agreeingPartitions": 1}
    not_begun = totals(final_partitions(first, [Difference(ORDERS, "not-begun", 100, 0, 99)]).values())
    assert (not_begun["targetRecords"], not_begun["agreeingPartitions"]) == (0, 0)


@pytest.mark.parametrize(
    ("committed", "history", "code", "count"),
    [
        pytest.param(20, SYNCED, "group-before-the-start", 40, id="before the start"),
        pytest.param(20, SyncHistory(), "group-before-the-start", 1, id="nothing was replicated"),
        pytest.param(
            20, SyncHistory((OffsetSync(60, 50),)), "behind-oldest-sync", 1, id="after the start, but no sync is left"
        ),
        pytest.param(60, SYNCED, "checkpoint-missing", 1, id="at the start"),
    ],
)
def test_a_note_says_what_a_group_before_the_start_must_do(
    committed: int, history: SyncHistory, code: str, count: int
) -> None:
    position = Position("checkout-a", ORDERS, committed)
    (standing,) = position_findings(
        [position], {("checkout-a", ORDERS): committed}, {}, {ORDERS: history}, LATEST, Patience.of(LATEST, 0)
    )
    assert (standing.finding.code, standing.finding.count) == (code, count)
    if code == "group-before-the-start":
        assert standing.finding.severity is FindingSeverity.NOTE
        assert "group checkout-a on orders-0" in standing.finding.message
        assert "auto.offset.reset=earliest" in standing.finding.message


def test_expired_records_from_before_the_start_are_not_reported_as_lost() -> None:
    """Retention deletes the oldest source records first; the flow never had to replicate them."""
    at = Replicated(ORDERS, SYNCED, OffsetRange(58, 100), OffsetRange(0, 40), True, "delete")
    assert losses(at) == []


def test_the_advice_explains_what_a_flow_from_latest_leaves_out_and_how_groups_start() -> None:
    words = advice(LATEST)
    assert [each.split(":")[0] for each in words[:2]] == [
        "The flow starts at latest",
        "New topics and partitions start at latest, too",
    ]
    assert "up to 5 s (refreshTopicsSeconds)" in words[1]
    assert "auto.offset.reset=earliest" in words[2]


def test_the_start_advice_for_a_pair_from_latest_leaves_out_groups() -> None:
    (there, _) = a_pair(startFrom="latest")
    assert len(advice(there)) == 4 + 2
