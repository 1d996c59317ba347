"""Heartbeats over several hops: which heartbeat topics each cluster of a topology comes to hold.

MirrorMaker replicates every heartbeat topic that it sees, those that came from elsewhere included, so that their names
show the way. Imports the model, naming and expansion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from components.expansion import NamedFlow, Shape
from components.naming import HEARTBEATS_TOPIC, Side, remote_topic_name


def heartbeats_on(named: NamedFlow, *, in_mirrors: bool) -> Side:
    """Cluster that a flow's heartbeats are produced to.

    `in_mirrors`: a KafkaMirrorMaker2 has heartbeat connectors of its own. Their records go through the workers'
    producer to the target. Source: Strimzi KafkaMirrorMaker2Connectors, MirrorHeartbeatTask.
    """
    return "target" if in_mirrors and named.shape is Shape.MIRROR_MAKER2 else "source"


@dataclass(frozen=True)
class Heartbeats:
    """Heartbeat topics of a topology, found only when asked for: between many clusters they go countless ways."""

    flows: Sequence[NamedFlow] = ()
    in_mirrors: bool = False

    def on(self, alias: str) -> frozenset[str]:
        """Heartbeat topics that a cluster holds, its own and those from further upstream."""
        return self._held.get(alias, frozenset())

    @cached_property
    def _held(self) -> Mapping[str, frozenset[str]]:
        return heartbeat_topics(self.flows, in_mirrors=self.in_mirrors)


def heartbeat_topics(flows: Sequence[NamedFlow], *, in_mirrors: bool = False) -> Mapping[str, frozenset[str]]:
    """Heartbeat topics by the alias of the cluster that holds them; `in_mirrors` as for `heartbeats_on`.

    Source: MirrorSourceConnector.shouldReplicateTopic and isCycle, ReplicationPolicy.isHeartbeatsTopic.
    """
    held: dict[str, set[str]] = {}
    for named in flows:
        if named.flow.connectors.heartbeat.enabled:
            side = heartbeats_on(named, in_mirrors=in_mirrors)
            alias = named.flow.source if side == "source" else named.flow.target
            held.setdefault(alias, set()).add(HEARTBEATS_TOPIC)
    changed = True
    while changed:
        changed = False
        for flow in (named.flow for named in flows if named.flow.replicate_heartbeats):
            # A topic that has been at the target is not sent back, so every name grows by each alias once at most.
            arriving = {
                remote_topic_name(flow, topic)
                for topic in held.get(flow.source, ())
                if flow.target not in topic.split(flow.separator) and flow.source not in topic.split(flow.separator)
            }
            new = arriving - held.setdefault(flow.target, set())
            held[flow.target] |= new
            changed = changed or bool(new)
    return {alias: frozenset(topics) for alias, topics in held.items()}
