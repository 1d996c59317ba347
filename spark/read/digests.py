"""The digest and the role of each record, as columns, and their sums by partition."""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.components.contract.parameters import DropsParameters, FlowParameters, GuardParameters
from kafka_replication.components.kafka.record_identity import Headers, without_mark
from kafka_replication.components.kafka.replication_policy import ReplicationPolicy
from kafka_replication.components.kafka.transform_chains import DropsBy

SOURCE, TARGET = "source", "target"
#: The source again, as a read_uncommitted consumer sees it.
UNCOMMITTED = "uncommitted"
#: The roles, in this order: compared; not of this flow (dropped by the guard, or written on the target itself);
#: replicated in both directions; dropped by one of the user's own filters.
COMPARED, ASIDE, LOOPED, FILTERED = "compared", "aside", "looped", "filtered"


def role_column(side: str, guard: GuardParameters | None) -> Column:
    """Return the role of a record in a flow: COMPARED, ASIDE or LOOPED."""
    if guard is None:
        return F.lit(COMPARED)
    if side == SOURCE:
        return F.when(_carries(guard.filter), ASIDE).otherwise(COMPARED)
    return F.when(~_carries(guard.mark), ASIDE).when(_carries(guard.filter), LOOPED).otherwise(COMPARED)


def is_dropped(drops: Sequence[DropsParameters], remote: Column) -> Column:
    """Return whether any of the user's filters drops the record; `remote` is the name of its topic on the target."""
    dropped = F.lit(False)
    for drop in drops:
        dropped |= ~_met(drop, remote) if drop.negate else _met(drop, remote)
    return dropped


def _met(drops: DropsParameters, remote: Column) -> Column:
    match drops.by:
        case DropsBy.TOMBSTONE:
            return F.col("value").isNull()
        case DropsBy.HEADER:
            return _carries(drops.value)
        case DropsBy.TOPIC:
            # A regular expression of Java, like that of the predicate.
            return remote.rlike(f"^(?:{drops.value})$")


def crosses(drops: Sequence[DropsParameters], value: bytes | None, given: Headers) -> bool:
    """Return whether the user's filters let a source record cross. A filter by topic decides for all records of the
    topic, so none of them has a translated offset.
    """
    for drop in drops:
        met = value is None if drop.by is DropsBy.TOMBSTONE else any(name == drop.value for name, _ in given)
        if drop.by is not DropsBy.TOPIC and met != drop.negate:
            return False
    return True


def header_column(side: str, guard: GuardParameters | None) -> Column:
    """Return the headers to compare: without the marks that the guards of both directions appended on the way.

    A mark is the last header of its name and has no value. If the last one has a value, it is not the guard's and
    stays.
    """
    given = F.col("headers")
    if guard is None:
        return given
    newest, older = (guard.filter, guard.mark) if side == SOURCE else (guard.mark, guard.filter)
    once = F.when(_carries(newest), _without_last(given, newest)).otherwise(given)
    return F.when(_carries(newest) & _carries(older), _without_last(once, older)).otherwise(once)


def _without_last(given: Column, name: str) -> Column:
    """Return the headers that include `name` without the last header of that name, if it has no value."""
    before = F.size(given) - F.array_position(F.reverse(given["key"]), name).cast("int")
    unmarked = F.concat(F.slice(given, F.lit(1), before), F.slice(given, before + 2, F.size(given)))
    return F.when(F.get(given, before)["value"].isNull(), unmarked).otherwise(given)


def without_headers(names: Sequence[str], given: Column) -> Column:
    """Return the `given` headers without any of these `names`."""
    return F.filter(given, lambda header: ~header["key"].isin(*names)) if names else given


def compared_headers(side: str, guard: GuardParameters | None, changed: Sequence[str], given: Headers) -> Headers:
    """Return what `header_column` and `without_headers` leave of the `given` headers of one record."""
    names, kept_headers = {name for name, _ in given}, given
    if guard is not None:
        newest, older = (guard.filter, guard.mark) if side == SOURCE else (guard.mark, guard.filter)
        for mark in (newest, older):
            # The guard of the other direction marked the record, and this one then marked it again.
            kept_headers = without_mark(kept_headers, mark) if {newest, mark} <= names else kept_headers
    return [header for header in kept_headers if header[0] not in changed]


def role_of(side: str, guard: GuardParameters | None, given: Headers) -> str:
    """Return what `role_column` does for a record with the `given` headers."""
    if guard is None:
        return COMPARED
    names = {name for name, _ in given}
    if side == TARGET and guard.mark not in names:
        return ASIDE
    if guard.filter in names:
        return ASIDE if side == SOURCE else LOOPED
    return COMPARED


def _carries(name: str) -> Column:
    """Return whether a header has that name; false (not null) for a record without headers."""
    return F.coalesce(F.array_contains(F.col("headers")["key"], name), F.lit(False))


LOW_HALF = 0xFFFFFFFF
#: A prime. The product of two smaller numbers fits a bigint, and so does the sum of 2^31 smaller numbers.
PLACED_MODULUS = (1 << 31) - 1


