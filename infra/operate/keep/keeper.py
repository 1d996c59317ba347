"""Keeps the positions of a flow's consumer groups: seconds old at any time, and on the target, where a failover finds
them when the source is lost.

A look asks for the ends of both logs, then for the groups' offsets, and writes the positions that have changed. It
reads no records; `components.kafka.log_ends` says why this is enough. With very many positions, a look asks for some of
the groups at a time, each time for the ends first, and writes what it has so far.
"""

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import REPLACED, TopicWriter
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.kept_positions import (
    KeptPosition,
    KeptPositions,
    Look,
    PositionKey,
    kept_positions,
    look_record,
    position_record,
    positions_topic,
)
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import CannotRunError, NoAnswer
from kafka_replication.components.contract.wording import agreeing, named, number
from kafka_replication.components.kafka.log_ends import EndHistory, Ends
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.replication_policy import clusters_passed, is_heartbeat_topic
from kafka_replication.components.render.connector_config import replicates_heartbeats
from kafka_replication.components.render.job_parameters import connector_login
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.keep.other_half import OtherHalf, syncs_of_other_half
from kafka_replication.infra.stack.session import OpenStack

#: Writes records to the topic, all or none.
Write: TypeAlias = Callable[[Iterable[tuple[bytes, bytes | None]]], None]

_CHECKPOINT = "so MirrorMaker's checkpoint counts there"
_BEGINNING = "so it would begin at the start of the log"


#: The positions of a group.
ByPartition: TypeAlias = Mapping[TopicPartition, KeptPosition]
#: The offsets of this many groups are in memory at a time. Of the others, only positions are.
_GROUPS_AT_ONCE = 100
#: About how many positions are asked for before they are written. Those of new groups are not counted.
_AT_ONCE = 200_000
#: A broker keeps offsets for a week, unless `offsets.retention.minutes` says otherwise.
_RENEW_SECONDS = 86_400


@dataclass(frozen=True)
class LookResult:
    """What a look saw: `positions` by group and source partition. `void` partitions lost the end of their log on the
    target. `note` says why the flow's positions are not kept. `instead` says what counts where no position is known.
    """

    positions: Mapping[str, ByPartition]
    void: tuple[TopicPartition, ...] = ()
    note: str = ""
    instead: str = _CHECKPOINT

    @property
    def text(self) -> str:
        if self.note:
            return self.note
        positions = number(sum(map(len, self.positions.values())), "position")
        parts = [f"keeps {positions} of {number(len(self.positions), 'group')}"]
        if self.void:
            lost = "lost the end of its log, or was created again, on the target, so earlier positions are void"
            parts.append(f"{named(self.void)} {lost}")
        early = [
            f"{group} in {partition}"
            for group, by_partition in self.positions.items()
            for partition, at in by_partition.items()
            if at.committed and not (at.source_end and at.offset)
        ]
        if early:
            places = named(early)
            parts.append(f"{places} {agreeing(len(early), '[is|are] before every end that was seen')}, {self.instead}")
        return "; ".join(parts)


class _SourcePartition(NamedTuple):
    """A source partition, its ends, and the id of its remote topic. If it `stays`, a group's position in it changes
    only when the group commits.
    """

    partition: TopicPartition
    history: EndHistory
    topic_id: str
    stays: bool


