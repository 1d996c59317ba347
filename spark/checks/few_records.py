"""Counts and sums of few records, read by one consumer per cluster and added up in Python. Spark would do the same, but
takes seconds to start, and more for its first query. The digests differ from Spark's, and take bytes as base64, as the
JVM's JSON has them: they are compared only with each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b

from components.contract.parameters import FlowParameters
from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.sums import Sums
from spark.clusters import Cluster
from spark.flows import OpenFlow
from spark.guards import ASIDE, COMPARED, LOOPED, SOURCE, TARGET, compared_headers, role_of
from spark.small_reads import JsonRecord, headers_of
from spark.transforms import LOW_HALF, PLACED_MODULUS

Ranges = Mapping[TopicPartition, OffsetRange]
BySide = dict[str, dict[TopicPartition, Sums]]
#: Of both sides. Reading and adding them up takes two thirds of the time in which Spark starts and plans its first
#: query.
AT_MOST_RECORDS = 500_000
#: Keys, values and headers of one side, which pass from the JVM to Python as text: 64 MiB as base64.
AT_MOST_CHARACTERS = 4 * 64 * 1024 * 1024 // 3
_NOT_UTF_8 = "\N{REPLACEMENT CHARACTER}"


class LeftToSparkError(Exception):
    """The records are too large, or Java and Python may read a header's name differently."""


def are_few(flow: FlowParameters, *sides: Ranges) -> bool:
    """Whether these ranges can be read here. A filter's regular expressions are Java's, so Spark evaluates them."""
    return not flow.drops and sum(each.size for ranges in sides for each in ranges.values()) <= AT_MOST_RECORDS


def sums_of_few(flow: OpenFlow, source: Ranges, target: Ranges) -> BySide:
    """The sums of both sides by source partition, like `target`; raises LeftToSparkError."""
    named = {flow.policy.remote_partition(each): each for each in target}
    remote = {there: target[here] for there, here in named.items()}

    def read(side: str, cluster: Cluster, ranges: Ranges) -> dict[TopicPartition, Sums]:
        return sums(cluster.json_batches(ranges.items(), "reading the records of both sides"), side, flow.parameters)

    with ThreadPoolExecutor(2, "few-records") as both:
        here = both.submit(read, SOURCE, flow.source, source)
        there = both.submit(read, TARGET, flow.target, remote)
        return {SOURCE: here.result(), TARGET: {named[at]: found for at, found in there.result().items()}}


def sums(batches: Iterable[Sequence[JsonRecord]], side: str, flow: FlowParameters) -> dict[TopicPartition, Sums]:
    """The sums of each partition that holds a record; each batch is of one partition. Raises LeftToSparkError."""
    found: dict[TopicPartition, _Adding] = {}
    left, role_without_headers = AT_MOST_CHARACTERS, role_of(side, flow.guard, ())
    for batch in filter(None, batches):
        partition = TopicPartition(batch[0]["topic"], batch[0]["partition"])
        adding = found.setdefault(partition, _Adding())
        for each in batch:
            key, value, time_ms = each["key"], each["value"], each["timestamp"]
            content, role = f"{key!r} {value!r} {time_ms}", role_without_headers
            if each["headers"]["headers"]:
                headers = headers_of(each)
                if any(_NOT_UTF_8 in name for name, _ in headers):
                    raise LeftToSparkError
                role = role_of(side, flow.guard, headers)
                content += "".join(map(repr, compared_headers(side, flow.guard, flow.changed_headers, headers)))
            left -= len(content)
            digest = int.from_bytes(blake2b(content.encode(), digest_size=8).digest(), "big")
            adding.add(role, each["offset"], time_ms, digest)
        if left < 0:
            raise LeftToSparkError
    return {partition: adding.sums() for partition, adding in found.items()}


class _Adding:
    """Adds up one side of a partition while its records are read, as `transforms.partition_sums` defines the sums."""

    def __init__(self) -> None:
        self.counts = {COMPARED: 0, ASIDE: 0, LOOPED: 0}
        self.low = self.high = self.low_placed = self.high_placed = self.low_aside = self.high_aside = 0
        self.oldest_ms: int | None = None
        self.newest_ms: int | None = None
        self.first: int | None = None

    def add(self, role: str, offset: int, time_ms: int, digest: int) -> None:
        self.counts[role] += 1
        low, high = digest & LOW_HALF, digest >> 32
        if role == ASIDE:
            self.low_aside += low
            self.high_aside += high
        if role != COMPARED:
            return
        self.low += low
        self.high += high
        self.low_placed += low * offset
        self.high_placed += high * offset
        if self.first is None or self.oldest_ms is None or self.newest_ms is None:
            self.first, self.oldest_ms, self.newest_ms = offset, time_ms, time_ms
            return
        if offset < self.first:
            self.first = offset
        if time_ms < self.oldest_ms:
            self.oldest_ms = time_ms
        elif time_ms > self.newest_ms:
            self.newest_ms = time_ms

    def sums(self) -> Sums:
        return Sums(
            self.counts[COMPARED],
            self.low,
            self.high,
            self.counts[ASIDE],
            self.counts[LOOPED],
            self.oldest_ms,
            self.newest_ms,
            self.low_placed % PLACED_MODULUS,
            self.high_placed % PLACED_MODULUS,
            self.first,
            self.low_aside,
            self.high_aside,
        )
