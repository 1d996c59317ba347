"""Bounded reads of Kafka as frames. Rows reach the driver only here.

A frame of records has the columns key, value (binary), topic (string), partition (int), offset (bigint), timestamp
(timestamp), headers (array of key string, value binary; null without headers).
"""

import json
import math
from collections.abc import Iterable, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from components.contract.problems import CannotRunError
from components.kafka.positions import OffsetRange, TopicPartition
from spark.credentials import ClientOptions
from spark.kafka_errors import JavaError, translated
from spark.local_frames import frame_of_json

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
    spark: SparkSession,
    options: ClientOptions,
    ranges: Mapping[TopicPartition, OffsetRange],
    isolation: str = "read_committed",
) -> DataFrame:
    """The records of `ranges`, one range per partition. Records of aborted transactions are left out, unless
    `isolation` is read_uncommitted.

    Records that retention removes during the read are missing without an error: a check that counts records must
    compare the log starts again afterwards.
    """
    wanted = {each: offsets for each, offsets in ranges.items() if offsets.size}
    if not wanted:
        return frame_of_json(spark, (), _RECORD_SCHEMA).select(*RECORD_COLUMNS)
    reader = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap_servers)
        .options(**{f"kafka.{key}": value for key, value in options.properties.items()})
        .options(**_CONSUMER)
        .option("kafka.isolation.level", isolation)
        .option("assign", _partitions_json(wanted))
        .option("startingOffsets", _offsets_json({each: at.start for each, at in wanted.items()}))
        .option("endingOffsets", _offsets_json({each: at.end for each, at in wanted.items()}))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "false")
    )
    size = sum(offsets.size for offsets in wanted.values())
    if size >= _SPLIT_FROM_RECORDS:
        tasks = max(spark.sparkContext.defaultParallelism, math.ceil(size / _RECORDS_IN_A_TASK))
        reader = reader.option("minPartitions", str(tasks))
    return reader.load().select(*RECORD_COLUMNS)


def collected_rows(frame: DataFrame, where: str, doing: str) -> list[Row]:
    """The rows of a small frame; raises ClusterError or CannotRunError."""
    try:
        return frame.collect()
    except JavaError as error:
        raise translated(error, where, doing, answered=True) from None
    except PySparkException as error:
        raise CannotRunError(
            "read-failed",
            f"Spark could not finish {doing}: {error.getCondition() or type(error).__name__}",
            where,
            "A task failed, or the driver ran out of memory.",
            "see Spark's log on the terminal; raise --driver-memory if the driver ran out of memory.",
        ) from error


def _partitions_json(partitions: Iterable[TopicPartition]) -> str:
    """{"topic": [partition, …]}, as Spark's option `assign` reads it."""
    by_topic: dict[str, list[int]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(each.partition)
    return json.dumps(by_topic)


def _offsets_json(offsets: Mapping[TopicPartition, int]) -> str:
    """{"topic": {"partition": offset}}, as Spark's options startingOffsets and endingOffsets read it."""
    by_topic: dict[str, dict[str, int]] = {}
    for each, offset in offsets.items():
        by_topic.setdefault(each.topic, {})[str(each.partition)] = offset
    return json.dumps(by_topic)
