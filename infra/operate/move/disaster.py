"""Moves groups when the source is lost: what the target shows, which records are lost or read again, what to commit."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.evidence import PublishedPositions
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.kept_positions import (
    KeptPositions,
    kept_positions,
    newest_checkpoint,
    positions_topic,
)
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.wording import agreeing, number
from kafka_replication.components.kafka.mirror_records import Checkpoint, Checkpoints, latest_checkpoints
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.proven_positions import place_after_loss
from kafka_replication.components.kafka.replication_policy import ReplicationPolicy
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import Group, GroupPlan, Mode, NewPosition, Precondition
from kafka_replication.infra.operate.move.failover_plan import next_steps, verdict_precondition
from kafka_replication.infra.operate.move.groups import FAILOVER
from kafka_replication.infra.operate.move.run import Operation
from kafka_replication.infra.operate.partition_logs import Say
from kafka_replication.infra.operate.status.facts import VerdictFacts
from kafka_replication.infra.operate.status.flow_status import duration
from kafka_replication.infra.operate.status.kafka_facts import heartbeat_ms
from kafka_replication.infra.operate.status.kubernetes_facts import published_positions, verdict_facts

#: How many of a partition's newest offsets are read, to learn when and how fast its records arrived.
_NEWEST = 100


@dataclass(frozen=True)
class PartitionTail:
    """The end of a remote partition: `newest_ms` is the time of its newest record, None if it has none.

    `sample` is how many of the newest records were read, `oldest_ms` the time of the oldest of these.
    """

    end: int
    newest_ms: int | None = None
    oldest_ms: int | None = None
    sample: int = 0

    def per_second(self, until_ms: int) -> float | None:
        """Return how many records a second arrived from the sample's oldest record to that time; None if unknown. The
        interval does not end at the newest record: otherwise an old burst would count as the current rate.
        """
        if self.oldest_ms is None or until_ms <= self.oldest_ms:
            return None
        return (self.sample - 1) / ((until_ms - self.oldest_ms) / 1000)


@dataclass(frozen=True)
class DisasterFacts:
    """Everything that the target shows. `source` says why the source cannot be asked; None if it can.

    `tails` are by source partition, `checkpoints` by group and remote partition. The `committed` offsets of the groups
    are empty, because they were on the source. `published` has the positions that a validation has published, or says
    why there are none. `checkpoints` are the newest ones; for the keys `kept`, they have what the keeper saw, which
    last looked at `keeper_ms`; `unkept` says why what it wrote cannot be used. `logs` and `topic_ids` of the target are
    by source partition and topic.
    """

    now_ms: int
    source: NoAnswerError | None
    verdict: VerdictFacts | NoAnswer | None
    heartbeat_ms: int | None
    tails: Mapping[TopicPartition, PartitionTail]
    groups: tuple[Group, ...]
    checkpoints: Mapping[tuple[str, TopicPartition], Checkpoint]
    published: PublishedPositions | str = "no validation has published any"
    logs: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[tuple[str, TopicPartition]] = frozenset()
    keeper_ms: int | None = None
    unkept: str = ""


def why_silent(flow: FlowParameters, source: KafkaReader) -> NoAnswerError | None:
    """Return why the ends of the source's logs are not known; None if they are."""
    try:
        source.logs(source.partitions(flow.replicated(source.topics())))
    except NoAnswerError as error:
        return error
    return None


