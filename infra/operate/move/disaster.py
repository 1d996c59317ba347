"""The plan when the source is lost: which records are lost, which are read again, and what to commit. Pure."""

import math
from collections.abc import Iterator
from datetime import datetime

from components.contract.parameters import FlowParameters
from components.contract.wording import agreeing, number
from components.kafka.mirror_records import Checkpoint
from components.kafka.positions import TopicPartition
from components.kafka.proven_positions import place_after_loss
from infra.operate.move.disaster_facts import Evidence, Tail
from infra.operate.move.facts import Group, LeftAlone, Move, Plan, Precondition
from infra.operate.move.failover import verdict_precondition
from infra.operate.status.flow_status import duration


def disaster_plan(flow: FlowParameters, found: Evidence) -> Plan:
    """The plan. It moves a group only in partitions where it has no position on the target, or a less exact one."""
    moves: list[Move] = []
    left_alone = []
    for group in found.groups:
        if group.members_on_target:
            why = f"it runs on {flow.target.alias} with {number(group.members_on_target, 'member')} already"
            left_alone.append(LeftAlone(group.name, why))
        else:
            moves += _needed(flow, found, group)
    again = [each for group in found.groups for each in _read_again(flow, found, group)]
    preconditions = (
        _source(flow, found),
        *_lost(flow, found),
        *again,
        _kept(found, moves),
        verdict_precondition(found.verdict, found.now_ms),
    )
    return Plan(preconditions, tuple(moves), tuple(left_alone))


def _source(flow: FlowParameters, found: Evidence) -> Precondition:
    if found.source is not None and found.source.refused:
        value = f"{found.source.reason}. The source is not lost: correct the login, and look again"
        return Precondition("source", value, met=False)
    if found.source is not None:
        return Precondition("source", found.source.reason)
    value = f"{flow.source.alias} answers, so exact positions can be computed: use `--mode planned` or `continuous`"
    return Precondition("source", value, met=False)


def last_sign_ms(found: Evidence) -> int | None:
    """When a heartbeat or record last arrived from the source, in ms since 1970."""
    # A producer may date its records in the future, which does not show when they arrived.
    times = [each.newest_ms for each in found.tails.values() if each.newest_ms is not None]
    beat = [] if found.heartbeat_ms is None else [min(found.heartbeat_ms, found.now_ms)]
    return max([*(each for each in times if each <= found.now_ms), *beat], default=None)


def _lost(flow: FlowParameters, found: Evidence) -> Iterator[Precondition]:
    """For each topic, since when records may be missing, and about how many."""
    sign = last_sign_ms(found)
    if sign is None and any(each.newest_ms is not None for each in found.tails.values()):
        value = "not known: the newest records are dated in the future, and there is no heartbeat"
        yield Precondition("lost", value, met=None)
        return
    if sign is None:
        none = f"none of the newest records there came from {flow.source.alias}"
        yield Precondition("lost", f"the flow has no heartbeat on {flow.target.alias}, and {none}", met=False)
        return
    silent = max(0.0, (found.now_ms - sign) / 1000)
    by_topic: dict[str, list[Tail]] = {}
    for partition, tail in sorted(found.tails.items()):
        by_topic.setdefault(partition.topic, []).append(tail)
    for topic, tails in by_topic.items():
        least = f"{topic}: at least the records of the last {duration(silent)}{_about(tails, sign, silent)}"
        yield Precondition("lost", f"{least}; {_if_behind(flow, found, tails)}", met=None)


def _if_behind(flow: FlowParameters, found: Evidence, tails: list[Tail]) -> str:
    """The upper bound of the loss: a task may have been far behind while heartbeats and other partitions kept up."""
    target = flow.target.alias
    newest = [each.newest_ms for each in tails if each.newest_ms is not None]
    if not newest:
        none = f"none of its newest records on {target} came from {flow.source.alias}"
        return f"if replication lagged, it is unknown how much more, because {none}"
    oldest = min(newest)
    old = f"{_age(found, oldest)} old" if oldest <= found.now_ms else "dated in the future"
    one = f"its newest record on {target}, which is"
    where = one if len(newest) == 1 else f"the newest record of each partition on {target}, the oldest of which is"
    return f"if replication lagged, also every record after {where} {old}"


def _about(tails: list[Tail], sign_ms: int, seconds: float) -> str:
    rates = [rate for each in tails if (rate := each.per_second(sign_ms)) is not None]
    return f", about {math.ceil(sum(rates) * seconds)} at its last rate" if rates else ""


def _age(found: Evidence, at_ms: int) -> str:
    return duration(max(0.0, (found.now_ms - at_ms) / 1000))


