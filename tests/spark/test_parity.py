"""What parity concludes from the counts of the first pass, and what it counts after the comparison."""

from dataclasses import replace

import pytest

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity.check import counted, not_compared, nothing_to_compare
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.checks.parity.findings import final_partitions, totals
from kafka_replication.spark.checks.parity.first_pass import FirstPass, read_as_far
from kafka_replication.spark.checks.parity.sums import Sums, same_places
from kafka_replication.spark.checks.topics import absent_topics, young_topics
from kafka_replication.spark.read.digests import PLACED_MODULUS

LEDGER = TopicPartition("ledger", 0)


def a_pass(source: Sums, target: Sums) -> FirstPass:
    logs = {LEDGER: OffsetRange(0, 100)}
    return FirstPass(logs, logs, {LEDGER: source}, {LEDGER: target}, 0.1)


@pytest.mark.parametrize(
    ("source", "target", "end", "read"),
    [
        pytest.param(OffsetRange(0, 10), OffsetRange(5, 18), 20, OffsetRange(0, 13), id="as long as the target"),
        pytest.param(OffsetRange(0, 10), OffsetRange(0, 30), 20, OffsetRange(0, 20), id="no further than the source"),
        pytest.param(OffsetRange(0, 10), OffsetRange(0, 30), 9, OffsetRange(0, 10), id="a source that was truncated"),
    ],
)
def test_the_source_is_read_as_far_as_the_target_has_come(
    source: OffsetRange, target: OffsetRange, end: int, read: OffsetRange
) -> None:
    assert read_as_far(source, target, end) == read


def test_records_that_are_not_compared_do_not_make_the_sides_differ() -> None:
    assert a_pass(Sums(5, 1, 2, aside=7), Sums(5, 1, 2, aside=9, looped=1)).disagreeing == []


MODULUS = PLACED_MODULUS


def placed(*digests_at: tuple[int, int]) -> Sums:
    """The sums of records, given as (offset, half of the digest)."""
    total, weighted = sum(half for _, half in digests_at), sum(at * half for at, half in digests_at) % MODULUS
    return Sums(
        len(digests_at), total, total, low_placed=weighted, high_placed=weighted, first=min(at for at, _ in digests_at)
    )


HUGE = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("source", "target", "same"),
    [
        pytest.param(placed((0, 7), (1, 9)), placed((0, 7), (1, 9)), True, id="equal"),
        pytest.param(placed((100, 7), (101, HUGE)), placed((3, 7), (4, HUGE)), True, id="lower offsets on the target"),
        pytest.param(
            placed((0, 7), (1, HUGE)),
            placed((MODULUS, 7), (MODULUS + 1, HUGE)),
            True,
            id="much higher offsets on the target",
        ),
        pytest.param(placed((0, 7), (1, 9)), placed((0, 9), (1, 7)), False, id="the opposite order"),
        pytest.param(placed((0, 7), (2, 9)), placed((0, 7), (1, 9)), False, id="a marker between them"),
        pytest.param(Sums(), Sums(), True, id="no record"),
    ],
)
def test_equal_records_with_other_distances_between_them_are_compared_one_by_one(
    source: Sums, target: Sums, same: bool
) -> None:
    """Equal digests say nothing about the order: if two blocks are swapped, a group that moves skips one of them."""
    assert same_places(source, target) is same
    assert a_pass(source, target).disagreeing == ([] if same else [LEDGER])


def test_a_topic_that_may_be_younger_than_the_refresh_interval_is_not_a_failure() -> None:
    found = list(absent_topics("cluster uswest", {"orders": "orders", "new": "new"}, {"new"}, 600))
    assert [(each.code, each.severity) for each in found] == [
        ("topic-not-replicated", FindingSeverity.FAIL),
        ("not-discovered-yet", FindingSeverity.ERROR),
    ]
    assert found[1].message == (
        "cluster uswest has no remote topic yet for: new. Nothing there is older than 600 s (refreshTopicsSeconds), "
        "the time that the source connector may take to discover it"
    )
    other = TopicPartition("ledger", 1)
    assert young_topics({LEDGER, other}, {LEDGER}) == set()
    assert young_topics({LEDGER, other}, {LEDGER, other}) == {"ledger"}


