"""Moves groups while both clusters answer: what a failover looks at, and what it changes.

Until the first offset is committed, everything is undone if the source or a group moved, or did not answer.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.wording import number
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.operate.connectors.changes import (
    ConnectorPlace,
    StateRequest,
    connector_in,
    connector_places,
    planned,
)
from kafka_replication.infra.operate.connectors.operator import carry_out, read_live
from kafka_replication.infra.operate.flow_access import Readers
from kafka_replication.infra.operate.move.facts import FailoverFacts, Group, GroupPlan, Growth, Mode, Precondition
from kafka_replication.infra.operate.move.failover_plan import next_steps, only_waits, plan
from kafka_replication.infra.operate.move.groups import FAILOVER, changed_meanwhile, expect_unchanged, read_groups
from kafka_replication.infra.operate.move.positions import read_positions
from kafka_replication.infra.operate.move.rights import applications_start
from kafka_replication.infra.operate.move.run import POINT_OF_NO_RETURN, Operation, topics_of
from kafka_replication.infra.operate.partition_logs import Say
from kafka_replication.infra.operate.status.kubernetes_facts import connector_facts, verdict_facts

#: States in which a checkpoint connector writes nothing.
_QUIET = frozenset({"stopped", "paused"})


class Failover(Operation[GroupPlan]):
    """A planned or continuous failover."""

    direction = FAILOVER
    facts: FailoverFacts
    #: Records after these ends also count as written while the source is watched.
    since: Mapping[TopicPartition, OffsetRange] = MappingProxyType({})

    @property
    def planned(self) -> bool:
        return self.call.mode is Mode.PLANNED

    @cached_property
    def applications(self) -> Precondition:
        return applications_start(self.opened)

    def rights(self, plan: GroupPlan) -> Iterator[Precondition]:
        yield from super().rights(plan)
        yield self.applications

    def look(self, say: Say) -> GroupPlan:
        call = self.call
        if self.planned and call.max_lag and not call.dry_run:
            self.wait_until_replicated(call.max_lag, say)
        if call.dry_run and call.stopped_producers:
            stops = Precondition("producers", f"the switch stops {call.stopped_producers}", met=None)
            return self.look_once(0, call.max_lag, say, stops)
        seconds = call.watch_seconds if self.planned else 0
        return self.look_once(seconds, call.max_lag if call.dry_run else 0, say)

    def look_once(self, seconds: float, max_lag: int, say: Say, fence: Precondition | None = None) -> GroupPlan:
        """Look while the source is watched for this long, and plan."""
        facts = self._facts(seconds, say)
        self.facts = replace(facts, groups=self.call.without_switched(facts.groups))
        return plan(self.flow, self.call.mode, self.facts, time.time_ns() // 1_000_000, max_lag, fence)

    def _facts(self, watch_seconds: float, say: Say) -> FailoverFacts:
        """Look at everything. The source's ends are watched while positions are computed, and for at least this long.
        Records after the ends `since` also count as written during that time.
        """
        opened, parameters, readers = self.opened, self.flow, self.opened.readers()
        source, target = readers["source"], readers["target"]
        partitions = source.partitions(parameters.replicated(source.topics()))
        policy = parameters.replication_policy
        existing = set(target.partitions({policy.remote(partition.topic) for partition in partitions}))
        there = [partition for partition in partitions if policy.remote_partition(partition) in existing]
        began, before = time.monotonic(), {**source.logs(partitions), **self.since}
        say("asking for the groups on both sides")
        groups = read_groups(parameters, FAILOVER, readers, self.call.groups, there)
        wanted = _wanted(groups, there, before)
        returning = _returning_offsets(parameters, groups, wanted)
        positions = read_positions(parameters, source, target, wanted, say, returning)
        _wait(watch_seconds - (time.monotonic() - began), say)
        # A flow with `exactlyOnce` copies no record of a transaction before it is committed. The stable ends are read
        # first.
        stable = source.logs(partitions, committed=parameters.exactly_once)
        after = source.logs(partitions)
        grown = (Growth(partition, before[partition].end, after[partition].end) for partition in partitions)
        objects = opened.objects()
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
            call.say(POINT_OF_NO_RETURN)
            self.commit(plan.positions, say)
        call.done(f"{number(len(plan.positions), 'position')} committed on {target} and read back")
        for line in next_steps(self.flow, self.call.mode, call.not_switched(topics_of(plan.positions))):
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
            carry_out(api, changes, self.call.wait_seconds, say, wanted)
        return tuple(running)

    def _resume_checkpoints(self, places: Sequence[ConnectorPlace], say: Say) -> None:
        if not places:
            return
        with self.opened.kubernetes() as api:
            changes = planned(self._request("running"), places, read_live(api, places))
            carry_out(api, changes, self.call.wait_seconds, say)

    def _request(self, state: str) -> StateRequest:
        return StateRequest(self.stack, self.flow.name, state, self.call.user, datetime.now(UTC))


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
    ends = time.monotonic() + seconds

    def probe() -> None:
        if (remaining := ends - time.monotonic()) > 0:
            say(f"watching the source for writers, {remaining:.0f} s more")
            raise NotYetError("the time has not passed")

    wait_for("the time to pass", probe, max(0.0, seconds) + 1)
