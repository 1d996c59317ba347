"""Missing, stuck and foreign offsets, and how long the job waits before it reports each of them."""

from dataclasses import replace

import pytest

from kafka_replication.components.contract.report import FindingSeverity, error, fail
from kafka_replication.components.kafka.mirror_records import Checkpoint, OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.offsets.checkpoints import (
    Patience,
    PositionFinding,
    Waiting,
    beyond_translation,
    past_translation,
    position_findings,
    without_source_offset,
)
from kafka_replication.spark.checks.offsets.position_proof import Position, PositionProof
from tests.spark.documents import a_flow

ORDERS = TopicPartition("orders", 0)
POSITION = Position("checkout-a", ORDERS, 105, Checkpoint(105, 101), 101)
SYNCS = SyncHistory((OffsetSync(0, 0), OffsetSync(100, 100)))
PATIENCE = Patience.of(a_flow(), 0)
KEY = (POSITION.group, ORDERS)


def found(position: Position, syncs: SyncHistory = SYNCS, committed_at_first: int = 105) -> list[PositionFinding]:
    return position_findings(
        [position], {(position.group, ORDERS): committed_at_first}, {ORDERS: syncs}, {ORDERS: syncs}, a_flow(), PATIENCE
    )


def test_a_translated_and_synced_group_has_no_finding() -> None:
    assert found(POSITION) == []


@pytest.mark.parametrize(
    ("position", "syncs", "code", "patience"),
    [
        pytest.param(replace(POSITION, checkpoint=None), SYNCS, "checkpoint-missing", 12, id="no checkpoint, a sync"),
        pytest.param(replace(POSITION, checkpoint=None), SyncHistory(), "no-offset-sync", 0, id="no sync either"),
        pytest.param(
            replace(POSITION, checkpoint=None, committed=3),
            SyncHistory((OffsetSync(50, 0),)),
            "behind-oldest-sync",
            0,
            id="the group is before every sync",
        ),
        pytest.param(
            replace(POSITION, checkpoint=None, committed=60),
            SyncHistory((OffsetSync(0, 0), OffsetSync(100, 100), OffsetSync(90, 120))),
            "behind-oldest-sync",
            0,
            id="the task began again after the group",
        ),
        pytest.param(
            replace(POSITION, checkpoint=Checkpoint(40, 41), on_target=41), SYNCS, "checkpoint-behind", 12, id="stuck"
        ),
        pytest.param(replace(POSITION, on_target=500), SYNCS, "group-past-translation", 12, id="a foreign commit"),
        pytest.param(replace(POSITION, on_target=None), SYNCS, "group-not-synced", 12, id="never synced"),
        pytest.param(replace(POSITION, on_target=7), SYNCS, "group-not-synced", 12, id="synced once, then no more"),
        pytest.param(replace(POSITION, on_target=7, active=True), SYNCS, "group-active", 0, id="active on the target"),
        pytest.param(
            replace(POSITION, group="a,b", checkpoint=None), SYNCS, "group-left-out", 0, id="a comma in its name"
        ),
        pytest.param(replace(POSITION, past_end=90), SYNCS, "committed-past-end", 0, id="past the source's end"),
        pytest.param(
            replace(POSITION, checkpoint=Checkpoint(900, 101)),
            SYNCS,
            "checkpoint-ahead",
            12,
            id="set back on the source",
        ),
    ],
)
def test_each_finding_has_its_code_and_its_patience(
    position: Position, syncs: SyncHistory, code: str, patience: float
) -> None:
    (standing,) = found(position, syncs)
    assert (standing.finding.code, standing.patience_seconds) == (code, patience)


def test_a_checkpoint_between_old_syncs_is_not_reported_as_stuck() -> None:
    """The connector keeps fewer and fewer of the older syncs: a coarse translation must not fail a working flow."""
    lagging = replace(POSITION, committed=60, checkpoint=Checkpoint(60, 1), on_target=1)
    assert found(lagging, committed_at_first=60) == []


