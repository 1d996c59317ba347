"""Decodes MirrorMaker 2's own records with Spark SQL expressions, so that no row passes through Python.

They use Kafka's big-endian protocol types; STRING is an int16 length and UTF-8. Every function takes a frame of records
(see `readers`) and returns one row per record. A record of another format has null in every decoded column, so that it
can be counted. Source: org.apache.kafka.connect.mirror.{Heartbeat,Checkpoint,OffsetSync}.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812


def heartbeats(records: DataFrame) -> DataFrame:
    """Columns source_alias, target_alias (string), emitted_ms (bigint), partition (int), offset (bigint)."""
    key, value = F.col("key"), F.col("value")
    source_alias, after_source = _string(key, F.lit(1))
    target_alias, after_target = _string(key, after_source)
    formed = _ends(key, after_target) & (F.length(value) == 10) & (_int16(value, F.lit(1)) == 0)
    return records.select(
        F.when(formed, source_alias).alias("source_alias"),
        F.when(formed, target_alias).alias("target_alias"),
        F.when(formed, _int64(value, F.lit(3))).alias("emitted_ms"),
        F.col("partition"),
        F.col("offset"),
    )


def checkpoints(records: DataFrame) -> DataFrame:
    """Columns group, topic (remote name, string), partition (int), upstream, downstream, offset (bigint)."""
    key, value = F.col("key"), F.col("value")
    group, after_group = _string(key, F.lit(1))
    topic, after_topic = _string(key, after_group)
    _, after_metadata = _string(value, F.lit(19))
    formed = _ends(key, after_topic + 4) & _ends(value, after_metadata) & (_int16(value, F.lit(1)) == 0)
    return records.select(
        F.when(formed, group).alias("group"),
        F.when(formed, topic).alias("topic"),
        F.when(formed, _int32(key, after_topic)).alias("partition"),
        F.when(formed, _int64(value, F.lit(3))).alias("upstream"),
        F.when(formed, _int64(value, F.lit(11))).alias("downstream"),
        F.col("offset"),
    )


def offset_syncs(records: DataFrame) -> DataFrame:
    """Columns topic (source's name, string), partition (int), upstream, downstream, offset, written_ms (bigint)."""
    key, value = F.col("key"), F.col("value")
    topic, after_topic = _string(key, F.lit(1))
    formed = _ends(key, after_topic + 4) & (F.length(value) == 16)
    return records.select(
        F.when(formed, topic).alias("topic"),
        F.when(formed, _int32(key, after_topic)).alias("partition"),
        F.when(formed, _int64(value, F.lit(1))).alias("upstream"),
        F.when(formed, _int64(value, F.lit(9))).alias("downstream"),
        F.col("offset"),
        F.unix_millis("timestamp").alias("written_ms"),
    )


def connector_offsets(records: DataFrame) -> DataFrame:
    """Columns connector, cluster, topic (string), partition (int), stored (bigint; null if the offset was deleted), and
    where the record itself is: stored_in (int), offset (bigint).

    Connect writes JSON: the key is [connector, {cluster, topic, partition}]. Source: OffsetStorageWriter.
    """
    key, value = F.col("key").cast("string"), F.col("value").cast("string")
    return records.select(
        F.get_json_object(key, "$[0]").alias("connector"),
        F.get_json_object(key, "$[1].cluster").alias("cluster"),
        F.get_json_object(key, "$[1].topic").alias("topic"),
        F.get_json_object(key, "$[1].partition").cast("int").alias("partition"),
        F.get_json_object(value, "$.offset").cast("bigint").alias("stored"),
        F.col("partition").alias("stored_in"),
        F.col("offset"),
    )


def _unsigned(data: Column, position: Column, size: int) -> Column:
    """The `size` ≤ 4 bytes at `position` (from 1) as a bigint ≥ 0; null past the end."""
    return F.conv(F.hex(F.substring(data, position, F.lit(size))), 16, 10).cast("bigint")


def _int16(data: Column, position: Column) -> Column:
    unsigned = _unsigned(data, position, 2)
    return F.when(unsigned >= 1 << 15, unsigned - (1 << 16)).otherwise(unsigned)


def _int32(data: Column, position: Column) -> Column:
    unsigned = _unsigned(data, position, 4)
    return F.when(unsigned >= 1 << 31, unsigned - (1 << 32)).otherwise(unsigned).cast("int")


def _int64(data: Column, position: Column) -> Column:
    # In two halves, because `conv` of all eight bytes of a negative number overflows the cast to bigint.
    high, low = _unsigned(data, position, 4), _unsigned(data, position + 4, 4)
    return F.shiftleft(high, 32).bitwiseOR(low)


def _string(data: Column, position: Column) -> tuple[Column, Column]:
    """The STRING at `position` and the position after it."""
    size = _unsigned(data, position, 2).cast("int")
    return F.substring(data, position + 2, size).cast("string"), position + 2 + size


def _ends(data: Column, position: Column) -> Column:
    """Whether `position` is just past the last byte; false (not null) if it cannot be known."""
    return F.coalesce(F.length(data) + 1 == position, F.lit(False))
