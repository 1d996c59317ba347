"""Translated offsets whose record the target has removed or the source has aborted."""

import pytest

from kafka_replication.components.kafka.mirror_records import Checkpoint
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.position_proof import (
    Around,
    Candidates,
    Position,
    RecordDigest,
    TranslatedRecord,
    committed_record,
    is_unknown,
    proof_at,
    translated_record,
)

ORDERS = TopicPartition("orders", 0)
LOG = OffsetRange(0, 100)


def records(*offsets: int, source: int = 0) -> list[RecordDigest]:
    """Records at these offsets of the target; on the source, each is `source` offsets further on."""
    return [RecordDigest(at, 0, str(at + source)) for at in offsets]


def test_a_translation_to_an_aborted_record_counts_as_the_next_committed_one() -> None:
    held = records(*range(10, 18))
    assert committed_record(12, held, {"12", "13"}) == TranslatedRecord(held[4], after=False)
    assert committed_record(12, held, {str(at) for at in range(12, 18)}) == TranslatedRecord(held[1], after=True)
    assert committed_record(12, held, {str(at) for at in range(10, 18)}) is None
    assert is_unknown(TranslatedRecord(held[2], after=False), held[3:])
    assert not is_unknown(TranslatedRecord(held[2], after=False), held)
    assert not is_unknown(None, held)


@pytest.mark.parametrize(
    ("on_target", "on_source", "compacted", "code", "read_again"),
    [
        pytest.param([48, 49, 56], range(40, 61), True, None, 0, id="the target has compacted more than the source"),
        pytest.param([48, 49, 56], range(40, 61), False, "offset-skips-records", 0, id="not compacted"),
        pytest.param([45, 56], range(40, 61), True, None, 4, id="records before the group are compacted too"),
        pytest.param([56], range(40, 61), True, "source-record-not-found", 0, id="the target has no record nearby"),
        pytest.param(
            [48, 56], [52, 56], True, "source-record-not-found", 0, id="the source has removed the record before"
        ),
        pytest.param([50, 56], range(40, 61), True, None, 0, id="the target still has the record"),
    ],
)
def test_records_that_only_the_target_has_compacted_away_do_not_count_as_skipped(
    on_target: list[int], on_source: list[int], compacted: bool, code: str | None, read_again: int
) -> None:
    position = Position("checkout-a", ORDERS, 50, Checkpoint(50, 50), 50)
    held = records(*on_target)
    candidates = Candidates(OffsetRange(40, 70), records(*on_source))
    proof = proof_at(position, Around(LOG, LOG, held, candidates, translated_record(50, held), None, compacted))
    assert (proof.finding.code if proof.finding else None, proof.read_again) == (code, read_again)


def test_a_group_that_skips_a_record_before_the_compacted_ones_fails() -> None:
    position = Position("checkout-a", ORDERS, 45, Checkpoint(45, 50), 50)
    held = records(44, 48, 56)
    candidates = Candidates(OffsetRange(40, 70), records(*range(40, 61)))
    proof = proof_at(position, Around(LOG, LOG, held, candidates, translated_record(50, held), None, compacted=True))
    assert proof.finding is not None
    assert proof.finding.code == "offset-skips-records"


@pytest.mark.parametrize(
    ("held_until", "code"), [(53, "offset-skips-records"), (54, None)], ids=["one more is missing", "they fill the gap"]
)
def test_compaction_explains_no_more_skipped_records_than_the_target_has_offsets(
    held_until: int, code: str | None
) -> None:
    """Source records 50 to 53 are not on the target, where `held_until` is the offset of record 54."""
    held = [*records(48, 49), RecordDigest(held_until, 0, "54")]
    position = Position("checkout-a", ORDERS, 50, Checkpoint(50, 50), 50)
    candidates = Candidates(OffsetRange(40, 70), records(*range(40, 61)))
    around = Around(LOG, LOG, held, candidates, translated_record(50, held), None, compacted=True)
    assert (finding.code if (finding := proof_at(position, around).finding) else None) == code


@pytest.mark.parametrize(
    ("held", "code"),
    [
        pytest.param(records(49, 54), None, id="the record before is one that the group has read"),
        pytest.param(records(49, 52, 54), "offset-skips-records", id="an unread record is still there"),
        pytest.param(records(54), "source-record-not-found", id="no record nearby shows where the group is"),
        pytest.param(records(3, source=51), "offset-skips-records", id="the log has fewer offsets there"),
    ],
)
def test_records_compacted_before_the_translated_one_do_not_count_as_skipped(
    held: list[RecordDigest], code: str | None
) -> None:
    """`failover` commits the offset of the first record that is left for the group."""
    downstream = held[-1].offset
    position = Position("checkout-a", ORDERS, 50, Checkpoint(50, downstream), downstream)
    candidates = Candidates(OffsetRange(40, 70), records(*range(40, 61)))
    around = Around(LOG, LOG, held, candidates, translated_record(downstream, held), None, compacted=True)
    assert (finding.code if (finding := proof_at(position, around).finding) else None) == code


def test_compaction_explains_nothing_where_the_source_was_not_read() -> None:
    held = records(48, 49, 56)
    position = Position("checkout-a", ORDERS, 50, Checkpoint(50, 50), 50)
    candidates = Candidates(OffsetRange(52, 70), [*records(49), *records(*range(52, 61))])
    around = Around(LOG, LOG, held, candidates, translated_record(50, held), None, compacted=True)
    finding = proof_at(position, around).finding
    assert finding is not None
    assert finding.code == "source-record-not-found"
