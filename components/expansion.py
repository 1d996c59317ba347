"""Replications -> flows: a pair is two guarded flows, a split a flow for each of its Connect clusters.

Everything after this (specs, checks, validation, rendering) knows flows only. Imports the model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.model import (
    Connectors,
    Flow,
    NamespaceChoice,
    OffsetSyncs,
    OptionalConnector,
    Policy,
    PrefixlessPair,
    Replication,
    Split,
    SplitPart,
    Topology,
)


class Shape(StrEnum):
    """Kind of replication that a flow comes from."""

    FLOW = "flow"
    PREFIXLESS_PAIR = "prefixlessPair"
    SPLIT = "split"


#: Keys of a flow that each part of a split has for itself.
_OF_SPLIT_PARTS = frozenset(SplitPart.model_fields)


@dataclass(frozen=True)
class NamedFlow:
    """A flow with its name, and the replication and part of it that it comes from."""

    name: str
    replication: str
    shape: Shape
    flow: Flow
    part: str = ""

    def where(self, key: str = "") -> str:
        """Path in the topology file of a key of the flow, as the replication's own kind spells it."""
        path = f"replications.{self.replication}"
        top = key.split(".")[0]
        if self.shape is Shape.PREFIXLESS_PAIR and top in {"source", "target"}:
            return f"{path}.between"
        if self.shape is Shape.SPLIT and (not top or top in _OF_SPLIT_PARTS):
            path = f"{path}.parts.{self.part}"
        return f"{path}.{key}" if key else path


def expand(topology: Topology) -> tuple[NamedFlow, ...]:
    """Every flow of a topology, in the order of the file."""
    return tuple(flow for name, replication in topology.replications.items() for flow in flows_of(name, replication))


def flows_of(name: str, replication: Replication) -> Iterator[NamedFlow]:
    """The flows of one replication."""
    match replication:
        case Flow():
            yield NamedFlow(name, name, Shape.FLOW, replication)
        case PrefixlessPair():
            first, second = replication.between
            for source, target in ((first, second), (second, first)):
                half = f"{name}-to-{target}"
                yield NamedFlow(half, name, Shape.PREFIXLESS_PAIR, _half(replication, source, target), target)
        case Split():
            for part, flow in _parts(replication).items():
                yield NamedFlow(f"{name}-{part}", name, Shape.SPLIT, flow, part)


def _half(pair: PrefixlessPair, source: str, target: str) -> Flow:
    return Flow(
        kind="flow",
        source=source,
        target=target,
        topics=pair.topics,
        topics_exclude=pair.topics_exclude,
        policy=Policy.IDENTITY,
        separator=pair.separator,
        sync_group_offsets=False,
        loop_guard=True,
        transforms=pair.transforms,
        # Offsets of a topic that both sides write to mean nothing on the other side.
        offset_syncs=OffsetSyncs(enabled=False),
        intervals=pair.intervals,
        namespace=NamespaceChoice(create=pair.create_namespaces),
        connect=pair.connect,
        connectors=Connectors(
            source=pair.connectors.source,
            checkpoint=OptionalConnector(enabled=False),
            heartbeat=pair.connectors.heartbeat,
        ),
    )


def _parts(split: Split) -> Mapping[str, Flow]:
    flows: dict[str, Flow] = {}
    for index, (name, part) in enumerate(split.parts.items()):
        first = index == 0
        heartbeat = part.connectors.heartbeat.model_copy(
            update={"enabled": first and part.connectors.heartbeat.enabled}
        )
        flows[name] = Flow(
            kind="flow",
            source=split.source,
            target=split.target,
            topics=part.topics,
            topics_exclude=split.topics_exclude,
            groups=split.groups,
            groups_exclude=split.groups_exclude,
            policy=split.policy,
            separator=split.separator,
            sync_group_offsets=split.sync_group_offsets,
            # Two source connectors that replicate heartbeats would write each of them twice.
            replicate_heartbeats=first,
            offset_syncs=split.offset_syncs,
            intervals=split.intervals,
            namespace=part.namespace,
            quota=part.quota,
            connect=part.connect,
            connectors=part.connectors.model_copy(update={"heartbeat": heartbeat}),
        )
    return flows


def all_topics(flow: Flow) -> tuple[str, ...]:
    """Topics of a flow, over all its source connectors."""
    if flow.connectors.sources:
        return tuple(topic for part in flow.connectors.sources.values() for topic in part.topics)
    return flow.topics
