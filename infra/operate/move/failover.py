"""What the facts mean for a failover: its preconditions, and the positions to commit. Pure."""

from collections.abc import Callable, Iterable, Iterator

from components.contract.parameters import FlowParameters
from components.contract.problems import RefusedError
from components.contract.report import Verdict
from components.contract.wording import agreeing, named, number
from components.kafka.exact_positions import ExactPosition, NotProvenError, PartitionPositions
from components.kafka.positions import TopicPartition
from components.kafka.replication_policy import Policy
from infra.operate.move.facts import (
    Bound,
    FailoverFacts,
    Group,
    GroupPlan,
    LeftAlone,
    Mode,
    NewPosition,
    Precondition,
    unproven,
)
from infra.operate.status.facts import ConnectorFacts, NoAnswer, VerdictFacts
from infra.operate.status.flow_status import duration

#: How many partitions a message names.
_NAMED = 3


def plan(
    flow: FlowParameters,
    mode: Mode,
    looked: FailoverFacts,
    now_ms: int,
    max_lag: int = 0,
    fence: Precondition | None = None,
) -> GroupPlan:
    """The plan of a planned or continuous failover; up to `max_lag` records may still be missing on the target.

    With a `fence` that the command has yet to set, producers may still write.
    """
    moves, left_alone = moves_of(looked.groups, lambda group: group_moves(flow, group, looked))
    producers = fence or _producers(flow, looked)
    stops = (producers, _drained(flow, looked, max_lag)) if mode is Mode.PLANNED else (_behind(looked),)
    preconditions = (
        _connectors(looked.connectors),
        _topics(flow, looked),
        *stops,
        _proof(looked),
        groups_precondition(moves, left_alone),
        *_foreign(flow, looked),
        *_returning(flow, looked, moves),
        *_without_offset(flow, looked, {move.group for move in moves}),
        verdict_precondition(looked.verdict, now_ms),
    )
    return GroupPlan(preconditions, tuple(moves), tuple(left_alone))


class LeftAloneError(Exception):
    """The reason to leave a group alone."""


def moves_of(
    groups: Iterable[Group], moves_of_group: Callable[[Group], list[NewPosition]]
) -> tuple[list[NewPosition], list[LeftAlone]]:
    """The positions of the groups that can continue, and why the others cannot."""
    moves: list[NewPosition] = []
    left_alone: list[LeftAlone] = []
    for group in groups:
        try:
            moves += moves_of_group(group)
        except LeftAloneError as error:
            left_alone.append(LeftAlone(group.name, str(error)))
    return moves, left_alone


def refuse_running(flow: FlowParameters, group: Group) -> None:
    """Raise LeftAloneError if the group has members on either side: only they may commit for it."""
    for members, side in ((group.members_on_source, flow.source), (group.members_on_target, flow.target)):
        if members:
            raise LeftAloneError(f"it runs on {side.alias} with {number(members, 'member')}: stop it there first")


def group_moves(flow: FlowParameters, group: Group, looked: FailoverFacts) -> list[NewPosition]:
    """The positions of a group. Raises LeftAloneError if one of them must not be committed."""
    refuse_running(flow, group)
    found = []
    for partition, committed in sorted(group.committed.items()):
        remote = flow.replication_policy.remote_partition(partition)
        current = group.on_target.get(remote)
        position = _position(partition, committed, current, looked)
        if current is not None and current > position.offset:
            past = f"it is at {current} in {remote}, past its new position {position.offset}"
            why = f"it consumed on {flow.target.alias}, or its offset was reset on {flow.source.alias}"
            raise LeftAloneError(f"{past}: {why}. Delete the group on {flow.target.alias} to move it")
        bound: Bound = "at least" if flow.guard or position.at_least else "exactly"
        found.append(NewPosition(group.name, partition, committed, remote, position.offset, position.read_again, bound))
    return found


