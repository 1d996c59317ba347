"""Moves groups while both clusters answer: what a failover looks at, its preconditions and positions, what it changes.

Until the first offset is committed, everything is undone if the source moved.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from components.clients.errors import NoAnswerError
from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError, RefusedError
from components.contract.report import Verdict
from components.contract.wording import agreeing, named, number
from components.kafka.exact_positions import ExactPosition, NotProvenError, PartitionPositions
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.replication_policy import Policy
from infra.machine.waiting import DeadlineError, NotYetError, wait_for
from infra.operate.connectors.changes import (
    ConnectorChange,
    ConnectorPlace,
    StateRequest,
    connector_in,
    connector_places,
    planned,
)
from infra.operate.connectors.operator import carry_out, read_live
from infra.operate.move.facts import (
    Bound,
    FailoverFacts,
    Group,
    GroupPlan,
    Growth,
    LeftAlone,
    Mode,
    NewPosition,
    Precondition,
    streams_groups,
    unproven,
)
from infra.operate.move.groups import FAILOVER, OpenFlow, Readers, changed_meanwhile, expect_unchanged, read_groups
from infra.operate.move.positions import read_positions
from infra.operate.move.run import POINT_OF_NO_RETURN, MoveCall, Operation, topics_of
from infra.operate.partition_logs import Say
from infra.operate.status.facts import ConnectorFacts, NoAnswer, VerdictFacts
from infra.operate.status.flow_status import duration
from infra.operate.status.kubernetes_facts import connector_facts, needed_objects, read_objects, verdict_facts

_THREADS = 4
#: States in which a checkpoint connector writes nothing.
_QUIET = frozenset({"stopped", "paused"})

#: How many partitions a message names.
_NAMED = 3


class Failover(Operation[GroupPlan]):
    """A planned or continuous failover."""

    direction = FAILOVER
    facts: FailoverFacts

    def __init__(self, call: MoveCall, opened: OpenFlow, mode: Mode) -> None:
        super().__init__(call, opened)
        self.mode, self.planned = mode, mode is Mode.PLANNED

    def look(self, say: Say) -> GroupPlan:
        call = self.call
        if self.planned and call.max_lag and not call.dry_run:
            self.wait_until_replicated(call.max_lag, say)
        seconds = call.watch_seconds if self.planned else 0
        return self.look_once(seconds, call.max_lag if call.dry_run else 0, say)

    def look_once(self, seconds: float, max_lag: int, say: Say) -> GroupPlan:
        """Look while the source is watched for this long, and plan."""
        self.facts = look(self.opened, self.call.groups, seconds, say)
        return plan(self.flow, self.mode, self.facts, time.time_ns() // 1_000_000, max_lag)

    def wait_until_replicated(self, max_lag: int, say: Say) -> None:
        """Wait until every record is replicated, unless there are too many or another precondition is unmet.

        The preconditions are checked afterwards, so a timeout is not an error by itself.
        """

        def probe() -> None:
            if waiting := only_waits(self.look_once(0, max_lag, say), self.facts):
                say(f"{number(waiting, 'record')} not yet replicated")
                raise NotYetError(f"{number(waiting, 'record')} not yet replicated")

        with contextlib.suppress(DeadlineError):
            wait_for("every record to be replicated", probe, self.call.wait_seconds, interval_seconds=1)

    def carry_out(self, plan: GroupPlan) -> None:
        """Stop what would move groups back, look one last time, and commit."""
        call, source, target = self.call, self.flow.source.alias, self.flow.target.alias
        with call.progress("failing over") as say:
            stopped = self._stop_checkpoints(say)
            for place in stopped:
                call.done(f"{place.name} is STOPPED, so it moves no group back")
            try:
                self.last_look(plan)
            except (CannotRunError, NoAnswerError):
                self._resume_checkpoints(stopped, say)
                raise
            self.committing()
            call.say(POINT_OF_NO_RETURN)
            self.commit(plan.positions, say)
        call.done(f"{number(len(plan.positions), 'position')} committed on {target} and read back")
        for line in next_steps(self.flow, self.mode, topics_of(plan.positions)):
            call.say(line)
        resume = f"`replicate resume {self.stack} {self.flow.name}`"
        if self.planned:
            back = f"When the groups are back on {source}, start it: {resume}"
            call.say(f"Leave the checkpoint connector stopped. {back}")
        else:
            advice = f"If groups remain on {source}, start the checkpoint connector for them"
            call.say(f"{advice} once the consumers run on {target}: {resume}")

    def last_look(self, plan: GroupPlan) -> None:
        """Raise RefusedError if the source or a group moved since the plan was made."""
        facts, readers = self.facts, self.opened.readers()
        if self.planned:
            self._expect_ends(readers)
        expect_unchanged(self.opened, FAILOVER, readers, facts.groups, facts.positions, plan.positions)

    def committing(self) -> None:
        """Note that the first commit follows."""

    def _expect_ends(self, readers: Readers) -> None:
        """Raise RefusedError, which names the partition, if a producer ignored the stop."""
        ends = self.facts.ends
        now = readers["source"].logs(ends)
        partition = min((partition for partition, log in now.items() if log.end != ends[partition]), default=None)
        if partition is None:
            return
        was, end = ends[partition], now[partition].end
        text = f"it ends at {end}, and ended at {was}"
        if end < was:
            raise changed_meanwhile(self.opened, f"{partition} lost records: {text}", "find out why")
        raise changed_meanwhile(self.opened, f"a producer wrote to {partition}: {text}", "stop it")

    def _stop_checkpoints(self, say: Say) -> tuple[ConnectorPlace, ...]:
        """Stop the flow's running checkpoint connectors, so that none moves a group back; return those stopped now.

        Also wait for any that was already told to stop, for example by a run that was killed.
        """
        places = [place for place in connector_places(self.opened.flow) if place.role == "checkpoint"]
        with self.opened.kubernetes() as api:
            live = read_live(api, places)
            wanted = {place: connector_in(place, live[place.resource])[0] for place in places}
            running = [place for place, state in wanted.items() if state not in _QUIET]
            changes = planned(self._request("stopped"), running, live)
            already = [place for place in places if place not in running]
            waits = [ConnectorChange(place.resource, (), {place.name: wanted[place]}) for place in already]
            carry_out(api, [*changes, *waits], places, self.call.wait_seconds, say)
        return tuple(running)

    def _resume_checkpoints(self, places: Sequence[ConnectorPlace], say: Say) -> None:
        if not places:
            return
        with self.opened.kubernetes() as api:
            changes = planned(self._request("running"), places, read_live(api, places))
            carry_out(api, changes, places, self.call.wait_seconds, say)

    def _request(self, state: str) -> StateRequest:
        return StateRequest(self.stack, self.flow.name, state, self.call.user, datetime.now(UTC))


def look(
    opened: OpenFlow,
    names: Sequence[str],
    watch_seconds: float,
    say: Say,
    since: Mapping[TopicPartition, OffsetRange] | None = None,
) -> FailoverFacts:
    """Look at everything. The source's ends are watched while positions are computed, and for at least this long. With
    `since`, records after these ends also count as written during that time.
    """
    parameters = opened.parameters
    readers = opened.readers()
    source, target = readers["source"], readers["target"]
    partitions = source.partitions(parameters.replicated(source.topics()))
    policy = parameters.replication_policy
    existing = set(target.partitions({policy.remote(partition.topic) for partition in partitions}))
    there = [partition for partition in partitions if policy.remote_partition(partition) in existing]
    began, before = time.monotonic(), {**source.logs(partitions), **(since or {})}
    say("asking for the groups on both sides")
    groups = read_groups(parameters, FAILOVER, readers, names, there)
    wanted = _wanted(groups, there, before)
    returning = _returning_offsets(parameters, groups, wanted)
    positions = read_positions(parameters, source, target, wanted, say, returning)
    _wait(watch_seconds - (time.monotonic() - began), say)
    # A flow with `exactlyOnce` copies no record of a transaction before it is committed. The stable ends are read
    # first.
    stable = source.logs(partitions, committed=parameters.exactly_once)
    after = source.logs(partitions)
    grown = (Growth(partition, before[partition].end, after[partition].end) for partition in partitions)
    with ThreadPoolExecutor(_THREADS) as pool:
        objects = read_objects(opened.api, needed_objects([opened.flow]), pool)
    return FailoverFacts(
        connector_facts(opened.flow, objects),
        verdict_facts(opened.flow, objects),
        groups,
        positions,
        {partition: log.end for partition, log in after.items()},
        tuple(policy.remote_partition(partition) for partition in partitions if partition not in there),
        tuple(growth for growth in grown if growth.before != growth.after),
        tuple(partition for partition, log in after.items() if stable[partition].end < log.end),
        round(time.monotonic() - began, 1),
    )


def _wanted(
    groups: Sequence[Group], partitions: Sequence[TopicPartition], logs: Mapping[TopicPartition, OffsetRange]
) -> dict[TopicPartition, set[int]]:
    """Return the offsets whose positions are needed, by partition. The position of the source's end proves that its
    last records are on the target.
    """
    wanted = {partition: {logs[partition].end} for partition in partitions}
    for group in groups:
        for partition, offset in group.committed.items():
            if offset <= logs[partition].end:
                wanted[partition].add(offset)
    return wanted


def _returning_offsets(
    flow: FlowParameters, groups: Sequence[Group], wanted: Mapping[TopicPartition, set[int]]
) -> dict[TopicPartition, set[tuple[int, int]]]:
    """Return the offsets of groups that have consumed on the target before, each with its offset there."""
    offsets: dict[TopicPartition, set[tuple[int, int]]] = {partition: set() for partition in wanted}
    for group in groups:
        for partition, offset in group.committed.items():
            there = group.on_target.get(flow.replication_policy.remote_partition(partition))
            if there is not None and offset in wanted[partition]:
                offsets[partition].add((offset, there))
    return offsets


def _wait(seconds: float, say: Say) -> None:
    """Wait this long without asking anything."""
    ends = time.monotonic() + seconds

    def probe() -> None:
        if (remaining := ends - time.monotonic()) > 0:
            say(f"watching the source for writers, {remaining:.0f} s more")
            raise NotYetError("the time has not passed")

    wait_for("the time to pass", probe, max(0.0, seconds) + 1)


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
    return GroupPlan(preconditions, tuple(positions), tuple(left_alone))


class LeftAloneError(Exception):
    """The reason to leave a group alone."""


def new_positions(
    groups: Iterable[Group], positions_of_group: Callable[[Group], list[NewPosition]]
) -> tuple[list[NewPosition], list[LeftAlone]]:
    """Return the positions of the groups that can continue, and why the others cannot."""
    positions: list[NewPosition] = []
    left_alone: list[LeftAlone] = []
    for group in groups:
        try:
            positions += positions_of_group(group)
        except LeftAloneError as error:
            left_alone.append(LeftAlone(group.name, str(error)))
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


def groups_precondition(positions: list[NewPosition], left_alone: list[LeftAlone]) -> Precondition:
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
    policy = flow.replication_policy
    yield f"Start the consumers on {flow.target.alias}: {flow.target.bootstrap_servers}"
    for group, consumed in groups.items():
        names = sorted({name for topic in consumed for name in (policy.remote(topic), topic)})
        yield f"  {group} subscribes to {', '.join(names)}"
    topics = sorted({topic for consumed in groups.values() for topic in consumed})
    verb = "Move" if mode is Mode.CONTINUOUS else "Then start"
    yield f"{verb} the producers on {flow.target.alias}, where they write to {', '.join(topics)}"
