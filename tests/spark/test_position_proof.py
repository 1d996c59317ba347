"""What a translated offset means, from records and offset syncs alone."""

import pytest

from kafka_replication.components.kafka.mirror_records import Checkpoint, OffsetSync
from kafka_replication.components.kafka.offset_syncs import SourceGuess, SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.position_proof import (
    Around,
    Candidates,
    Position,
    PositionProof,
    RecordDigest,
    TranslatedRecord,
    prove,
    source_range,
    translated_record,
)

ORDERS = TopicPartition("orders", 0)
LOG = OffsetRange(0, 1000)
NOTHING = OffsetRange(1000, 1000)


def a_position(committed: int, downstream: int, upstream: int | None = None) -> Position:
    checkpoint = Checkpoint(committed if upstream is None else upstream, downstream)
    return Position("checkout-a", ORDERS, committed, checkpoint, downstream)


def proof_of(
    position: Position,
    found: TranslatedRecord | None,
    candidates: list[RecordDigest],
    guess: SourceGuess | None = None,
    target: OffsetRange = LOG,
    source: OffsetRange = LOG,
    compacted: bool = False,
    read: OffsetRange = NOTHING,
) -> PositionProof:
    """By default nothing around the committed offset was read."""
    around = Around(target, source, [], Candidates(read, candidates), found, guess, inexact=compacted)
    return prove(position, around, found)


def code(proof: PositionProof) -> str | None:
    return proof.finding.code if proof.finding else None


def test_a_record_before_the_commit_proves_the_translation_and_is_counted_as_read_again() -> None:
    found = TranslatedRecord(RecordDigest(101, 5, "A1"), after=False)
    proof = proof_of(a_position(105, 101), found, [RecordDigest(101, 5, "A1"), RecordDigest(102, 6, "A2")])
    assert (proof.proven, proof.source_offset, proof.read_again) == (True, 101, 4)


def test_a_group_past_the_end_reads_again_only_the_records_that_exist() -> None:
    found = TranslatedRecord(RecordDigest(991, 5, "A1"), after=False)
    proof = proof_of(a_position(5_000, 991), found, [RecordDigest(991, 5, "A1")])
    assert (proof.proven, proof.read_again) == (True, 9)


def test_a_translation_to_a_record_after_the_commit_reports_the_number_of_skipped_records() -> None:
    """A consumer that moves to the target would never read these records, and nothing else reports it."""
    proof = proof_of(
        a_position(100, 140), TranslatedRecord(RecordDigest(140, 5, "A1"), after=False), [RecordDigest(140, 5, "A1")]
    )
    assert code(proof) == "offset-skips-records"
    assert proof.finding is not None
    assert proof.finding.count == 40


@pytest.mark.parametrize(
    ("records", "read_from", "skipped"),
    [
        pytest.param([99, 140], 68, 0, id="offsets without a record"),
        pytest.param([99, 120, 121, 140], 68, 2, id="two records among them"),
        pytest.param([139, 140], 108, 40, id="not read from the committed offset on"),
    ],
)
def test_offsets_without_a_record_do_not_count_as_skipped(records: list[int], read_from: int, skipped: int) -> None:
    """A group whose commit is at a transaction marker must not fail a flow that works."""
    candidates = [RecordDigest(offset, 5, f"A{offset}") for offset in records]
    found = TranslatedRecord(RecordDigest(93, 5, "A140"), after=False)
    proof = proof_of(a_position(100, 93), found, candidates, read=OffsetRange(read_from, 173))
    assert (proof.finding.count if proof.finding else 0, proof.proven) == (skipped, not skipped)
    assert proof.source_offset == 140


def test_records_that_expired_before_a_group_consumed_them_do_not_count_as_skipped() -> None:
    """The model found this: a group that retention has overtaken failed, although it loses nothing by moving."""
    proof = proof_of(
        a_position(0, 0),
        TranslatedRecord(RecordDigest(0, 5, "A1"), after=False),
        [RecordDigest(1, 5, "A1")],
        source=OffsetRange(1, 9),
    )
    assert (proof.proven, proof.source_offset, proof.read_again) == (True, 1, 0)


def test_the_record_at_the_committed_offset_itself_is_not_a_skip() -> None:
    proof = proof_of(
        a_position(100, 100), TranslatedRecord(RecordDigest(100, 5, "A1"), after=False), [RecordDigest(100, 5, "A1")]
    )
    assert (proof.proven, proof.read_again) == (True, 0)


