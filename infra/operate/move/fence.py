"""Denies all writes to a flow's topics on the source, watches for writers that still get through, and allows writes
again. Marks beside the denials show what an interrupted run left. Only denials with a flow's mark are deleted.
"""

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import TopicAcls
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.acls import CLUSTER_NAME, AclEntry, without_grant
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.kafka.write_fence import (
    denials_to_lift,
    marked_topics,
    marks_to_lift,
    missing_denials,
    missing_marks,
    owners,
)
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import GroupPlan, Precondition
from kafka_replication.infra.operate.move.failover import Failover
from kafka_replication.infra.operate.move.rights import grant_text
from kafka_replication.infra.operate.move.run import MoveCall
from kafka_replication.infra.operate.partition_logs import Say

_INSTEAD = "stop the producers yourself, and leave `--fence` out"
_STOPS_FLOW = "The fence's ACL would also stop the other flow from writing."


def fence_precondition(opened: FlowAccess, topics: Sequence[str]) -> Precondition:
    """Say whether the topics can be fenced, and what the command denies. Raises NoAnswerError."""
    source, access = opened.parameters.source.alias, opened.topic_acls("source").access()
    if not access.has_authorizer:
        return _unmet(f"{source} has no authorizer, so it cannot deny anything: {_INSTEAD}")
    if not access.may_change:
        what = f"may not change ACLs on {source}"
        return _unmet(f"{grant_text(opened, 'source', what, 'cluster', [CLUSTER_NAME], 'ALTER')}, or {_INSTEAD}")
    if closed := without_grant(topics, access.entries):
        text = f"no ACL allows anything on {named(closed)} of {source}, and a first ACL could also stop the consumers"
        return _unmet(f"{text}: allow them to read, or {_INSTEAD}")
    if marked := marked_topics(owner_of(opened), access.entries):
        denied = f"an earlier run denied everyone (`User:*`) to write to {named(marked)} on {source}"
        return Precondition("fence", f"{denied}; `--lift-fence` allows it again")
    return Precondition("fence", f"everyone (`User:*`) will be denied to write to {named(topics)} on {source}")


def _unmet(value: str) -> Precondition:
    return Precondition("fence", value, met=False)


def not_seen(alias: str) -> Precondition:
    """Return the note that no fence was looked for, because the connectors' user may not see ACLs there."""
    value = f"not looked for: the connectors' user may not see the ACLs of {alias}"
    remedy = "if you failed over with `--fence`, run that command again with `--lift-fence`"
    return Precondition("fence", f"{value}; {remedy}", met=None)


def refuse_unfenceable(flow: ResolvedFlow, topics: Iterable[str], flows: Iterable[ResolvedFlow]) -> None:
    """Raise RefusedError if a denial would stop a flow or be copied by one; `flows` are all flows of the topology."""
    where, wanted = f"flow {flow.name}", set(topics)
    if flow.settings.loop_guard:
        what = "the flow is half of a pair, whose other half writes to the same topics"
        raise RefusedError("fence-unsuited", what, where, _STOPS_FLOW, f"{_INSTEAD}.")
    for other in flows:
        if other.settings.source == flow.settings.source and other.settings.sync_topic_acls:
            what = f"`{other.name}` copies the ACLs of topics to {other.settings.target} (`syncTopicAcls`)"
            why = (
                "It would copy the fence's ACL to the remote topics. Then nobody could write to them, not even "
                "MirrorMaker."
            )
            raise RefusedError(
                "fence-copied", what, where, why, f"set `syncTopicAcls: false` and deploy it, or {_INSTEAD}."
            )
        if other.settings.target == flow.settings.source and (written := _written(flow_parameters(other), wanted)):
            what = f"`{other.name}` writes to {named(written)} on {flow.settings.source}"
            raise RefusedError("fence-unsuited", what, where, _STOPS_FLOW, f"{_INSTEAD}.")


def _written(flow: FlowParameters, topics: Iterable[str]) -> list[str]:
    """Return which of these topics on the target the flow writes to."""
    policy = flow.replication_policy
    originals = {policy.original(topic): topic for topic in topics if policy.remote(policy.original(topic)) == topic}
    return sorted(originals[original] for original in flow.replicated(originals))


def growth(before: Mapping[TopicPartition, OffsetRange], after: Mapping[TopicPartition, OffsetRange]) -> str:
    """Say how much each topic grew, such as "orders grew by 12 records"; empty if none did."""
    grown = Counter[str]()
    for partition, log in after.items():
        grown[partition.topic] += max(0, log.end - before[partition].end)
    return named(
        [f"{topic} grew by {number(records, 'record')}" for topic, records in sorted(grown.items()) if records]
    )