def record_digest(compared_headers: Column) -> Column:
    """Return a 64-bit digest of a record's key, value, headers and timestamp (bigint).

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


def digest_frame(records: DataFrame, side: str, flow: FlowParameters, *, own_names: bool = False) -> DataFrame:
    """Return records as side, role, topic (the source's name; with `own_names` that of the cluster),
    partition, offset, time_ms, digest, key_digest (null without a key) and tombstone (whether there is no value).
    """
    columns = (F.col("partition"), F.col("offset"), F.unix_millis("timestamp").alias("time_ms"))
    # The headers become a column first, because an expression that is used three times is computed three times.
    headers = without_headers(flow.changed_headers, header_column(side, flow.guard))
    return records.withColumn("compared", headers).select(
        F.lit(side).alias("side"),
        _role(side, flow).alias("role"),
        (_source_topic(flow.replication_policy) if side == TARGET and not own_names else F.col("topic")).alias("topic"),
        *columns,
        record_digest(F.col("compared")).alias("digest"),
        F.when(F.col("key").isNotNull(), F.xxhash64("key")).alias("key_digest"),
        F.col("value").isNull().alias("tombstone"),
    )


def _role(side: str, flow: FlowParameters) -> Column:
    given, policy = role_column(side, flow.guard), flow.replication_policy
    if not flow.drops:
        return given
    topic = F.col("topic")
    renamed = F.when(topic.endswith(policy.prefixed_ending), F.concat(F.lit(policy.prefix), topic)).otherwise(topic)
    return F.when(is_dropped(flow.drops, topic if side == TARGET else renamed), FILTERED).otherwise(given)


def uncommitted(digests: DataFrame) -> DataFrame:
    """Return the compared records of `digests`, read from the source as read_uncommitted, as a third side."""
    return digests.where(F.col("role") == COMPARED).withColumn("side", F.lit(UNCOMMITTED))


def unmarked_digests(records: DataFrame, side: str, marks: Sequence[str]) -> DataFrame:
    """Return a ring's records as side, topic, partition, offset, digest; a copy is equal, as marks do not count."""
    return records.withColumn("compared", without_headers(marks, F.col("headers"))).select(
        F.lit(side).alias("side"), "topic", "partition", "offset", record_digest(F.col("compared")).alias("digest")
    )


def _source_topic(policy: ReplicationPolicy) -> Column:
    topic, ending = F.col("topic"), policy.prefixed_ending
    stripped = F.substring(topic, len(policy.prefix) + 1, 1 << 20)
    return F.when(topic.endswith(ending), stripped).otherwise(topic) if ending else stripped


def sums_by_side(digests: Mapping[str, DataFrame]) -> DataFrame:
    """Return the `partition_sums` of each side, with its name. To sum both in one go would cost 50 % more."""
    frames = [partition_sums(digest).withColumn("side", F.lit(side)) for side, digest in digests.items()]
    return reduce(DataFrame.unionByName, frames)


def partition_sums(digests: DataFrame) -> DataFrame:
    """Count and order-free digest of every partition of one side: columns records, low, high; key topic, partition.

    The digest is the sum of the records' digests, kept as sums of 32-bit halves, which 2^31 records cannot overflow.
    low_placed and high_placed add up each half times the record's offset, both modulo PLACED_MODULUS, and first is the
    offset of the first record. Columns looped, aside and filtered count the records that the other columns leave out;
    low_aside and high_aside are the digest of those set aside. oldest_ms and newest_ms are times.
    """
    compared, aside = F.col("role") == COMPARED, F.col("role") == ASIDE
    low_half, high_half = F.col("digest").bitwiseAND(F.lit(LOW_HALF)), F.shiftrightunsigned("digest", 32)
    low, high = F.when(compared, low_half).otherwise(0), F.when(compared, high_half).otherwise(0)
    offset = F.when(compared, F.col("offset"))
    return (
        digests.select(
            *("topic", "partition", "role"),
            low.alias("low"),
            high.alias("high"),
            F.when(aside, low_half).otherwise(0).alias("low_aside"),
            F.when(aside, high_half).otherwise(0).alias("high_aside"),
            F.when(compared, F.col("time_ms")).alias("time_ms"),
            offset.alias("offset"),
            _placed(low, offset).alias("low_placed"),
            _placed(high, offset).alias("high_placed"),
        )
        .groupBy("topic", "partition")
        .agg(
            F.count(F.when(compared, 1)).alias("records"),
            *(F.count(F.when(F.col("role") == role, 1)).alias(role) for role in (LOOPED, ASIDE, FILTERED)),
            *(F.sum(name).alias(name) for name in ("low", "high", "low_aside", "high_aside")),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("low_placed", "high_placed")),
            F.min("time_ms").alias("oldest_ms"),
            F.max("time_ms").alias("newest_ms"),
            F.min("offset").alias("first"),
        )
    )


def _placed(half: Column, offset: Column) -> Column:
    """Return half a digest (32 bits) times an offset, modulo PLACED_MODULUS (31 bits); null without an offset."""
    modulus = F.lit(PLACED_MODULUS)
    return half * (offset % modulus) % modulus


def returned(digests: DataFrame, seen: DataFrame) -> DataFrame:
    """Return how many new records are copies of old ones: columns records, distinct, new, returned.

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
