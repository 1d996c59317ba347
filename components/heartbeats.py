"""Heartbeats over several hops: which heartbeat topics each cluster of a topology comes to hold.

MirrorMaker replicates every heartbeat topic that it sees, those that came from elsewhere included, so that their names
show the way. Imports the model, naming and expansion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from components.expansion import NamedFlow, Shape
from components.model import Flow
from components.naming import HEARTBEATS_TOPIC, Side, remote_topic_name

#: How many heartbeat topics of one cluster are named each.
MOST_NAMES = 100
#: Behind the beginning of names; a topic's name cannot hold it.
EVERYTHING = "*"


def heartbeats_on(named: NamedFlow, *, in_mirrors: bool) -> Side:
    """Cluster that a flow's heartbeats are produced to.

    `in_mirrors`: a KafkaMirrorMaker2 has heartbeat connectors of its own. Their records go through the workers'
    producer to the target. Source: Strimzi KafkaMirrorMaker2Connectors, MirrorHeartbeatTask.
    """
    return "target" if in_mirrors and named.shape is Shape.MIRROR_MAKER2 else "source"


@dataclass(frozen=True)
class Heartbeats:
    """Heartbeat topics of a topology, found only when asked for: only ACLs name them."""

    flows: Sequence[NamedFlow] = ()
    in_mirrors: bool = False

    def on(self, alias: str) -> frozenset[str]:
        """Heartbeat topics that a cluster holds, its own and those from further upstream; see `heartbeat_topics`."""
        return self._held.get(alias, frozenset())

    @cached_property
    def _held(self) -> Mapping[str, frozenset[str]]:
        return heartbeat_topics(self.flows, in_mirrors=self.in_mirrors)


def heartbeat_topics(flows: Sequence[NamedFlow], *, in_mirrors: bool = False) -> Mapping[str, frozenset[str]]:
    """Heartbeat topics by the alias of the cluster that holds them; `in_mirrors` as for `heartbeats_on`.

    Between many clusters heartbeats go more ways than can be named: where a cluster would hold more than `MOST_NAMES`,
    those of more than one hop are told by the cluster of their last one, as `useast.*`: a beginning and `*`, which no
    topic's name holds.
    Source: MirrorSourceConnector.shouldReplicateTopic and isCycle, ReplicationPolicy.isHeartbeatsTopic.
    """
    held: dict[str, set[str]] = {alias: set() for named in flows for alias in (named.flow.source, named.flow.target)}
    for named in flows:
        if named.flow.connectors.heartbeat.enabled:
            side = heartbeats_on(named, in_mirrors=in_mirrors)
            held[named.flow.source if side == "source" else named.flow.target].add(HEARTBEATS_TOPIC)
    passing = [named.flow for named in flows if named.flow.replicate_heartbeats]
    while (further := _one_hop_further(held, passing)) != held:
        held = further
    return {alias: frozenset(topics) for alias, topics in held.items() if topics}


def _one_hop_further(held: Mapping[str, set[str]], flows: Sequence[Flow]) -> dict[str, set[str]]:
    found = {alias: set(topics) for alias, topics in held.items()}
    last_hops: dict[str, set[str]] = {alias: set() for alias in held}
    for flow in flows:
        last_hops[flow.target].add(f"{flow.source}{flow.separator}")
        # A topic that has been at the target is not sent back, so every name grows by each alias once at most.
        found[flow.target] |= {
            _remote(flow, topic)
            for topic in held[flow.source]
            if flow.target not in topic.split(flow.separator) and flow.source not in topic.split(flow.separator)
        }
    return {alias: _told_shorter(topics, last_hops[alias]) for alias, topics in found.items()}


def _remote(flow: Flow, topic: str) -> str:
    return f"{flow.source}{flow.separator}{topic}" if topic.endswith(EVERYTHING) else remote_topic_name(flow, topic)


def _told_shorter(topics: set[str], last_hops: set[str]) -> set[str]:
    """Topics of a cluster; where they are too many, those of several hops by how they begin."""
    told = _uncovered(topics)
    if len(told) <= MOST_NAMES:
        return told
    far = told - {f"{each}{HEARTBEATS_TOPIC}" for each in last_hops}
    begun = {each for each in last_hops if any(topic.startswith(each) for topic in far)}
    return _uncovered(told | {f"{each}{EVERYTHING}" for each in begun})


def _uncovered(topics: set[str]) -> set[str]:
    """Topics that no beginning among them covers, and these beginnings."""
    beginnings = [topic.removesuffix(EVERYTHING) for topic in topics if topic.endswith(EVERYTHING)]
    covered = {
        topic
        for beginning in beginnings
        for topic in topics
        if topic.startswith(beginning) and topic != f"{beginning}{EVERYTHING}"
    }
    return topics - covered
