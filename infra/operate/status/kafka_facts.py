"""What Kafka reports about one flow: heartbeats, lag, and what its groups would read again. Only reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.kept_positions import kept_positions, positions_topic
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import TopicIds
from kafka_replication.components.flows.naming import storage_topic_name
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.losses import (
    Gap,
    LogMemory,
    Replaced,
    Retention,
    deletion,
    gap,
    passed_over,
    stops,
)
from kafka_replication.components.kafka.mirror_records import (
    Checkpoints,
    OffsetSync,
    heartbeat,
    latest_checkpoints,
    replicated_offsets,
)
from kafka_replication.components.kafka.offset_syncs import (
    SyncHistory,
    is_left_untranslated,
    known_positions,
    most_read_again,
    replicated_up_to,
    sync_histories,
)
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.infra.operate.connectors.changes import connector_places
from kafka_replication.infra.operate.status.facts import GroupFacts, Lag, Losses, PartitionLag

#: Offset syncs by partition of the source.
Syncs = Mapping[TopicPartition, SyncHistory]
#: How many of the newest heartbeats of each partition are read; those of other flows may be among them.
_HEARTBEATS = 200


@dataclass(frozen=True)
class OnTarget:
    """What the target holds for a flow: the last replicated `offsets`, and all `topics` that may be described."""

    topics: frozenset[str]
    offsets: Mapping[TopicPartition, int]
    checkpoints: Checkpoints
    committed: Mapping[str, Mapping[TopicPartition, int]]
    ends: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class OnSource:
    """What the source holds for a flow: the logs of the partitions to replicate, the groups' committed offsets, and
    where a keeper lets connectors start that stop at a gap.
    """

    logs: Mapping[TopicPartition, OffsetRange]
    committed: Mapping[str, Mapping[TopicPartition, int]]
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)


def heartbeat_ms(flow: FlowParameters, target: KafkaReader) -> int | None:
    """Return when the target's newest heartbeat of this flow was emitted, in ms since 1970; None if there is none."""
    read = target.records(flow.heartbeats.target_topic, newest=_HEARTBEATS)
    beats = map(heartbeat, read)
    ours = (flow.source.alias, flow.target.alias)
    return max((beat.emitted_ms for beat in beats if beat and (beat.source, beat.target) == ours), default=None)


def kept_ms(flow: FlowParameters, target: KafkaReader) -> int | None:
    """Return when a keeper last looked, in ms since 1970, by its clock; None if none ever did."""
    # The last record is the look, and the marker of its transaction is after it: unless a keeper was ended within one.
    for newest in (2, None):
        look = kept_positions(flow.name, target.records(positions_topic(flow.name), newest=newest)).look
        if look is not None:
            return look.at_ms
    return None


def read_syncs(flow: FlowParameters, cluster: KafkaReader) -> Syncs:
    """Return the offset syncs that their topic still holds."""
    if not flow.offset_syncs.enabled:
        return {}
    return sync_histories(cluster.records(flow.offset_syncs.topic))


def read_target(flow: ResolvedFlow, parameters: FlowParameters, target: KafkaReader) -> OnTarget:
    """Ask the target for everything but heartbeats."""
    names = frozenset(place.name for place in connector_places(flow) if place.role == "source")
    stored = target.records(storage_topic_name(flow.workers, flow.settings, "offsets"))
    checkpoints, committed = Checkpoints(), {}
    if parameters.checkpoints.enabled:
        checkpoints = latest_checkpoints(target.records(parameters.checkpoints.topic))
        committed = target.committed(_selected_groups(parameters, target))
    topics = frozenset(target.topics())
    policy = parameters.replication_policy
    remote = map(policy.remote, parameters.replicated(map(policy.original, topics)))
    logs = target.logs(target.partitions(topics & frozenset(remote)))
    return OnTarget(
        topics,
        replicated_offsets(stored, names, parameters.source.alias),
        checkpoints,
        committed,
        {partition: log.end for partition, log in logs.items()},
    )


def read_source(parameters: FlowParameters, source: KafkaReader) -> OnSource:
    """Ask the source for the logs to replicate, and for the groups' committed offsets on them."""
    topics = frozenset(parameters.replicated(source.topics()))
    logs = source.logs(source.partitions(topics), committed=parameters.exactly_once)
    group = parameters.starts_group
    starts = {} if group is None else source.committed([group]).get(group, {})
    if not parameters.checkpoints.enabled:
        return OnSource(logs, {}, starts)
    committed = source.committed(_selected_groups(parameters, source))
    ours = {
        group: {partition: offset for partition, offset in offsets.items() if partition in logs}
        for group, offsets in committed.items()
    }
    return OnSource(logs, {group: offsets for group, offsets in ours.items() if offsets}, starts)


def _selected_groups(parameters: FlowParameters, cluster: KafkaReader) -> list[str]:
    """Return the selected groups, among them streams groups, to which MirrorMaker gives no position on the target."""
    return parameters.group_selection.of([*cluster.groups(), *cluster.other_groups()])