#: For how long a quiet source is first watched, and how long writes in flight may take, in seconds.
_QUIET_SECONDS, _UNDERWAY_SECONDS = 2.0, 10.0


def owner_of(opened: FlowAccess) -> str:
    """Return the owner that the marks of a flow's fence name."""
    return f"{opened.stack.name}/{opened.flow.name}"


def lift_call(opened: FlowAccess) -> str:
    """Return the command that only lifts the fence of a flow."""
    return f"`replicate failover {opened.stack.name} {opened.flow.name} --lift-fence`"


def fenced_topics(opened: FlowAccess) -> list[str]:
    """Return the flow's topics on the source. Raises RefusedError if writes to them must not be denied."""
    topics = opened.parameters.replicated(opened.reader(opened.parameters.source).topics())
    refuse_unfenceable(opened.flow, topics, flows_without_addresses(opened.stack.settings.topology))
    return topics


@dataclass
class Fence:
    """An active fence. Nothing may be written after `since`; `before` is where the source's logs ended."""

    opened: FlowAccess
    since: datetime
    before: Mapping[TopicPartition, OffsetRange]
    kept: bool = False

    @property
    def reader(self) -> KafkaReader:
        return self.opened.reader(self.opened.parameters.source)

    def settle(self, wait_seconds: float, quiet_seconds: float, say: Say) -> None:
        """Wait until writes in flight are done; from then on no record is allowed. Raises RefusedError if the source
        keeps growing or a transaction stays open.
        """
        began = still_since = time.monotonic()
        last = self.before

        def probe() -> None:
            nonlocal last, still_since
            reader = self.reader
            stable, now = reader.logs(self.before, committed=True), reader.logs(self.before)
            if now != last:
                last, still_since = now, time.monotonic()
                if time.monotonic() - began > _UNDERWAY_SECONDS:
                    self.refuse_growth(now)
            open_ = sorted(partition for partition, log in now.items() if stable[partition].end < log.end)
            if open_:
                say(f"waiting for the open transaction on {open_[0]}")
                raise NotYetError(f"a transaction is open on {open_[0]}")
            if time.monotonic() - still_since < min(_QUIET_SECONDS, quiet_seconds):
                say(f"waiting until nothing is written to {reader.alias}")
                raise NotYetError("something was written just now")

        wait_for("the source to stop growing", probe, max(wait_seconds, 2 * _UNDERWAY_SECONDS), interval_seconds=0.2)
        self.since, self.before = datetime.now(UTC), last

    def expect_held(self) -> None:
        """Raise RefusedError if something was written since the source stopped growing."""
        self.refuse_growth(self.reader.logs(self.before))

    def refuse_growth(self, now: Mapping[TopicPartition, OffsetRange]) -> None:
        """Raise RefusedError if the source has grown to these ends."""
        if not (grown := growth(self.before, now)):
            return
        source = self.opened.parameters.source.alias
        what = f"somebody still writes to {source}: {grown} since {self.since:%H:%M:%SZ}"
        why = "The fence's ACL denies every user except the brokers' super users (`super.users`)."
        where = f"flow {self.opened.flow.name}"
        if self.kept:
            remedy = (
                "stop this producer. The positions are committed; groups read these records once they are replicated."
            )
            raise RefusedError("fence-bypassed-late", what, where, why, remedy)
        raise RefusedError("fence-bypassed", what, where, why, "stop this producer, and run the command again.")


@contextmanager
def fenced(opened: FlowAccess, topics: Sequence[str], tell: Say) -> Iterator[Fence]:
    """Deny writes to the topics while the body runs. Afterwards they stay denied only if the fence is `kept`; otherwise
    it is lifted, even after an error.
    """
    acls, owner = opened.topic_acls("source"), owner_of(opened)
    entries, fence = acls.access().entries, None
    try:
        acls.add(missing_marks(topics, owner, entries))
        acls.add(missing_denials(topics, entries))
        source = opened.reader(opened.parameters.source)
        fence = Fence(opened, datetime.now(UTC), source.logs(source.partitions(topics)))
        tell(f"writes to {named(topics)} on {source.alias} are denied")
        yield fence
    finally:
        if fence is None or not fence.kept:
            _take_back(opened, acls, owner, tell)