def read_target(
    flow: FlowParameters,
    target: KafkaReader,
    names: Sequence[str],
    source: NoAnswerError | None,
    verdict: VerdictFacts | NoAnswer | None,
    now_ms: int,
    published: PublishedPositions | str,
) -> DisasterFacts:
    """Ask the target for everything; `names` are the groups to move, by default those that the flow selects."""
    policy = flow.replication_policy
    topics = flow.replicated(name for copy in target.topics() if policy.remote(name := policy.original(copy)) == copy)
    remote = target.partitions(policy.remote(topic) for topic in topics)
    original = {copy: TopicPartition(policy.original(copy.topic), copy.partition) for copy in remote}
    read = target.records(flow.checkpoints.topic) if flow.checkpoints.enabled else []
    logs = {original[partition]: log for partition, log in target.logs(remote).items()}
    # A failover is not refused because of what only makes it more exact.
    try:
        kept, unkept = kept_positions(flow.name, target.records(positions_topic(flow.name))), ""
    except NoAnswerError as error:
        kept, unkept = KeptPositions(), f"what the keeper wrote cannot be used: {error}"
    by_id = {key.partition.topic for key in kept.positions} | (
        set() if isinstance(published, str) else {*published.topics}
    )
    ids: dict[str, str] = {}
    # A failover is not refused only because the target does not report the ids of its topics.
    try:
        copies = {partition.topic for partition in remote} & set(map(policy.remote, by_id))
        ids = {policy.original(copy): topic_id for copy, topic_id in target.topic_ids(copies).items()}
    except NoAnswerError as error:
        published = f"the published positions cannot be used: {error}"
    newest = latest_checkpoints(read)
    seen = _newest_checkpoints(policy, newest, kept.of(ids, logs))
    translated = {group for group, partition in seen if partition in original}
    known = translated | set(target.groups())
    chosen = sorted(names or flow.applications(known))
    members, committed = target.members(chosen), target.committed(chosen)
    groups = []
    for group in chosen:
        ours = {partition: offset for partition, offset in committed.get(group, {}).items() if partition in original}
        if ours or group in translated or names:
            groups.append(Group(group, 0, members.get(group, 0), {}, ours))
    tails = {original[partition]: tail for partition, tail in _tails(flow, target, remote).items()}
    beat = heartbeat_ms(flow, target) if flow.heartbeats.enabled else None
    return DisasterFacts(
        now_ms,
        source,
        verdict,
        beat,
        tails,
        tuple(groups),
        seen,
        published,
        logs,
        ids,
        frozenset(key for key, at in seen.items() if at != newest.get(*key)),
        None if kept.look is None else kept.look.at_ms,
        unkept,
    )


def _newest_checkpoints(
    policy: ReplicationPolicy, checkpoints: Checkpoints, kept: KeptPositions
) -> dict[tuple[str, TopicPartition], Checkpoint]:
    places = {(group, policy.remote_partition(partition)): partition for group, partition in kept.positions}
    for group, remote in checkpoints.newest:
        places.setdefault((group, remote), TopicPartition(policy.original(remote.topic), remote.partition))
    return {
        (group, remote): at
        for (group, remote), partition in places.items()
        if (at := newest_checkpoint(group, partition, remote, kept, checkpoints)) is not None
    }


def _tails(
    flow: FlowParameters, target: KafkaReader, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, PartitionTail]:
    logs = target.logs(partitions)
    ranges = {partition: OffsetRange(max(log.start, log.end - _NEWEST), log.end) for partition, log in logs.items()}
    times: dict[TopicPartition, list[int]] = {partition: [] for partition in logs}
    for record in target.read("the newest records", ranges.items()):
        # In a pair, the target's own records say nothing about the source.
        if flow.guard is None or flow.guard.mark in record.header_names:
            times[record.partition].append(record.time_ms)
    return {
        partition: PartitionTail(logs[partition].end, max(read, default=None), min(read, default=None), len(read))
        for partition, read in times.items()
    }


def disaster_plan(flow: FlowParameters, facts: DisasterFacts) -> GroupPlan:
    """Return the plan. It moves a group only in partitions where its position on the target is missing or inexact."""
    positions: list[NewPosition] = []
    left_alone = {}
    again: list[Precondition] = []
    for group in facts.groups:
        starts = _starts(flow, facts, group)
        again += _read_again(flow, facts, group, starts)
        if group.members_on_target:
            members = number(group.members_on_target, "member")
            left_alone[group.name] = f"it runs on {flow.target.alias} with {members} already"
        else:
            positions += _new_positions(facts, group, starts)
    preconditions = (
        _source(flow, facts),
        *_lost(flow, facts),
        *again,
        _exact_positions(facts, positions),
        verdict_precondition(facts.verdict, facts.now_ms),
    )
    return GroupPlan(preconditions, tuple(positions), left_alone)