@dataclass(frozen=True)
class KafkaLook:
    """What one look has read of a flow on both sides, and what follows from it."""

    flow: FlowParameters
    on_source: OnSource
    on_target: OnTarget
    syncs: Syncs

    def lag(self, source: KafkaReader) -> Lag:
        """Return which source records may not be on the target yet. Reads the first one in each partition, for its
        time.
        """
        flow, logs, on_target = self.flow, self.on_source.logs, self.on_target
        reached = replicated_up_to(logs, on_target.offsets, self.syncs)
        waiting = {partition: OffsetRange(reached[partition], log.end) for partition, log in logs.items()}
        guard = flow.guard
        # A guard drops records that came from the target. A flow that copies only committed records does not lag
        # because of an open transaction.
        first = source.first_records(
            waiting,
            lambda read: guard is None or guard.filter not in read.header_names,
            committed=flow.exactly_once,
        )
        behind = tuple(
            PartitionLag(partition, waiting[partition].size, record.time_ms, reached[partition])
            for partition, record in sorted(first.items())
        )
        missing = (flow.replication_policy.remote(topic) for topic in sorted({partition.topic for partition in logs}))
        ends = sum(log.end for log in logs.values())
        return Lag(len(logs), behind, tuple(topic for topic in missing if topic not in on_target.topics), ends)

    def losses(self, readers: Mapping[Side, KafkaReader], behind: Lag, memory: LogMemory, now_ms: int) -> Losses:
        """Return what the source deletes, or has deleted, before it crosses. Asks only about partitions that are
        behind, or whose log begins after what had crossed at an earlier look.

        Records that a guard or the flow's own transforms drop do not cross, so only the first one that does counts
        there.
        """
        flow, logs, on_target = self.flow, self.on_source.logs, self.on_target
        known, newest = known_positions(on_target.offsets, self.syncs), self._newest()
        starts = {} if flow.guard or flow.transformed else logs
        passed = {partition for partition, log in starts.items() if known.get(partition, log.start) < log.start}
        before = {
            partition: memory.syncs[partition]
            for partition, log in starts.items()
            if partition in newest and partition in memory.syncs and memory.syncs[partition].upstream + 1 < log.start
        }
        oldest = {lag.partition: lag.oldest_ms for lag in behind.behind if lag.oldest_ms is not None}
        topics = {partition.topic for partition in {*passed, *before, *oldest}}
        retention = {topic: Retention.of(settings) for topic, settings in readers["source"].settings(topics).items()}
        remote = {partition: flow.replication_policy.remote_partition(partition) for partition in passed}
        ends = readers["target"].ends(there for there in remote.values() if there.topic in on_target.topics)

        def gap_of(partition: TopicPartition) -> Gap | None:
            start, kept = logs[partition].start, retention[partition.topic]
            if partition in passed:
                return gap(start, known[partition], newest.get(partition), ends.get(remote[partition]), kept)
            return passed_over(before[partition], newest[partition], start, kept)

        deletions = {partition: deletion(at_ms, retention[partition.topic]) for partition, at_ms in oldest.items()}
        found_gaps = {partition: gap_of(partition) for partition in {*passed, *before}}
        gaps = {partition: found for partition, found in found_gaps.items() if found is not None}
        memory.syncs = newest
        losing = Losses({partition: found for partition, found in deletions.items() if found is not None}, gaps)
        if flow.starts_group is None:
            return losing
        replicated = {partition: offset + 1 for partition, offset in on_target.offsets.items()}
        positions = {**self.on_source.starts, **replicated}
        unstarted = tuple(sorted(logs.keys() - positions.keys()))
        stopped = memory.lasting(stops(positions, logs, gaps), now_ms)
        return replace(losing, stopped=stopped, unstarted=unstarted)

    def _newest(self) -> dict[TopicPartition, OffsetSync]:
        return {partition: syncs.latest for partition, syncs in self.syncs.items() if syncs.latest is not None}

    def replaced(
        self, readers: Mapping[Side, KafkaReader], proven: TopicIds, memories: Mapping[Side, LogMemory]
    ) -> dict[str, Replaced]:
        """Return which topics and logs were replaced, by cluster: since they were proven, or since an earlier look."""
        flow, on_target, remote = self.flow, self.on_target, self.flow.replication_policy.remote_partition
        ends: Mapping[Side, Mapping[TopicPartition, int]] = {
            "source": {partition: log.end for partition, log in self.on_source.logs.items()},
            "target": on_target.ends,
        }
        reached: Mapping[Side, Mapping[TopicPartition, int]] = {
            "source": known_positions(on_target.offsets, self.syncs),
            "target": {remote(partition): sync.downstream + 1 for partition, sync in self._newest().items()},
        }
        aliases: dict[Side, str] = {"source": flow.source.alias, "target": flow.target.alias}
        found = {}
        for side, alias in aliases.items():
            ids = readers[side].topic_ids({partition.topic for partition in ends[side]})
            found[alias] = memories[side].look(ids, ends[side], proven.get(alias, {}), reached[side])
        return found

    def groups(self) -> tuple[GroupFacts, ...]:
        """Return what each group with committed offsets on the flow's topics would read again on the target."""
        return tuple(
            GroupFacts(
                group, {partition: self._again(group, partition, offset) for partition, offset in offsets.items()}
            )
            for group, offsets in sorted(self.on_source.committed.items())
        )

    def _again(self, group: str, partition: TopicPartition, committed: int) -> int | None:
        on_target, remote = self.on_target, self.flow.replication_policy.remote_partition(partition)
        checkpoint = on_target.checkpoints.get(group, remote)
        # An application starts at the synced offset, or at the checkpoint if none are synced.
        if self.flow.checkpoints.sync_group_offsets:
            at = on_target.committed.get(group, {}).get(remote)
        else:
            at = checkpoint.downstream if checkpoint else None
        if at is None and is_left_untranslated(checkpoint, self.on_source.logs[partition]):
            return 0
        return most_read_again(committed, at, on_target.ends.get(remote), self.syncs.get(partition, SyncHistory()))
