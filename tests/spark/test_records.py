"""MirrorMaker's binary records, decoded from bytes that are written out here."""

from pyspark.sql import DataFrame, SparkSession

from spark import records
from tests.spark import forging

_SCHEMA = "key binary, value binary, partition int, offset bigint, timestamp timestamp"


def frame(spark: SparkSession, *pairs: tuple[bytes | None, bytes | None]) -> DataFrame:
    rows = [(key, value, 0, offset, None) for offset, (key, value) in enumerate(pairs)]
    return spark.createDataFrame(rows, _SCHEMA)


def test_a_heartbeat_is_decoded_and_its_aliases_may_be_any_text(spark: SparkSession) -> None:
    found = records.heartbeats(
        frame(
            spark,
            (forging.heartbeat_key("useast", "uswest"), forging.heartbeat_value(1_700_000_000_123)),
            (forging.heartbeat_key("", "süd-東"), forging.heartbeat_value(-1)),
        )
    ).collect()
    assert [(row.source_alias, row.target_alias, row.emitted_ms) for row in found] == [
        ("useast", "uswest", 1_700_000_000_123),
        ("", "süd-東", -1),
    ]


def test_offsets_of_every_sign_and_size_are_decoded(spark: SparkSession) -> None:
    """-1 is what MirrorMaker calls an offset that it cannot translate; all of its 64 bits are set."""
    values = [0, 1, -1, -2, 255, 2**31, 2**32 + 7, -(2**31), 2**63 - 1, -(2**63)]
    pairs = [(forging.offset_sync_key("orders", 3), forging.offset_sync_value(value, -value - 1)) for value in values]
    found = records.offset_syncs(frame(spark, *pairs)).collect()
    assert [(row.upstream, row.downstream) for row in found] == [(value, -value - 1) for value in values]
    assert {(row.topic, row.partition) for row in found} == {("orders", 3)}


def test_a_checkpoint_is_decoded_with_and_without_metadata(spark: SparkSession) -> None:
    key = forging.checkpoint_key("checkout-ä", "useast.orders", 2**31 - 1)
    found = records.checkpoints(
        frame(spark, (key, forging.checkpoint_value(105, 101)), (key, forging.checkpoint_value(7, 8, "meta ü")))
    ).collect()
    assert [(row.group, row.topic, row.partition, row.upstream, row.downstream) for row in found] == [
        ("checkout-ä", "useast.orders", 2**31 - 1, 105, 101),
        ("checkout-ä", "useast.orders", 2**31 - 1, 7, 8),
    ]


def test_a_negative_partition_does_not_end_the_job(spark: SparkSession) -> None:
    """Its 32 bits do not fit a signed int, and one overflow would fail the whole read."""
    pair = (forging.offset_sync_key("orders", -1), forging.offset_sync_value(1, 2))
    (row,) = records.offset_syncs(frame(spark, pair)).collect()
    assert row.partition == -1


def test_a_record_of_another_format_is_null_in_every_decoded_column(spark: SparkSession) -> None:
    """It must be counted as undecodable, not taken for an offset."""
    key, value = forging.checkpoint_key("g", "t", 0), forging.checkpoint_value(1, 2)
    broken = [
        (None, value),
        (key, None),
        (b"", b""),
        (key[:-1], value),
        (key, value + b"x"),
        (b"\x7f\xff" + key, value),
        (key, forging.checkpoint_value(1, 2, version=9)),
    ]
    found = records.checkpoints(frame(spark, *broken)).drop("offset").collect()
    assert [tuple(row) for row in found] == [(None,) * 5] * len(broken)
    newer = (forging.heartbeat_key("useast", "uswest"), forging.heartbeat_value(1, version=9))
    found = records.heartbeats(frame(spark, *broken, newer)).drop("partition", "offset").collect()
    assert [tuple(row) for row in found] == [(None,) * 3] * (len(broken) + 1)
    found = records.offset_syncs(frame(spark, *broken)).drop("offset", "written_ms").collect()
    assert [tuple(row) for row in found] == [(None,) * 4] * len(broken)
