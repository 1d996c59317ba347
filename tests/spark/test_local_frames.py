"""Rows that the driver holds become a frame without Python on the executors, and none is lost."""

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_replication.spark.read.frames import frame_of, frame_of_json

SCHEMA = "topic string, partition int, at bigint"


@pytest.mark.parametrize("count", [0, 1, 1_000, 2_001])
def test_every_row_arrives(spark: SparkSession, count: int) -> None:
    rows = [(f"orders-{number}", number, 2**62 + number if number % 2 else None) for number in range(count)]
    frame = frame_of(spark, rows, SCHEMA)
    assert frame.columns == ["topic", "partition", "at"]
    assert sorted(map(tuple, frame.collect())) == sorted(rows)


def test_bytes_are_not_changed(spark: SparkSession) -> None:
    texts = ['[{"value": ""}, {"value": null}, {"value": "AP8="}]', "[]"]
    rows = frame_of_json(spark, texts, "value binary").collect()
    assert [None if each.value is None else bytes(each.value) for each in rows] == [b"", None, b"\x00\xff"]


@pytest.mark.parametrize("text", ['[{"partition": "x"}]', "[{"], ids=["wrong type", "truncated JSON"])
def test_a_row_that_does_not_fit_the_schema_raises_an_error(spark: SparkSession, text: str) -> None:
    """By default Spark drops such a row, and a comparison would miss records."""
    with pytest.raises((PySparkException, Py4JJavaError)):
        frame_of_json(spark, [text], SCHEMA).collect()
