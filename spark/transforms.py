"""Transforms from one frame to one frame. The results that checks collect are small enough for the driver."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from components.contract.parameters import GuardParameters
from spark import guards
from spark.guards import ASIDE, COMPARED, LOOPED, SOURCE, TARGET, UNCOMMITTED

SAMPLES = 20
#: How many changes of the offset delta to keep per partition. With transactions, nearly every sync is a change.
SEGMENTS = 2_000
_LOW_HALF = 0xFFFFFFFF
#: A prime: the product of two smaller numbers, and the sum of 2^31 of them, fit a bigint.
PLACED_MODULUS = (1 << 31) - 1


def heartbeats_seen(heartbeats: DataFrame, source_alias: str, target_alias: str) -> DataFrame:
    """One row: `seen`, this flow's heartbeats as (emitted_ms, partition, offset), ascending; and the numbers of
    `others` (heartbeats of other flows in the same topic) and of `undecodable` records."""
    ours = (F.col("source_alias") == source_alias) & (F.col("target_alias") == target_alias)
    return heartbeats.select("source_alias", "target_alias", "emitted_ms", "partition", "offset").agg(
        F.sort_array(F.collect_list(F.when(ours, F.struct("emitted_ms", "partition", "offset")))).alias("seen"),
        F.count(F.when(~ours, 1)).alias("others"),
        F.count(F.when(F.col("emitted_ms").isNull(), 1)).alias("undecodable"),
    )


def latest_checkpoints(checkpoints: DataFrame) -> DataFrame:
    """The newest checkpoint of every (group, topic, partition): columns upstream, downstream, and records seen.

    Key group, topic (remote name), partition. The row with null keys counts records that could not be decoded.
    """
    return (
        checkpoints.select("group", "topic", "partition", "upstream", "downstream", "offset")
        .groupBy("group", "topic", "partition")
        .agg(
            F.max_by("upstream", "offset").alias("upstream"),
            F.max_by("downstream", "offset").alias("downstream"),
            F.count(F.lit(1)).alias("records"),
        )
    )


def sync_segments(syncs: DataFrame) -> DataFrame:
    """The offset syncs at which upstream minus downstream changes: the first and the last sync of each stretch.

    Between two syncs with the same difference, every record was replicated one to one, so these syncs carry the same
    information as all syncs. Key topic, partition, offset (of the sync's own record); columns upstream, downstream,
    written_ms.
    """
    order = Window.partitionBy("topic", "partition").orderBy("offset")
    newest_first = Window.partitionBy("topic", "partition").orderBy(F.desc("offset"))
    delta = F.col("upstream") - F.col("downstream")
    columns = ("topic", "partition", "offset", "upstream", "downstream", "written_ms")
    return (
        syncs.select(*columns)
        .where(F.col("topic").isNotNull())
        .withColumn("before", F.lag(delta).over(order))
        .withColumn("after", F.lead(delta).over(order))
        .withColumn("downstream_before", F.lag("downstream").over(order))
        .withColumn("downstream_after", F.lead("downstream").over(order))
        .where(
            F.col("before").isNull()
            | F.col("after").isNull()
            | (F.col("before") != delta)
            | (F.col("after") != delta)
            | (F.col("downstream_before") > F.col("downstream"))
            | (F.col("downstream_after") < F.col("downstream"))
        )
        .withColumn("age", F.row_number().over(newest_first))
        .where((F.col("age") <= SEGMENTS) | F.col("before").isNull())
        .select(*columns)
    )


def record_digest(compared_headers: Column) -> Column:
    """A 64-bit digest of a record's key, value, headers and timestamp (bigint).

    Null-safe: the hash skips nulls, so whether key and value are null is hashed as well. Headers are hashed together
    with their text form, which shows null header values. An expression over each header would do the same, but Spark
    could no longer compile the stage.
    """
    size = F.size(compared_headers)
    headers = F.when(compared_headers.isNull() | (size == 0), F.lit(0)).otherwise(
        F.xxhash64(size, compared_headers, compared_headers.cast("string"))
    )
    key, value = F.col("key"), F.col("value")
    return F.xxhash64(key.isNull(), key, value.isNull(), value, F.col("timestamp"), headers)


def digests(
    records: DataFrame, side: str, prefix: str, guard: GuardParameters | None = None, prefixed: str = ""
) -> DataFrame:
    """Records as side, role (see `guards`), topic (the source's name), partition, offset, time_ms, digest, key_digest
    (null without a key) and tombstone (whether there is no value).

    On the target, topics that end in `prefixed` have `prefix` before the source's name; `prefix` is empty on the
    source.
    """
    columns = (F.col("partition"), F.col("offset"), F.unix_millis("timestamp").alias("time_ms"))
    # The headers become a column first, because an expression that is used three times is computed three times.
    return records.withColumn("compared", guards.headers(side, guard)).select(
        F.lit(side).alias("side"),
        guards.role(side, guard).alias("role"),
        _source_topic(prefix, prefixed).alias("topic"),
        *columns,
        record_digest(F.col("compared")).alias("digest"),
        F.when(F.col("key").isNotNull(), F.xxhash64("key")).alias("key_digest"),
        F.col("value").isNull().alias("tombstone"),
    )


def uncommitted(digests: DataFrame) -> DataFrame:
    """The compared records of `digests`, read from the source as read_uncommitted, as a third side."""
    return digests.where(F.col("role") == COMPARED).withColumn("side", F.lit(UNCOMMITTED))


def unmarked_digests(records: DataFrame, side: str, marks: Sequence[str]) -> DataFrame:
    """Records of a ring as side, topic, partition, offset, digest. Marks do not count: a copy has the same digest."""
    return records.withColumn("compared", guards.without_marks(marks)).select(
        F.lit(side).alias("side"), "topic", "partition", "offset", record_digest(F.col("compared")).alias("digest")
    )


def _source_topic(prefix: str, prefixed: str) -> Column:
    topic = F.col("topic")
    stripped = F.substring(topic, len(prefix) + 1, 1 << 20) if prefix else topic
    return F.when(topic.endswith(prefixed), stripped).otherwise(topic) if prefixed else stripped


def partition_sums(digests: DataFrame) -> DataFrame:
    """Count and order-free digest of every partition: columns records, low, high; key side, topic, partition.

    The digest is the sum of the records' digests, kept as sums of 32-bit halves, which 2^31 records cannot overflow.
    low_placed and high_placed add up each half times the record's offset, both modulo PLACED_MODULUS, and first is the
    offset of the first record. Columns looped and aside count the records that the other columns leave out; low_aside
    and high_aside are the digest of those set aside. oldest_ms and newest_ms are times.
    """
    compared = F.col("role") == COMPARED
    time_ms = F.when(compared, F.col("time_ms"))
    aside = F.col("role") == ASIDE
    low_half, high_half = F.col("digest").bitwiseAND(F.lit(_LOW_HALF)), F.shiftrightunsigned("digest", 32)
    low, high = F.when(compared, low_half).otherwise(0), F.when(compared, high_half).otherwise(0)
    offset = F.when(compared, F.col("offset"))
    return (
        digests.select(
            *("side", "topic", "partition", "role"),
            low.alias("low"),
            high.alias("high"),
            F.when(aside, low_half).otherwise(0).alias("low_aside"),
            F.when(aside, high_half).otherwise(0).alias("high_aside"),
            time_ms.alias("time_ms"),
            offset.alias("offset"),
            _placed(low, offset).alias("low_placed"),
            _placed(high, offset).alias("high_placed"),
        )
        .groupBy("side", "topic", "partition")
        .agg(
            F.count(F.when(compared, 1)).alias("records"),
            F.sum("low").alias("low"),
            F.sum("high").alias("high"),
            F.count(F.when(F.col("role") == LOOPED, 1)).alias("looped"),
            F.count(F.when(F.col("role") == ASIDE, 1)).alias("aside"),
            F.sum("low_aside").alias("low_aside"),
            F.sum("high_aside").alias("high_aside"),
            F.min("time_ms").alias("oldest_ms"),
            F.max("time_ms").alias("newest_ms"),
            F.coalesce(F.sum("low_placed"), F.lit(0)).alias("low_placed"),
            F.coalesce(F.sum("high_placed"), F.lit(0)).alias("high_placed"),
            F.min("offset").alias("first"),
        )
    )


def _placed(half: Column, offset: Column) -> Column:
    """A half of a digest times an offset, modulo PLACED_MODULUS; null without an offset."""
    modulus = F.lit(PLACED_MODULUS)
    return (half % modulus) * (offset % modulus) % modulus


def returned(digests: DataFrame, seen: DataFrame) -> DataFrame:
    """How many new records are copies of old ones: columns records, distinct, new, returned.

    Key side, topic, partition. `seen` has side, topic, partition, seen_end; records from offset seen_end on are new.
    """
    partition = ("side", "topic", "partition")
    is_new = F.col("offset") >= F.col("seen_end")
    return (
        digests.select(*partition, "offset", "digest")
        .join(F.broadcast(seen.select(*partition, "seen_end")), on=list(partition), how="inner")
        .groupBy(*partition, "digest")
        .agg(F.count(F.lit(1)).alias("copies"), F.count(F.when(is_new, 1)).alias("fresh"))
        .groupBy(*partition)
        .agg(
            F.sum("copies").alias("records"),
            F.count(F.lit(1)).alias("distinct"),
            F.sum("fresh").alias("new"),
            F.sum(F.when(F.col("copies") > F.col("fresh"), F.col("fresh")).otherwise(0)).alias("returned"),
        )
    )


def paired(digests: DataFrame, newest_first: bool = False) -> DataFrame:
    """The compared records of both sides, paired: the n-th record with a digest on the source and on the target.

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


def differences(pairs: DataFrame, judged: DataFrame) -> DataFrame:
    """What is on one side only, by kind: key topic, partition, kind; columns records, first, last (offsets), samples.

    `judged` has topic, partition and two offsets. Source records from judged_end on may still be on their way and are
    left out. Every source record from started on must be replicated; null means from the first record that both sides
    hold. The kinds, relative to the first and the last record that both sides hold:

    - before-start, missing-head, missing-hole, missing-tail: only on the source; missing: so is every record
    - duplicated: the source has the record, but fewer times
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
    """Records that have a kind, counted: key topic, partition, kind; columns records, first, last (offsets), samples.

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
    """The records without a partner, up to `judged_end`, with columns to judge them by: known (the source has an equal
    record), first_source, last_source and first_target (offsets of paired records), start."""
    whole, same = Window.partitionBy("topic", "partition"), Window.partitionBy("topic", "partition", "digest")
    where_else = ("unmarked_offset", "uncommitted_offset")
    source, target = F.col("source_offset"), F.col("target_offset")
    both = source.isNotNull() & target.isNotNull()
    return (
        pairs.select("topic", "partition", "digest", "source_offset", "target_offset", *where_else, "time_ms")
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
        .when(F.col("known"), "duplicated")
        .when(target < F.col("first_target"), "extra-head")
        .otherwise("extra")
    )


def reordered(pairs: DataFrame) -> DataFrame:
    """The pairs that stand on the target before an earlier record of the source, as `differences` has them.

    A record that was sent again is paired once, with its first copy, so it is not out of order.
    """
    order = Window.partitionBy("topic", "partition").orderBy("source_offset")
    sample = F.struct(F.col("source_offset").alias("offset"), "time_ms", F.hex("digest").alias("digest"))
    samples = F.sort_array(F.collect_list(F.when(F.col("rank") <= SAMPLES, sample)))
    return (
        pairs.select("topic", "partition", "digest", "source_offset", "target_offset", "time_ms")
        .where(F.col("source_offset").isNotNull() & F.col("target_offset").isNotNull())
        .withColumn("before", F.lag("target_offset").over(order))
        .where(F.col("target_offset") < F.col("before"))
        .withColumn("rank", F.row_number().over(order))
        .groupBy("topic", "partition")
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.min("source_offset").alias("first"),
            F.max("source_offset").alias("last"),
            samples.alias("samples"),
        )
        .withColumn("kind", F.lit("reordered"))
    )


def positions(digests: DataFrame) -> DataFrame:
    """Records of small windows, to find those of one side on the other: topic, partition, offset, time_ms, digest."""
    return digests.select("topic", "partition", "offset", "time_ms", F.hex("digest").alias("digest"))
