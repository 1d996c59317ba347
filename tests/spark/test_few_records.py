"""Python computes the sums of a few records: they agree with Spark's, so a small flow needs no Spark."""

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_replication.components.clients.errors import ClusterErrors
from kafka_replication.components.contract.parameters import GuardParameters
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.checks.parity import sums
from kafka_replication.spark.checks.parity.sums import BySide, Sums, are_few, record_sums, same_places
from kafka_replication.spark.job import Options, check_flow
from kafka_replication.spark.read import digests
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.digests import SOURCE, TARGET
from kafka_replication.spark.read.frames import LeftToSparkError
from kafka_replication.spark.read.sessions import Spark
from tests.spark.documents import a_flow
from tests.spark.outcomes import Check
from tests.spark.scenes import Scene

SCENES = 300
BEGAN = datetime(1970, 1, 1, tzinfo=UTC)
GUARD = GuardParameters(filter="from-west", mark="from-east")
_RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
#: Contents that a careless digest would confuse.
BYTES = (None, b"", b"null", b"\xff\x00\n\x1b")
NAMES = ("h", "i", "null", "", 'ü😀"\\', "a\x00b", "from-east", "from-west")
TIMES = (-1, 0, 1, 1_800_000_000_123)
RECORD = KafkaRecord(TopicPartition("orders", 0), 5, 7, b"k", b"value", [("h", b"x")])


def a_record(draw: random.Random) -> KafkaRecord:
    headers = [(draw.choice(NAMES), draw.choice(BYTES)) for _ in range(draw.choice((0, 0, 1, 2, 3)))]
    return RECORD._replace(
        time_ms=draw.choice(TIMES), key=draw.choice(BYTES), value=draw.choice(BYTES), headers=headers
    )


def changed(draw: random.Random, record: KafkaRecord) -> KafkaRecord:
    """The record with one field replaced, sometimes by the same content."""
    match draw.choice(("key", "value", "time", "headers", "headers")):
        case "key":
            return record._replace(key=draw.choice(BYTES))
        case "value":
            return record._replace(value=draw.choice(BYTES))
        case "time":
            return record._replace(time_ms=draw.choice(TIMES))
        case _:
            (name, value), *others = record.headers or [(draw.choice(NAMES), draw.choice(BYTES))]
            rename = draw.random() < 0.5
            new = (draw.choice(NAMES), value) if rename else (name, draw.choice(BYTES))
            return record._replace(headers=[new, *others])


def unreadable() -> Iterator[KafkaRecord]:
    yield RECORD
    raise ClusterErrors("useast", "127.0.0.1:9092").unreadable_header("orders-0 at 6")


def at_offsets(draw: random.Random, scene: int, records: Sequence[KafkaRecord]) -> list[KafkaRecord]:
    """The records at ascending offsets, sometimes with a gap."""
    begin, gaps = draw.choice((0, 3, 2**40)), draw.choice((0, 0, 2))
    offsets = sorted(draw.sample(range(begin, begin + len(records) + gaps), len(records)))
    partition = TopicPartition("orders", scene)
    return [each._replace(partition=partition, offset=at) for each, at in zip(records, offsets, strict=True)]


def two_logs(draw: random.Random, scene: int, *, guarded: bool) -> dict[str, list[KafkaRecord]]:
    source = [a_record(draw) for _ in range(draw.randint(0, 5))]
    if source and draw.random() < 0.2:
        source.append(source[0])
    mark = [(GUARD.mark, None)] if guarded else []
    target = [each._replace(headers=[*each.headers, *mark]) for each in source]
    if target:
        at = draw.randrange(len(target))
        match draw.choice(("nothing", "changed", "changed", "changed", "dropped", "again", "swapped", "its own")):
            case "changed":
                target[at] = changed(draw, target[at])
            case "dropped":
                del target[at]
            case "again":
                target.append(target[at])
            case "swapped":
                target = [*target[at:], *target[:at]]
            case "its own":
                target.insert(at, a_record(draw))
            case _:
                pass
    return {SOURCE: at_offsets(draw, scene, source), TARGET: at_offsets(draw, scene, target)}


