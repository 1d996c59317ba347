"""Which records of a guarded flow are compared, and with which headers, on literal records."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.components.contract.parameters import GuardParameters
from kafka_replication.spark.read import digests
from kafka_replication.spark.read.digests import ASIDE, COMPARED, LOOPED, SOURCE, TARGET, compared_headers, role_of
from kafka_replication.spark.read.pairs import differing_records, paired
from tests.spark.documents import a_flow

NOW = datetime(2026, 1, 2, tzinfo=UTC)
GUARD = GuardParameters(filter="from-west", mark="from-east")
GUARDED = a_flow(policy="identity").model_copy(update={"guard": GUARD})
_RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
_JUDGED = "topic string, partition int, judged_end bigint, started bigint"
Headers = list[tuple[str, bytes | None]]
MARK: tuple[str, bytes | None] = ("from-east", None)
MARK_BACK: tuple[str, bytes | None] = ("from-west", None)
#: Headers of a record that its producer wrote on the source.
WRITTEN: dict[str, Headers] = {
    "no header": [],
    "one header": [("h", b"x")],
    "a header twice, once null": [("h", None), ("h", b"")],
    "another cluster's mark": [("from-eu", None), ("h", b"x")],
    "a producer's header that equals the mark": [("h", b"x"), MARK, ("i", b"y")],
    "a producer's header named like the mark, with a value": [("from-east", b"true")],
}


def seen(
    spark: SparkSession, side: str, headers: Headers | None, guard: GuardParameters | None = GUARD
) -> tuple[str, int]:
    """Role and digest of a record with null key and null value."""
    rows = [(None, None, "ledger", 0, 0, NOW, headers)]
    flow = a_flow(policy="identity").model_copy(update={"guard": guard})
    (row,) = digests.digest_frame(spark.createDataFrame(rows, _RECORDS), side, flow).collect()
    return str(row.role), int(row.digest)


@pytest.mark.parametrize("headers", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_replicated_record_equals_its_original_apart_from_the_mark(spark: SparkSession, headers: Headers) -> None:
    original = seen(spark, SOURCE, headers or None)
    assert original[0] == COMPARED
    assert seen(spark, TARGET, [*headers, MARK]) == original
    assert seen(spark, TARGET, [*headers, MARK, ("later", b"transform")]) != original


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([("h", b"x"), MARK, MARK], id="marked twice"),
        pytest.param([("h", b"x"), ("from-east", b"true")], id="a mark with a value is not the guard's"),
        pytest.param([("h", b"y"), MARK], id="another header"),
        pytest.param([MARK], id="a header that was dropped"),
    ],
)
def test_any_other_change_makes_a_replicated_record_differ(spark: SparkSession, changed: Headers) -> None:
    assert seen(spark, TARGET, changed) != seen(spark, SOURCE, [("h", b"x")])


@pytest.mark.parametrize(
    ("side", "headers", "role"),
    [
        pytest.param(SOURCE, None, COMPARED, id="written on the source"),
        pytest.param(SOURCE, [("h", b"x"), MARK_BACK], ASIDE, id="came to the source from the target"),
        pytest.param(TARGET, None, ASIDE, id="written on the target"),
        pytest.param(TARGET, [MARK_BACK], ASIDE, id="written on the target with its own mark by hand"),
        pytest.param(TARGET, [MARK], COMPARED, id="replicated"),
        pytest.param(TARGET, [MARK_BACK, ("h", None), MARK], LOOPED, id="replicated both ways"),
    ],
)
def test_marks_decide_the_role_of_a_record(spark: SparkSession, side: str, headers: Headers | None, role: str) -> None:
    assert seen(spark, side, headers)[0] == role
    assert role_of(side, GUARD, headers or []) == role


def test_without_a_guard_marks_are_headers_like_any_other(spark: SparkSession) -> None:
    assert seen(spark, TARGET, [MARK], None) == seen(spark, SOURCE, [MARK], None)
    assert seen(spark, TARGET, [MARK], None) != seen(spark, SOURCE, [], None)


def test_records_that_are_not_compared_are_counted_but_left_out_of_the_sums(spark: SparkSession) -> None:
    rows = [
        (None, None, "ledger", 0, number, NOW, headers)
        for number, headers in enumerate([[MARK], [MARK, MARK_BACK], [MARK_BACK], None])
    ]
    frame = digests.digest_frame(spark.createDataFrame(rows, _RECORDS), TARGET, GUARDED)
    (row,) = digests.partition_sums(frame).collect()
    assert (row.records, row.looped, row.aside) == (1, 1, 2)
    alone = digests.digest_frame(spark.createDataFrame(rows[:1], _RECORDS), TARGET, GUARDED)
    (only,) = digests.partition_sums(alone).collect()
    assert (row.low, row.high) == (only.low, only.high)


def test_only_compared_records_are_paired_and_unmarked_ones_are_noted(spark: SparkSession) -> None:
    rows = [
        (SOURCE, COMPARED, 1, 10),
        (SOURCE, ASIDE, 2, 11),
        (TARGET, LOOPED, 3, 12),
        (TARGET, ASIDE, 4, 13),
        (SOURCE, COMPARED, 5, 14),
        (TARGET, ASIDE, 5, 15),
    ]
    frame = spark.createDataFrame(rows, "side string, role string, digest bigint, offset bigint").selectExpr(
        "*", "'ledger' as topic", "0 as partition", "0L as time_ms"
    )
    pairs = paired(frame)
    found = {row.digest: (row.source_offset, row.target_offset, row.unmarked_offset) for row in pairs.collect()}
    assert found == {1: (10, None, None), 5: (14, None, 15)}
    judged = spark.createDataFrame([("ledger", 0, 99, 0)], _JUDGED)
    kinds = {row.kind: row.records for row in differing_records(pairs, judged).collect()}
    assert kinds == {"missing": 1, "unmarked": 1}


@pytest.mark.parametrize(
    ("arrived", "expected"),
    [
        pytest.param([(TARGET, COMPARED, 7, 17)], {"before-start": 2, "unmarked": 1}, id="a marked record arrived"),
        pytest.param([], {"missing": 4}, id="no marked record arrived"),
    ],
)
def test_records_that_both_sides_had_before_the_start_need_no_mark(
    spark: SparkSession, arrived: list[tuple[str, str, int, int]], expected: dict[str, int]
) -> None:
    """The clusters were mirrored before the pair: the guard marks only records that it replicates."""
    rows = [(SOURCE, COMPARED, digest, digest) for digest in (5, 6, 7, 8)]
    rows += [(TARGET, ASIDE, digest, digest) for digest in (5, 6, 8)]
    frame = spark.createDataFrame([*rows, *arrived], "side string, role string, digest bigint, offset bigint")
    frame = frame.selectExpr("*", "'ledger' as topic", "0 as partition", "0L as time_ms")
    judged = spark.createDataFrame([("ledger", 0, 99, None)], _JUDGED)
    found = differing_records(paired(frame, newest_first=True), judged).collect()
    assert {row.kind: row.records for row in found} == expected


def test_a_record_of_a_ring_has_the_same_digest_in_every_round(spark: SparkSession) -> None:
    rows = [
        (b"k", b"v", "ledger", 0, number, NOW, headers)
        for number, headers in enumerate([[("h", b"x")], [("h", b"x"), MARK], [MARK, ("h", b"x"), MARK], [MARK]])
    ]
    frame = digests.unmarked_digests(spark.createDataFrame(rows, _RECORDS), SOURCE, ["from-east"])
    once, twice, thrice, other = [row.digest for row in sorted(frame.collect(), key=lambda row: int(row.offset))]
    assert once == twice == thrice != other


def test_new_records_are_distinguished_from_copies_by_partition(spark: SparkSession) -> None:
    rows = [(SOURCE, "ledger", 0, offset, digest) for offset, digest in enumerate([7, 7, 8, 7, 9, 9, 8])]
    rows += [(SOURCE, "ledger", 1, 5, 7), (TARGET, "ledger", 0, 5, 7)]
    frame = spark.createDataFrame(rows, "side string, topic string, partition int, offset bigint, digest bigint")
    ends = spark.createDataFrame(
        [(SOURCE, "ledger", 0, 3), (SOURCE, "ledger", 1, 5), (TARGET, "ledger", 0, 6)],
        "side string, topic string, partition int, seen_end bigint",
    )
    found = {
        (row.side, row.partition): (row.records, row.distinct, row.new, row.returned)
        for row in digests.returned(frame, ends).collect()
    }
    assert found == {(SOURCE, 0): (7, 3, 4, 2), (SOURCE, 1): (1, 1, 1, 0), (TARGET, 0): (1, 1, 0, 0)}


@pytest.mark.parametrize("side", [SOURCE, TARGET])
@pytest.mark.parametrize("guard", [None, GUARD], ids=["no guard", "guarded"])
@pytest.mark.parametrize("changed", [(), ("h",)], ids=["none changed", "one changed"])
def test_python_and_spark_compare_the_same_headers(
    spark: SparkSession, side: str, guard: GuardParameters | None, changed: Sequence[str]
) -> None:
    """Proofs of offsets compare records in Python, and parity compares them in Spark: both must use the same rule."""
    known = [MARK, ("from-east", b"v"), MARK_BACK, ("from-west", b""), ("h", None)]
    lists = [list(each) for size in range(4) for each in itertools.product(known, repeat=size)]
    rows = [(None, None, "ledger", 0, number, NOW, headers) for number, headers in enumerate(lists)]
    frame = spark.createDataFrame(rows, _RECORDS)
    compared = digests.without_headers(changed, digests.header_column(side, guard))
    found = frame.select("offset", compared.alias("compared")).orderBy(F.col("offset")).collect()
    expected = [list(compared_headers(side, guard, changed, headers)) for headers in lists]
    assert [[(each.key, each.value) for each in row.compared] for row in found] == expected
