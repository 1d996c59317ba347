"""Replications -> flows: a pair is two guarded flows, a split a flow for each of its Connect clusters, a
KafkaMirrorMaker2 a flow for each of its mirrors.

Everything after this (specs, checks, validation, rendering) knows flows only. Imports the model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from components.clusters import Model
from components.connectors import Connectors, OptionalConnector
from components.model import (
    Flow,
    FromSourceToTarget,
    MirrorMaker2,
    MirrorSource,
    OffsetSyncs,
    Policy,
    PrefixlessPair,
    Replication,
    Split,
    SplitPart,
    Topology,
)
from components.workers import NamespaceChoice


class Shape(StrEnum):
    """Kind of replication that a flow comes from."""

    FLOW = "flow"
    PREFIXLESS_PAIR = "prefixlessPair"
    SPLIT = "split"
    MIRROR_MAKER2 = "mirrorMaker2"


@dataclass(frozen=True)
class NamedFlow:
    """A flow with its name, and the replication and part of it that it comes from.

    `workers` names the Connect workers that run it, `owner` those that flows of one KafkaMirrorMaker2 share; the two
    differ for heartbeats that have workers of their own. `elsewhere` says where in the replication those keys of the
    flow stand that it spells otherwise.
    """

    name: str
    replication: str
    shape: Shape
    flow: Flow
    part: str = ""
    workers: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict, compare=False)
    owner: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", self.workers or self.name)
        object.__setattr__(self, "owner", self.owner or self.workers)

    @property
    def shared(self) -> bool:
        """Whether the workers are those of several flows."""
        return self.owner != self.name

    def where(self, key: str = "") -> str:
        """Path in the topology file of a key of the flow, as the replication's own kind spells it."""
        top, _, rest = key.partition(".")
        place = (f"replications.{self.replication}", self.elsewhere.get(top, top), rest)
        return ".".join(part for part in place if part)


def expand(topology: Topology) -> tuple[NamedFlow, ...]:
    """Every flow of a topology, in the order of the file."""
    return tuple(flow for name, replication in topology.replications.items() for flow in flows_of(name, replication))


def flows_of(name: str, replication: Replication) -> Iterator[NamedFlow]:
    """The flows of one replication."""
    match replication:
        case Flow():
            yield NamedFlow(name, name, Shape.FLOW, replication)
        case PrefixlessPair():
            for source, target in _directions(replication.between):
                half = _half(replication, source, target)
                yield NamedFlow(f"{name}-to-{target}", name, Shape.PREFIXLESS_PAIR, half, target, elsewhere=_BETWEEN)
        case Split():
            for part, flow in _parts(replication).items():
                elsewhere = {"": f"parts.{part}", **_below(f"parts.{part}", SplitPart)}
                yield NamedFlow(f"{name}-{part}", name, Shape.SPLIT, flow, part, elsewhere=elsewhere)
        case MirrorMaker2():
            yield from _mirrors(name, replication)


_BETWEEN = {"source": "between", "target": "between"}


def _below(path: str, model: type[Model]) -> dict[str, str]:
    """Where the keys of a part of a replication stand."""
    return {str(each.alias): f"{path}.{each.alias}" for each in model.model_fields.values()}


def _directions(between: tuple[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    first, second = between
    return (first, second), (second, first)


def _mirrors(name: str, replication: MirrorMaker2) -> Iterator[NamedFlow]:
    """The flows of a KafkaMirrorMaker2; `checks.mirrors` holds that it says in one way only which they are."""
    shape = Shape.MIRROR_MAKER2
    if replication.between is not None:
        for source, target in _directions(replication.between):
            flow = _mirror(replication, source, target, {})
            yield NamedFlow(f"{name}-to-{target}", name, shape, flow, target, elsewhere=_BETWEEN)
    elif replication.sources:
        for alias, of_source in replication.sources.items():
            flow = _mirror(replication, alias, replication.target or "", dict(of_source))
            path = f"sources.{alias}"
            elsewhere = {"": path, "source": path, **_below(path, MirrorSource)}
            yield NamedFlow(f"{name}-from-{alias}", name, shape, flow, alias, name, elsewhere)
    else:
        flow = _mirror(replication, replication.source or "", replication.target or "", {})
        yield NamedFlow(name, name, shape, flow)


def _mirror(replication: MirrorMaker2, source: str, target: str, of_source: Mapping[str, Any]) -> Flow:
    given = {**_common(replication), "topics": replication.topics, "connectors": replication.connectors, **of_source}
    return Flow(
        kind="flow",
        source=source,
        target=target,
        namespace=replication.namespace,
        quota=replication.quota,
        connect=replication.connect,
        **{**given, "connectors": Connectors(**dict(given["connectors"]))},
    )


def _common(replication: FromSourceToTarget) -> dict[str, Any]:
    return {name: getattr(replication, name) for name in FromSourceToTarget.model_fields}


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
        exactly_once=pair.exactly_once,
        start_from=pair.start_from,
        tuning=pair.tuning,
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
            # Two source connectors that replicate heartbeats would write each of them twice.
            replicate_heartbeats=first,
            namespace=part.namespace,
            quota=part.quota,
            connect=part.connect,
            connectors=part.connectors.model_copy(update={"heartbeat": heartbeat}),
            **_common(split),
        )
    return flows


def all_topics(flow: Flow) -> tuple[str, ...]:
    """Topics of a flow, over all its source connectors."""
    if flow.connectors.sources:
        return tuple(topic for part in flow.connectors.sources.values() for topic in part.topics)
    return flow.topics