@dataclass
class FlowKeeper:
    """The positions of one flow."""

    flow: FlowParameters
    #: Of a flow that is half of a pair.
    other_half: OtherHalf | None = None
    #: What the topic holds.
    _published: Mapping[str, ByPartition] = field(default_factory=dict)
    _history: dict[TopicPartition, EndHistory] = field(default_factory=dict)
    #: Of the remote topic when its ends were last added.
    _topic_ids: dict[TopicPartition, str] = field(default_factory=dict)
    #: In a pair, also of the source's topics.
    _source_ids: Mapping[str, str] = field(default_factory=dict)
    #: Partitions whose published positions are void, until others are written.
    _void: dict[TopicPartition, None] = field(default_factory=dict)
    #: When each group was asked for its offsets; the groups that were asked first come first.
    _looks: dict[str, Look] = field(default_factory=dict)

    def begin(self, flow: FlowParameters, before: KeptPositions) -> None:
        """Continue from what the topic holds. Called again after a failed look, which may or may not have written."""
        published: dict[str, dict[TopicPartition, KeptPosition]] = {}
        for (group, partition), position in before.positions.items():
            published.setdefault(group, {})[partition] = position
        self.flow, self._published = flow, published
        self._looks = {} if before.look is None else dict.fromkeys(published, before.look)
        if self.other_half is not None and before.look is not None:
            # Another keeper took the syncs before into account.
            self.other_half.read = max(self.other_half.read, before.look.syncs)

    def look(self, source: KafkaReader, target: KafkaReader, write: Write) -> LookResult:
        """Look once, and write what has changed. Raises NoAnswerError and CannotRunError; then nothing is written, or
        only the positions of groups that were asked before.
        """
        groups = self.flow.applications([*source.groups(), *source.other_groups()])
        void: dict[TopicPartition, None] = {}
        for some in self._parts(groups):
            void |= dict.fromkeys(self._look_at(some, groups, source, target, write))
        instead = _CHECKPOINT if self.other_half is None else _BEGINNING
        return LookResult(self._published, tuple(void), instead=instead)

    def _parts(self, groups: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the groups to ask at a time, at least once. If the topic has positions but no readable look, their age
        is unknown, so all groups are asked at once.
        """
        if not self._looks.keys() >= self._published.keys():
            yield groups
            return
        first = size = 0
        for end, group in enumerate(groups, start=1):
            size += len(self._published.get(group, ()))
            if size >= _AT_ONCE and end < len(groups):
                yield groups[first:end]
                first, size = end, 0
        yield groups[first:]

    def _look_at(
        self, some: Sequence[str], groups: Sequence[str], source: KafkaReader, target: KafkaReader, write: Write
    ) -> Iterable[TopicPartition]:
        """Ask for the offsets of `some` of the groups, and write what has changed. If published positions are void, ask
        for those of all groups, and return the partitions of the void positions.
        """
        flow, remote, other = self.flow, self.flow.replication_policy.remote_partition, self.other_half
        if other is not None:
            other.read_syncs({"source": source, "target": target})
        there = target.topics()
        checkpoints = self._end_of_checkpoints(target)
        partitions = source.partitions(flow.replicated(source.topics()))
        ids = target.topic_ids({remote(partition).topic for partition in partitions} & there.keys())
        partitions = [
            partition
            for partition in partitions
            if remote(partition).topic in ids and partition.partition < there[remote(partition).topic]
        ]
        # The positions are only right in this order: the target's ends, the source's ends, then the groups' offsets.
        on_target = target.ends(map(remote, partitions))
        on_source = source.ends(partitions)
        ends = {partition: Ends(on_source[partition], on_target[remote(partition)]) for partition in partitions}
        if other is not None:
            self._look_at_other_half(other, source, target, ends, ids)
        look = Look(
            at_ms=time.time_ns() // 1_000_000, checkpoints=checkpoints, syncs=0 if other is None else other.read
        )
        self._void |= dict.fromkeys(self._add(ends, ids))
        asked, places = groups if self._void else some, self._places(ids)
        found = {
            group: self._positions(commits, places, self._published.get(group, {}))
            for first in range(0, len(asked), _GROUPS_AT_ONCE)
            for group, commits in self._commits(source, asked[first : first + _GROUPS_AT_ONCE], list(places)).items()
        }
        every = {group: found[group] if group in found else self._published.get(group, {}) for group in groups}
        positions = {group: by_partition for group, by_partition in every.items() if by_partition}
        earlier = {group: at for group, at in self._looks.items() if group in positions and group not in found}
        looks = earlier | dict.fromkeys(found, look)
        records = [position_record(flow.name, *change) for change in self._changes(positions)]
        write([*records, look_record(flow.name, next(iter(looks.values()), look))])
        void, self._published, self._looks, self._void = self._void, positions, looks, {}
        return void

    def _commits(
        self, source: KafkaReader, groups: Sequence[str], partitions: Sequence[TopicPartition]
    ) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        """Return what the groups have committed, at least in these partitions."""
        known = sum(len(self._published.get(group, ())) for group in groups)
        return source.commits(groups, partitions if 2 * known > len(groups) * len(partitions) else ())

    def _look_at_other_half(
        self,
        other: OtherHalf,
        source: KafkaReader,
        target: KafkaReader,
        ends: Mapping[TopicPartition, Ends],
        ids: Mapping[str, str],
    ) -> None:
        source_ids = source.topic_ids({partition.topic for partition in ends})
        earlier = grouped(
            (partition, Ends(position.committed, position.offset))
            for partition, position in self._each_published()
            if ids.get(partition.topic) == position.topic_id
        )
        anew = []
        for partition, newest in ends.items():
            topic, seen = partition.topic, earlier.get(partition, [])
            made_anew = False
            if partition in self._history:
                seen = [*seen, self._history[partition].ends[-1]]
                was, now = self._topic_ids[partition], ids[topic]
                made_anew = was != now or self._source_ids.get(topic) != source_ids.get(topic)
            if made_anew or any(newest.source < at.source or newest.target < at.target for at in seen):
                anew.append(partition)
        other.look(target, ends, earlier, anew)
        self._source_ids = source_ids

    def _end_of_checkpoints(self, target: KafkaReader) -> int:
        """Return the end of the checkpoints' topic, which has one partition; 0 if there is none."""
        if not self.flow.checkpoints.enabled:
            return 0
        return max(target.ends(target.partitions([self.flow.checkpoints.topic])).values(), default=0)

    def _add(self, ends: Mapping[TopicPartition, Ends], ids: Mapping[str, str]) -> Iterator[TopicPartition]:
        """Add the newest ends, and yield the partitions whose positions are void from now on."""
        remote = self.flow.replication_policy.remote
        earlier = self._published_ends(ends, ids) if ends.keys() - self._history.keys() else {}
        for partition, newest in ends.items():
            topic_id = ids[remote(partition.topic)]
            made_anew = partition in self._history and self._topic_ids[partition] != topic_id
            if made_anew or partition not in self._history:
                self._history[partition] = EndHistory.continuing(() if made_anew else earlier.get(partition, ()))
            if not self._history[partition].add(newest) or made_anew:
                yield partition
            self._topic_ids[partition] = topic_id

    def _each_published(self) -> Iterator[tuple[TopicPartition, KeptPosition]]:
        return chain.from_iterable(by_partition.items() for by_partition in self._published.values())

    def _published_ends(
        self, newest: Mapping[TopicPartition, Ends], ids: Mapping[str, str]
    ) -> dict[TopicPartition, list[Ends]]:
        """Return the ends of the published positions by partition, unless its remote topic is another one now."""
        remote = self.flow.replication_policy.remote
        return grouped(
            (partition, Ends(position.source_end, position.offset))
            for partition, position in self._each_published()
            if partition in newest and ids.get(remote(partition.topic)) == position.topic_id
        )

    def _places(self, ids: Mapping[str, str]) -> dict[TopicPartition, _SourcePartition]:
        remote = self.flow.replication_policy.remote
        # After a failover a group commits nothing on the source. If the topic has the same name on the target,
        # producers may write there too, and then the target's end is not that of the source's records.
        return {
            partition: _SourcePartition(
                partition,
                history,
                ids[topic],
                topic == partition.topic and partition not in self._void and self.other_half is None,
            )
            for partition, history in self._history.items()
            if ids.get(topic := remote(partition.topic)) == self._topic_ids[partition]
        }

    def _positions(
        self,
        commits: Mapping[TopicPartition, CommittedOffset],
        places: Mapping[TopicPartition, _SourcePartition],
        before: ByPartition,
    ) -> ByPartition:
        """Return the positions of a group; those that have not changed are the objects that were there before."""
        positions = {}
        for known, (committed, metadata) in commits.items():
            if (place := places.get(known)) is None:
                continue
            partition, history, topic_id, stays = place
            at = before.get(partition)
            if at is None or (at.committed, at.metadata, at.topic_id) != (committed, metadata, topic_id) or not stays:
                ends = history.before(committed)
                if self.other_half is not None:
                    ends = ends._replace(target=min(ends.target, self.other_half.before(partition, committed)))
                now = KeptPosition(committed, ends.target, topic_id, ends.source, metadata)
                at = at if at == now else now
            positions[partition] = at
        return positions

    def _changes(self, positions: Mapping[str, ByPartition]) -> Iterator[tuple[PositionKey, KeptPosition | None]]:
        """Yield the new positions, and the keys of those that no longer exist."""
        for group, by_partition in positions.items():
            before = self._published.get(group, {})
            for partition, at in by_partition.items() if by_partition is not before else ():
                if before.get(partition) is not at:
                    yield PositionKey(group, partition), at
        for group, before in self._published.items():
            now = positions.get(group, {})
            for partition in before.keys() - now.keys() if now is not before else ():
                yield PositionKey(group, partition), None


def commit_starts(
    flow: FlowParameters,
    source: KafkaReader,
    commit: Callable[[str, Mapping[TopicPartition, CommittedOffset]], None],
    *,
    renew: bool,
    heartbeats: bool,
) -> None:
    """Commit the start of the log for each partition without an offset in the group, for a flow whose source connectors
    stop at a gap (`onLoss: stop`).

    The consumer of such a connector has `auto.offset.reset=none`. If Connect has stored no offset for a partition, the
    consumer asks for the offset that its group has committed. Until there is one, every poll of its task fails, for its
    other partitions as well. Source: MirrorSourceTask.poll, initializeConsumer; NoOffsetForPartitionException.

    With `renew`, the other offsets are committed again, so that none expires: a start that was committed later could be
    after a gap. `source` logs in as the connectors do, and also sees topics that they may not read. With `heartbeats`,
    topics of heartbeats count unless they come from the target. Source: MirrorSourceConnector.shouldReplicateTopic,
    isCycle.
    """
    group, separator, topics = flow.starts_group or "", flow.separator, source.topics()
    beats = (
        topic
        for topic in topics
        if heartbeats
        and is_heartbeat_topic(topic, separator)
        and flow.target.alias not in clusters_passed(topic, separator)
    )
    partitions = source.partitions({*flow.replicated(topics), *beats})
    known = source.committed([group]).get(group, {})
    starts = source.logs(partition for partition in partitions if partition not in known)
    offsets = {partition: log.start for partition, log in starts.items()}
    if renew:
        offsets |= {partition: known[partition] for partition in partitions if partition in known}
    if offsets:
        commit(group, {partition: CommittedOffset(offset) for partition, offset in offsets.items()})


@dataclass
class StackKeeper:
    """The keepers of a stack's flows. They stay when the stack's clients are opened again."""

    _flows: dict[str, FlowKeeper] = field(default_factory=dict)
    _begun: dict[str, TopicWriter] = field(default_factory=dict)
    #: When the starts of each flow that stops at a gap were committed again.
    _renewed: dict[str, float] = field(default_factory=dict)

    def reopened(self) -> None:
        """Begin again with new clients of the stack."""
        self._begun.clear()

    def look(self, stack: OpenStack) -> Iterator[tuple[str, LookResult | NoAnswer]]:
        """Look at each flow, whether or not another one could be asked.

        Raises CannotRunError if another keeper has taken over.
        """
        for flow in stack.flows:
            # Millions of offsets come and go, none of them in a cycle. The collector would visit them again and again,
            # which takes a quarter of a look's time.
            gc.disable()
            try:
                kept: LookResult | NoAnswer = self._look_at_flow(FlowAccess(stack, flow))
            except (NoAnswerError, CannotRunError) as error:
                if isinstance(error, CannotRunError) and error.code == REPLACED:
                    raise
                kept = NoAnswer(str(error))
            finally:
                gc.enable()
            yield flow.name, kept

    def _look_at_flow(self, opened: FlowAccess) -> LookResult:
        flow, other = opened.parameters, None
        if flow.starts_group is not None:
            source = opened.reader(connector_login(opened.flow, "source"))
            now, renewed = time.monotonic(), self._renewed.get(flow.name)
            renew = renewed is None or now - renewed > _RENEW_SECONDS
            commit, crosses = opened.writer("source").commit, replicates_heartbeats(opened.flow.expanded)
            commit_starts(flow, source, commit, renew=renew, heartbeats=crosses)
            if renew:
                self._renewed[flow.name] = now
        if flow.guard is not None:
            syncs = syncs_of_other_half(opened)
            if isinstance(syncs, str):
                return LookResult({}, note=f"its groups have no kept positions: {syncs}")
            other = OtherHalf(syncs, flow.guard.mark)
        readers, topic = opened.keeper_readers(), positions_topic(flow.name)
        if (writer := self._begun.get(flow.name)) is None:
            # From here on no other keeper writes, so what the topic holds stays true.
            writer = opened.topic_writer(topic)
            keeper = self._flows.setdefault(flow.name, FlowKeeper(flow, other))
            keeper.begin(flow, kept_positions(flow.name, readers["target"].records(topic)))
            self._begun[flow.name] = writer
        return self._flows[flow.name].look(readers["source"], readers["target"], writer.write)
