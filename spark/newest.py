"""The newest record of each key on both sides: what compaction keeps, whatever else a side has removed."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from spark.guards import COMPARED, SOURCE, TARGET
from spark.pairing import summed


def newest_by_key(digests: DataFrame, judged: DataFrame) -> DataFrame:
    """The keys whose newest record differs, as `pairing.differences` has them: key topic, partition, kind.

    `judged` has topic, partition and two offsets. Source records from judged_end on may still be on their way; those
    before started need not be replicated, and null means that the start is unknown. A side that holds a tombstone of a
    key, or nothing at all, has deleted the key. The cleaner removes records without a key. The kinds:

    - newest-missing: the target holds no record of a key that the source has
    - newest-outdated: it holds another value as the newest
    - newest-undeleted: it holds a value of a key that the source has deleted
    - newest-foreign: it holds a value of a key for which the source has no record
    - newest-unproven: nothing shows which of these it is, because the key is written on both sides of a guarded flow,
      or because the flow's start is unknown
    """
    end, source = F.col("judged_end"), F.col("side") == SOURCE
    compared = F.col("role") == COMPARED
    due = compared & source & (end.isNull() | (F.col("offset") < end))
    record = F.struct("digest", "tombstone", "offset", "time_ms")
    newest = (
        digests.where(F.col("key_digest").isNotNull())
        .join(F.broadcast(judged.select("topic", "partition", "judged_end", "started")), ["topic", "partition"], "left")
        .groupBy("topic", "partition", "key_digest")
        .agg(
            F.max_by(record, F.when(due, F.col("offset"))).alias("here"),
            F.max_by(record, F.when(compared & (F.col("side") == TARGET), F.col("offset"))).alias("there"),
            F.collect_set(F.when(compared & source & ~due, F.col("digest"))).alias("later"),
            F.max(~compared).alias("both_ways"),
            F.first("started").alias("started"),
        )
        .withColumn("kind", _newest_kind())
        .where(F.col("kind").isNotNull())
    )
    at = {
        name: F.coalesce(F.col("here")[name], F.col("there")[name]).alias(name)
        for name in ("offset", "time_ms", "digest")
    }
    return summed(newest.select("topic", "partition", "kind", *at.values()))


def _newest_kind() -> Column:
    here, there = F.col("here"), F.col("there")
    deleted = here.isNull() | here["tombstone"]
    equal = here.isNotNull() & (here["digest"] == there["digest"])
    arrived = F.array_contains("later", there["digest"])
    # A key that is written again after the judged end may still hold its value from before.
    rewritten = here.isNull() & (F.size("later") > 0)
    return (
        F.when(there.isNull() & (deleted | (here["offset"] < F.col("started"))), None)
        .when(there.isNotNull() & (equal | arrived | rewritten | (deleted & there["tombstone"])), None)
        .when(F.col("both_ways") | (there.isNull() & F.col("started").isNull()), "newest-unproven")
        .when(there.isNull(), "newest-missing")
        .when(here.isNull(), "newest-foreign")
        .when(deleted, "newest-undeleted")
        .otherwise("newest-outdated")
    )
