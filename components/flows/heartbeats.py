"""Heartbeats over several hops: which heartbeat topics each cluster of a topology ends up with.

MirrorMaker replicates every heartbeat topic on the source, including those that came from other clusters. So the name
of a heartbeat topic shows which clusters it passed through.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.kafka.connectors import EMIT_HEARTBEATS
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC, Side, clusters_passed
from kafka_replication.components.topology.model import Flow

#: The most heartbeat topics of one cluster that are listed by name.
MOST_NAMES = 100
#: Marks a prefix that stands for several names; no topic name contains it.
EVERYTHING = "*"


def heartbeats_on(flow: ExpandedFlow, *, in_mirrors: bool) -> Side:
    """Return the cluster that a flow's heartbeats are produced to.

    With `in_mirrors`, a KafkaMirrorMaker2 has its own heartbeat connectors, whose records the workers' producer writes
    to the target. Source: Strimzi KafkaMirrorMaker2Connectors, MirrorHeartbeatTask.
    """
    return "target" if in_mirrors and flow.shape is FlowShape.MIRROR_MAKER2 else "source"


@dataclass(frozen=True)
class Heartbeats:
    """The heartbeat topics of a topology, which are computed on demand because only ACLs name them."""

    flows: Sequence[ExpandedFlow] = ()
    in_mirrors: bool = False

    def on(self, alias: str) -> frozenset[str]:
        """Return the heartbeat topics of a cluster: its own and those from further upstream; see `heartbeat_topics`."""
        return self._held.get(alias, frozenset())

    @cached_property
    def _held(self) -> Mapping[str, frozenset[str]]:
        return heartbeat_topics(self.flows, in_mirrors=self.in_mirrors)


def heartbeat_topics(flows: Sequence[ExpandedFlow], *, in_mirrors: bool = False) -> Mapping[str, frozenset[str]]:
    """Return the heartbeat topics by the alias of their cluster; `in_mirrors` as for `heartbeats_on`.

    Between many clusters, heartbeats take too many paths to list. If a cluster would have more than `MOST_NAMES`
    topics, those of more than one hop are given only by their last cluster, such as `useast.*`.
    Source: MirrorSourceConnector.shouldReplicateTopic and isCycle, ReplicationPolicy.isHeartbeatsTopic.
    """
    held: dict[str, set[str]] = {
        alias: set() for flow in flows for alias in (flow.settings.source, flow.settings.target)
    }
    for flow in flows:
        if flow.settings.connectors.heartbeat.emits(EMIT_HEARTBEATS):
            side = heartbeats_on(flow, in_mirrors=in_mirrors)
            held[flow.settings.source if side == "source" else flow.settings.target].add(HEARTBEATS_TOPIC)
    passing = [flow.settings for flow in flows if flow.settings.replicate_heartbeats]
    while (further := _one_hop_further(held, passing)) != held:
        held = further
    return {alias: frozenset(topics) for alias, topics in held.items() if topics}


def _one_hop_further(held: Mapping[str, set[str]], flows: Sequence[Flow]) -> dict[str, set[str]]:
    further = {alias: set(topics) for alias, topics in held.items()}
    last_hops: dict[str, set[str]] = {alias: set() for alias in held}
    for flow in flows:
        last_hops[flow.target].add(replication_policy(flow).prefix)
        # A topic that came through the target is not sent back, so a name has each alias at most once.
        further[flow.target] |= {
            _remote(flow, topic)
            for topic in held[flow.source]
            if {flow.source, flow.target}.isdisjoint(clusters_passed(topic, flow.separator))
        }
    return {alias: _shortened(topics, last_hops[alias]) for alias, topics in further.items()}


def _remote(flow: Flow, topic: str) -> str:
    policy = replication_policy(flow)
    return f"{policy.prefix}{topic}" if topic.endswith(EVERYTHING) else policy.remote(topic)


def _shortened(topics: set[str], last_hops: set[str]) -> set[str]:
    """Return the topics of a cluster; if there are too many, those of several hops only by their prefixes."""
    listed = _uncovered(topics)
    if len(listed) <= MOST_NAMES:
        return listed
    far = listed - {f"{hop}{HEARTBEATS_TOPIC}" for hop in last_hops}
    begun = {hop for hop in last_hops if any(topic.startswith(hop) for topic in far)}
    return _uncovered(listed | {f"{hop}{EVERYTHING}" for hop in begun})


def _uncovered(topics: set[str]) -> set[str]:
    """Return the topics without those that a prefix among them covers."""
    beginnings = [topic.removesuffix(EVERYTHING) for topic in topics if topic.endswith(EVERYTHING)]
    covered = {
        topic
        for beginning in beginnings
        for topic in topics
        if topic.startswith(beginning) and topic != f"{beginning}{EVERYTHING}"
    }
    return topics - covered
