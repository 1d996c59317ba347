"""The newest record of each key of a compacted topic, on both sides."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_replication.spark.read.digests import ASIDE, COMPARED, SOURCE, TARGET
from kafka_replication.spark.read.pairs import newest_by_key

_DIGESTS = (
    "side string, role string, topic string, partition int, offset bigint, time_ms bigint, digest bigint, "
    "key_digest bigint, tombstone boolean"
)
_JUDGED = "topic string, partition int, judged_end bigint, started bigint"
#: Each record is a key, an offset and a value; None is a tombstone.
Log = list[tuple[str | None, int, str | None]]


def found(
    spark: SparkSession, source: Log, target: Log, started: int | None = 0, aside: str = ""
) -> dict[str, tuple[int, int]]:
    """Kind -> number of keys and the offset of the first. The key `aside` is also written on the target itself."""
    rows: list[tuple[Any, ...]] = [
        (side, COMPARED, "orders", 0, at, at, hash((key, value)), None if key is None else hash(key), value is None)
        for side, log in ((SOURCE, source), (TARGET, target))
        for key, at, value in log
    ]
    rows += [(TARGET, ASIDE, "orders", 0, 200, 200, 7, hash(aside), False)] if aside else []
    judged = spark.createDataFrame([("orders", 0, 100, started)], _JUDGED)
    frame = newest_by_key(spark.createDataFrame(rows, _DIGESTS), judged)
    return {row.kind: (row.records, row.first) for row in frame.collect()}


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        pytest.param([("a", 1, "x"), ("a", 5, "y")], [("a", 2, "y")], {}, id="the target has compacted further"),
        pytest.param([("a", 5, "y")], [("a", 0, "x"), ("a", 2, "y")], {}, id="the source has compacted further"),
        pytest.param([("a", 1, "x"), ("a", 5, "y")], [("a", 0, "x")], {"newest-outdated": (1, 5)}, id="an older value"),
        pytest.param([("a", 1, "x"), ("b", 2, "x")], [("a", 0, "x")], {"newest-missing": (1, 2)}, id="a missing key"),
        pytest.param([("a", 1, "x"), ("a", 5, None)], [("a", 0, "x")], {"newest-undeleted": (1, 5)}, id="no tombstone"),
        pytest.param([("a", 1, "x")], [("a", 0, "x"), ("a", 1, None)], {"newest-outdated": (1, 1)}, id="deleted there"),
        pytest.param([("a", 5, None)], [], {}, id="both have deleted the key"),
        pytest.param([], [("a", 5, None)], {}, id="the source's tombstone has expired"),
        pytest.param([], [("a", 5, "x")], {"newest-foreign": (1, 5)}, id="the source has no such key"),
        pytest.param([("a", 1, "x"), ("a", 100, "y")], [("a", 0, "y")], {}, id="a newer value has arrived meanwhile"),
        pytest.param([("a", 100, "y")], [("a", 0, "x")], {}, id="the key is being written again"),
        pytest.param([(None, 1, "x")], [(None, 2, "y")], {}, id="records without a key"),
    ],
)  # fmt: skip
def test_only_the_newest_record_of_each_key_is_compared(
    spark: SparkSession, source: Log, target: Log, kinds: dict[str, tuple[int, int]]
) -> None:
    assert found(spark, source, target) == kinds


def test_a_key_from_before_the_start_need_not_be_on_the_target(spark: SparkSession) -> None:
    old: Log = [("a", 4, "x")]
    assert found(spark, old, [], started=5) == {}
    assert found(spark, old, [], started=4) == {"newest-missing": (1, 4)}
    assert found(spark, old, [], started=None) == {"newest-unproven": (1, 4)}


def test_a_difference_in_a_key_that_is_written_on_both_sides_is_not_proven(spark: SparkSession) -> None:
    """The target's own record may have replaced the one that was replicated."""
    assert found(spark, [("a", 4, "x")], [], aside="a") == {"newest-unproven": (1, 4)}
    assert found(spark, [("a", 4, "x")], [("a", 4, "x")], aside="a") == {}
