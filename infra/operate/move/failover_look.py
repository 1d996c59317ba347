"""Looks at a flow before a failover: Kubernetes, groups on both sides, and the records that prove positions."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from components.clients.errors import NoAnswerError
from components.clients.login import Purpose
from components.clients.reader import KafkaReader
from components.clients.writer import GroupWriter, TopicAcls
from components.contract.parameters import ClusterParameters, FlowParameters
from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.replication_policy import Side
from components.properties.definitions import nearest
from components.render.job_parameters import connector_login
from infra.kubernetes.api import KubernetesApi
from infra.machine.waiting import NotYetError, wait_for
from infra.operate.connectors.operator import cluster_of
from infra.operate.move.disaster import DisasterFacts, read_target, why_silent
from infra.operate.move.facts import FailoverFacts, Group, Growth
from infra.operate.move.positions import read_positions
from infra.operate.partition_logs import Say
from infra.operate.status.kubernetes_facts import (
    connector_facts,
    kept_positions,
    needed_objects,
    read_objects,
    verdict_facts,
)
from infra.stack.session import QUICK, OpenStack
from infra.stack.settings import StackSettings

_READING = Purpose("The command reads both clusters of a flow with the login of the validation job.")
_WRITING = Purpose("The command commits offsets on the target with the login of the connectors.")
_FENCING = Purpose("The command changes ACLs with the login of the connectors.")
_THREADS = 4


@dataclass(frozen=True)
class OpenFlow:
    """A flow, its Kubernetes cluster and its Kafka clusters."""

    stack: OpenStack
    flow: ResolvedFlow
    parameters: FlowParameters

    @property
    def settings(self) -> StackSettings:
        return self.stack.settings

    @property
    def api(self) -> KubernetesApi:
        """The flow's cluster, to look at it."""
        return self.stack.kubernetes.within(QUICK)

    def kubernetes(self) -> AbstractContextManager[KubernetesApi]:
        """The flow's cluster, to change connectors; inside, an ApiError becomes a CannotRunError."""
        return cluster_of(self.stack)

    def reader(self, cluster: ClusterParameters) -> KafkaReader:
        """The reader of a cluster, which asks for its topics again."""
        reader = self.stack.kafka(KafkaReader, cluster, _READING)
        reader.forget()
        return reader

    def topic_acls(self, side: Side) -> TopicAcls:
        """The ACLs of topics, which the connectors' user may change only if it was given the right."""
        return self.stack.kafka(TopicAcls, connector_login(self.flow, side), _FENCING)

    def writer(self) -> GroupWriter:
        """Commits on the target with the connectors' login, which may do so if they sync offsets."""
        return self.stack.kafka(GroupWriter, connector_login(self.flow, "target"), _WRITING)


@contextmanager
def open_flow(stack: OpenStack, name: str, otherwise: str = "") -> Iterator[OpenFlow]:
    """The scene of a flow. Inside, an NoAnswerError becomes a CannotRunError, whose remedy ends with `otherwise`."""
    flow = stack.flow(name)
    try:
        yield OpenFlow(stack, flow, stack.parameters(flow))
    except NoAnswerError as error:
        raise _not_answered(stack.name, name, str(error), otherwise) from None


def _not_answered(stack: str, name: str, what: str, otherwise: str) -> CannotRunError:
    why = "Positions are computed from what the clusters say now."
    remedy = f"correct it and run the command again; `replicate status {stack}` shows what answers. {otherwise}"
    return CannotRunError("not-answered", what, f"flow {name}", why, remedy.strip())


