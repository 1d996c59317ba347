"""The sums of digests of both sides in one frame."""

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.spark.read.digests import SOURCE, TARGET, sums_by_side


def sums_of_sides(digests: DataFrame) -> list[Row]:
    """The rows of `transforms.sums_by_side`, those of the source first."""
    sides = {side: digests.where(F.col("side") == side) for side in (SOURCE, TARGET)}
    return sorted(sums_by_side(sides).collect(), key=lambda row: str(row.side))