def test_a_checkpoint_with_newer_syncs_ahead_is_not_reported_as_stuck() -> None:
    """They arrived while the job waited: the connector may no longer keep the sync that the group needs."""
    position = replace(POSITION, checkpoint=Checkpoint(40, 41), on_target=41)
    newer = SyncHistory((*SYNCS.syncs, OffsetSync(5000, 5000)))
    result = position_findings(
        [position], {(position.group, ORDERS): 105}, {ORDERS: SYNCS}, {ORDERS: newer}, a_flow(), PATIENCE
    )
    assert result == []


def test_a_group_that_was_reset_during_the_run_has_no_finding() -> None:
    position = replace(POSITION, committed=50, checkpoint=Checkpoint(50, 1), on_target=1)
    assert found(position, committed_at_first=105) == []


def test_without_group_sync_an_absent_offset_is_expected_but_a_foreign_one_is_not() -> None:
    off = a_flow(checkpoints={**a_flow().checkpoints.model_dump(by_alias=True), "syncGroupOffsets": False})
    for on_target, codes in ((None, []), (500, ["group-past-translation"])):
        position = replace(POSITION, on_target=on_target)
        result = position_findings(
            [position], {(position.group, ORDERS): 105}, {ORDERS: SYNCS}, {ORDERS: SYNCS}, off, PATIENCE
        )
        assert [each.finding.code for each in result] == codes


def test_a_new_group_has_time_until_the_next_refresh() -> None:
    assert Patience(running=12, checkpoint=12, discovery=12) == PATIENCE
    assert Patience.of(a_flow(refreshGroupsSeconds=600), 0).discovery == 606


def test_a_task_that_has_just_started_has_the_catch_up_time() -> None:
    """A restarted worker took 11 s to load its stores, with intervals of a second."""
    patience = Patience.of(a_flow(), 30)
    assert patience == Patience(running=12, checkpoint=30, discovery=30)
    at_target = replace(POSITION, on_target=None)
    for position in (at_target, replace(POSITION, checkpoint=None), replace(POSITION, checkpoint=Checkpoint(40, 41))):
        looked = position_findings([position], {KEY: 105}, {ORDERS: SYNCS}, {ORDERS: SYNCS}, a_flow(), patience)
        assert {each.patience_seconds for each in looked} >= {30}
    past = replace(POSITION, on_target=102)
    (found,) = position_findings([past], {KEY: 105}, {ORDERS: SYNCS}, {ORDERS: SYNCS}, a_flow(), patience)
    assert found.patience_seconds == 12


def later(position: Position, at_first: Position) -> list[str]:
    """The codes of the last look at a position that was `at_first` at the first look."""
    looked = position_findings(
        [position], {KEY: 105}, {ORDERS: SYNCS}, {ORDERS: SYNCS}, a_flow(), PATIENCE, {KEY: at_first}
    )
    return [each.finding.code for each in looked]


@pytest.mark.parametrize(
    ("last", "codes"),
    [
        pytest.param(replace(POSITION, on_target=90), ["group-not-synced"], id="it does not move"),
        pytest.param(replace(POSITION, on_target=95), [], id="it moves"),
        pytest.param(replace(POSITION, on_target=85), ["group-not-synced"], id="it moves back"),
        pytest.param(replace(POSITION, on_target=None), ["group-not-synced"], id="it is deleted"),
        pytest.param(replace(POSITION, checkpoint=Checkpoint(300, 301), committed=300, on_target=101), [], id="synced"),
    ],
)
def test_a_group_sync_fails_only_if_it_does_not_move(last: Position, codes: list[str]) -> None:
    """A group that consumes all the time is always behind its newest checkpoint by up to the interval of the sync."""
    assert later(last, replace(POSITION, on_target=90)) == codes


def test_a_checkpoint_that_moves_is_not_stuck() -> None:
    at_first = replace(POSITION, checkpoint=Checkpoint(40, 41), on_target=41)
    assert later(replace(POSITION, checkpoint=Checkpoint(60, 61), on_target=61), at_first) == []
    assert later(at_first, at_first) == ["checkpoint-behind"]


