"""A state machine over a keeper: whenever the source is lost, what was kept makes no group skip a record.

Records are written and replicated, also between two questions of one look; tasks restart; groups consume or are set
back; the keeper restarts with what it has published; the remote topic is deleted and created again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract import kept_positions as contract
from kafka_replication.components.contract.kept_positions import KeptPositions, kept_positions
from kafka_replication.components.kafka.mirror_records import Checkpoints
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.infra.operate.keep.keeper import FlowKeeper
from tests.model.partition import GROUP, ORDERS, Partition
from tests.spark.documents import a_flow
from tests.spark.forging import Written

FLOW = a_flow()
REMOTE = FLOW.replication_policy.remote_partition(ORDERS)
CHECKPOINTS = TopicPartition(FLOW.checkpoints.topic, 0)
FEW = st.integers(0, 12)


class LostAnswerError(Exception):
    """Kafka has written the records, but its answer was lost."""


class Keeper(RuleBasedStateMachine):
    """The source may be lost at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = Partition(100)
        self.keeper = FlowKeeper(FLOW)
        self.topic: list[Written] = []
        self.here = 0
        #: How many checkpoints were written.
        self.checkpoints = 0
        #: How often the target's topic was created.
        self.target_number = 0
        #: The group was set back, and neither a look nor a checkpoint has shown it.
        self.unseen = False

    @rule(records=st.integers(1, 20))
    def produce(self, records: int) -> None:
        self.partition.produce(records)

    @rule(offsets=st.integers(1, 3))
    def mark_or_abort(self, offsets: int) -> None:
        self.partition.leave_out(offsets)

    @rule(offsets=st.integers(1, 30))
    def replicate(self, offsets: int) -> None:
        self.partition.replicate(offsets)

    @rule(again=st.integers(0, 30), offsets=FEW)
    def restart(self, again: int, offsets: int) -> None:
        self.partition.restart(again)
        self.partition.replicate(offsets)

    @rule(offsets=st.integers(1, 8))
    def expire_on_target(self, offsets: int) -> None:
        partition = self.partition
        partition.target_start = min(partition.target_start + offsets, len(partition.target))

    @rule(data=st.data())
    def consume(self, data: Any) -> None:
        """Forward, or back after a reset."""
        before, self.here = self.here, data.draw(st.integers(0, len(self.partition.source)))
        self.partition.consume(self.here)
        self.unseen = self.unseen or self.here < before

    @rule()
    def translate(self) -> None:
        """The checkpoint connector writes what it can translate."""
        before, self.partition.checkpoint = self.partition.checkpoint, None
        self.partition.translate()
        if self.partition.checkpoint is None:
            self.partition.checkpoint = before
        else:
            self.checkpoints += 1
            self.unseen = False

    @rule(data=st.data(), fails=st.booleans())
    def look(self, data: Any, fails: bool) -> None:
        """A look of the keeper. Its records may be written without an answer that says so."""

        def write(records: Iterable[tuple[bytes, bytes | None]]) -> None:
            self.topic += [Written(*record) for record in records]
            if fails:
                raise LostAnswerError

        seen = Cluster(self, data)
        try:
            self.keeper.look(cast(KafkaReader, seen), cast(KafkaReader, seen), write)
        except LostAnswerError:
            self.keeper.begin(FLOW, self.published)
        self.unseen = False

    @rule()
    def restart_the_keeper(self) -> None:
        self.keeper = FlowKeeper(FLOW)
        self.keeper.begin(FLOW, self.published)

    @precondition(lambda self: self.partition.position == len(self.partition.source))
    @rule()
    def make_the_target_anew(self) -> None:
        """Somebody deletes the remote topic and its checkpoints; the connector continues where it was."""
        self.target_number += 1
        self.partition.target, self.partition.target_start = [], 0
        self.partition.checkpoint = None

    @property
    def published(self) -> KeptPositions:
        return kept_positions(FLOW.name, self.topic)

    @invariant()
    def nothing_is_skipped_if_the_source_is_lost_now(self) -> None:
        partition = self.partition
        valid = self.published.of({"orders": str(self.target_number)}, {ORDERS: partition.target_log})
        if not valid.positions or self.unseen:
            return
        newest = {(GROUP, REMOTE): (self.checkpoints - 1, partition.checkpoint)} if partition.checkpoint else {}
        checkpoint = contract.newest_checkpoint(GROUP, ORDERS, REMOTE, valid, Checkpoints(newest))
        assert checkpoint is not None
        if partition.checkpoint is not None and checkpoint[:2] == partition.checkpoint[:2]:
            # MirrorMaker's own translation may be wrong.
            return
        begin = max(checkpoint.downstream, partition.target_start)
        skipped = self.skipped_from(begin) - self.skipped_from(partition.target_start)
        assert not skipped, f"{sorted(skipped)} are skipped"

    def skipped_from(self, offset: int) -> set[int]:
        """The records that the group has not consumed and that the target holds only before this offset."""
        target = self.partition.target
        return {each for each in set(target[:offset]) - set(target[offset:]) if each is not None and each >= self.here}


@dataclass
class Cluster:
    """Both clusters of the machine. Between two questions, records are written and copied, and the group consumes."""

    machine: Keeper
    data: Any
    source_end: int = 0

    def between(self) -> None:
        partition = self.machine.partition
        partition.produce(self.data.draw(FEW))
        partition.replicate(self.data.draw(FEW))
        self.machine.here = self.data.draw(st.integers(self.machine.here, len(partition.source)))

    def topics(self) -> dict[str, int]:
        return {ORDERS.topic: 1, REMOTE.topic: 1, CHECKPOINTS.topic: 1}

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, 0) for topic in topics]

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(topics, str(self.machine.target_number))

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        partition = self.machine.partition
        ends = {ORDERS: len(partition.source), REMOTE: len(partition.target), CHECKPOINTS: self.machine.checkpoints}
        found = {place: ends[place] for place in partitions}
        self.between()
        return found

    def groups(self) -> list[str]:
        return [GROUP]

    def other_groups(self) -> list[str]:
        return []

    def commits(self, *_: object) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        self.machine.partition.consume(self.machine.here)
        return {GROUP: {ORDERS: CommittedOffset(self.machine.here)}}
