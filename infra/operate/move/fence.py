"""Denies all writes to a flow's topics on the source, watches for writers that still get through, and allows writes
again. Marks beside the denials show what an interrupted run left. Only denials with a flow's mark are deleted.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from components.clients.errors import NoAnswerError
from components.clients.reader import KafkaReader
from components.clients.writer import Access, TopicAcls
from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError, RefusedError
from components.contract.wording import named, number
from components.flows.resolved import ResolvedFlow
from components.kafka.acls import (
    CLUSTER_NAME,
    AclEntry,
    denials_to_lift,
    grant_options,
    marked_topics,
    marks_to_lift,
    missing_denials,
    missing_marks,
    owners,
    without_grant,
)
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.replication_policy import Side
from components.render.acls import flows_without_addresses
from components.render.job_parameters import flow_parameters
from components.topology.clusters import kafka_principal
from infra.machine.waiting import NotYetError, wait_for
from infra.operate.move.facts import Precondition
from infra.operate.move.failover_look import OpenFlow
from infra.operate.partition_logs import Say

_INSTEAD = "stop the producers yourself, and leave `--fence` out"
_STOPS_FLOW = "The fence's ACL would also stop the other flow from writing."


def fence_precondition(
    flow: FlowParameters, principal: str, topics: Sequence[str], owner: str, found: Access
) -> Precondition:
    """What the command denies. `principal` is the connectors' user on the source; it must be allowed to change ACLs."""
    source = flow.source.alias
    if not found.has_authorizer:
        return _unmet(f"{source} has no authorizer, so it cannot deny anything: {_INSTEAD}")
    if not found.may_change:
        grant = f"kafka-acls.sh … {grant_options(principal or '…', 'cluster', 'literal', CLUSTER_NAME, ['ALTER'])}"
        return _unmet(f"the connectors' user may not change ACLs on {source}: allow it with `{grant}`, or {_INSTEAD}")
    if closed := without_grant(topics, found.entries):
        told = f"no ACL allows anything on {named(closed)} of {source}, and a first ACL could also stop the consumers"
        return _unmet(f"{told}: allow them to read, or {_INSTEAD}")
    if marked := marked_topics(owner, found.entries):
        denied = f"an earlier run denied everyone (`User:*`) to write to {named(marked)} on {source}"
        return Precondition("fence", f"{denied}; `--lift-fence` allows it again")
    return Precondition("fence", f"everyone (`User:*`) will be denied to write to {named(topics)} on {source}")


def _unmet(value: str) -> Precondition:
    return Precondition("fence", value, met=False)


def not_seen(alias: str) -> Precondition:
    """The note that no fence was looked for, because the connectors' user may not see ACLs there."""
    value = f"not looked for: the connectors' user may not see the ACLs of {alias}"
    remedy = "if you failed over with `--fence`, run that command again with `--lift-fence`"
    return Precondition("fence", f"{value}; {remedy}", met=None)


def refuse_unfenceable(flow: ResolvedFlow, topics: Iterable[str], flows: Iterable[ResolvedFlow]) -> None:
    """Raise RefusedError if a denial would stop a flow or be copied by one; `flows` are all flows of the topology."""
    where, wanted = f"flow {flow.name}", set(topics)
    if flow.settings.loop_guard:
        what = "the flow is half of a pair, whose other half writes to the same topics"
        raise RefusedError("fence-unsuited", what, where, _STOPS_FLOW, f"{_INSTEAD}.")
    for each in flows:
        if each.settings.source == flow.settings.source and each.settings.sync_topic_acls:
            what = f"`{each.name}` copies the ACLs of topics to {each.settings.target} (`syncTopicAcls`)"
            why = (
                "It would copy the fence's ACL to the remote topics. Then nobody could write to them, not even "
                "MirrorMaker."
            )
            raise RefusedError(
                "fence-copied", what, where, why, f"set `syncTopicAcls: false` and deploy it, or {_INSTEAD}."
            )
        if each.settings.target == flow.settings.source and (written := _written(flow_parameters(each), wanted)):
            what = f"`{each.name}` writes to {named(written)} on {flow.settings.source}"
            raise RefusedError("fence-unsuited", what, where, _STOPS_FLOW, f"{_INSTEAD}.")


def _written(flow: FlowParameters, topics: Iterable[str]) -> list[str]:
    """Those of these topics on the target to which the flow replicates."""
    policy = flow.replication_policy
    originals = {policy.original(each): each for each in topics if policy.remote(policy.original(each)) == each}
    return sorted(originals[each] for each in flow.replicated(originals))


def growth(before: Mapping[TopicPartition, OffsetRange], after: Mapping[TopicPartition, OffsetRange]) -> str:
    """How much each topic grew, such as "orders grew by 12 records"; empty if none did."""
    grown: dict[str, int] = {}
    for partition, log in after.items():
        if (records := log.end - before[partition].end) > 0:
            grown[partition.topic] = grown.get(partition.topic, 0) + records
    told = [f"{topic} grew by {number(records, 'record')}" for topic, records in sorted(grown.items())]
    return named(told)


#: For how long a quiet source is first watched, and how long writes in flight may take, in seconds.
_QUIET_SECONDS, _UNDERWAY_SECONDS = 2.0, 10.0