def _source(flow: FlowParameters, facts: DisasterFacts) -> Precondition:
    if facts.source is not None and facts.source.refused:
        value = f"{facts.source}. The source is not lost: correct the login, and look again"
        return Precondition("source", value, met=False)
    if facts.source is not None:
        return Precondition("source", str(facts.source))
    value = f"{flow.source.alias} answers, so exact positions can be computed: use `--mode planned` or `continuous`"
    return Precondition("source", value, met=False)


def last_sign_ms(facts: DisasterFacts) -> int | None:
    """Return when a heartbeat or record last arrived from the source, in ms since 1970."""
    # A producer may date its records in the future, which does not show when they arrived.
    times = [tail.newest_ms for tail in facts.tails.values() if tail.newest_ms is not None]
    beat = [] if facts.heartbeat_ms is None else [min(facts.heartbeat_ms, facts.now_ms)]
    return max([*(time_ms for time_ms in times if time_ms <= facts.now_ms), *beat], default=None)


def _lost(flow: FlowParameters, facts: DisasterFacts) -> Iterator[Precondition]:
    """Say for each topic since when records may be missing, and about how many."""
    sign = last_sign_ms(facts)
    if sign is None and any(tail.newest_ms is not None for tail in facts.tails.values()):
        value = "not known: the newest records are dated in the future, and there is no heartbeat"
        yield Precondition("lost", value, met=None)
        return
    if sign is None:
        none = f"none of the newest records there came from {flow.source.alias}"
        yield Precondition("lost", f"the flow has no heartbeat on {flow.target.alias}, and {none}", met=False)
        return
    silent = max(0.0, (facts.now_ms - sign) / 1000)
    by_topic = grouped((partition.topic, tail) for partition, tail in sorted(facts.tails.items()))
    for topic, tails in by_topic.items():
        least = f"{topic}: at least the records of the last {duration(silent)}{_about(tails, sign, silent)}"
        yield Precondition("lost", f"{least}; {_if_behind(flow, facts, tails)}", met=None)


def _if_behind(flow: FlowParameters, facts: DisasterFacts, tails: list[PartitionTail]) -> str:
    """Describe the upper bound of the loss: a task may lag far behind while heartbeats and other partitions keep up."""
    target = flow.target.alias
    newest = [tail.newest_ms for tail in tails if tail.newest_ms is not None]
    if not newest:
        none = f"none of its newest records on {target} came from {flow.source.alias}"
        return f"if replication lagged, it is unknown how much more, because {none}"
    oldest = min(newest)
    old = f"{_age(facts, oldest)} old" if oldest <= facts.now_ms else "dated in the future"
    one = f"its newest record on {target}, which is"
    where = one if len(newest) == 1 else f"the newest record of each partition on {target}, the oldest of which is"
    return f"if replication lagged, also every record after {where} {old}"


def _about(tails: list[PartitionTail], sign_ms: int, seconds: float) -> str:
    rates = [rate for tail in tails if (rate := tail.per_second(sign_ms)) is not None]
    return f", about {math.ceil(sum(rates) * seconds)} at its last rate" if rates else ""


def _age(facts: DisasterFacts, at_ms: int) -> str:
    return duration(max(0.0, (facts.now_ms - at_ms) / 1000))