def look(
    scene: OpenFlow,
    names: Sequence[str],
    watch_seconds: float,
    say: Say,
    since: Mapping[TopicPartition, OffsetRange] | None = None,
) -> FailoverFacts:
    """Look at everything. The source's ends are watched while positions are computed, and for at least this long. With
    `since`, records after these ends also count as written during that time.
    """
    parameters = scene.parameters
    source, target = scene.reader(parameters.source), scene.reader(parameters.target)
    partitions = source.partitions(parameters.replicated(source.topics()))
    policy = parameters.replication_policy
    existing = set(target.partitions({policy.remote(each.topic) for each in partitions}))
    there = [each for each in partitions if policy.remote_partition(each) in existing]
    began, before = time.monotonic(), {**source.logs(partitions), **(since or {})}
    say("asking for the groups on both sides")
    groups = read_groups(parameters, source, target, names, frozenset(there))
    wanted = _wanted(groups, there, before)
    positions = read_positions(parameters, source, target, wanted, say, _left(parameters, groups, wanted))
    _wait(watch_seconds - (time.monotonic() - began), say)
    # A flow with `exactlyOnce` copies no record of a transaction before it is committed. The stable ends are read
    # first.
    stable = source.logs(partitions, committed=parameters.exactly_once)
    after = source.logs(partitions)
    grown = (Growth(each, before[each].end, after[each].end) for each in partitions)
    with ThreadPoolExecutor(_THREADS) as pool:
        objects = read_objects(scene.api, needed_objects([scene.flow]), pool)
    return FailoverFacts(
        connector_facts(scene.flow, objects),
        verdict_facts(scene.flow, objects),
        groups,
        positions,
        {each: log.end for each, log in after.items()},
        tuple(policy.remote_partition(each) for each in partitions if each not in there),
        tuple(each for each in grown if each.before != each.after),
        tuple(each for each, log in after.items() if stable[each].end < log.end),
        round(time.monotonic() - began, 1),
    )


def look_at_target(scene: OpenFlow, names: Sequence[str]) -> DisasterFacts:
    """Look at what remains when the source is lost."""
    parameters = scene.parameters
    silent = why_silent(parameters, scene.reader(parameters.source))
    with ThreadPoolExecutor(_THREADS) as pool:
        objects = read_objects(scene.api, needed_objects([scene.flow]), pool)
    verdict = verdict_facts(scene.flow, objects)
    now_ms = time.time_ns() // 1_000_000
    kept = kept_positions(scene.flow, objects)
    return read_target(parameters, scene.reader(parameters.target), names, silent, verdict, now_ms, kept)


def read_groups(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    names: Sequence[str],
    partitions: frozenset[TopicPartition],
) -> tuple[Group, ...]:
    """The named groups, or else those that the flow selects, with commits in these partitions. Raises CannotRunError
    for a named group without any.
    """
    known = source.groups()
    chosen = list(names) or (flow.group_selection.of(known) if flow.groups else known)
    committed = source.committed(chosen)
    ours = {
        group: {each: offset for each, offset in offsets.items() if each in partitions}
        for group, offsets in committed.items()
    }
    for name in names:
        if not ours.get(name):
            raise _without_commit(name, known, flow)
    moving = [group for group, offsets in sorted(ours.items()) if offsets]
    here, there = source.members(moving), target.members(moving)
    on_target = target.committed(moving)
    return tuple(Group(each, here[each], there[each], ours[each], on_target.get(each, {})) for each in moving)


def _without_commit(name: str, known: Sequence[str], flow: FlowParameters) -> CannotRunError:
    what = f"group `{name}` has no committed offset on the topics of flow `{flow.name}`"
    why = "Without an offset on the source, there is no position to compute."
    similar = nearest(name, known)
    remedy = f"name `{similar}`." if similar and name not in known else "name a group that consumes these topics."
    return CannotRunError("unknown-group", what, flow.source.alias, why, remedy)


def _wanted(
    groups: Sequence[Group], partitions: Sequence[TopicPartition], logs: Mapping[TopicPartition, OffsetRange]
) -> dict[TopicPartition, set[int]]:
    """The offsets whose positions are needed, in every partition. The position of the source's end proves that its last
    records are on the target.
    """
    wanted = {each: {logs[each].end} for each in partitions}
    for group in groups:
        for partition, offset in group.committed.items():
            if offset <= logs[partition].end:
                wanted[partition].add(offset)
    return wanted


def _left(
    flow: FlowParameters, groups: Sequence[Group], wanted: Mapping[TopicPartition, set[int]]
) -> dict[TopicPartition, set[tuple[int, int]]]:
    """The offsets of groups that have consumed on the target before, each with its offset there."""
    found: dict[TopicPartition, set[tuple[int, int]]] = {each: set() for each in wanted}
    for group in groups:
        for partition, offset in group.committed.items():
            there = group.on_target.get(flow.replication_policy.remote_partition(partition))
            if there is not None and offset in wanted[partition]:
                found[partition].add((offset, there))
    return found


def _wait(seconds: float, say: Say) -> None:
    """Wait this long without asking anything."""
    ends = time.monotonic() + seconds

    def probe() -> None:
        if (left := ends - time.monotonic()) > 0:
            say(f"watching the source for writers, {left:.0f} s more")
            raise NotYetError("the time has not passed")

    wait_for("the time to pass", probe, max(0.0, seconds) + 1)
