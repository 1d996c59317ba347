"""Records with a guard's mark that no guard appended, found among literal records of both sides of a pair."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from kafka_replication.components.contract.parameters import GuardParameters
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.checks.loops import mark_findings
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.read import digests
from kafka_replication.spark.read.digests import SOURCE, TARGET
from kafka_replication.spark.read.pairs import MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND, marked_elsewhere
from tests.spark.documents import a_flow

GUARD = GuardParameters(filter="from-west", mark="from-east")
GUARDED = a_flow(policy="identity").model_copy(update={"guard": GUARD})
OUT, BACK = ("from-east", None), ("from-west", None)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
_RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
Headers = list[tuple[str, bytes | None]]
#: Each record is its value and its headers; its offset is its place in the list.
Log = list[tuple[bytes, Headers]]


def found(spark: SparkSession, east: Log, west: Log, starts: tuple[int, int] = (0, 0)) -> dict[str, tuple[int, int]]:
    """Kind -> number of records and offset of the first, for the direction east -> west."""
    frames = []
    for side, log in ((SOURCE, east), (TARGET, west)):
        rows = [(None, value, "ledger", 0, offset, NOW, headers) for offset, (value, headers) in enumerate(log)]
        frames.append(digests.digest_frame(spark.createDataFrame(rows, _RECORDS), side, GUARDED))
    logs = spark.createDataFrame(
        [("ledger", 0, *starts)], "topic string, partition int, source_start bigint, target_start bigint"
    )
    marked = marked_elsewhere(frames[0].unionByName(frames[1]), logs).collect()
    return {row.kind: (row.records, row.first) for row in marked}


@pytest.mark.parametrize(
    ("east", "west", "starts", "kinds"),
    [
        pytest.param([(b"1", []), (b"2", [BACK])], [(b"2", []), (b"1", [OUT])], (0, 0), {}, id="a pair at work"),
        pytest.param([(b"1", [BACK])], [], (0, 0), {MARKED_ON_SOURCE: (1, 0)}, id="a user's record with the mark"),
        pytest.param(
            [(b"1", [BACK, OUT])], [], (0, 0), {MARKED_ON_SOURCE: (1, 0)}, id="a user's record with both marks"
        ),
        pytest.param([], [(b"1", [BACK, OUT])], (0, 0), {MARKED_ON_TARGET: (1, 0)}, id="both marks on the target"),
        pytest.param(
            [(b"1", [BACK])], [(b"1", []), (b"1", [BACK, OUT])], (0, 0), {WENT_ROUND: (1, 1)}, id="a record that looped"
        ),
        pytest.param([(b"1", []), (b"1", [OUT, BACK])], [(b"1", [OUT])], (0, 0), {}, id="it looped the other way"),
        pytest.param([], [(b"1", [BACK, OUT])], (4, 0), {WENT_ROUND: (1, 0)}, id="expired in between"),
        pytest.param(
            [(b"1", [BACK]), (b"2", [BACK])], [(b"2", [])], (0, 7), {}, id="the original has expired on the target"
        ),
        pytest.param(
            [(b"2", [BACK]), (b"1", [BACK])],
            [(b"2", [])],
            (0, 7),
            {MARKED_ON_SOURCE: (1, 1)},
            id="younger than what the target still holds",
        ),
    ],
)
def test_a_mark_that_no_guard_appended_is_distinguished_from_a_guards_mark(
    spark: SparkSession, east: Log, west: Log, starts: tuple[int, int], kinds: dict[str, tuple[int, int]]
) -> None:
    assert found(spark, east, west, starts) == kinds


def test_each_kind_of_foreign_mark_has_its_own_message() -> None:
    at = TopicPartition("ledger", 0)
    kinds = (MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND)
    marked = [Difference(at, kind, 2, 5, 6) for kind in kinds]
    findings = mark_findings(marked, GUARD, "useast", "uswest")
    assert mark_findings(marked[::-1], GUARD, "useast", "uswest") == findings, "Spark returns them in any order"
    assert [(each.code, each.count) for each in findings] == [
        ("marked-elsewhere", 2),
        ("marked-elsewhere", 2),
        ("records-loop", 2),
    ]
    assert findings[0].message == (
        "ledger: 2 records on useast carry the mark of uswest (from-west), but uswest has no such record. The guard "
        "treats them as copies, so they are never replicated to uswest (partition 0 offsets 5 to 6)"
    )
    assert "uswest -> useast -> uswest" in findings[2].message