@pytest.mark.parametrize(("last", "proven"), [(99, True), (100, False)], ids=["just consumed", "not consumed yet"])
def test_an_offset_at_the_end_of_the_target_is_proven_only_if_the_last_record_was_consumed(
    last: int, proven: bool
) -> None:
    found = TranslatedRecord(RecordDigest(99, 5, "A1"), after=True)
    assert proof_of(a_position(100, 100), found, [RecordDigest(last, 5, "A1")]).proven is proven


def test_a_checkpoint_past_the_end_is_reported() -> None:
    assert code(proof_of(a_position(100, 1001), None, [])) == "checkpoint-past-end"


def test_offsets_whose_record_retention_removed_are_unproven_and_not_wrong() -> None:
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    expired = proof_of(a_position(100, 100), None, [], target=OffsetRange(500, 1000))
    assert code(expired) == "target-expired"
    expired = proof_of(a_position(100, 100), found, [], SourceGuess(100, True), source=OffsetRange(500, 1000))
    assert code(expired) == "source-expired"
    assert not expired.proven


def test_a_different_record_at_the_expected_offset_is_reported() -> None:
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    wrong = proof_of(a_position(100, 100), found, [RecordDigest(100, 5, "B7")], SourceGuess(100, True))
    assert code(wrong) == "translated-record-differs"


@pytest.mark.parametrize(
    ("guess", "compacted"),
    [
        pytest.param(SourceGuess(100, False), False, id="its place is not certain"),
        pytest.param(None, False, id="no sync shows its place"),
        pytest.param(SourceGuess(100, True), True, id="compaction may have removed it"),
    ],
)
def test_a_record_that_is_not_found_is_unproven_if_it_may_be_elsewhere_or_removed(
    guess: SourceGuess | None, compacted: bool
) -> None:
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    proof = proof_of(a_position(100, 100), found, [], guess, compacted=compacted)
    assert code(proof) == "source-record-not-found"
    assert not proof.proven


def test_of_equal_records_those_count_that_the_offset_syncs_allow() -> None:
    """Identical records must neither hide a skip nor pretend one."""
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    twins = [RecordDigest(90, 5, "A1"), RecordDigest(130, 5, "A1")]
    expected = proof_of(a_position(100, 100), found, twins, SourceGuess(90, True))
    assert (expected.source_offset, expected.by_counting) == (90, True)
    assert not proof_of(a_position(100, 100), found, twins[:1], SourceGuess(90, True)).by_counting
    for guess in (None, SourceGuess(90, False, None), SourceGuess(90, False, 40), SourceGuess(130, False, -40)):
        assert code(proof_of(a_position(100, 100), found, twins, guess)) == "source-record-not-found"
        assert proof_of(a_position(130, 100), found, twins, guess).source_offset == 130
    assert proof_of(a_position(100, 100), found, twins, SourceGuess(90, False, 39)).source_offset == 90
    assert code(proof_of(a_position(80, 100), found, twins)) == "offset-skips-records"


def test_after_the_newest_sync_equal_records_may_be_as_far_apart_as_the_logs_differ() -> None:
    """The sync after a marker waits or is dropped if MirrorMaker is congested."""
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    twins, guess = [RecordDigest(100, 5, "A1"), RecordDigest(102, 5, "A1")], SourceGuess(100, True, None)
    given = a_position(100, 100)
    assert proof_of(given, found, twins, guess).source_offset == 100
    assert proof_of(given, found, twins, guess, source=OffsetRange(0, 1001)).source_offset == 100
    assert code(proof_of(given, found, twins, guess, source=OffsetRange(0, 1002))) == "source-record-not-found"


def test_of_equal_records_the_earliest_counts_for_what_is_read_again() -> None:
    """The latest shows that no record is skipped; a consumer may nevertheless be at the earliest."""
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    twins, guess = [RecordDigest(100, 5, "A1"), RecordDigest(102, 5, "A1")], SourceGuess(100, True, None)
    proof = proof_of(a_position(103, 100), found, twins, guess, source=OffsetRange(0, 1002))
    assert (proof.source_offset, proof.read_again) == (102, 3)