def _read_again(flow: FlowParameters, found: Evidence, group: Group) -> Iterator[Precondition]:
    """How many records a group reads again at most, and how old that information is."""
    starts = {partition: _start(flow, found, group, partition) for partition in found.tails}
    known = {
        partition: start
        for partition, start in starts.items()
        if start is not None and start <= found.tails[partition].end
    }
    if not known:
        value = (
            f"{group.name}: it has no valid position on {flow.target.alias}, so it starts at its `auto.offset.reset`"
        )
        yield Precondition("read again", value, met=None)
        return
    again = sum(max(0, found.tails[partition].end - start) for partition, start in known.items())
    written = [
        found.checkpoints[key].written_ms
        for partition in known
        if (key := (group.name, flow.replication_policy.remote_partition(partition))) in found.checkpoints
    ]
    age = f"; its offsets are known as of {_age(found, min(written))} ago" if written else ""
    topics = {each.topic for each in known}
    unknown = [each for each in starts if each not in known and each.topic in topics and found.tails[each].end]
    others = ""
    if unknown:
        where = number(len(unknown), "partition")
        others = f"; it starts at its `auto.offset.reset` in {where} where it has no valid position"
    yield Precondition("read again", f"{group.name}: at most {number(again, 'record')}{age}{others}", met=None)


def _kept(found: Evidence, moves: list[Move]) -> Precondition:
    """Whether published positions make any move more exact than MirrorMaker's checkpoint."""
    if isinstance(found.kept, str):
        return Precondition("exact", f"none: {found.kept}", met=None)
    exact = sum(each.offset > _by_checkpoint(found, each) for each in moves)
    count = f"{exact} of {number(len(moves), 'position')} to commit {agreeing(exact, '[comes|come]')}"
    value = f"{count} from the validation of {found.kept.time}"
    return Precondition("exact", value, met=None)


def _by_checkpoint(found: Evidence, move: Move) -> int:
    """Where the group would continue without published positions."""
    at, log = found.checkpoints[move.group, move.target].checkpoint, found.logs.get(move.source)
    return at.downstream if log is None else place_after_loss(at.upstream, at.downstream, None, None, log)


def consumed_topics(flow: FlowParameters, found: Evidence) -> dict[str, list[str]]:
    """For each group that does not run, the source's topics in which it has a position."""
    idle = [group for group in found.groups if not group.members_on_target]
    topics = {
        group.name: {each.topic for each in found.tails if _start(flow, found, group, each) is not None}
        for group in idle
    }
    return {name: sorted(each) for name, each in topics.items() if each}


def _start(flow: FlowParameters, found: Evidence, group: Group, partition: TopicPartition) -> int | None:
    remote = flow.replication_policy.remote_partition(partition)
    current, at = group.on_target.get(remote), _stood(flow, found, group, partition)
    if at is None:
        return current
    exact = _exact(found, group, partition, at)
    return exact if current is None or _is_synced(flow, current, at, exact) else current


def _stood(flow: FlowParameters, found: Evidence, group: Group, partition: TopicPartition) -> Checkpoint | None:
    """Where the group was last seen: at its newest checkpoint, or at the lower offset that a validation has seen since.

    MirrorMaker writes no checkpoint for an offset that it cannot translate, such as one before its oldest offset sync.
    The newest checkpoint then still has the position from before the group was set back. Source:
    MirrorCheckpointTask.checkpointsForGroup.
    """
    translated = found.checkpoints.get((group.name, flow.replication_policy.remote_partition(partition)))
    if translated is None:
        return None
    if isinstance(found.kept, str):
        return translated.checkpoint
    at, position = translated.checkpoint, found.kept.positions.get((group.name, *partition))
    since = datetime.fromisoformat(found.kept.time).timestamp() * 1000
    if position is None or position.committed >= at.upstream or translated.written_ms >= since:
        return at
    # Only the published position translates this offset: without it, the group starts at the beginning of the log.
    return at._replace(upstream=position.committed, downstream=0)


def _exact(found: Evidence, group: Group, partition: TopicPartition, at: Checkpoint) -> int:
    """Where the group of this checkpoint continues: where the checkpoint says, or further if that was proven."""
    kept, log = found.kept, found.logs.get(partition)
    if log is None:
        return at.downstream
    topic = None if isinstance(kept, str) else kept.topics.get(partition.topic)
    if isinstance(kept, str) or topic is None or found.topic_ids.get(partition.topic) != topic.target_id:
        return place_after_loss(at.upstream, at.downstream, None, None, log)
    position = kept.positions.get((group.name, *partition))
    return place_after_loss(at.upstream, at.downstream, topic.spans.get(partition.partition), position, log)


def _is_synced(flow: FlowParameters, current: int, at: Checkpoint, exact: int) -> bool:
    """Whether the group's offset on the target is MirrorMaker's own, and less exact than what was proven.

    MirrorMaker itself moves a group that does not run from any earlier offset to its checkpoint.
    """
    return flow.checkpoints.sync_group_offsets and current <= at.downstream < exact


def _needed(flow: FlowParameters, found: Evidence, group: Group) -> Iterator[Move]:
    """Where the groups continue by their newest checkpoints, unless that or anything further is already committed."""
    for partition in sorted(found.tails):
        remote = flow.replication_policy.remote_partition(partition)
        at, current = _stood(flow, found, group, partition), group.on_target.get(remote)
        start, end = _start(flow, found, group, partition), found.tails[partition].end
        if at is None or start is None or start == current:
            continue
        # If it is after the end, it belongs to an earlier topic of this name: a consumer would apply its
        # `auto.offset.reset`.
        if at.downstream <= end:
            yield Move(group.name, partition, at.upstream, remote, start, max(0, end - start), "at most")
