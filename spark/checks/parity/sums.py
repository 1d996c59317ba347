"""Counts and digests of both sides of partitions: read by Spark, or by one consumer per cluster if the records are few.

Spark takes seconds to start, and more for its first query. So the sums of few records are added up in Python. Those
digests differ from Spark's: they are compared only with each other. `target` is always by source partition.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields
from hashlib import blake2b

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.components.clients.errors import HEADER_UNREADABLE, ClusterError
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP, KafkaRecord
from kafka_replication.spark.read import frames
from kafka_replication.spark.read.digests import (
    ASIDE,
    COMPARED,
    LOOPED,
    LOW_HALF,
    PLACED_MODULUS,
    SOURCE,
    TARGET,
    compared_headers,
    role_of,
    sums_by_side,
)
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow
from kafka_replication.spark.read.frames import LeftToSparkError, estimates


@dataclass
class Sums:
    """Count and order-free digest of the compared records of one side of a partition.

    `low_placed` and `high_placed` are sums of each record's digest times its offset; only their remainders by
    PLACED_MODULUS count. `first` is the offset of the first record. The other fields are not compared: records that the
    guard sets `aside` and their digest, records that carry both marks (`looped`) or that a filter drops (`filtered`),
    and times.
    """

    records: int = 0
    low: int = 0
    high: int = 0
    aside: int = field(default=0, compare=False)
    looped: int = field(default=0, compare=False)
    oldest_ms: int | None = field(default=None, compare=False)
    newest_ms: int | None = field(default=None, compare=False)
    low_placed: int = field(default=0, compare=False)
    high_placed: int = field(default=0, compare=False)
    first: int | None = field(default=None, compare=False)
    low_aside: int = field(default=0, compare=False)
    high_aside: int = field(default=0, compare=False)
    filtered: int = field(default=0, compare=False)

    def add(self, role: str, offset: int, time_ms: int, digest: int) -> None:
        """Add a record that no filter drops, as `digests.partition_sums` does."""
        low, high = digest & LOW_HALF, digest >> 32
        if role == ASIDE:
            self.aside += 1
            self.low_aside += low
            self.high_aside += high
        if role == LOOPED:
            self.looped += 1
        if role != COMPARED:
            return
        self.records += 1
        self.low += low
        self.high += high
        self.low_placed += low * offset
        self.high_placed += high * offset
        if self.first is None or offset < self.first:
            self.first = offset
        if self.oldest_ms is None or time_ms < self.oldest_ms:
            self.oldest_ms = time_ms
        if self.newest_ms is None or time_ms > self.newest_ms:
            self.newest_ms = time_ms


def same_records(source: Sums, target: Sums) -> bool:
    """Return whether both sides hold the same records in the same order, as far as sums show it."""
    return source == target and same_places(source, target)


def same_places(source: Sums, target: Sums) -> bool:
    """Return whether equal records are at the same distances on both sides, so that their order is the same.

    If each record of the target is `shift` offsets further on, the sum of digest times offset differs by `shift` times
    the sum of the digests. Markers and records sent again change the distances, and then this is False.
    """
    if source.first is None or target.first is None:
        return True
    shift = target.first - source.first
    pairs = ((source.low, source.low_placed, target.low_placed), (source.high, source.high_placed, target.high_placed))
    return all((placed + shift * digests - there) % PLACED_MODULUS == 0 for digests, placed, there in pairs)


Ranges = Mapping[TopicPartition, OffsetRange]
BySide = dict[str, dict[TopicPartition, Sums]]
#: Of both sides. Reading and adding them up takes two thirds of the time in which Spark starts and plans its first
#: query.
AT_MOST_RECORDS = 500_000
#: Keys, values and headers of one side.
AT_MOST_BYTES = 64 * 1024 * 1024


def are_few(flow: FlowParameters, *sides: Ranges) -> bool:
    """Return whether these ranges can be read here. Only Spark evaluates the regular expressions of filters."""
    return not flow.drops and sum(offsets.size for ranges in sides for offsets in ranges.values()) <= AT_MOST_RECORDS


def sums_of_few(flow: OpenFlow, source: Ranges, target: Ranges) -> BySide:
    """Return the sums of both sides by source partition, like `target`; raises LeftToSparkError."""
    named = {flow.policy.remote_partition(partition): partition for partition in target}
    remote = {there: target[here] for there, here in named.items()}

    def read(side: str, cluster: FlowCluster, ranges: Ranges) -> dict[TopicPartition, Sums]:
        return record_sums(cluster.read("the records of both sides", ranges.items()), side, flow.parameters)

    with ThreadPoolExecutor(2, "few-records") as both:
        here = both.submit(read, SOURCE, flow.source, source)
        there = both.submit(read, TARGET, flow.target, remote)
        return {SOURCE: here.result(), TARGET: {named[at]: sums for at, sums in there.result().items()}}


def record_sums(records: Iterable[KafkaRecord], side: str, flow: FlowParameters) -> dict[TopicPartition, Sums]:
    """Return the sums of each partition that holds a record. Raises LeftToSparkError."""
    added = defaultdict[TopicPartition, Sums](Sums)
    left, role_without_headers = AT_MOST_BYTES, role_of(side, flow.guard, ())
    try:
        for partition, offset, time_ms, key, value, headers in records:
            content, role = f"{key!r} {value!r} {time_ms}", role_without_headers
            if headers:
                role = role_of(side, flow.guard, headers)
                content += "".join(map(repr, compared_headers(side, flow.guard, flow.changed_headers, headers)))
            left -= len(key or b"") + len(value or b"") + sum(len(header or b"") for _, header in headers)
            if left < 0:
                raise LeftToSparkError
            digest = int.from_bytes(blake2b(content.encode(), digest_size=8).digest(), "big")
            added[partition].add(role, offset, time_ms, digest)
    except ClusterError as error:
        if error.code != HEADER_UNREADABLE:
            raise
        raise LeftToSparkError from None
    return dict(added)


def both_clusters(flow: OpenFlow) -> str:
    return f"{flow.source.where} and {flow.target.where}"


def both_sides(flow: OpenFlow, source: Ranges, target: Ranges, untimed: Collection[TopicPartition] = ()) -> DataFrame:
    """Return the digests of both sides' records in one frame, so that a single Spark job reads them.

    In `untimed` source partitions, timestamps are not compared.
    """
    remote = [flow.policy.remote_partition(partition) for partition in untimed]
    here = without_times(flow.read(flow.source, source), untimed)
    there = without_times(flow.read(flow.target, _remote(flow, target)), remote)
    return flow.digests(here, SOURCE).unionByName(flow.digests(there, TARGET))


def without_times(records: DataFrame, partitions: Collection[TopicPartition]) -> DataFrame:
    """Return the records, in these partitions as if none had a timestamp."""
    if not partitions:
        return records
    untimed = F.concat_ws("-", "topic", "partition").isin([str(partition) for partition in partitions])
    none = F.timestamp_millis(F.lit(NO_TIMESTAMP))
    return records.withColumn("timestamp", F.when(untimed, none).otherwise(F.col("timestamp")))


def sums_of_both(flow: OpenFlow, source: Ranges, target: Ranges) -> BySide:
    """Return the sums of both sides by source partition, like `target`; none for a partition without records."""
    if not flow.spark.running and are_few(flow.parameters, source, target):
        with suppress(LeftToSparkError):
            return sums_of_few(flow, source, target)
    sides = ((SOURCE, flow.source, source), (TARGET, flow.target, _remote(flow, target)))
    # Only the sums are renamed: renaming each record costs more than adding it up.
    digests = {side: flow.digests(flow.read(at, ranges), side, own_names=True) for side, at, ranges in sides}
    frame = sums_by_side(digests)
    remote = {flow.policy.remote_partition(partition): partition for partition in target}
    named = {SOURCE: {partition: partition for partition in source}, TARGET: remote}
    by_side: BySide = {SOURCE: {}, TARGET: {}}
    with estimates(
        flow.spark.session, flow.progress, f"{flow.name}: comparing {numbered(len(source), 'partition[|s]')}"
    ):
        rows = frames.collected_rows(frame, both_clusters(flow), "reading the records of both sides")
    for row in rows:
        partition = named[row.side][TopicPartition(row.topic, row.partition)]
        by_side[row.side][partition] = Sums(**{column.name: row[column.name] for column in fields(Sums)})
    return by_side


def _remote(flow: OpenFlow, target: Ranges) -> Ranges:
    return {flow.policy.remote_partition(partition): offsets for partition, offsets in target.items()}
