"""Translated offsets whose record the source has removed, proven by the record that the group reads next."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_replication.components.contract.report import error
from kafka_replication.components.kafka.mirror_records import Checkpoint
from kafka_replication.components.kafka.offset_syncs import SourceGuess
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.nearby import next_offsets
from kafka_replication.spark.checks.offsets.next_records import NextOffsets, Unproven, places_on_target, proof_by_next
from kafka_replication.spark.checks.offsets.position_proof import (
    Around,
    Candidates,
    Position,
    PositionProof,
    RecordDigest,
    TranslatedRecord,
)
from kafka_replication.spark.read.flows import FlowCluster


def expired(committed: int = 60, source: tuple[int, int] = (50, 100), exact: bool = True) -> Unproven:
    """Source record 45 is at offset 40 of the target, the offset in the group's checkpoint."""
    return Unproven(
        Position("checkout-a", TopicPartition("orders", 0), committed, Checkpoint(committed, 40), 40),
        PositionProof(error("source-expired", "the source no longer holds offset 45")),
        Around(
            OffsetRange(0, 95),
            OffsetRange(*source),
            [],
            Candidates(OffsetRange(0, 0), []),
            TranslatedRecord(RecordDigest(40, 45, "45"), after=False),
            SourceGuess(45, exact),
        ),
    )


def records(*held: tuple[int, int]) -> list[RecordDigest]:
    """Each is given as (offset, number)."""
    return [RecordDigest(offset, number, str(number)) for offset, number in held]


NEXT = records((60, 60), (61, 61))


def test_a_next_record_without_a_timestamp_is_found_by_its_content() -> None:
    proof = proof_by_next(expired(), [RecordDigest(60, -1, "60", "60")], [RecordDigest(55, 60, "60 at 60", "60")])
    assert (proof.proven, proof.read_again, proof.untimed) == (True, 15, True)


@pytest.mark.parametrize(
    ("given", "unread", "on_target", "read_again"),
    [
        pytest.param({}, NEXT, [(54, 59), (55, 60)], 15, id="it is after the translated offset"),
        pytest.param({}, NEXT, [(40, 60)], 15, id="it is at the translated offset"),
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


def compacted(on_source: int, on_target: int) -> Unproven:
    """Nothing is left around the translated offset 40; these are the next records on both sides."""
    return Unproven(
        Position("checkout-a", TopicPartition("orders", 0), 60, Checkpoint(60, 40), 40),
        PositionProof(error("target-empty", "the target holds no record near offset 40")),
        Around(OffsetRange(0, 9_000), OffsetRange(0, 9_100), [], Candidates(OffsetRange(0, 0), []), None, None),
        next=NextOffsets(on_source, on_target),
    )


@pytest.mark.parametrize(
    ("after", "unread", "on_target", "read_again"),
    [
        pytest.param((8_000, 7_990), [(8_000, 8_000)], [(7_990, 8_000)], 0, id="the next record on both sides"),
        pytest.param((8_000, 7_980), [(8_000, 8_000)], [(7_980, 7), (7_990, 8_000)], 10, id="the target has one more"),
        pytest.param((8_000, 8_001), [(8_000, 8_000)], [(8_001, 8_011)], None, id="the target has it only before"),
        pytest.param((9_100, 9_000), [], [], 0, id="neither side has another record"),
        pytest.param((9_100, 8_990), [], [], 10, id="the source has no other record"),
    ],
)
def test_a_compacted_topic_is_judged_by_the_next_record_that_is_left(
    after: tuple[int, int], unread: list[tuple[int, int]], on_target: list[tuple[int, int]], read_again: int | None
) -> None:
    """Both sides held the same records, and the group's exact position was called a fault after compaction."""
    unproven = compacted(*after)
    assert unproven.unread == OffsetRange(after[0], min(after[0] + 33, 9_100))
    proof = proof_by_next(unproven, records(*unread), records(*on_target))
    assert (proof.proven, proof.read_again) == (read_again is not None, read_again or 0)
    assert (proof.source_offset if proof.proven else 60) == 60


def test_the_next_record_of_a_compacted_topic_is_looked_up_by_time_and_as_the_next_one() -> None:
    first = RecordDigest(8_000, 8_000, "8000")
    by_time, following = OffsetRange(7_812, 7_852), OffsetRange(7_982, 8_022)
    assert places_on_target(compacted(8_000, 7_990), first, 7_820) == [by_time, following]


class LogOfRecords:
    """A partition that holds records at a few offsets."""

    def __init__(self, *offsets: int) -> None:
        self.offsets, self.reads = offsets, 0

    def first_records(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        counts: Any,  # noqa: ARG002
        *,
        committed: bool,
    ) -> dict[TopicPartition, Any]:
        assert committed
        self.reads += 1
        firsts = {
            partition: next((offset for offset in self.offsets if start <= offset < end), None)
            for partition, (start, end) in ranges.items()
        }
        return {partition: SimpleNamespace(offset=offset) for partition, offset in firsts.items() if offset is not None}


def test_many_groups_before_one_record_are_answered_by_one_reading() -> None:
    place, log = TopicPartition("orders", 0), LogOfRecords(3, 70, 95)
    wanted = [(place, offset) for offset in (0, 3, 4, 50, 70, 71, 96, 100)]
    found = next_offsets(cast(FlowCluster, log), wanted, {place: OffsetRange(0, 100)})
    assert [found[each] for each in wanted] == [3, 3, 70, 70, 70, 95, 100, 100]
    assert log.reads == 4
