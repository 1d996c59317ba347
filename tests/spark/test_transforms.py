"""Digests, sums and differences of frames with a few literal rows."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_replication.spark.checks.parity.sums import Sums, same_places
from kafka_replication.spark.read.digests import SOURCE, TARGET, digest_frame, sums_by_side, uncommitted
from kafka_replication.spark.read.pairs import differing_records, out_of_turn, paired, reordered
from tests.spark.documents import a_flow
from tests.spark.summed import sums_of_sides

NOW = datetime(2026, 1, 2, tzinfo=UTC)
_RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
_JUDGED = "topic string, partition int, judged_end bigint, started bigint"
Headers = list[tuple[str, bytes | None]] | None


def digest(
    spark: SparkSession,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: Headers = None,
    at: datetime = NOW,
) -> int:
    rows = [(key, value, "orders", 0, 0, at, headers)]
    (row,) = digest_frame(spark.createDataFrame(rows, _RECORDS), SOURCE, a_flow()).collect()
    found = row.digest
    assert isinstance(found, int)
    return found


def test_the_code_that_spark_generates_for_one_side_serves_the_other(spark: SparkSession) -> None:
    """Otherwise the JVM compiles the same code twice, which takes longer than hashing a million records."""
    compiling = spark.newSession()
    compiling.conf.set("spark.sql.codegen.wholeStage", "true")
    compiling.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    records = compiling.createDataFrame([(b"k", b"v", "orders", 0, 0, NOW, None)], _RECORDS)
    frame = sums_by_side({side: digest_frame(records, side, a_flow(), own_names=True) for side in (SOURCE, TARGET)})
    plan: Any = frame._jdf.queryExecution().executedPlan()
    assert compiling._jvm is not None
    debug: Any = compiling._jvm.org.apache.spark.sql.execution.debug
    # `package` is a keyword of Java, so py4j finds it only by name.
    stages = str(getattr(debug, "package").codegenString(plan)).split("Generated code:")[1:]  # noqa: B009
    # Spark's cache of compiled classes compares them without comments.
    codes = {re.sub(r"codegenStageId=\d+|\n== Subtree (?s:.*)", "", code).strip() for code in stages}
    assert (len(stages), len(codes)) == (4, 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"key": None}, {"key": b""}, id="null key and empty key"),
        pytest.param({"value": None}, {"value": b""}, id="null value and empty value"),
        pytest.param({"key": None, "value": b"x"}, {"key": b"x", "value": None}, id="a value that became a key"),
        pytest.param(
            {"key": b"ab", "value": b"c"}, {"key": b"a", "value": b"bc"}, id="a byte that moved from key to value"
        ),
        pytest.param({"at": NOW}, {"at": NOW.replace(microsecond=1000)}, id="a millisecond"),
        pytest.param({"headers": [("a", None)]}, {"headers": [("a", b"")]}, id="null header and empty header"),
        pytest.param({"headers": [("a", b"1")]}, {"headers": None}, id="a header that was dropped"),
        pytest.param(
            {"headers": [("a", b"1"), ("b", b"2")]},
            {"headers": [("b", b"2"), ("a", b"1")]},
            id="headers in other order",
        ),
        pytest.param(
            {"headers": [("a", None), ("b", b"x")]}, {"headers": [("a", b"b"), ("x", None)]}, id="a null that moved"
        ),
        pytest.param({"headers": [("a", None)]}, {"headers": [("a", b"null")]}, id="null and the word null"),
    ],
)
def test_records_that_differ_have_different_digests(
    spark: SparkSession, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert digest(spark, **one) != digest(spark, **other)


def test_null_headers_and_empty_headers_have_the_same_digest(spark: SparkSession) -> None:
    assert digest(spark, headers=None) == digest(spark, headers=[])


def test_records_of_the_target_have_the_sources_topic_name(spark: SparkSession) -> None:
    rows = [(b"k", b"v", "useast.orders", 1, 7, NOW, None)]
    (row,) = digest_frame(spark.createDataFrame(rows, _RECORDS), TARGET, a_flow()).collect()
    assert (row.side, row.topic, row.partition, row.offset) == (TARGET, "orders", 1, 7)


def digests(spark: SparkSession, source: list[tuple[int, int]], target: list[tuple[int, int]]) -> DataFrame:
    """(offset, digest) of both sides of one partition, all of them compared."""
    rows = [(SOURCE, "orders", 0, *row) for row in source] + [(TARGET, "orders", 0, *row) for row in target]
    frame = spark.createDataFrame(rows, "side string, topic string, partition int, offset bigint, digest bigint")
    return frame.selectExpr("*", "offset * 10 as time_ms", "'compared' as role")


def test_sums_ignore_the_order_and_count_every_copy(spark: SparkSession) -> None:
    big = -(2**63)
    frame = digests(spark, [(0, 5), (1, -1), (2, big)], [(7, big), (8, 5), (9, -1)])
    source, target = sums_of_sides(frame)
    assert (source.records, source.low, source.high) == (target.records, target.low, target.high)
    twice = sums_of_sides(digests(spark, [(0, 5), (1, 5)], [(0, 5), (1, 6)]))
    assert len({(row.low, row.high) for row in twice}) == 2


@pytest.mark.parametrize(
    ("target", "found"),
    [
        pytest.param([(0, 5), (1, 6), (2, 7), (3, 8)], [], id="the same order"),
        pytest.param([(0, 7), (1, 8), (2, 5), (3, 6)], [(2, 2, 3)], id="two blocks are swapped"),
        pytest.param([(0, 8), (1, 7), (2, 6), (3, 5)], [(3, 1, 3)], id="reversed"),
        pytest.param([(0, 6), (1, 7), (2, 8), (3, 5)], [(1, 0, 0)], id="one moved to the end"),
        pytest.param([(0, 8), (1, 5), (2, 6), (3, 7)], [(1, 3, 3)], id="one moved to the beginning"),
        pytest.param([(0, 5), (1, 6), (2, 5), (3, 6), (4, 7), (5, 8)], [], id="a restarted task sent two again"),
        pytest.param([(0, 5), (3, 6), (9, 8)], [], id="markers, and one that is missing"),
    ],
)
def test_reordered_records_are_distinguished_from_records_that_were_sent_again(
    spark: SparkSession, target: list[tuple[int, int]], found: list[tuple[int, int, int]]
) -> None:
    """A consumer that moves to its translated offset would skip the block that now comes before it."""
    pairs = paired(digests(spark, [(0, 5), (1, 6), (2, 7), (3, 8)], target))
    rows = reordered(pairs).collect()
    assert [(row.records, row.first, row.last) for row in rows] == found


@pytest.mark.parametrize(
    ("target", "found"),
    [
        pytest.param([5, 6, 7, 8, 9], [], id="each record once"),
        pytest.param([5, 6, 7, 5, 8, 9], [("copied-out-of-turn", 1, 3, 3)], id="one old record between newer ones"),
        pytest.param([5, 6, 7, 8, 5, 6, 9], [("copied-out-of-turn", 1, 5, 5)], id="an old block between newer ones"),
        pytest.param([5, 6, 7, 6, 7, 8, 9], [], id="a restarted task sent two again"),
        pytest.param([5, 6, 7, 8, 5, 6, 7, 6, 7, 8, 9], [], id="restarted while it sent records again"),
        pytest.param(
            [5, 6, 7, 8, 9, 5, 6], [("copied-at-end", 3, 6, 6)], id="a restarted task that has not caught up yet"
        ),
        pytest.param(
            [5, 6, 7, 5, 8, 9, 6],
            [("copied-out-of-turn", 1, 3, 3), ("copied-at-end", 4, 6, 6)],
            id="two old records, one of them at the end",
        ),
        pytest.param([5, 6, 7, 5, 8, 6, 9, 7, 8, 9], [], id="the old task went on beside the new one"),
        pytest.param([5, 5, 6, 7, 7, 8, 9], [], id="the producer sent a batch twice"),
        pytest.param([5, 7, 8, 5, 7, 8, 9], [], id="one is missing where records were sent again"),
        pytest.param([5, 6, 77, 5, 77, 6, 7, 8, 9], [], id="records that the source does not hold"),
        pytest.param([5, 4, 6, 4, 7, 4, 8, 9], [], id="records that the source holds twice"),
    ],
)
def test_old_records_between_newer_ones_are_distinguished_from_records_that_were_sent_again(
    spark: SparkSession, target: list[int], found: list[tuple[str, int, int, int]]
) -> None:
    """A consumer of the target that keeps the newest value of a key would end with an old one."""
    source = [(0, 5), (1, 4), (2, 6), (3, 4), (4, 7), (5, 8), (6, 9)]
    frame = digests(spark, source, list(enumerate(target)))
    for newest_first in (False, True):
        rows = out_of_turn(paired(frame, newest_first)).collect()
        assert [(row.kind, row.records, row.first, row.last) for row in rows] == found


def test_sums_over_offsets_show_whether_equal_records_are_in_the_same_order(spark: SparkSession) -> None:
    big = -(2**63)
    there, turned = [(7, big), (8, -1), (9, 5)], [(7, 5), (8, -1), (9, big)]
    for target, same in ((there, True), (turned, False)):
        rows = sums_of_sides(digests(spark, [(0, big), (1, -1), (2, 5)], target))
        by_side = {
            row.side: Sums(row.records, row.low, row.high, 0, 0, 0, 0, row.low_placed, row.high_placed, row.first)
            for row in rows
        }
        assert by_side[SOURCE] == by_side[TARGET]
        assert same_places(by_side[SOURCE], by_side[TARGET]) is same


def test_only_a_name_that_looks_like_heartbeats_loses_the_prefix_under_the_identity_policy(spark: SparkSession) -> None:
    names = ["useast.orders", "useast.device-heartbeats"]
    frame = spark.createDataFrame([(b"k", b"v", name, 0, 0, NOW, None) for name in names], _RECORDS)
    found = digest_frame(frame, TARGET, a_flow(policy="identity")).collect()
    assert [row.topic for row in found] == ["useast.orders", "device-heartbeats"]


def differences(
    spark: SparkSession,
    source: list[tuple[int, int]],
    target: list[tuple[int, int]],
    judged_end: int = 1000,
    started: int | None = 0,
) -> dict[str, tuple[int, int, int]]:
    judged = spark.createDataFrame([("orders", 0, judged_end, started)], _JUDGED)
    pairs = paired(digests(spark, source, target), newest_first=started != 0)
    found = differing_records(pairs, judged).collect()
    return {row.kind: (row.records, row.first, row.last) for row in found}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        pytest.param([(0, 1), (1, 2)], [(5, 2), (6, 1)], {}, id="equal in another order"),
        pytest.param([(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 3)], {"missing-hole": (1, 1, 1)}, id="a hole"),
        pytest.param([(0, 1), (1, 2), (2, 3)], [(0, 1)], {"missing-tail": (2, 1, 2)}, id="a tail"),
        pytest.param([(0, 1), (1, 2)], [(0, 2)], {"missing-head": (1, 0, 0)}, id="a head"),
        pytest.param([(0, 1)], [(0, 1), (1, 9)], {"extra": (1, 1, 1)}, id="a foreign record"),
        pytest.param([(0, 1)], [(0, 8), (1, 1)], {"extra-head": (1, 0, 0)}, id="a record from before the log start"),
        pytest.param([(0, 1)], [(0, 1), (1, 1)], {"duplicated": (1, 1, 1)}, id="a duplicate"),
        pytest.param([(0, 1), (1, 1)], [(0, 1), (1, 1)], {}, id="twins on both sides"),
        pytest.param([(0, 1), (1, 1)], [(0, 1)], {"missing-tail": (1, 1, 1)}, id="one of two twins"),
        pytest.param([(0, 1)], [(0, 2)], {"missing": (1, 0, 0), "extra": (1, 0, 0)}, id="nothing is equal"),
        pytest.param([], [(0, 2)], {"extra": (1, 0, 0)}, id="an empty source"),
    ],
)
def test_every_kind_of_difference_is_distinguished(
    spark: SparkSession,
    source: list[tuple[int, int]],
    target: list[tuple[int, int]],
    expected: dict[str, tuple[int, int, int]],
) -> None:
    assert differences(spark, source, target) == expected


def test_a_record_that_the_source_aborted_is_not_reported_as_extra(spark: SparkSession) -> None:
    """The committed record explains one copy on the target, the aborted one the other."""
    both = digests(spark, [(0, 1), (3, 3)], [(0, 1), (1, 2), (2, 1), (3, 3), (4, 9)])
    everything = uncommitted(digests(spark, [(0, 1), (1, 2), (2, 1), (3, 3)], []))
    judged = spark.createDataFrame([("orders", 0, 99, 0)], _JUDGED)
    found = differing_records(paired(both.unionByName(everything)), judged).collect()
    assert {row.kind: (row.records, row.first, row.last) for row in found} == {"aborted": (2, 1, 2), "extra": (1, 4, 4)}


def test_records_that_may_still_be_on_their_way_are_not_judged(spark: SparkSession) -> None:
    assert differences(spark, [(0, 1), (1, 2), (2, 3)], [(0, 1)], judged_end=2) == {"missing-tail": (1, 1, 1)}


@pytest.mark.parametrize(
    ("source", "target", "started", "expected"),
    [
        pytest.param([(0, 1), (1, 2)], [(0, 2)], None, {"before-start": (1, 0, 0)}, id="the first copy shows it"),
        pytest.param([(0, 1), (1, 2), (2, 3)], [(0, 3)], 1, {"before-start": (1, 0, 0), "missing-head": (1, 1, 1)},
                     id="a sync shows that the first replicated records have expired"),
        pytest.param([(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 2), (1, 4)], None,
                     {"before-start": (1, 0, 0), "missing-hole": (1, 2, 2)}, id="a hole after the start"),
        pytest.param([(0, 1), (1, 2), (2, 3)], [(0, 2)], None,
                     {"before-start": (1, 0, 0), "missing-tail": (1, 2, 2)}, id="a tail"),
        pytest.param([(0, 1), (1, 2)], [], None, {"missing": (2, 0, 1)}, id="nothing arrived"),
        pytest.param([(0, 1), (1, 2)], [], 1, {"before-start": (1, 0, 0), "missing": (1, 1, 1)},
                     id="a sync shows the start, but the target is empty"),
        pytest.param([(0, 7), (1, 2), (2, 7)], [(0, 7)], None, {"before-start": (2, 0, 1)},
                     id="a twin from before the start is not the one that arrived"),
    ],
)  # fmt: skip
def test_records_before_the_start_are_distinguished_from_missing_ones(
    spark: SparkSession,
    source: list[tuple[int, int]],
    target: list[tuple[int, int]],
    started: int | None,
    expected: dict[str, tuple[int, int, int]],
) -> None:
    assert differences(spark, source, target, started=started) == expected


def test_the_times_of_a_side_are_those_of_its_compared_records(spark: SparkSession) -> None:
    frame = digests(spark, [(3, 5), (4, 6)], []).selectExpr(
        "* except (role)", "if(offset = 3, 'aside', 'compared') as role"
    )
    (row,) = sums_of_sides(frame)
    assert (row.oldest_ms, row.newest_ms) == (40, 40)


def test_samples_are_limited_to_twenty_but_all_records_are_counted(spark: SparkSession) -> None:
    frame = digests(spark, [(0, 1)], [(0, 1), *((offset, 100 + offset) for offset in range(1, 31))])
    judged = spark.createDataFrame([("orders", 0, 99, 0)], _JUDGED)
    (row,) = differing_records(paired(frame), judged).collect()
    assert (row.kind, row.records, [sample.offset for sample in row.samples]) == ("extra", 30, list(range(1, 21)))