def _read_again(
    flow: FlowParameters, facts: DisasterFacts, group: Group, starts: Mapping[TopicPartition, "_Start"]
) -> Iterator[Precondition]:
    """Say how many records a group reads again at most, and how old that information is."""
    known = {
        partition: start.offset
        for partition, start in starts.items()
        if start.offset is not None and start.offset <= facts.tails[partition].end
    }
    if not known:
        value = (
            f"{group.name}: it has no valid position on {flow.target.alias}, so it starts at its `auto.offset.reset`"
        )
        yield Precondition("read again", value, met=None)
        return
    again = sum(max(0, facts.tails[partition].end - start) for partition, start in known.items())
    written = [
        facts.checkpoints[key].written_ms
        for partition in known
        if (key := (group.name, starts[partition].remote)) in facts.checkpoints
    ]
    age = f"; its offsets are known as of {_age(facts, min(written))} ago" if written else ""
    topics = {partition.topic for partition in known}
    filled = (partition for partition in starts if partition.topic in topics and facts.tails[partition].end)
    unknown = [partition for partition in filled if partition not in known]
    others = ""
    if unknown:
        where = number(len(unknown), "partition")
        others = f"; it starts at its `auto.offset.reset` in {where} where it has no valid position"
    yield Precondition("read again", f"{group.name}: at most {number(again, 'record')}{age}{others}", met=None)


def _exact_positions(facts: DisasterFacts, positions: list[NewPosition]) -> Precondition:
    """Say how many positions are more exact than MirrorMaker's checkpoint, and why."""
    kept = {position for position in positions if (position.group, position.target) in facts.kept}
    found = []
    if facts.keeper_ms is not None:
        looked = f"from the keeper, which last looked {_age(facts, facts.keeper_ms)} ago"
        found.append((len(kept), looked))
    if not isinstance(facts.published, str):
        exact = sum(
            position not in kept and position.offset > _by_checkpoint(facts, position) for position in positions
        )
        found.append((exact, f"from the validation of {facts.published.time}"))
    elif not found:
        return Precondition("exact", f"none: {facts.unkept or facts.published}", met=None)
    of = f"of {number(len(positions), 'position')} to commit"
    come = [f"{count} {of} {agreeing(count, '[comes|come]')} {origin}" for count, origin in found]
    value = ", ".join([*come, *([facts.unkept] if facts.unkept else [])])
    return Precondition("exact", value, met=None if len(kept) < len(positions) else True)


def _by_checkpoint(facts: DisasterFacts, position: NewPosition) -> int:
    """Return where the group would continue without published positions."""
    at, log = facts.checkpoints[position.group, position.target], facts.logs.get(position.source)
    return at.downstream if log is None else place_after_loss(at.upstream, at.downstream, None, None, log)


def consumed_topics(flow: FlowParameters, facts: DisasterFacts) -> dict[str, list[str]]:
    """Return the source's topics in which each group that does not run has a position."""
    idle = [group for group in facts.groups if not group.members_on_target]
    topics = {
        group.name: {
            partition.topic for partition, start in _starts(flow, facts, group).items() if start.offset is not None
        }
        for group in idle
    }
    return {name: sorted(consumed) for name, consumed in topics.items() if consumed}


class _Start(NamedTuple):
    """Where a group starts in a remote partition, None if that is not known, and `at` what it is derived from."""

    remote: TopicPartition
    at: Checkpoint | None
    offset: int | None


def _starts(flow: FlowParameters, facts: DisasterFacts, group: Group) -> dict[TopicPartition, _Start]:
    policy, starts = flow.replication_policy, {}
    for partition in sorted(facts.tails):
        remote = policy.remote_partition(partition)
        offset, at = group.on_target.get(remote), _latest(facts, group, partition, remote)
        if at is not None:
            exact = _exact(facts, group, partition, at)
            # The group has consumed everything before a kept position, on the source, so moving it on to there skips
            # nothing.
            kept = (group.name, remote) in facts.kept
            if offset is None or (offset < exact if kept else _is_synced(flow, offset, at, exact)):
                offset = exact
        starts[partition] = _Start(remote, at, offset)
    return starts