def owner_of(scene: OpenFlow) -> str:
    """The owner that the marks of a flow's fence name."""
    return f"{scene.settings.stack}/{scene.flow.name}"


def lift_call(scene: OpenFlow) -> str:
    """The command that only lifts the fence of a flow."""
    return f"`replicate failover {scene.settings.stack} {scene.flow.name} --lift-fence`"


def fenced_topics(scene: OpenFlow) -> list[str]:
    """The flow's topics on the source. Raises RefusedError if writes to them must not be denied."""
    topics = scene.parameters.replicated(scene.reader(scene.parameters.source).topics())
    refuse_unfenceable(scene.flow, topics, flows_without_addresses(scene.settings.topology))
    return topics


def fence_facts(scene: OpenFlow, topics: Sequence[str]) -> Precondition:
    """Whether the topics can be fenced. Raises NoAnswerError."""
    principal = kafka_principal(scene.flow.source) or ""
    return fence_precondition(scene.parameters, principal, topics, owner_of(scene), scene.topic_acls("source").access())


@dataclass
class Fence:
    """An active fence. Nothing may be written after `since`; `before` is where the source's logs ended."""

    scene: OpenFlow
    since: datetime
    before: Mapping[TopicPartition, OffsetRange]
    kept: bool = False

    @property
    def reader(self) -> KafkaReader:
        return self.scene.reader(self.scene.parameters.source)

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
            open_ = sorted(each for each, log in now.items() if stable[each].end < log.end)
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
        source = self.scene.parameters.source.alias
        what = f"somebody still writes to {source}: {grown} since {self.since:%H:%M:%SZ}"
        why = "The fence's ACL denies every user except the brokers' super users (`super.users`)."
        where = f"flow {self.scene.flow.name}"
        if self.kept:
            remedy = (
                "stop this producer. The positions are committed; groups read these records once they are replicated."
            )
            raise RefusedError("fence-bypassed-late", what, where, why, remedy)
        raise RefusedError("fence-bypassed", what, where, why, "stop this producer, and run the command again.")


@contextmanager
def fenced(scene: OpenFlow, topics: Sequence[str], tell: Say) -> Iterator[Fence]:
    """Deny writes to the topics while the body runs. Afterwards they stay denied only if the fence is `kept`; otherwise
    it is lifted, whatever happens.
    """
    acls, owner = scene.topic_acls("source"), owner_of(scene)
    entries, fence = acls.access().entries, None
    try:
        acls.add(missing_marks(topics, owner, entries))
        acls.add(missing_denials(topics, entries))
        source = scene.reader(scene.parameters.source)
        fence = Fence(scene, datetime.now(UTC), source.logs(source.partitions(topics)))
        tell(f"writes to {named(topics)} on {source.alias} are denied")
        yield fence
    finally:
        if fence is None or not fence.kept:
            _take_back(scene, acls, owner, tell)


def _take_back(scene: OpenFlow, acls: TopicAcls, owner: str, tell: Say) -> None:
    try:
        topics = lift(acls, owner)
    except (CannotRunError, NoAnswerError) as error:
        what = f"producers may not be able to write to {acls.alias}: the fence was not lifted"
        remedy = f"as soon as {acls.alias} answers, run {lift_call(scene)}."
        why = f"{str(error).removesuffix('.')}."
        raise CannotRunError("fence-left", what, f"flow {scene.flow.name}", why, remedy) from error
    if topics:
        tell(f"the fence was removed: writes to {named(topics)} on {acls.alias} are allowed again")


def standing(scene: OpenFlow) -> list[str]:
    """The topics on the source that this flow's fence denies.

    Raises NoAnswerError, and CannotRunError if the login may not change ACLs.
    """
    acls = scene.topic_acls("source")
    found = acls.access()
    if found.has_authorizer and not found.may_change:
        why = "The connectors' user needs Alter on the cluster to find a fence and to lift it."
        remedy = "allow it as you did for `--fence`, and run the command again."
        what = "the connectors' user may not change ACLs"
        raise CannotRunError("fence-unknown", what, acls.alias, why, remedy)
    return marked_topics(owner_of(scene), found.entries)


def owned_by(scene: OpenFlow) -> list[str] | None:
    """The topics on the source that this flow's fence denies; None if this login cannot see them."""
    entries = _entries(scene, "source")
    return None if entries is None else marked_topics(owner_of(scene), entries)


def owners_on(scene: OpenFlow, side: Side, topics: Collection[str]) -> list[str] | None:
    """All owners of fences on these topics on one side; None if this login cannot see them."""
    entries = _entries(scene, side)
    return None if entries is None else owners(topics, entries)


def _entries(scene: OpenFlow, side: Side) -> tuple[AclEntry, ...] | None:
    try:
        found = scene.topic_acls(side).access()
    except CannotRunError:
        # This machine cannot use the login.
        return None
    return found.entries if found.seen else None


def lift(acls: TopicAcls, owner: str) -> list[str]:
    """Delete the denials that only this owner made, and return the topics that it had fenced.

    Raises CannotRunError and NoAnswerError.
    """
    entries = acls.access().entries
    acls.delete(denials_to_lift(owner, entries))
    acls.delete(marks_to_lift(owner, entries))
    return marked_topics(owner, entries)
