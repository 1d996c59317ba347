"""Makes frames from the driver's data. PySpark's `createDataFrame` unpacks rows with Python on the executors, which may
not have Python. So rows are passed as JSON, which Spark reads in its JVMs.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

_ROWS_OF_A_TEXT = 1_000


def frame_of(spark: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """The rows, whose values JSON can hold, as a frame with the columns of `schema`, such as "topic string, at int"."""
    names = [each.split()[0] for each in schema.split(", ")]
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    pieces = (objects[first : first + _ROWS_OF_A_TEXT] for first in range(0, len(objects), _ROWS_OF_A_TEXT))
    return frame_of_json(spark, map(json.dumps, pieces), schema)


def frame_of_json(spark: SparkSession, texts: Iterable[str], schema: str) -> DataFrame:
    """The rows of texts that are JSON lists of objects, as a frame with the columns of `schema`. Bytes are base64."""
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