def _latest(facts: DisasterFacts, group: Group, partition: TopicPartition, remote: TopicPartition) -> Checkpoint | None:
    """Return the group's newest checkpoint, or one at the lower offset that a validation has seen since.

    MirrorMaker writes no checkpoint for an offset that it cannot translate, such as one before its oldest offset sync.
    The newest checkpoint then still has the position from before the group was set back. Source:
    MirrorCheckpointTask.checkpointsForGroup.
    """
    at = facts.checkpoints.get((group.name, remote))
    if at is None or isinstance(facts.published, str):
        return at
    position = facts.published.positions.get((group.name, *partition))
    if position is None or position.committed >= at.upstream:
        return at
    if at.written_ms >= datetime.fromisoformat(facts.published.time).timestamp() * 1000:
        return at
    # Only the published position translates this offset: without it, the group starts at the beginning of the log.
    return at._replace(upstream=position.committed, downstream=0, metadata="")


def _exact(facts: DisasterFacts, group: Group, partition: TopicPartition, at: Checkpoint) -> int:
    """Return where the group of this checkpoint continues: where it says, or further if that was proven."""
    published, log = facts.published, facts.logs.get(partition)
    if log is None:
        return at.downstream
    topic = None if isinstance(published, str) else published.topics.get(partition.topic)
    if isinstance(published, str) or topic is None or facts.topic_ids.get(partition.topic) != topic.target_id:
        return place_after_loss(at.upstream, at.downstream, None, None, log)
    position = published.positions.get((group.name, *partition))
    return place_after_loss(at.upstream, at.downstream, topic.spans.get(partition.partition), position, log)


def _is_synced(flow: FlowParameters, current: int, at: Checkpoint, proven: int) -> bool:
    """Return whether the group's offset on the target is MirrorMaker's own, and less exact than what was proven.

    MirrorMaker itself moves a group that does not run from any earlier offset to its checkpoint.
    """
    return flow.checkpoints.sync_group_offsets and current <= at.downstream < proven


def _new_positions(
    facts: DisasterFacts, group: Group, starts: Mapping[TopicPartition, _Start]
) -> Iterator[NewPosition]:
    """Yield where the group continues by its newest checkpoints, unless it has already committed that or more."""
    for partition, (remote, at, start) in starts.items():
        if at is None or start is None or start == group.on_target.get(remote):
            continue
        # If it is after the end, it belongs to an earlier topic of this name: a consumer would apply its
        # `auto.offset.reset`.
        if at.downstream <= (end := facts.tails[partition].end):
            again = max(0, end - start)
            yield NewPosition(group.name, partition, at.upstream, remote, start, again, "at most", at.metadata)


def look_at_target(opened: FlowAccess, names: Sequence[str]) -> DisasterFacts:
    """Look at what remains when the source is lost."""
    parameters = opened.parameters
    silent = why_silent(parameters, opened.reader(parameters.source))
    objects = opened.objects()
    verdict = verdict_facts(opened.flow, objects)
    now_ms = time.time_ns() // 1_000_000
    published = published_positions(opened.flow, objects)
    return read_target(parameters, opened.reader(parameters.target), names, silent, verdict, now_ms, published)


class DisasterFailover(Operation[GroupPlan]):
    """A failover that uses only what the target knows."""

    direction = FAILOVER
    asking = "asking Kubernetes and the target"
    facts: DisasterFacts

    def look(self, _: Say) -> GroupPlan:
        self.facts = look_at_target(self.opened, self.call.groups)
        return disaster_plan(self.flow, self.facts)

    def rights(self, plan: GroupPlan) -> Iterator[Precondition]:
        yield from super().rights(plan)
        value = f"not judged: it takes the ACLs of {self.flow.source.alias}, which the target does not have"
        yield Precondition("ready", value, met=None)

    def carry_out(self, plan: GroupPlan) -> None:
        call, flow = self.call, self.flow
        with call.progress("failing over") as say:
            self.commit(plan.positions, say)
        call.done(f"{number(len(plan.positions), 'position')} committed on {flow.target.alias}")
        for line in next_steps(flow, Mode.DISASTER, call.not_switched(consumed_topics(flow, self.facts))):
            call.say(line)
        stop = f"`replicate stop {self.stack} {flow.name}`"
        call.say(f"Before {flow.source.alias} comes back, stop the flow, so that no connector moves a group: {stop}")