PAST = replace(POSITION, committed=60, checkpoint=Checkpoint(60, 1), on_target=50)


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        pytest.param(PositionProof(None, 50, 10), [], id="its record is before the commit"),
        pytest.param(
            PositionProof(fail("offset-skips-records", "…", 7), 67),
            [(7, "is source offset 67, but it committed 60 on the source: 7 records would be skipped")],
            id="its record is after the commit",
        ),
        pytest.param(
            PositionProof(error("source-record-not-found", "…")),
            [(49, "no record shows how many of the 49 records between them it has consumed")],
            id="its record is not found",
        ),
    ],
)
def test_an_offset_past_a_coarse_translation_is_judged_by_its_record(
    proof: PositionProof, said: list[tuple[int, str]]
) -> None:
    """A group at 50 whose translation is 1 because syncs are far apart skips nothing if its record 50 was consumed."""
    (standing,) = found(PAST, committed_at_first=60)
    kept = past_translation([standing], {beyond_translation(PAST): proof})
    assert [each.finding.count for each in kept] == [count for count, _ in said]
    assert all(words in each.finding.message for each, (_, words) in zip(kept, said, strict=True))


ONLY_THERE = Position("checkout-a", TopicPartition("orders", 1), 0, None, 200)


@pytest.mark.parametrize(
    ("position", "proof", "words"),
    [
        pytest.param(ONLY_THERE, PositionProof(None, 0), None, id="no record of the source is before it"),
        pytest.param(
            ONLY_THERE,
            PositionProof(fail("offset-skips-records", "…", 190), 200),
            "group checkout-a has no offset on useast in orders-1, but continues on uswest at 200: skips up to 190 "
            "records. It has consumed on uswest, somebody set its offset there, or its offset on useast was deleted",
            id="records of the source are before it",
        ),
        pytest.param(
            replace(ONLY_THERE, committed=150, checkpoint=Checkpoint(150, 150)),
            PositionProof(fail("offset-skips-records", "…", 50), 200),
            "group checkout-a has no offset on useast in orders-1 (it once committed 150), but continues on uswest at "
            "200: skips up to 50 records. It has consumed on uswest, somebody set its offset there, or its offset on "
            "useast was deleted",
            id="it is past what the group once committed",
        ),
        pytest.param(
            ONLY_THERE,
            PositionProof(error("source-record-not-found", "…")),
            "group checkout-a has no offset on useast in orders-1, but continues on uswest at 200, and no record shows "
            "how many it skips. It has consumed on uswest, somebody set its offset there, or its offset on useast was "
            "deleted",
            id="its record is not found",
        ),
    ],
)
def test_an_offset_that_only_the_target_has_skips_what_the_group_has_not_read(
    position: Position, proof: PositionProof, words: str | None
) -> None:
    """A group committed on the source in partition 0 only, and would have skipped 200 records of partition 1."""
    found = without_source_offset([position], {beyond_translation(position): proof}, a_flow())
    assert [each.finding.message for each in found] == ([] if words is None else [words])
    assert {each.finding.severity for each in found} <= {FindingSeverity.FAIL}


def test_the_patience_of_a_finding_begins_when_it_is_first_seen() -> None:
    """A worker that restarts may take all of the first finding's patience until it writes the checkpoint."""
    waiting = Waiting()
    missing, unsynced = (
        PositionFinding(POSITION, fail(code, "?"), 4) for code in ("checkpoint-missing", "group-not-synced")
    )
    assert waiting.left([missing], 100) == 4
    assert waiting.left([missing], 103) == 1
    assert waiting.left([unsynced], 105) == 4
    assert waiting.left([unsynced], 107) == 2
    assert waiting.left([missing, unsynced], 109) == 0
    assert waiting.left([], 110) == 0


def test_each_partition_of_a_group_has_its_own_patience() -> None:
    waiting, other = Waiting(), replace(POSITION, partition=TopicPartition("orders", 1))
    finding = fail("group-not-synced", "?")
    assert waiting.left([PositionFinding(POSITION, finding, 4)], 100) == 4
    assert waiting.left([PositionFinding(POSITION, finding, 4), PositionFinding(other, finding, 4)], 103) == 4
