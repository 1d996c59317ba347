"""Plans a planned or continuous failover from what was looked at: its preconditions and the groups' positions. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import NoAnswer, RefusedError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.contract.wording import agreeing, named, number
from kafka_replication.components.kafka.exact_positions import ExactPosition, NotProvenError, PartitionPositions
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.infra.operate.move.facts import (
    Bound,
    FailoverFacts,
    Group,
    GroupPlan,
    Mode,
    NewPosition,
    Precondition,
    streams_groups,
    unproven,
)
from kafka_replication.infra.operate.status.facts import ConnectorFacts, VerdictFacts
from kafka_replication.infra.operate.status.flow_status import duration

#: How many partitions a message names.
_NAMED = 3


def plan(
    flow: FlowParameters,
    mode: Mode,
    facts: FailoverFacts,
    now_ms: int,
    max_lag: int = 0,
    fence: Precondition | None = None,
) -> GroupPlan:
    """Return the plan of a planned or continuous failover; up to `max_lag` records may still be missing on the target.

    With a `fence` that the command has yet to set, producers may still write.
    """
    positions, left_alone = new_positions(facts.groups, lambda group: group_positions(flow, group, facts))
    producers = fence or _producers(flow, facts)
    stops = (producers, _drained(flow, facts, max_lag)) if mode is Mode.PLANNED else (_behind(facts),)
    preconditions = (
        _connectors(facts.connectors),
        _topics(flow, facts),
        *stops,
        _proof(facts),
        groups_precondition(positions, left_alone),
        *streams_groups(facts.groups, positions),
        *_foreign(flow, facts),
        *_returning(flow, facts, positions),
        *_without_offset(flow, facts, {position.group for position in positions}),
        verdict_precondition(facts.verdict, now_ms),
    )
    return GroupPlan(preconditions, tuple(positions), left_alone)


class LeftAloneError(Exception):
    """The reason to leave a group alone."""


def new_positions(
    groups: Iterable[Group], positions_of_group: Callable[[Group], list[NewPosition]]
) -> tuple[list[NewPosition], dict[str, str]]:
    """Return the positions of the groups that can continue, and why the others cannot."""
    positions: list[NewPosition] = []
    left_alone: dict[str, str] = {}
    for group in groups:
        try:
            positions += positions_of_group(group)
        except LeftAloneError as error:
            left_alone[group.name] = str(error)
    return positions, left_alone


def refuse_running(flow: FlowParameters, group: Group) -> None:
    """Raise LeftAloneError if the group has members on either side: only they may commit for it."""
    for members, side in ((group.members_on_source, flow.source), (group.members_on_target, flow.target)):
        if members:
            raise LeftAloneError(f"it runs on {side.alias} with {number(members, 'member')}: stop it there first")


def group_positions(flow: FlowParameters, group: Group, facts: FailoverFacts) -> list[NewPosition]:
    """Return the positions of a group. Raises LeftAloneError if one of them must not be committed."""
    refuse_running(flow, group)
    positions = []
    for partition, committed in sorted(group.committed.items()):
        remote = flow.replication_policy.remote_partition(partition)
        current = group.on_target.get(remote)
        position = _position(partition, committed, current, facts)
        if current is not None and current > position.offset:
            past = f"it is at {current} in {remote}, past its new position {position.offset}"
            why = f"it consumed on {flow.target.alias}, or its offset was reset on {flow.source.alias}"
            raise LeftAloneError(f"{past}: {why}. Delete the group on {flow.target.alias} to move it")
        bound: Bound = "at least" if flow.guard or position.at_least else "exactly"
        offset, again, metadata = position.offset, position.read_again, group.metadata.get(partition, "")
        positions.append(NewPosition(group.name, partition, committed, remote, offset, again, bound, metadata))
    return positions


def _position(partition: TopicPartition, committed: int, current: int | None, facts: FailoverFacts) -> ExactPosition:
    walk = facts.positions.get(partition)
    if walk is None:
        raise LeftAloneError(f"{partition} is not on the target")
    if isinstance(walk, NotProvenError):
        raise LeftAloneError(f"its position in {partition} is not proven")
    if committed not in walk.positions:
        raise LeftAloneError(f"it is at {committed} in {partition}, after the end of the source")
    position = walk.positions[committed]
    if current is not None:
        position = walk.returning.get((committed, current), position)
    if position.not_there:
        missing = number(position.not_there, "record")
        raise LeftAloneError(f"the target does not have {missing} of {partition} that the group has not consumed")
    if position.expired:
        older = number(position.expired, "older record")
        why = f"it is at {committed} in {partition}, but the source has deleted the next records"
        unread = f"the group may not have read {older} on the target"
        raise LeftAloneError(f"{why}, and {unread}: set its position by hand")
    return position


def _connectors(connectors: tuple[ConnectorFacts, ...] | NoAnswer) -> Precondition:
    if isinstance(connectors, NoAnswer):
        return Precondition("connectors", f"not known: {connectors.reason}", met=False)
    wrong = [connector for connector in connectors if not _works(connector)]
    shown = wrong or connectors
    states = (f"{facts.name} {facts.state or 'in no reported state'}{_tasks(facts)}" for facts in shown)
    return Precondition("connectors", ", ".join(states), met=not wrong)


def _works(facts: ConnectorFacts) -> bool:
    runs = facts.state == "RUNNING" and not facts.failures and not facts.problem and facts.running_tasks > 0
    return facts.role != "source" or runs


def _tasks(facts: ConnectorFacts) -> str:
    return f" with {facts.running_tasks} of {number(len(facts.tasks), 'task')}" if facts.tasks else ""


def _topics(flow: FlowParameters, facts: FailoverFacts) -> Precondition:
    if facts.missing:
        return Precondition("topics", f"{named(facts.missing)} not on {flow.target.alias} yet", met=False)
    topics = len({partition.topic for partition in facts.positions})
    value = f"{number(topics, 'topic')} with {number(len(facts.positions), 'partition')} on {flow.target.alias}"
    return Precondition("topics", value, met=topics > 0)


def _producers(flow: FlowParameters, facts: FailoverFacts) -> Precondition:
    if cut := [growth for growth in facts.grown if growth.after < growth.before]:
        ends = [f"{growth.partition} ends at {growth.after}, and ended at {growth.before}" for growth in cut]
        lost = f"{flow.source.alias} lost records while it was watched: {named(ends)}"
        return Precondition("producers", lost, met=False)
    if facts.grown:
        grown = [f"{growth.partition} grew from {growth.before} to {growth.after}" for growth in facts.grown]
        return Precondition("producers", f"a producer still writes: {named(grown)}", met=False)
    if facts.open:
        value = f"a transaction is open, or something is written, on {named(facts.open)}"
        return Precondition("producers", value, met=False)
    return Precondition("producers", f"nothing was written for {facts.watched_seconds:g} s")


def _walks(facts: FailoverFacts) -> dict[TopicPartition, PartitionPositions]:
    results = facts.positions.items()
    return {partition: walk for partition, walk in results if not isinstance(walk, NotProvenError)}


def only_waits(plan: GroupPlan, facts: FailoverFacts) -> int:
    """Return how many records are still missing on the target, if nothing else holds up the plan; otherwise 0."""
    return 0 if plan.unmet else sum(walk.waiting for walk in _walks(facts).values())


def _waiting(facts: FailoverFacts) -> str:
    waiting = {partition: walk.waiting for partition, walk in sorted(_walks(facts).items()) if walk.waiting}
    if not waiting:
        return ""
    places = [f"{count} of {partition}" for partition, count in waiting.items()]
    return f"{number(sum(waiting.values()), 'record')} not on the target yet: {named(places)}"


def _drained(flow: FlowParameters, facts: FailoverFacts, max_lag: int) -> Precondition:
    waiting = _waiting(facts)
    if waiting and max_lag:
        count = sum(walk.waiting for walk in _walks(facts).values())
        more = "which the command waits for" if count <= max_lag else f"and `--max-lag` is {max_lag}"
        return Precondition("drained", f"{waiting}, {more}", met=None if count <= max_lag else False)
    compared = sum(walk.on_target for walk in _walks(facts).values())
    value = f"each of the last {number(compared, 'record')} of {flow.source.alias} is on {flow.target.alias}"
    return Precondition("drained", waiting or value, met=not waiting)


def _behind(facts: FailoverFacts) -> Precondition:
    return Precondition("lag", _waiting(facts) or "none", met=None)


def _proof(facts: FailoverFacts) -> Precondition:
    if text := unproven(facts.positions):
        return Precondition("positions", text, met=False)
    again = sum(walk.sent_again for walk in _walks(facts).values())
    return Precondition("positions", f"computed from records; {number(again, 'record')} are duplicated on the target")


def groups_precondition(positions: list[NewPosition], left_alone: Mapping[str, str]) -> Precondition:
    """Say how many groups move; there has to be one."""
    count = len({position.group for position in positions})
    alone = f", {len(left_alone)} left alone" if left_alone else ""
    return Precondition("groups", f"{number(count, 'group')} to move{alone}", met=count > 0)


def _foreign(flow: FlowParameters, facts: FailoverFacts) -> Iterator[Precondition]:
    """Report records that others wrote to topics of the same name on the target, and that a group may read."""
    counts = {partition: walk.foreign for partition, walk in sorted(_walks(facts).items()) if walk.foreign}
    if counts:
        places = [f"{count} of {partition}" for partition, count in counts.items()]
        value = f"{number(sum(counts.values()), 'record')} on {flow.target.alias} did not come from {flow.source.alias}"
        yield Precondition("only target", f"{value}: {named(places)}", met=None)


def _returning(flow: FlowParameters, facts: FailoverFacts, positions: list[NewPosition]) -> Iterator[Precondition]:
    """Name the groups of a pair that continue further on because they have consumed on the target before."""
    walks = _walks(facts)
    further = (new for new in positions if new.offset != walks[new.source].positions[new.committed].offset)
    if names := list(dict.fromkeys(new.group for new in further)):
        target, source = flow.target.alias, flow.source.alias
        groups = agreeing(len(names), "[the group|these groups]")
        only = f"to start from the offsets on {source} alone, delete {groups} on {target}"
        value = f"{named(names)}: records consumed on {target} are not read again; {only}"
        yield Precondition("returning", value, met=None)


def _without_offset(flow: FlowParameters, facts: FailoverFacts, names: set[str]) -> Iterator[Precondition]:
    """Say where the named groups start in partitions of their topics in which they have no source offset."""
    starts_by_group: dict[str, list[str]] = {}
    for group in facts.groups:
        topics = {partition.topic for partition in group.committed}
        partitions = [partition for partition, end in sorted(facts.ends.items()) if partition.topic in topics and end]
        if group.name in names and (
            starts := [_start(flow, group, partition) for partition in partitions if partition not in group.committed]
        ):
            starts_by_group[group.name] = starts
    for name, starts in list(starts_by_group.items())[:_NAMED]:
        yield Precondition("no offset", f"{name} begins {named(starts)}", met=None)
    if others := list(starts_by_group)[_NAMED:]:
        yield Precondition("no offset", f"others also lack one in some partitions: {', '.join(others)}", met=None)


def _start(flow: FlowParameters, group: Group, partition: TopicPartition) -> str:
    remote = flow.replication_policy.remote_partition(partition)
    there = group.on_target.get(remote)
    if there is None:
        return f"in {remote} at its `auto.offset.reset`"
    return f"in {remote} at {there}, its offset on {flow.target.alias}, and skips what is before it"


def verdict_precondition(verdict: VerdictFacts | NoAnswer | None, now_ms: int) -> Precondition:
    """Report the newest published verdict; it decides nothing, because positions are proven independently."""
    match verdict:
        case NoAnswer():
            return Precondition("verdict", f"not known: {verdict.reason}", met=None)
        case None:
            return Precondition("verdict", "no validation was ever published", met=None)
    age = duration(max(0.0, now_ms / 1000 - verdict.at.timestamp()))
    other = "" if verdict.current else ", for another model or with other accepted findings"
    met = True if verdict.verdict is Verdict.PASS and verdict.current else None
    return Precondition("verdict", f"{verdict.verdict}, {age} ago{other}", met=met)


def refuse_unsuited(flow: FlowParameters, mode: Mode) -> None:
    """Raise RefusedError if the flow has no exact positions or the mode does not suit it."""
    where = f"flow {flow.name}"
    if flow.transformed and mode is not Mode.DISASTER:
        what = "the flow's own transforms may change or drop records"
        why = "Exact positions are found by comparing records, and a changed record equals none of the source's."
        if flow.checkpoints.enabled and flow.checkpoints.sync_group_offsets:
            most = number(flow.offset_syncs.lag_max, "record")
            remedy = f"start the groups at the offsets that MirrorMaker synced; those near the end read {most} again."
        else:
            remedy = "give each group a position on the target by hand, from the time of its last record."
        raise RefusedError("records-not-comparable", what, where, why, remedy)
    if mode is Mode.CONTINUOUS and flow.policy is not Policy.DEFAULT:
        what = f"`--mode continuous` needs the policy `default`, and the flow has `{flow.policy.value}`"
        why = "Topics have the same name on both sides, so that a consumer cannot read what both clusters produced."
        raise RefusedError("mode-unsuited", what, where, why, "stop the producers, and use `--mode planned`.")


def next_steps(flow: FlowParameters, mode: Mode, groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Say what to start, and where; `groups` are the source's topics by group."""
    if not groups:
        return
    policy = flow.replication_policy
    yield f"Start the consumers on {flow.target.alias}: {flow.target.bootstrap_servers}"
    for group, consumed in groups.items():
        names = sorted({name for topic in consumed for name in (policy.remote(topic), topic)})
        yield f"  {group} subscribes to {', '.join(names)}"
    topics = sorted({topic for consumed in groups.values() for topic in consumed})
    verb = "Move" if mode is Mode.CONTINUOUS else "Then start"
    yield f"{verb} the producers on {flow.target.alias}, where they write to {', '.join(topics)}"
