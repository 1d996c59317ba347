"""Frames of records and of the driver's data, and how rows reach the driver.

A frame of records has the columns key, value (binary), topic (string), partition (int), offset (bigint), timestamp
(timestamp), headers (array of key string, value binary; null without headers).
"""

import json
import math
import threading
import time
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError as JavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.components.clients.errors import HEADER_UNREADABLE, ClusterError, meaning_of
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition, by_topic
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.spark.read.credentials import ClientOptions


def frame_of(spark: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """Return rows of values that JSON can hold as a frame with the columns of `schema` ("topic string, at int")."""
    names = [column.split()[0] for column in schema.split(", ")]
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    pieces = (objects[first : first + 1_000] for first in range(0, len(objects), 1_000))
    return frame_of_json(spark, map(json.dumps, pieces), schema)


def frame_of_json(spark: SparkSession, texts: Iterable[str], schema: str) -> DataFrame:
    """Return the rows of texts that are JSON lists of objects as a frame with these columns. Bytes are base64."""
    assert spark._jvm is not None
    # PySpark has no type for the JVM object behind its session.
    jvm: Any = spark._jvm
    listed = jvm.java.util.ArrayList()
    for text in texts:
        listed.add(text)
    held = spark._jsparkSession.createDataset(listed, jvm.org.apache.spark.sql.Encoders.STRING())
    frame: DataFrame = DataFrame(held.toDF(), spark)
    # A text that does not fit the schema must fail: by default Spark would leave its rows out.
    return frame.select(F.inline(F.from_json("value", f"array<struct<{schema}>>", {"mode": "FAILFAST"})))


#: Reports a step of the job.
Progress = Callable[[str], None]
#: The codes of librdkafka that mean the same as exceptions of the Java client. The first one that occurs among the
#: causes counts: a failed login often causes a timeout.
_JAVA_EXCEPTIONS = {
    "SaslAuthenticationException": KafkaError._AUTHENTICATION,
    "SslAuthenticationException": KafkaError._SSL,
    "SSLHandshakeException": KafkaError._SSL,
    "TopicAuthorizationException": KafkaError.TOPIC_AUTHORIZATION_FAILED,
    "InvalidConfigurationException": KafkaError._INVALID_ARG,
    "ConfigException": KafkaError._INVALID_ARG,
    "UnknownTopicOrPartitionException": KafkaError.UNKNOWN_TOPIC_OR_PART,
    "TimeoutException": KafkaError._TIMED_OUT,
}
RECORD_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
_RECORD_SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key: string, value: binary>>"
)
#: With fewer offsets than this, one task per partition is faster than splitting partitions.
_SPLIT_FROM_RECORDS = 50_000
#: At most this many offsets in a task, so that a long read can report its progress.
_RECORDS_IN_A_TASK = 250_000
_CONSUMER = {
    # After each poll Spark asks the broker twice for the ends of the partition, and reads nothing meanwhile.
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
    "kafka.receive.buffer.bytes": str(1024 * 1024),
}


def records_frame(
    spark: SparkSession, options: ClientOptions, ranges: Mapping[TopicPartition, OffsetRange], *, committed: bool
) -> DataFrame:
    """Return the records of `ranges`, one range per partition; without `committed`, also those of aborted transactions.

    Records that retention removes during the read are missing without an error: a check that counts records must
    compare the log starts again afterwards.
    """
    wanted = {partition: offsets for partition, offsets in ranges.items() if offsets.size}
    if not wanted:
        return frame_of_json(spark, (), _RECORD_SCHEMA).select(*RECORD_COLUMNS)
    reader = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap_servers)
        .options(**{f"kafka.{key}": value for key, value in options.properties.items()})
        .options(**_CONSUMER)
        .option("kafka.isolation.level", "read_committed" if committed else "read_uncommitted")
        .option("assign", json.dumps({topic: list(ranges) for topic, ranges in by_topic(wanted).items()}))
        .option("startingOffsets", json.dumps(by_topic({partition: at.start for partition, at in wanted.items()})))
        .option("endingOffsets", json.dumps(by_topic({partition: at.end for partition, at in wanted.items()})))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "false")
    )
    size = sum(offsets.size for offsets in wanted.values())
    if size >= _SPLIT_FROM_RECORDS:
        tasks = max(spark.sparkContext.defaultParallelism, math.ceil(size / _RECORDS_IN_A_TASK))
        reader = reader.option("minPartitions", str(tasks))
    return reader.load().select(*RECORD_COLUMNS)


def collected_rows(frame: DataFrame, where: str, doing: str) -> list[Row]:
    """Return the rows of a small frame; raises CannotRunError."""
    try:
        return frame.collect()
    except JavaError as error:
        raise _translated(error, where, doing) from None
    except PySparkException as error:
        what = f"Spark could not finish {doing}: {error.getCondition() or type(error).__name__}"
        why = "A task failed, or the driver ran out of memory."
        remedy = "see Spark's log on the terminal; raise --driver-memory if the driver ran out of memory."
        raise CannotRunError("read-failed", what, where, why, remedy) from error