def test_an_empty_source_is_an_error_but_one_with_only_replicated_records_is_not() -> None:
    (empty,) = nothing_to_compare(a_pass(Sums(), Sums()))
    assert (empty.code, empty.severity) == ("empty-range", FindingSeverity.ERROR)
    assert "have 100 offsets, but no record to compare" in empty.message
    (new,) = nothing_to_compare(replace(a_pass(Sums(), Sums()), source_logs={LEDGER: OffsetRange(0, 0)}))
    assert "holds no records in any selected partition" in new.message
    (received,) = nothing_to_compare(a_pass(Sums(aside=9), Sums(aside=1)))
    assert (received.code, received.severity) == ("nothing-of-its-own", FindingSeverity.NOTE)
    assert nothing_to_compare(a_pass(Sums(1), Sums())) == []


def test_transformed_records_that_differ_or_never_arrive_are_an_error() -> None:
    (differ,) = not_compared(a_pass(Sums(5, 1, 1), Sums(4, 9, 9)))
    assert (differ.code, differ.severity) == ("records-not-compared", FindingSeverity.ERROR)
    (none,) = not_compared(a_pass(Sums(5, 1, 1), Sums()))
    assert (none.code, none.severity) == ("nothing-arrived", FindingSeverity.ERROR)
    assert not_compared(a_pass(Sums(5, 1, 1), Sums(5, 1, 1))) == []


def test_records_that_arrive_while_the_job_waits_are_counted() -> None:
    """The first pass saw 40 of 100 records, the comparison found no difference: 100 were compared, not 40."""
    first = a_pass(Sums(100, 1, 1), Sums(40, 2, 2))
    assert totals(final_partitions(first, []).values()) == {
        "sourceRecords": 100,
        "targetRecords": 100,
        "agreeingPartitions": 1,
    }


@pytest.mark.parametrize(
    ("partitions", "same", "said"),
    [
        (6, 6, "6000 source and 5990 target records; 6 of 6 partitions have the same records"),
        (6, 5, "6000 source and 5990 target records; 5 of 6 partitions have the same records"),
        (1, 1, "6000 source and 5990 target records; 1 of 1 partition has the same records"),
    ],
)
def test_the_summary_says_that_partitions_and_not_records_are_equal(partitions: int, same: int, said: str) -> None:
    """A reader took `6 partitions, 6 of them equal` for 6 equal records of 6000."""
    counts = {"sourceRecords": 6000, "targetRecords": 5990, "partitions": partitions, "agreeingPartitions": same}
    assert counted({**counts, "unreadOffsets": 0}, guarded=False) == said


def test_the_number_of_target_records_follows_from_the_differences() -> None:
    kinds = {"missing-hole": 7, "missing-tail": 5, "unmarked": 3, "duplicated": 20, "extra": 2, "extra-head": 1}
    kinds["copied-out-of-turn"] = 1
    differences = [Difference(LEDGER, kind, records, 0, 9) for kind, records in kinds.items()]
    counts = totals(final_partitions(a_pass(Sums(100, 1, 1), Sums(40, 2, 2)), differences).values())
    assert counts == {"sourceRecords": 100, "targetRecords": 100 - 15 + 23, "agreeingPartitions": 0}


def test_a_partition_that_could_not_be_read_to_its_end_is_not_called_equal() -> None:
    equal = replace(a_pass(Sums(5), Sums(5)), unread={LEDGER: OffsetRange(100, 120)})
    assert totals(final_partitions(equal, []).values())["agreeingPartitions"] == 0
    assert totals(final_partitions(equal, None).values()) == {
        "sourceRecords": 5,
        "targetRecords": 5,
        "agreeingPartitions": 0,
    }


def test_records_that_were_only_counted_keep_their_counts() -> None:
    counts = totals(final_partitions(a_pass(Sums(100, 1, 1), Sums(40, 2, 2)), None).values())
    assert counts == {"sourceRecords": 100, "targetRecords": 40, "agreeingPartitions": 0}


def test_marked_records_are_compared_only_if_something_else_may_have_marked_them() -> None:
    came = Sums(5, 1, 1, aside=3, low_aside=9)
    assert a_pass(came, came).with_other_marks == []
    assert a_pass(Sums(5, 1, 1), came).with_other_marks == []
    assert a_pass(came, Sums(5, 1, 1, aside=3, low_aside=8)).with_other_marks == [LEDGER]
    assert a_pass(Sums(5, 1, 1), Sums(5, 1, 1, looped=1)).with_other_marks == [LEDGER]