def test_a_record_that_equals_an_expired_one_does_not_stand_for_it() -> None:
    """The number of records that are read again would be that of the newer one."""
    found = TranslatedRecord(RecordDigest(100, 5, "A1"), after=False)
    newer = [RecordDigest(550, 5, "A1")]
    proof = proof_of(a_position(550, 100), found, newer, SourceGuess(100, True), source=OffsetRange(500, 1000))
    assert code(proof) == "source-expired"


def test_a_timestamp_that_only_the_target_has_does_not_count_if_the_source_has_none() -> None:
    """Connect gives a record without a timestamp the time of its arrival."""
    found = TranslatedRecord(RecordDigest(100, 5, "A at 5", "A"), after=False)
    untimed, timed = RecordDigest(100, -1, "A", "A"), RecordDigest(100, 4, "A at 4", "A")
    proof = proof_of(a_position(100, 100), found, [untimed], SourceGuess(100, True))
    assert (proof.proven, proof.untimed) == (True, True)
    assert code(proof_of(a_position(100, 100), found, [timed], SourceGuess(100, True))) == "translated-record-differs"


def test_a_consumer_lands_on_the_record_after_a_marker_or_after_the_last() -> None:
    records = [RecordDigest(98, 1, "A"), RecordDigest(102, 2, "B")]
    assert translated_record(100, records) == TranslatedRecord(records[1], after=False)
    assert translated_record(103, records) == TranslatedRecord(records[1], after=True)
    assert translated_record(500, records) is None


class TestSyncHistory:
    def test_between_syncs_of_equal_difference_the_guess_is_exact(self) -> None:
        history = SyncHistory((OffsetSync(100, 0), OffsetSync(150, 50)))
        assert history.guess(20) == SourceGuess(120, True)

    def test_after_the_newest_sync_the_guess_is_exact_unless_the_next_one_was_dropped(self) -> None:
        history = SyncHistory((OffsetSync(100, 0), OffsetSync(150, 50)))
        assert history.guess(50) == SourceGuess(150, True)
        assert history.guess(60) == SourceGuess(160, True, None)

    def test_across_a_change_of_difference_only_the_sync_itself_is_exact(self) -> None:
        history = SyncHistory((OffsetSync(100, 0), OffsetSync(160, 50)))
        assert history.guess(20) == SourceGuess(120, False, 10)
        assert history.guess(0) == SourceGuess(100, True)

    def test_before_the_oldest_sync_the_guess_is_not_exact(self) -> None:
        assert SyncHistory((OffsetSync(100, 50),)).guess(20) == SourceGuess(70, False, None)
        assert SyncHistory().guess(20) is None

    def test_syncs_from_before_the_remote_topic_was_recreated_are_ignored(self) -> None:
        history = SyncHistory((OffsetSync(0, 0), OffsetSync(500, 500), OffsetSync(600, 0)))
        assert history.guess(10) == SourceGuess(610, True, None)

    def test_a_translation_is_owed_only_from_the_latest_sync_on(self) -> None:
        history = SyncHistory((OffsetSync(0, 0), OffsetSync(100, 90)))
        assert (history.owed(99), history.owed(100), history.owed(105)) == (None, 90, 91)
        assert SyncHistory().owed(5) is None


@pytest.mark.parametrize(
    ("guess", "by_time", "committed", "wanted"),
    [
        pytest.param(SourceGuess(100, True), None, 9_999, OffsetRange(68, 133), id="around the guess"),
        pytest.param(SourceGuess(100, False), 200, 9_999, OffsetRange(68, 233), id="around both when near"),
        pytest.param(
            SourceGuess(100, False), 9_000, 9_999, OffsetRange(8_968, 9_033), id="around the time when far apart"
        ),
        pytest.param(SourceGuess(5, True), None, 9_999, OffsetRange(0, 38), id="within the log"),
        pytest.param(None, None, 50, OffsetRange(0, 0), id="nowhere without a hint"),
        pytest.param(None, -1, 50, OffsetRange(0, 0), id="nowhere when no record is that young"),
        pytest.param(
            SourceGuess(900, True), None, 400, OffsetRange(368, 933), id="from a commit that is near before it"
        ),
        pytest.param(
            SourceGuess(9_000, True), None, 400, OffsetRange(8_968, 9_033), id="without a commit far before it"
        ),
    ],
)
def test_the_source_is_read_in_one_small_range(
    guess: SourceGuess | None, by_time: int | None, committed: int, wanted: OffsetRange
) -> None:
    assert source_range(guess, by_time, committed, OffsetRange(0, 10_000)) == wanted
