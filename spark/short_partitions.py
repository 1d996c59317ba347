"""Reads many short partitions with one consumer, as a frame.

Spark reads each partition in a task with its own consumer, which connects and logs in again. With thousands of
partitions of few records that takes minutes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from components.kafka.positions import OffsetRange, TopicPartition
from spark.local_frames import frame_of_json
from spark.small_reads import JsonRecord, named_header

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
    """The driver has no room for the records of short partitions, or one has a header whose name is not UTF-8."""


def short_partitions(ranges: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, OffsetRange]:
    """Those of `ranges` that are read here: the shortest ones, unless they are few."""
    found: dict[TopicPartition, OffsetRange] = {}
    left = AT_MOST_RECORDS
    for each, offsets in sorted(ranges.items(), key=lambda one: one[1].size):
        left -= offsets.size
        if offsets.size > SHORT or left < 0:
            break
        if offsets.size:
            found[each] = offsets
    return found if len(found) >= MANY else {}


def short_records(spark: SparkSession, batches: Iterable[Sequence[JsonRecord]], columns: Iterable[str]) -> DataFrame:
    """A frame of the records, with these columns of `readers.records`; raises LeftToSparkError."""
    frame = frame_of_json(spark, _texts(chain.from_iterable(batches)), _SCHEMA)
    return frame.withColumn("timestamp", F.timestamp_millis("time_ms")).select(*columns)


def _texts(records: Iterable[JsonRecord]) -> Iterator[str]:
    piece: list[str] = []
    size, total = 0, 0
    for each in records:
        text = json.dumps(_record(each))
        piece.append(text)
        size, total = size + len(text), total + len(text)
        if total > AT_MOST_BYTES:
            raise LeftToSparkError
        if size > _BYTES_OF_A_TEXT:
            yield f"[{','.join(piece)}]"
            piece, size = [], 0
    if piece:
        yield f"[{','.join(piece)}]"


def _record(record: JsonRecord) -> dict[str, object]:
    """The record as a row. Without headers they are null, as in Spark's reader."""
    try:
        headers = [named_header(each) for each in record["headers"]["headers"]]
    except UnicodeDecodeError:
        # Java and Python replace invalid UTF-8 differently, and Spark's reader may read the other side.
        raise LeftToSparkError from None
    return {
        "topic": record["topic"],
        "partition": record["partition"],
        "offset": record["offset"],
        "time_ms": record["timestamp"],
        "key": record["key"],
        "value": record["value"],
        "headers": [{"key": name, "value": value} for name, value in headers] or None,
    }
