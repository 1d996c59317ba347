"""A long Spark job reports its progress."""

import re

from pyspark.sql import SparkSession

from kafka_replication.spark.read.frames import estimate, estimates


def test_the_remaining_time_is_estimated_from_the_progress_so_far() -> None:
    assert estimate("orders: comparing records", 0.25, 10) == "orders: comparing records: 25%, about 30 s left"


def test_a_long_job_prints_estimates_and_an_idle_session_prints_none(spark: SparkSession) -> None:
    said: list[str] = []
    with estimates(spark, said.append, "adding", every_seconds=0.01):
        spark.range(0, 1_000_000, 1, 40).selectExpr("sum(crc32(cast(id as string)))").collect()
    assert said
    assert all(re.fullmatch(r"adding: \d+%, about \d+ s left", line) for line in said)
    heard = len(said)
    with estimates(spark, said.append, "nothing", every_seconds=0.05):
        spark.sparkContext.getConf()
    assert len(said) == heard
