"""Many short partitions are read by one consumer, and Spark sees the same records as if it had read them itself."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kafka_replication.components.clients.errors import ClusterErrors
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.spark.checks.parity import sums
from kafka_replication.spark.read import frames
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.flows import OpenFlow, open_flow
from kafka_replication.spark.read.frames import MANY, SHORT, LeftToSparkError, short_records
from kafka_replication.spark.read.sessions import Spark
from tests.spark.outcomes import Check, named
from tests.spark.scenes import Headers, Scene, passwords, produce, transaction


def ranges(*sizes: int) -> dict[TopicPartition, OffsetRange]:
    return {TopicPartition("t", number): OffsetRange(3, 3 + size) for number, size in enumerate(sizes)}


@pytest.mark.parametrize(
    ("sizes", "short"),
    [
        pytest.param([1] * (MANY - 1), 0, id="few are read by Spark"),
        pytest.param([1] * MANY, MANY, id="many are read at once"),
        pytest.param([0, *[SHORT] * MANY, SHORT + 1], MANY, id="long and empty ones are left out"),
        pytest.param([SHORT] * 1_001, 1_000, id="no more records than the driver may hold"),
    ],
)
def test_many_short_partitions_are_read_at_once(sizes: list[int], short: int) -> None:
    found = frames.short_partitions(ranges(*sizes))
    assert len(found) == short
    assert found.items() <= ranges(*sizes).items()


@pytest.fixture(scope="module")
def scene(endpoints: Endpoints) -> Scene:
    """A flow whose source has records of every kind in two partitions, and an empty one."""
    scene = Scene(endpoints, "shortly").replicate()
    headers: Headers = [("h", b"\x00\xff"), ("null", None), ("empty", b""), ("h", b"again"), ('ü😀"\\', "ü".encode())]
    rows = [(b"", b"", scene.began_ms + 999, headers), (None, b"\xff\x00", 0, []), (b"k", None, 1, [])]
    produce(scene.source, "shortly", 0, rows)
    with transaction(scene, scene.source, "shortly", 1, range(100, 110)):
        pass
    with transaction(scene, scene.source, "shortly", 1, range(110, 120)) as commit:
        commit()
    create_topics(scene.source, {"shortly.empty": 1})
    return scene


@pytest.fixture
def flow(scene: Scene, started: Spark, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenFlow]:
    """The flow of `scene`, for which one partition counts as many."""
    monkeypatch.setattr(frames, "MANY", 1)
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    with open_flow(scene.parameters(), started, resolver(), lambda _: None) as opened:
        yield opened


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("shortest", [200, 64], ids=["all are short", "one is long"])
def test_one_consumer_and_spark_read_the_same_records(
    flow: OpenFlow, committed: bool, shortest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Null and empty keys, values and headers, aborted records and markers, times, and a range within a log."""
    monkeypatch.setattr(frames, "SHORT", shortest)
    logs = flow.source.logs([TopicPartition("shortly", 0), TopicPartition("shortly", 1)], committed=True)
    logs = {
        **logs,
        TopicPartition("shortly", 0): OffsetRange(3, 63),
        TopicPartition("shortly.empty", 0): OffsetRange(0, 0),
    }
    by_spark = frames.records_frame(flow.spark.session, flow.source.options, logs, committed=committed)
    at_once = flow.read(flow.source, logs, committed=committed)
    assert at_once.schema.simpleString() == by_spark.schema.simpleString()
    order = ("topic", "partition", "offset")
    found = at_once.orderBy(*order).collect()
    assert found == by_spark.orderBy(*order).collect()
    assert len(found) == 60 + 60 + (10 if committed else 20)


def test_records_that_the_driver_cannot_hold_are_read_by_spark(flow: OpenFlow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "AT_MOST_BYTES", 1_000)
    logs = flow.source.logs([TopicPartition("shortly", 0)], committed=True)
    assert flow.read(flow.source, logs).count() == 63


def unreadable() -> Iterator[KafkaRecord]:
    yield KafkaRecord(TopicPartition("t", 0), 5, 7, None, None, [])
    raise ClusterErrors("useast", "127.0.0.1:9092").unreadable_header("t-0 at 6")


def test_a_record_with_a_header_name_that_is_not_utf8_is_left_to_spark(spark: SparkSession) -> None:
    """librdkafka's Python client cannot show it."""
    with pytest.raises(LeftToSparkError):
        short_records(spark, unreadable())


def test_a_damaged_flow_has_the_same_findings_however_its_records_are_read(
    check: Check, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(endpoints, "shorter").replicate()
    scene.write(scene.source, "shorter", 0, range(60, 80))
    scene.write(scene.target, scene.remote("shorter"), 0, [*range(60, 70), 171, *range(72, 79)])
    scene.write(scene.target, scene.remote("shorter"), 1, [5, 5])
    scene.sync("shorter", 0, (79, 77))
    outcomes = []
    for many, few in ((MANY, sums.AT_MOST_RECORDS), (MANY, 0), (1, 0)):
        monkeypatch.setattr(frames, "MANY", many)
        monkeypatch.setattr(sums, "AT_MOST_RECORDS", few)
        parity = named(check(scene.parameters()), "parity")
        # A check that could not run has no rows, and its error says why.
        assert parity.rows, parity
        outcomes.append((parity.findings, parity.samples, {**parity.counts, "readSeconds": 0}, parity.rows))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert {each.code for each in outcomes[0][0]} >= {"missing-records", "duplicated-records"}