def sums_by_spark(
    spark: SparkSession, logs: Mapping[str, Sequence[KafkaRecord]], guard: GuardParameters | None, apart: Sequence[str]
) -> BySide:
    frames = {}
    for side, records in logs.items():
        rows = [
            (each.key, each.value, *each.partition, each.offset, BEGAN + timedelta(milliseconds=each.time_ms),
             [*each.headers] or None)
            for each in records
        ]  # fmt: skip
        frame = spark.createDataFrame(rows, _RECORDS)
        flow = a_flow(policy="identity").model_copy(update={"guard": guard, "changed_headers": tuple(apart)})
        frames[side] = digests.digest_frame(frame, side, flow)
    found: BySide = {SOURCE: {}, TARGET: {}}
    for row in digests.sums_by_side(frames).collect():
        values = row.asDict()
        side, place = values.pop("side"), TopicPartition(values.pop("topic"), values.pop("partition"))
        found[side][place] = Sums(**values)
    return found


def conclusions(source: Sums, target: Sums) -> dict[str, Any]:
    """Everything that the job concludes from the sums of both sides."""
    came, wrote = ((each.aside, each.low_aside, each.high_aside) for each in (source, target))
    return {
        "equal": source == target,
        "in the same places": source == target and same_places(source, target),
        "came from there": came == wrote,
        "counted": [
            (each.records, each.aside, each.looped, each.filtered, each.oldest_ms, each.newest_ms, each.first)
            for each in (source, target)
        ],
    }


@pytest.mark.parametrize("guard", [None, GUARD], ids=["no guard", "guarded"])
@pytest.mark.parametrize("apart", [(), ("h", "null")], ids=["all headers", "headers left out"])
def test_python_and_spark_agree_about_both_sides(
    spark: SparkSession, guard: GuardParameters | None, apart: tuple[str, ...]
) -> None:
    draw = random.Random(12)
    scenes = [two_logs(draw, scene, guarded=guard is not None) for scene in range(SCENES)]
    logs = {side: [record for scene in scenes for record in scene[side]] for side in (SOURCE, TARGET)}
    changes = {"guard": guard.model_dump() if guard else None, "changedHeaders": list(apart)}
    flow = a_flow(**changes)
    assert (flow.guard, tuple(flow.changed_headers)) == (guard, apart)
    in_python = {side: record_sums(records, side, flow) for side, records in logs.items()}
    in_spark = sums_by_spark(spark, logs, guard, apart)
    seen = []
    for scene in range(SCENES):
        at = TopicPartition("orders", scene)
        one, other = (
            conclusions(found[SOURCE].get(at, Sums()), found[TARGET].get(at, Sums())) for found in (in_python, in_spark)
        )
        assert one == other, scenes[scene]
        seen.append((one["equal"], one["in the same places"], one["came from there"]))
    assert {each[:2] for each in seen} == {(True, True), (True, False), (False, False)}
    assert guard is None or {each[2] for each in seen} == {True, False}


def test_a_header_with_an_undecodable_name_is_left_to_spark() -> None:
    """Java and Python replace such bytes with different characters."""
    flow = a_flow()
    with pytest.raises(LeftToSparkError):
        record_sums(unreadable(), SOURCE, flow)


def test_records_that_are_too_large_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = a_flow()
    records = [RECORD._replace(value=b"v" * 300, headers=()) for _ in range(2)]
    monkeypatch.setattr(sums, "AT_MOST_BYTES", 700)
    assert len(record_sums(records, SOURCE, flow)) == 1
    monkeypatch.setattr(sums, "AT_MOST_BYTES", 600)
    with pytest.raises(LeftToSparkError):
        record_sums(records, SOURCE, flow)


def test_both_sides_together_decide_whether_records_are_few() -> None:
    flow = a_flow()
    half = sums.AT_MOST_RECORDS // 2
    ranges = [{TopicPartition("t", 0): OffsetRange(7, 7 + size)} for size in (half, half + 1)]
    assert are_few(flow, ranges[0], ranges[0])
    assert not are_few(flow, *ranges)


def test_a_flow_with_a_topic_filter_is_left_to_spark() -> None:
    """Its pattern is a regular expression of Java."""
    drops = [{"by": "topic", "value": "orders.*", "negate": False}]
    assert not are_few(a_flow(drops=drops))


def test_a_small_flow_passes_without_a_session(check: Check, started: Spark, endpoints: Endpoints) -> None:
    assert check
    assert started
    scene = Scene(endpoints, "fewer").replicate()
    scene.translate("fewer-a", 45, 41)

    def refused() -> SparkSession:
        raise AssertionError("a session starts")

    outcome = check_flow(scene.parameters(), Spark(refused), resolver(), Options(catch_up_seconds=2))
    assert outcome.verdict is Verdict.PASS
    (parity,) = (each for each in outcome.checks if each.name == "parity")
    assert (parity.counts["sourceRecords"], parity.counts["agreeingPartitions"]) == (120, 2)
