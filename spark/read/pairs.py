"""Records paired by digest, and the kinds of those that differ. Results are small enough for the driver."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.spark.read.digests import ASIDE, COMPARED, LOOPED, SOURCE, TARGET, UNCOMMITTED

SAMPLES = 20
#: A kind that is not a difference: see `reached`.
REACHED = "reached"


def paired(digests: DataFrame, newest_first: bool = False) -> DataFrame:
    """Return the compared records of both sides, paired: the n-th record with a digest on the source and on the target.

    `newest_first` counts from the end, for a flow whose target lacks the oldest copies by design.

    Key topic, partition, digest, occurrence. Columns source_offset, target_offset (null if there is none), time_ms;
    unmarked_offset: where the target holds the record without the guard's mark; and uncommitted_offset: where a
    read_uncommitted consumer of the source finds it.
    """
    same = ("topic", "partition", "digest")
    order = Window.partitionBy(*same, "side").orderBy(F.desc("offset") if newest_first else F.asc("offset"))
    return (
        digests.where((F.col("role") == COMPARED) | ((F.col("role") == ASIDE) & (F.col("side") != SOURCE)))
        .withColumn("side", F.when(F.col("role") == ASIDE, ASIDE).otherwise(F.col("side")))
        .select("side", *same, "offset", "time_ms")
        .repartition(*same)
        .withColumn("occurrence", F.row_number().over(order))
        .groupBy(*same, "occurrence")
        .agg(
            F.max(F.when(F.col("side") == SOURCE, F.col("offset"))).alias("source_offset"),
            F.max(F.when(F.col("side") == TARGET, F.col("offset"))).alias("target_offset"),
            F.max(F.when(F.col("side") == ASIDE, F.col("offset"))).alias("unmarked_offset"),
            F.max(F.when(F.col("side") == UNCOMMITTED, F.col("offset"))).alias("uncommitted_offset"),
            F.min("time_ms").alias("time_ms"),
        )
        .where(F.col("source_offset").isNotNull() | F.col("target_offset").isNotNull())
    )


def differing_records(pairs: DataFrame, judged: DataFrame) -> DataFrame:
    """Return what is on one side only, by kind: key topic, partition, kind; columns records, first, last (offsets),
    samples.

    `judged` has topic, partition and two offsets. Source records from judged_end on may still be on their way and are
    left out. Every source record from started on must be replicated; null means from the first record that both sides
    hold. The kinds, relative to the first and the last record that both sides hold:

    - before-start, missing-head, missing-hole, missing-tail: only on the source
    - missing: only on the source, and the two sides have no record in common
    - duplicated: the source has the record, but fewer times; or only the target has it, and more than once
    - extra-head, extra: only on the target; aborted: the source has it in an aborted transaction
    - unmarked: the target has it, but without the guard's mark
    """
    named = _unmatched(pairs, judged).select(
        "topic",
        "partition",
        _kind().alias("kind"),
        F.coalesce("source_offset", "target_offset").alias("offset"),
        "time_ms",
        "digest",
    )
    return summed(named)


def summed(named: DataFrame) -> DataFrame:
    """Count records by kind: key topic, partition, kind; columns records, first, last (offsets), samples.

    `named` has topic, partition, kind, offset, time_ms and digest.
    """
    order = Window.partitionBy("topic", "partition", "kind").orderBy("offset")
    sample = F.when(F.col("rank") <= SAMPLES, F.struct("offset", "time_ms", F.hex("digest").alias("digest")))
    return (
        named.withColumn("rank", F.row_number().over(order))
        .groupBy("topic", "partition", "kind")
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.sort_array(F.collect_list(sample)).alias("samples"),
        )
    )


def _unmatched(pairs: DataFrame, judged: DataFrame) -> DataFrame:
    """Return the records without a partner, up to `judged_end`, with columns to judge them by: known (the source has an
    equal record), first_source, last_source and first_target (offsets of paired records), start.
    """
    whole, same = Window.partitionBy("topic", "partition"), Window.partitionBy("topic", "partition", "digest")
    key, where_else = ("topic", "partition", "digest", "occurrence"), ("unmarked_offset", "uncommitted_offset")
    source, target = F.col("source_offset"), F.col("target_offset")
    both = source.isNotNull() & target.isNotNull()
    return (
        pairs.select(*key, "source_offset", "target_offset", *where_else, "time_ms")
        .withColumn("known", F.max(source.isNotNull()).over(same))
        .withColumn("first_source", F.min(F.when(both, source)).over(whole))
        .withColumn("last_source", F.max(F.when(both, source)).over(whole))
        .withColumn("first_target", F.min(F.when(both, target)).over(whole))
        .where(~both)
        .join(
            F.broadcast(judged.select("topic", "partition", "judged_end", "started")),
            on=["topic", "partition"],
            how="left",
        )
        .withColumn("start", F.least("started", "first_source"))
        .where(source.isNull() | F.col("judged_end").isNull() | (source < F.col("judged_end")))
    )


def _kind() -> Column:
    source, target = F.col("source_offset"), F.col("target_offset")
    return (
        F.when(source < F.col("start"), "before-start")
        .when(source.isNotNull() & F.col("start").isNull(), "missing")
        .when(source.isNotNull() & F.col("unmarked_offset").isNotNull(), "unmarked")
        .when(source.isNotNull() & F.col("first_source").isNull(), "missing")
        .when(source < F.col("first_source"), "missing-head")
        .when(source > F.col("last_source"), "missing-tail")
        .when(source.isNotNull(), "missing-hole")
        .when(F.col("uncommitted_offset").isNotNull(), "aborted")
        .when(F.col("known") | (F.col("occurrence") > 1), "duplicated")
        .when(target < F.col("first_target"), "extra-head")
        .otherwise("extra")
    )


def last_copies(pairs: DataFrame, judged: DataFrame) -> DataFrame:
    """Return where the source records before `proven_end` end on the target: key topic, partition, kind; columns as
    `summed` has them. `records` counts those that both sides hold, `first` and `last` are offsets of the target.

    `judged` has topic, partition and proven_end.
    """
    source, target = F.col("source_offset"), F.col("target_offset")
    return (
        pairs.select("topic", "partition", "source_offset", "target_offset")
        .join(F.broadcast(judged.select("topic", "partition", "proven_end")), on=["topic", "partition"], how="inner")
        .where(source.isNotNull() & target.isNotNull() & (source < F.col("proven_end")))
        .groupBy("topic", "partition")
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.min("target_offset").alias("first"),
            F.max("target_offset").alias("last"),
        )
        .withColumn("samples", F.array().cast("array<struct<offset: bigint, time_ms: bigint, digest: string>>"))
        .withColumn("kind", F.lit(REACHED))
    )


def reordered(pairs: DataFrame) -> DataFrame:
    """Return the records that are out of order on the target, as `summed` has them.

    A record is early if, on the target, it is before a record that it follows on the source, and late if it is after a
    record that it precedes on the source. Only the early ones or only the late ones count, whichever are fewer: if one
    record moved to the end, only that record is reported, not all that it passed. A record that was sent again is
    paired once, with its first copy, so it is not out of order.
    """
    whole = Window.partitionBy("topic", "partition")
    order = whole.orderBy("source_offset")
    target = F.col("target_offset")
    preceding = F.max(target).over(order.rowsBetween(Window.unboundedPreceding, -1))
    following = F.min(target).over(whole.orderBy(F.desc("source_offset")).rowsBetween(Window.unboundedPreceding, -1))
    out_of_order = (
        pairs.select("topic", "partition", "digest", "source_offset", "target_offset", "time_ms")
        .where(F.col("source_offset").isNotNull() & target.isNotNull())
        .withColumn("early", F.coalesce(target < preceding, F.lit(False)))
        .withColumn("late", F.coalesce(target > following, F.lit(False)))
        .withColumn("fewer_late", F.count_if("late").over(whole) < F.count_if("early").over(whole))
        .where(F.when(F.col("fewer_late"), F.col("late")).otherwise(F.col("early")))
    )
    return summed(out_of_order.withColumnRenamed("source_offset", "offset").withColumn("kind", F.lit("reordered")))


def out_of_turn(pairs: DataFrame) -> DataFrame:
    """Return the last record of each block that the target holds again without those that follow it on the source, as
    `summed` has them; offsets are of the target.

    A restarted task sends every later record again as well, so once it has caught up, the last copies are in the
    source's order. A block is out of turn if a record that the source holds later comes before it, and the record that
    comes directly after it is not the next one of the source: copied-out-of-turn. If nothing comes after it, a
    restarted task may still be sending: copied-at-end, whose `records` are at most the target's offsets that the
    records take which follow. A record that the source holds several times is left out, because its copies cannot be
    told apart.
    """
    same, whole = Window.partitionBy("topic", "partition", "digest"), Window.partitionBy("topic", "partition")
    last, order = F.col("last_copy"), F.col("source_order")
    following = whole.orderBy(F.desc("source_offset")).rowsBetween(Window.unboundedPreceding, -1)
    copied = (
        pairs.select("topic", "partition", "digest", "source_offset", "target_offset", "time_ms")
        .withColumn("first_copy", F.min("target_offset").over(same))
        .withColumn("last_copy", F.max("target_offset").over(same))
        .withColumn("originals", F.count("source_offset").over(same))
        .where(F.col("source_offset").isNotNull() & last.isNotNull() & (F.col("originals") == 1))
        .withColumn("source_order", F.row_number().over(whole.orderBy("source_offset")))
        .withColumn("following", F.min(last).over(following))
        .withColumn("due", F.max(last).over(following) - F.col("first_copy"))
        .withColumn("next", F.lead(order).over(whole.orderBy("last_copy")))
        .where((last > F.col("first_copy")) & (last > F.col("following")))
        .withColumnRenamed("last_copy", "offset")
    )
    between = summed(copied.where(F.col("next") > order + 1).withColumn("kind", F.lit("copied-out-of-turn")))
    sample = F.struct("offset", "time_ms", F.hex("digest").alias("digest"))
    at_end = copied.where(F.col("next").isNull()).select(
        "topic",
        "partition",
        F.lit("copied-at-end").alias("kind"),
        F.col("due").alias("records"),
        F.col("offset").alias("first"),
        F.col("offset").alias("last"),
        F.array(sample).alias("samples"),
    )
    return between.unionByName(at_end)


def newest_by_key(digests: DataFrame, judged: DataFrame) -> DataFrame:
    """Return the keys whose newest record differs, as `summed` has them: key topic, partition, kind.

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


MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND = "marked-on-source", "marked-on-target", "went-round"


def marked_elsewhere(digests: DataFrame, logs: DataFrame) -> DataFrame:
    """Return records with a mark, by kind, as `summed` has them: key topic, partition, kind.

    `logs` has topic, partition, source_start and target_start, the starts of both logs. Records from before the first
    one that both sides hold are left out if the other side has removed records. The kinds:

    - marked-on-source: it carries the mark of the target, which has no such record
    - marked-on-target: it carries both marks, but the source has not received it from the target
    - went-round: it carries both marks, because it went from the target to the source and back
    """
    source, target = F.col("side") == SOURCE, F.col("side") == TARGET
    came, has = source & (F.col("role") == ASIDE), target & F.col("role").isin(ASIDE, COMPARED)
    same, whole = Window.partitionBy("topic", "partition", "digest"), Window.partitionBy("topic", "partition")
    marked = (
        digests.withColumn("came", came)
        .withColumn("both_marks", target & (F.col("role") == LOOPED))
        .where(F.col("came") | has | F.col("both_marks"))
        .withColumn("on_source", F.max("came").over(same))
        .withColumn("on_target", F.max(has).over(same))
        .withColumn("first", F.min(F.when(F.col("came") & F.col("on_target"), F.col("offset"))).over(whole))
        .join(F.broadcast(logs), on=["topic", "partition"], how="left")
    )
    # Records arrive from the target in its order, so the target still holds the originals of those after the first.
    held = (F.col("target_start") == 0) | (F.col("offset") > F.col("first"))
    kind = (
        F.when(F.col("came") & ~F.col("on_target") & held, MARKED_ON_SOURCE)
        .when(F.col("both_marks") & (F.col("on_source") | (F.col("source_start") > 0)), WENT_ROUND)
        .when(F.col("both_marks"), MARKED_ON_TARGET)
    )
    named = marked.withColumn("kind", kind).where(F.col("kind").isNotNull())
    return summed(named.select("topic", "partition", "kind", "offset", "time_ms", "digest"))