def _position(partition: TopicPartition, committed: int, current: int | None, looked: FailoverFacts) -> ExactPosition:
    found = looked.positions.get(partition)
    if found is None:
        raise LeftAloneError(f"{partition} is not on the target")
    if isinstance(found, NotProvenError):
        raise LeftAloneError(f"its position in {partition} is not proven")
    if committed not in found.positions:
        raise LeftAloneError(f"it is at {committed} in {partition}, after the end of the source")
    position = found.positions[committed]
    if current is not None:
        position = found.returning.get((committed, current), position)
    if position.not_there:
        missing = number(position.not_there, "record")
        raise LeftAloneError(f"the target does not have {missing} of {partition} that the group has not consumed")
    if position.expired:
        older = number(position.expired, "older record")
        why = f"it is at {committed} in {partition}, but the source has deleted the next records"
        unread = f"the group may not have read {older} on the target"
        raise LeftAloneError(f"{why}, and {unread}: set its position by hand")
    return position


def _connectors(found: tuple[ConnectorFacts, ...] | NoAnswer) -> Precondition:
    if isinstance(found, NoAnswer):
        return Precondition("connectors", f"not known: {found.reason}", met=False)
    wrong = [each for each in found if not _works(each)]
    shown = wrong or found
    told = ", ".join(f"{each.name} {each.state or 'in no reported state'}{_tasks(each)}" for each in shown)
    return Precondition("connectors", told, met=not wrong)


def _works(each: ConnectorFacts) -> bool:
    runs = each.state == "RUNNING" and not each.failures and not each.problem and each.running_tasks > 0
    return each.role != "source" or runs


def _tasks(each: ConnectorFacts) -> str:
    return f" with {each.running_tasks} of {number(len(each.tasks), 'task')}" if each.tasks else ""


def _topics(flow: FlowParameters, looked: FailoverFacts) -> Precondition:
    if looked.missing:
        return Precondition("topics", f"{named(looked.missing)} not on {flow.target.alias} yet", met=False)
    topics = len({each.topic for each in looked.positions})
    value = f"{number(topics, 'topic')} with {number(len(looked.positions), 'partition')} on {flow.target.alias}"
    return Precondition("topics", value, met=topics > 0)


def _producers(flow: FlowParameters, looked: FailoverFacts) -> Precondition:
    if cut := [each for each in looked.grown if each.after < each.before]:
        ends = [f"{each.partition} ends at {each.after}, and ended at {each.before}" for each in cut]
        lost = f"{flow.source.alias} lost records while it was watched: {named(ends)}"
        return Precondition("producers", lost, met=False)
    if looked.grown:
        grown = [f"{each.partition} grew from {each.before} to {each.after}" for each in looked.grown]
        return Precondition("producers", f"a producer still writes: {named(grown)}", met=False)
    if looked.open:
        value = f"a transaction is open, or something is written, on {named(looked.open)}"
        return Precondition("producers", value, met=False)
    return Precondition("producers", f"nothing was written for {looked.watched_seconds:g} s")


def _walks(looked: FailoverFacts) -> dict[TopicPartition, PartitionPositions]:
    found = looked.positions.items()
    return {partition: each for partition, each in found if not isinstance(each, NotProvenError)}


def only_waits(plan: GroupPlan, looked: FailoverFacts) -> int:
    """How many records are still missing on the target, if nothing else holds up the plan; otherwise 0."""
    return 0 if plan.unmet else sum(each.waiting for each in _walks(looked).values())


def _waiting(looked: FailoverFacts) -> str:
    waiting = {partition: each.waiting for partition, each in sorted(_walks(looked).items()) if each.waiting}
    if not waiting:
        return ""
    places = [f"{count} of {partition}" for partition, count in waiting.items()]
    return f"{number(sum(waiting.values()), 'record')} not on the target yet: {named(places)}"


def _drained(flow: FlowParameters, looked: FailoverFacts, max_lag: int) -> Precondition:
    waiting = _waiting(looked)
    if waiting and max_lag:
        count = sum(each.waiting for each in _walks(looked).values())
        more = "which the command waits for" if count <= max_lag else f"and `--max-lag` is {max_lag}"
        return Precondition("drained", f"{waiting}, {more}", met=None if count <= max_lag else False)
    compared = sum(each.on_target for each in _walks(looked).values())
    value = f"each of the last {number(compared, 'record')} of {flow.source.alias} is on {flow.target.alias}"
    return Precondition("drained", waiting or value, met=not waiting)


