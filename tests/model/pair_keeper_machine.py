"""A state machine over a prefixless pair with a keeper on each side: whenever the region of a group is lost, what was
kept makes it skip no record of the other one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.kept_positions import KeptPositions, kept_positions
from kafka_replication.components.contract.parameters import OffsetSyncParameters
from kafka_replication.components.kafka.exact_positions import ExactPosition
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.positions import CommittedOffset, OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.operate.keep.keeper import FlowKeeper
from kafka_replication.infra.operate.keep.other_half import OtherHalf
from tests.model.keeper_machine import LostAnswerError
from tests.model.night_logs import Written as Held
from tests.model.pair_machine import MARKS, OTHER, REGIONS, Pair, Record
from tests.model.pair_night_machine import REGION, PairNight, numbers
from tests.model.partition import GROUP, ORDERS
from tests.spark.documents import a_pair
from tests.spark.forging import Written, offset_sync_key, offset_sync_value

FLOW = a_pair(topics=[ORDERS.topic])[0]
SYNCS = TopicPartition("syncs", 0)
LAG_MAX = 3
FEW = st.integers(0, 6)


@dataclass
class SyncingPair(Pair):
    """Its connectors write offset syncs, by their source. Source: PartitionState.update."""

    syncs: dict[str, list[OffsetSync]] = field(default_factory=lambda: {region: [] for region in REGIONS})
    before: dict[str, OffsetSync] = field(default_factory=dict)

    def replicate(self, source: str, offsets: int | None = None) -> None:
        for _ in range(len(self.logs[source]) if offsets is None else offsets):
            upstream, downstream = self.positions[source], len(self.logs[OTHER[source]])
            if upstream == len(self.logs[source]):
                return
            super().replicate(source, 1)
            if len(self.logs[OTHER[source]]) > downstream:
                self._copied(source, OffsetSync(upstream, downstream))

    def _copied(self, source: str, sync: OffsetSync) -> None:
        syncs, before = self.syncs[source], self.before.get(source)
        if (
            before is None
            or sync.downstream - (syncs[-1].downstream + 1) >= LAG_MAX
            or sync.upstream - before.upstream != 1
            or sync.downstream < before.downstream + 1
        ):
            syncs.append(sync)
        self.before[source] = sync


class PairKeeper(PairNight):
    """The keeper of `region` keeps the positions of groups that consume there, on the other side."""

    def __init__(self) -> None:
        super().__init__()
        self.pair: SyncingPair = SyncingPair()
        self.topics: dict[str, list[Written]] = {region: [] for region in REGIONS}
        #: How often each region's topic was created.
        self.created = dict.fromkeys(REGIONS, 0)
        self.keepers: dict[str, FlowKeeper] = {}
        self.truncated = self.still = False
        self.lost: set[int] = set()
        for region in REGIONS:
            self.restart_the_keeper(region)

    @rule(region=REGION, again=st.integers(0, 8), offsets=st.integers(0, 12))
    def restart(self, region: str, again: int, offsets: int) -> None:
        self.pair.before.pop(region, None)
        super().restart(region, again, offsets)

    @rule(region=REGION, offsets=st.integers(1, 4), data=st.data())
    def truncate(self, region: str, offsets: int, data: Any) -> None:
        """An unclean leader election: the region loses its newest records, and connectors start again. The keepers look
        before the log is as long as before. A group that consumes here never gets what was lost, on either side.
        """
        self.plain, self.truncated = False, True
        log = self.pair.logs[region]
        end = max(self.pair.starts[region], len(log) - offsets)
        self.lost |= numbers(log[end:])
        del log[end:]
        self.pair.positions[region] = min(self.pair.positions[region], len(log))
        self.pair.before.clear()
        if region in self.committed:
            self.committed[region] = min(self.committed[region], len(log))
        self.still = True
        for keeps in REGIONS:
            self.look(keeps, data, fails=False)
        self.still = False

    @rule(region=REGION)
    def restart_the_keeper(self, region: str) -> None:
        syncs = OffsetSyncParameters(cluster="target", topic=SYNCS.topic, lag_max=LAG_MAX)
        self.keepers[region] = FlowKeeper(FLOW, OtherHalf(syncs, MARKS[region]))
        self.keepers[region].begin(FLOW, self.published(region))

    @rule(region=REGION, data=st.data(), fails=st.booleans())
    def look(self, region: str, data: Any, fails: bool) -> None:
        def write(records: Iterable[tuple[bytes, bytes | None]]) -> None:
            self.topics[region] += [Written(*record) for record in records]
            if fails:
                raise LostAnswerError

        source, target = (cast(KafkaReader, Side(self, region, where, data)) for where in (region, OTHER[region]))
        try:
            self.keepers[region].look(source, target, write)
        except LostAnswerError:
            self.keepers[region].begin(FLOW, self.published(region))

    def is_right(self, source: str, position: ExactPosition, consumed: set[int]) -> None:
        """A planned failover does not expect that a region lost records."""
        if not self.truncated:
            super().is_right(source, position, consumed)

    def published(self, region: str) -> KeptPositions:
        return kept_positions(FLOW.name, self.topics[region])

    @invariant()
    def nothing_is_skipped_if_the_region_is_lost_now(self) -> None:
        target = OTHER[self.side]
        log = self.pair.log(target)
        valid = self.published(self.side).of({ORDERS.topic: str(self.created[target])}, {ORDERS: log})
        for position in valid.positions.values():
            there = self.pair.logs[target]
            before = numbers(there[log.start : position.offset]) - numbers(there[position.offset :])
            skipped = before - self.consumed - self.disguised - self.lost
            assert not skipped, f"{sorted(skipped)} are skipped"


@dataclass
class Side:
    """One region, as the keeper asks it; between two questions, anything may go on."""

    machine: PairKeeper
    keeps: str
    region: str
    data: Any

    def between(self) -> None:
        if self.machine.still:
            return
        for region in REGIONS:
            self.machine.produce(region, self.data.draw(FEW))
            self.machine.pair.replicate(region, self.data.draw(FEW))
        self.machine.consume(self.data.draw(FEW))

    @property
    def log(self) -> list[Record]:
        return self.machine.pair.logs[self.region]

    def topics(self) -> dict[str, int]:
        return {ORDERS.topic: 1}

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, 0) for topic in topics]

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(topics, str(self.machine.created[self.region]))

    def logs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        syncs = OffsetRange(0, len(self.machine.pair.syncs[self.region]))
        return {at: self.machine.pair.log(self.region) if at == ORDERS else syncs for at in partitions}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        found = {at: log.end for at, log in self.logs(partitions).items()}
        self.between()
        return found

    def read(
        self, _: str, ranges: Iterable[tuple[TopicPartition, OffsetRange]], **_named: object
    ) -> Iterator[KafkaRecord]:
        for partition, offsets in ranges:
            if partition == SYNCS:
                for at, sync in list(enumerate(self.machine.pair.syncs[self.region]))[offsets.start : offsets.end]:
                    key, value = offset_sync_key(*ORDERS), offset_sync_value(sync.upstream, sync.downstream)
                    yield Written(key, value, at, partition=SYNCS)
            else:
                for at, record in self.machine.pair.held(self.region):
                    if offsets.start <= at < offsets.end:
                        yield Held(at, record.number, 0, record.marks).record

    def groups(self) -> list[str]:
        return [GROUP]

    def other_groups(self) -> list[str]:
        return []

    def commits(self, *_: object) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        """Only the region in which the group consumes has an offset that says what it has consumed."""
        if self.region != self.machine.side:
            return {}
        return {GROUP: {ORDERS: CommittedOffset(self.machine.committed[self.region])}}
