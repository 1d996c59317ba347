"""Translated offsets whose record the source has removed, proven by the record that the group reads next."""

from typing import Any

import pytest

from components.contract.report import error
from components.kafka.mirror_records import Checkpoint
from components.kafka.offset_syncs import SourceGuess
from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.offsets.proofs import Expired, places_on_target, proof_by_next
from spark.checks.offsets.translation import Position, PositionProof, RecordDigest, TranslatedRecord


def expired(committed: int = 60, source: tuple[int, int] = (50, 100), exact: bool = True) -> Expired:
    """Source record 45 is at offset 40 of the target, the offset in the group's checkpoint."""
    return Expired(
        Position("checkout-a", TopicPartition("orders", 0), committed, Checkpoint(committed, 40), 40),
        PositionProof(error("source-expired", "the source no longer holds offset 45")),
        TranslatedRecord(RecordDigest(40, 45, "45"), after=False),
        SourceGuess(45, exact),
        OffsetRange(*source),
        OffsetRange(0, 95),
    )


def records(*held: tuple[int, int]) -> list[RecordDigest]:
    """Each is given as (offset, number)."""
    return [RecordDigest(offset, number, str(number)) for offset, number in held]


NEXT = records((60, 60), (61, 61))


@pytest.mark.parametrize(
    ("given", "unread", "on_target", "read_again"),
    [
        pytest.param({}, NEXT, [(54, 59), (55, 60)], 15, id="it is after the translated offset"),
        pytest.param({}, NEXT, [(40, 60)], 0, id="it is at the translated offset"),
        pytest.param({}, NEXT, [(30, 60)], None, id="it is only before the translated offset"),
        pytest.param({}, NEXT, [(30, 60), (70, 60)], 30, id="it was sent again"),
        pytest.param({}, NEXT, [(55, 61)], None, id="the target does not hold it"),
        pytest.param({}, [*NEXT, RecordDigest(62, 60, "60")], [(55, 60)], None, id="another record equals it"),
        pytest.param({"committed": 100}, [], [], 55, id="the group has read everything"),
        pytest.param({"source": (100, 100)}, [], [], 55, id="the source holds no record"),
        pytest.param({"committed": 100, "exact": False}, [], [], None, id="the group seems to have read everything"),
        pytest.param({}, [], [], None, id="many offsets without a record"),
    ],
)
def test_a_group_skips_nothing_if_its_next_record_is_at_or_after_its_translated_offset(
    given: dict[str, Any], unread: list[RecordDigest], on_target: list[tuple[int, int]], read_again: int | None
) -> None:
    """A group of a topic with retention must pass without an exception, but not without a proof."""
    proof = proof_by_next(expired(**given), unread, records(*on_target))
    assert (proof.proven, proof.read_again) == (read_again is not None, read_again or 0)
    assert (proof.finding.code if proof.finding else None) == (None if proof.proven else "source-expired")


def test_the_next_record_is_looked_up_by_offset_distance_and_by_time() -> None:
    near, by_time = OffsetRange(47, 87), OffsetRange(72, 95)
    assert places_on_target(expired(), NEXT[0], 80) == [near, by_time]
    assert places_on_target(expired(), NEXT[0], -1) == [near]
    assert expired().unread == OffsetRange(60, 93)
    assert expired(committed=10).unread == OffsetRange(50, 83), "retention has overtaken the group"