def _behind(looked: FailoverFacts) -> Precondition:
    return Precondition("lag", _waiting(looked) or "none", met=None)


def _proof(looked: FailoverFacts) -> Precondition:
    if told := unproven(looked.positions):
        return Precondition("positions", told, met=False)
    again = sum(each.sent_again for each in _walks(looked).values())
    return Precondition("positions", f"computed from records; {number(again, 'record')} are duplicated on the target")


def groups_precondition(moves: list[NewPosition], left_alone: list[LeftAlone]) -> Precondition:
    """How many groups move; there has to be one."""
    found = len({move.group for move in moves})
    alone = f", {len(left_alone)} left alone" if left_alone else ""
    return Precondition("groups", f"{number(found, 'group')} to move{alone}", met=found > 0)


def _foreign(flow: FlowParameters, looked: FailoverFacts) -> Iterator[Precondition]:
    """Records that others wrote to topics of the same name on the target, and that a group may read."""
    found = {partition: each.foreign for partition, each in sorted(_walks(looked).items()) if each.foreign}
    if found:
        places = [f"{count} of {partition}" for partition, count in found.items()]
        value = f"{number(sum(found.values()), 'record')} on {flow.target.alias} did not come from {flow.source.alias}"
        yield Precondition("only target", f"{value}: {named(places)}", met=None)


def _returning(flow: FlowParameters, looked: FailoverFacts, moves: list[NewPosition]) -> Iterator[Precondition]:
    """The groups of a pair that continue further on because they have consumed on the target before."""
    walks = _walks(looked)
    further = (each for each in moves if each.offset != walks[each.source].positions[each.committed].offset)
    if names := list(dict.fromkeys(each.group for each in further)):
        target, source = flow.target.alias, flow.source.alias
        groups = agreeing(len(names), "[the group|these groups]")
        only = f"to start from the offsets on {source} alone, delete {groups} on {target}"
        value = f"{named(names)}: records consumed on {target} are not read again; {only}"
        yield Precondition("returning", value, met=None)


def _without_offset(flow: FlowParameters, looked: FailoverFacts, moving: set[str]) -> Iterator[Precondition]:
    """Where the moving groups start in those partitions of their topics in which they have no source offset."""
    found: dict[str, list[str]] = {}
    for group in looked.groups:
        topics = {each.topic for each in group.committed}
        silent = [each for each, end in sorted(looked.ends.items()) if each.topic in topics and end]
        if group.name in moving and (
            starts := [_start(flow, group, each) for each in silent if each not in group.committed]
        ):
            found[group.name] = starts
    for name, starts in list(found.items())[:_NAMED]:
        yield Precondition("no offset", f"{name} begins {named(starts)}", met=None)
    if others := list(found)[_NAMED:]:
        yield Precondition("no offset", f"others also lack one in some partitions: {', '.join(others)}", met=None)


def _start(flow: FlowParameters, group: Group, partition: TopicPartition) -> str:
    remote = flow.replication_policy.remote_partition(partition)
    there = group.on_target.get(remote)
    start = "its `auto.offset.reset`" if there is None else f"{there}, its offset on {flow.target.alias}"
    return f"in {remote} at {start}"


def verdict_precondition(found: VerdictFacts | NoAnswer | None, now_ms: int) -> Precondition:
    """What the newest published verdict says; it decides nothing, because positions are proven independently."""
    match found:
        case NoAnswer():
            return Precondition("verdict", f"not known: {found.reason}", met=None)
        case None:
            return Precondition("verdict", "no validation was ever published", met=None)
    age = duration(max(0.0, now_ms / 1000 - found.at.timestamp()))
    other = "" if found.current else ", for another model or with other accepted findings"
    met = True if found.verdict is Verdict.PASS and found.current else None
    return Precondition("verdict", f"{found.verdict}, {age} ago{other}", met=met)


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