def _translated(error: JavaError, where: str, doing: str) -> CannotRunError:
    """Return the error for an exception of Kafka's client in Spark. Its text never holds a credential."""
    names: list[str] = []
    throwable = error.java_exception
    while throwable is not None and len(names) < 12:
        names.append(str(throwable.getClass().getSimpleName()))
        throwable = throwable.getCause()
    code = next((code for name, code in _JAVA_EXCEPTIONS.items() if name in names), None)
    if code is None:
        # The class name only: the message of an unknown exception may quote a configuration value.
        what = f"{names[-1] if names else 'unknown error'}, while {doing}"
        why = "Kafka's client raised an exception that the job does not know."
        return CannotRunError("kafka-error", what, where, why, "see the broker's log.")
    meaning = meaning_of(code)
    return CannotRunError(meaning.code, f"{meaning.what}, while {doing}", where, meaning.why, meaning.remedy)


#: A partition with at most this many offsets is short: passing them to Python and back takes less time than a login.
SHORT = 200
#: With fewer of them, Spark reads them just as fast.
MANY = 64
AT_MOST_RECORDS = 200_000
#: Bytes of JSON. The driver holds the records of both sides until they are compared.
AT_MOST_BYTES = 48 * 1024 * 1024
_BYTES_OF_A_TEXT = 256 * 1024
_SCHEMA = (
    "topic string, partition int, offset bigint, time_ms bigint, key binary, value binary, "
    "headers array<struct<key string, value binary>>"
)


class LeftToSparkError(Exception):
    """The records are too large for the driver, or one has a header that only Java can read: Spark must read them."""


def short_partitions(ranges: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, OffsetRange]:
    """Return those of `ranges` that are read here: the shortest ones, unless they are few."""
    short: dict[TopicPartition, OffsetRange] = {}
    left = AT_MOST_RECORDS
    for partition, offsets in sorted(ranges.items(), key=lambda one: one[1].size):
        left -= offsets.size
        if offsets.size > SHORT or left < 0:
            break
        if offsets.size:
            short[partition] = offsets
    return short if len(short) >= MANY else {}


def short_records(spark: SparkSession, records: Iterable[KafkaRecord]) -> DataFrame:
    """Return a frame of the records, as `records_frame` does; raises LeftToSparkError."""
    try:
        frame = frame_of_json(spark, _texts(records), _SCHEMA)
    except ClusterError as error:
        if error.code != HEADER_UNREADABLE:
            raise
        raise LeftToSparkError from None
    return frame.withColumn("timestamp", F.timestamp_millis("time_ms")).select(*RECORD_COLUMNS)


def _texts(records: Iterable[KafkaRecord]) -> Iterator[str]:
    piece: list[str] = []
    size, total = 0, 0
    for record in records:
        text = json.dumps(_record(record))
        piece.append(text)
        size, total = size + len(text), total + len(text)
        if total > AT_MOST_BYTES:
            raise LeftToSparkError
        if size > _BYTES_OF_A_TEXT:
            yield f"[{','.join(piece)}]"
            piece, size = [], 0
    if piece:
        yield f"[{','.join(piece)}]"


def _record(record: KafkaRecord) -> dict[str, object]:
    """Return the record as a row. Without headers they are null, as in Spark's reader."""
    return {
        "topic": record.partition.topic,
        "partition": record.partition.partition,
        "offset": record.offset,
        "time_ms": record.time_ms,
        "key": _base64(record.key),
        "value": _base64(record.value),
        "headers": [{"key": name, "value": _base64(value)} for name, value in record.headers] or None,
    }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b2a_base64(data, newline=False).decode()


@contextmanager
def estimates(spark: SparkSession, progress: Progress, what: str, every_seconds: float = 10.0) -> Iterator[None]:
    """While the body runs one Spark job, report its progress every ten seconds; report nothing for a shorter job."""
    done = threading.Event()

    def watch() -> None:
        began = time.monotonic()
        while not done.wait(every_seconds):
            try:
                share = _share(spark)
            except (Py4JError, OSError):
                # The code that waits for the job reports why Spark does not answer.
                return
            if share:
                progress(estimate(what, share, time.monotonic() - began))

    watcher = threading.Thread(target=watch, name="estimates", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def estimate(what: str, share: float, seconds: float) -> str:
    """Return the sentence for a `share` of the work, between 0 and 1, that took this many seconds."""
    return f"{what}: {share:.0%}, about {seconds * (1 - share) / share:.0f} s left"


def _share(spark: SparkSession) -> float:
    """Return the share of the active stages' tasks that have ended; 0 if nothing runs or nothing has ended."""
    tracker = spark.sparkContext.statusTracker()
    stages = [info for stage_id in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage_id)) is not None]
    total = sum(stage.numTasks for stage in stages)
    return sum(stage.numCompletedTasks for stage in stages) / total if total else 0.0