def _take_back(opened: FlowAccess, acls: TopicAcls, owner: str, tell: Say) -> None:
    try:
        topics = lift(acls, owner)
    except (CannotRunError, NoAnswerError) as error:
        what = f"producers may not be able to write to {acls.alias}: the fence was not lifted"
        remedy = f"as soon as {acls.alias} answers, run {lift_call(opened)}."
        why = f"{str(error).removesuffix('.')}."
        raise CannotRunError("fence-left", what, f"flow {opened.flow.name}", why, remedy) from error
    if topics:
        tell(f"the fence was removed: writes to {named(topics)} on {acls.alias} are allowed again")


def fenced_by_flow(opened: FlowAccess) -> list[str]:
    """Return the topics on the source that this flow's fence denies.

    Raises NoAnswerError, and CannotRunError if the login may not change ACLs.
    """
    acls = opened.topic_acls("source")
    access = acls.access()
    if access.has_authorizer and not access.may_change:
        why = "The connectors' user needs Alter on the cluster to find a fence and to lift it."
        remedy = "allow it as you did for `--fence`, and run the command again."
        what = "the connectors' user may not change ACLs"
        raise CannotRunError("fence-unknown", what, acls.alias, why, remedy)
    return marked_topics(owner_of(opened), access.entries)


def visible_fence(opened: FlowAccess) -> list[str] | None:
    """Return the topics on the source that this flow's fence denies; None if this login cannot see them."""
    entries = _entries(opened, "source")
    return None if entries is None else marked_topics(owner_of(opened), entries)


def owners_on(opened: FlowAccess, side: Side, topics: Collection[str]) -> list[str] | None:
    """Return all owners of fences on these topics on one side; None if this login cannot see them."""
    entries = _entries(opened, side)
    return None if entries is None else owners(topics, entries)


def _entries(opened: FlowAccess, side: Side) -> tuple[AclEntry, ...] | None:
    try:
        access = opened.topic_acls(side).access()
    except CannotRunError:
        # This machine cannot use the login.
        return None
    return access.entries if access.seen else None


def lift(acls: TopicAcls, owner: str) -> list[str]:
    """Delete the denials that only this owner made, and return the topics that it had fenced.

    Raises CannotRunError and NoAnswerError.
    """
    entries = acls.access().entries
    acls.delete(denials_to_lift(owner, entries))
    acls.delete(marks_to_lift(owner, entries))
    return marked_topics(owner, entries)


class FencedFailover(Failover):
    """A planned failover that denies all writes to the source before it commits."""

    fence: Fence | None = None
    topics: Sequence[str] = ()

    def run(self) -> None:
        call, flow, opened = self.call, self.flow, self.opened
        self.topics = fenced_topics(opened)
        with call.progress(self.asking) as say:
            precondition = fence_precondition(opened, self.topics)
            before = self.with_rights(self.look_once(0, call.max_lag or sys.maxsize, say, precondition))
        if call.dry_run or before.unmet:
            self.finish(before)
            return
        with fenced(opened, self.topics, call.done) as fence:
            self.fence = fence
            with call.progress("watching the source") as say:
                fence.settle(call.wait_seconds, call.watch_seconds, say)
                self.since = fence.before
                self.wait_until_replicated(sys.maxsize, say)
                after = self.with_rights(self.look_once(call.watch_seconds, 0, say))
            self.finish(after)
            until = f"until `replicate failback` has succeeded; {lift_call(opened)} allows them now"
            call.say(f"Writes to {named(self.topics)} on {flow.source.alias} stay denied {until}")
            fence.expect_held()

    def look_once(self, seconds: float, max_lag: int, say: Say, fence: Precondition | None = None) -> GroupPlan:
        result = super().look_once(seconds, max_lag, say, fence)
        if self.fence is not None:
            self.fence.expect_held()
        return result

    def last_look(self, plan: GroupPlan) -> None:
        assert self.fence is not None
        self.fence.expect_held()
        super().last_look(plan)
        # The first commit follows.
        self.fence.kept = True

    def details(self) -> Mapping[str, object]:
        return {"fenced": list(self.topics) if self.fence is not None and self.fence.kept else []}


def lift_only(call: MoveCall, opened: FlowAccess) -> None:
    """Allow the writes that the flow's fence denies, and do nothing else."""
    source, topics = opened.parameters.source.alias, fenced_by_flow(opened)
    if not topics:
        call.say(f"flow {opened.flow.name} has no fence on {source}")
        return
    if call.dry_run:
        call.say(f"writes to {named(topics)} on {source} are denied by the fence")
        call.say("nothing was changed")
        return
    lift(opened.topic_acls("source"), owner_of(opened))
    call.done(f"writes to {named(topics)} on {source} are allowed again")
