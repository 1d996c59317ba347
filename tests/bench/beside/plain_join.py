"""Compares two topics as a page of PySpark would: a full outer join on partition and offset, and one count each.

It is started as a process: arguments are the jars and a file with options and topics; it prints JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

_PLACE = ["partition", "offset"]
_COMPARED = ("key", "value", "timestamp", "headers")


def main() -> None:
    jars, given = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    builder = SparkSession.Builder().master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "1g").getOrCreate()
    left, right = (_records(spark, given[side], side) for side in ("source", "target"))
    joined = left.join(right, _PLACE, "full_outer")
    there = F.col("is_source") & F.col("is_target")
    same = F.lit(True)
    for name in _COMPARED:
        same &= F.col(f"source_{name}").eqNullSafe(F.col(f"target_{name}"))
    row = joined.agg(
        F.count(F.when(F.col("is_target").isNull(), 1)).alias("missing"),
        F.count(F.when(F.col("is_source").isNull(), 1)).alias("extra"),
        F.count(F.when(there & ~same, 1)).alias("changed"),
    ).first()
    assert row is not None
    print(json.dumps(row.asDict()))


def _records(spark: SparkSession, given: dict[str, Any], side: str) -> DataFrame:
    reader = spark.read.format("kafka").options(**given["options"]).option("includeHeaders", "true")
    records = reader.option("subscribe", given["topic"]).load()
    renamed = [F.col(name).alias(f"{side}_{name}") for name in _COMPARED]
    return records.select(*_PLACE, *renamed, F.lit(True).alias(f"is_{side}"))


if __name__ == "__main__":
    main()
