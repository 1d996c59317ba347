"""Translated offsets where the target has removed the record, or where the source aborted it."""

import pytest

from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.landings import Around, is_unknown, landing_past, proof_at
from spark.checks.translation import Candidates, Checkpoint, Landing, Position, Record, landing

ORDERS = TopicPartition("orders", 0)
LOG = OffsetRange(0, 100)


def records(*offsets: int, source: int = 0) -> list[Record]:
    """Each stands `source` offsets further on the source."""
    return [Record(at, 0, str(at + source)) for at in offsets]


def test_a_landing_on_an_aborted_record_moves_to_the_next_committed_one() -> None:
    held = records(*range(10, 18))
    assert landing_past(12, held, {"12", "13"}) == Landing(held[4], after=False)
    assert landing_past(12, held, {str(at) for at in range(12, 18)}) == Landing(held[1], after=True)
    assert landing_past(12, held, {str(at) for at in range(10, 18)}) is None
    assert is_unknown(Landing(held[2], after=False), held[3:])
    assert not is_unknown(Landing(held[2], after=False), held)
    assert not is_unknown(None, held)


@pytest.mark.parametrize(
    ("on_target", "on_source", "compacted", "code", "read_again"),
    [
        pytest.param([48, 49, 56], range(40, 61), True, None, 0, id="compacted further than the source"),
        pytest.param([48, 49, 56], range(40, 61), False, "offset-skips-records", 0, id="not compacted"),
        pytest.param([45, 56], range(40, 61), True, None, 4, id="and in front of the group"),
        pytest.param([56], range(40, 61), True, "source-record-not-found", 0, id="nothing is left near it"),
        pytest.param([48, 56], [52, 56], True, "source-record-not-found", 0, id="the source has removed that one"),
        pytest.param([50, 56], range(40, 61), True, None, 0, id="the record itself is there"),
    ],
)
def test_what_only_the_source_of_a_compacted_topic_still_holds_is_not_skipped(
    on_target: list[int], on_source: list[int], compacted: bool, code: str | None, read_again: int
) -> None:
    position = Position("checkout-a", ORDERS, 50, Checkpoint(50, 50), 50)
    held = records(*on_target)
    candidates = Candidates(OffsetRange(40, 70), records(*on_source))
    proof = proof_at(position, Around(LOG, LOG, held, candidates, landing(50, held), None, compacted))
    assert (proof.finding.code if proof.finding else None, proof.read_again) == (code, read_again)


def test_a_group_that_skips_a_record_in_front_of_the_removed_ones_fails() -> None:
    position = Position("checkout-a", ORDERS, 45, Checkpoint(45, 50), 50)
    held = records(44, 48, 56)
    candidates = Candidates(OffsetRange(40, 70), records(*range(40, 61)))
    proof = proof_at(position, Around(LOG, LOG, held, candidates, landing(50, held), None, compacted=True))
    assert proof.finding is not None
    assert proof.finding.code == "offset-skips-records"
