"""Two clusters in memory, behind the interface with which the job reads Kafka, and a flow between them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from kafka_replication.components.clients.reader import TopicDescription
from kafka_replication.components.clients.streams import layers
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow
from tests.spark import forging
from tests.spark.documents import a_flow

ORDERS = TopicPartition("orders", 0)


@dataclass
class Log:
    """A partition. At each offset is a record, or None: a transaction marker, or what compaction has removed."""

    records: list[KafkaRecord | None] = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)
    start: int = 0

    def held(self, offsets: OffsetRange, *, committed: bool) -> list[KafkaRecord]:
        first = max(offsets.start, self.start)
        every = (record for record in self.records[first : offsets.end] if record is not None)
        return [record for record in every if not (committed and record.offset in self.aborted)]


class MemoryCluster:
    """The brokers of one alias. `reads` are the ranges of records that were asked for."""

    def __init__(self, alias: str) -> None:
        self.alias, self.where = alias, f"cluster {alias}"
        self.held: dict[TopicPartition, Log] = {}
        self.offsets: dict[str, dict[TopicPartition, int]] = {}
        self.policies: dict[str, str] = {}
        self.members: set[str] = set()

    def log(self, partition: TopicPartition) -> Log:
        return self.held.setdefault(partition, Log())

    def write(
        self, partition: TopicPartition, key: bytes | None, value: bytes | None, time_ms: int = 0, aborted: bool = False
    ) -> int:
        log = self.log(partition)
        offset = len(log.records)
        log.records.append(KafkaRecord(partition, offset, time_ms, key, value, []))
        if aborted:
            log.aborted.add(offset)
        return offset

    def produce(self, partition: TopicPartition, numbers: Iterable[int], aborted: bool = False) -> None:
        """One record for each number; equal numbers are equal records."""
        for number in numbers:
            self.write(partition, None, b"%d" % number, 1_000 + number, aborted)

    def mark(self, partition: TopicPartition) -> None:
        """The marker with which a transaction ends."""
        self.log(partition).records.append(None)

    def topics(self) -> dict[str, int]:
        names = [partition.topic for partition in self.held]
        return {name: names.count(name) for name in names}

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        known = self.topics()
        return {name: TopicDescription(known[name], f"id of {name}") for name in topics if name in known}

    def cleanup_policies(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: self.policies.get(topic, "delete") for topic in topics}

    def logs(
        self,
        partitions: Iterable[TopicPartition],
        *,
        committed: bool = False,  # noqa: ARG002
    ) -> dict[TopicPartition, OffsetRange]:
        return {each: OffsetRange(self.log(each).start, len(self.log(each).records)) for each in partitions}

    def ends(self, partitions: Iterable[TopicPartition], *, committed: bool = False) -> dict[TopicPartition, int]:
        return {partition: log.end for partition, log in self.logs(partitions, committed=committed).items()}

    def offsets_at(self, times_ms: Mapping[TopicPartition, int], *, committed: bool) -> dict[TopicPartition, int]:
        """Brokers also find aborted records."""
        assert committed
        found = {}
        for partition, time_ms in times_ms.items():
            log = self.log(partition)
            every = log.held(OffsetRange(log.start, len(log.records)), committed=False)
            found[partition] = next((record.offset for record in every if record.time_ms >= time_ms), -1)
        return found

    def read(
        self, _: str, ranges: Iterable[tuple[TopicPartition, OffsetRange]], *, committed: bool = True
    ) -> Iterator[KafkaRecord]:
        for layer in layers(ranges):
            for partition, offsets in layer.items():
                yield from self.log(partition).held(offsets, committed=committed)

    def first_records(
        self, ranges: Mapping[TopicPartition, OffsetRange], counts: Callable[[KafkaRecord], bool], *, committed: bool
    ) -> dict[TopicPartition, KafkaRecord]:
        held = {
            partition: self.log(partition).held(offsets, committed=committed) for partition, offsets in ranges.items()
        }
        return {partition: next(filter(counts, every)) for partition, every in held.items() if any(map(counts, every))}

    def groups(self) -> list[str]:
        return sorted(self.offsets)

    def other_groups(self) -> list[str]:
        return []

    def groups_with_members(self) -> frozenset[str]:
        return frozenset(self.members)

    def committed(self, groups: Collection[str]) -> dict[str, dict[TopicPartition, int]]:
        return {group: dict(self.offsets.get(group, {})) for group in groups}


class MemoryFlow:
    """The flow `orders` from useast to uswest, with what MirrorMaker has written."""

    def __init__(self, **changes: Any) -> None:
        self.parameters: FlowParameters = a_flow(**changes)
        self.source, self.target = MemoryCluster("useast"), MemoryCluster("uswest")

    @property
    def remote(self) -> TopicPartition:
        return self.parameters.replication_policy.remote_partition(ORDERS)

    def sync(self, *pairs: tuple[int, int]) -> None:
        for upstream, downstream in pairs:
            key, value = forging.offset_sync_key(*ORDERS), forging.offset_sync_value(upstream, downstream)
            self.source.write(TopicPartition(self.parameters.offset_syncs.topic, 0), key, value)

    def translate(
        self, committed: int, downstream: int, upstream: int | None = None, group: str = "checkout-a"
    ) -> None:
        """What a group has committed, its checkpoint, and its offset on the target."""
        self.source.offsets.setdefault(group, {})[ORDERS] = committed
        self.target.offsets.setdefault(group, {})[self.remote] = downstream
        key = forging.checkpoint_key(group, *self.remote)
        value = forging.checkpoint_value(committed if upstream is None else upstream, downstream)
        self.target.write(TopicPartition(self.parameters.checkpoints.topic, 0), key, value)

    @property
    def opened(self) -> OpenFlow:
        source, target = cast(FlowCluster, self.source), cast(FlowCluster, self.target)
        here, there = self.source.topics(), self.target.topics()
        names = self.parameters.replicated(frozenset(here))
        remote = self.parameters.replication_policy.remote
        return OpenFlow(
            self.parameters,
            cast(Any, None),
            source,
            target,
            {name: here[name] for name in names},
            {remote(name): there[remote(name)] for name in names if remote(name) in there},
            lambda _: None,
            frozenset(here),
            frozenset(there),
        )
