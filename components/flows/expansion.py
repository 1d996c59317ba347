"""Replications -> flows, on which all later steps work: each pair has two, splits and KafkaMirrorMaker2s several."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from kafka_replication.components.flows.operators import kafka_version, strimzi
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.topology.clusters import Model
from kafka_replication.components.topology.connectors import Connectors, OptionalConnector, PairConnectors
from kafka_replication.components.topology.model import (
    Delivery,
    Flow,
    FromSourceToTarget,
    MirrorMaker2,
    MirrorSource,
    OnKubernetes,
    PrefixlessPair,
    Replication,
    Split,
    SplitPart,
    Topology,
)
from kafka_replication.components.topology.workers import NamespaceChoice


class FlowShape(StrEnum):
    """The kind of replication that a flow belongs to."""

    FLOW = "flow"
    PREFIXLESS_PAIR = "prefixlessPair"
    SPLIT = "split"
    MIRROR_MAKER2 = "mirrorMaker2"


@dataclass(frozen=True)
class ExpandedFlow:
    """One flow of a replication: its name, its settings, and which replication and part of it declares it.

    `workers` is the name of the Connect workers that run the flow. `owner` is the name that all flows of one
    KafkaMirrorMaker2 share; it differs from `workers` if heartbeats have their own workers. `elsewhere` maps a key of
    the settings to its path in the replication if the two differ. `kafka` is the minor version of the workers, such as
    `4.2`.
    """

    name: str
    replication: str
    shape: FlowShape
    settings: Flow
    part: str = ""
    workers: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict, compare=False)
    owner: str = ""
    kafka: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", self.workers or self.name)
        object.__setattr__(self, "owner", self.owner or self.workers)

    @property
    def shared(self) -> bool:
        """Whether several flows share the workers."""
        return self.owner != self.name

    def where(self, key: str = "") -> str:
        """Return the path of one of the flow's keys in the topology file, as the kind of its replication spells it."""
        if self.shape is FlowShape.PREFIXLESS_PAIR:
            key = next((ours for theirs, ours in _OF_PAIR.items() if f"{key}.".startswith(f"{theirs}.")), key)
        top, _, rest = key.partition(".")
        place = (f"replications.{self.replication}", self.elsewhere.get(top, top), rest)
        return ".".join(part for part in place if part)


def expand(topology: Topology) -> tuple[ExpandedFlow, ...]:
    """Return every flow of a topology, in the order of the file."""
    operator = strimzi(topology.strimzi)
    return tuple(
        replace(flow, kafka=kafka_version(flow.settings.connect, operator))
        for name, replication in topology.replications.items()
        for flow in _flows_of(name, replication)
    )


def _flows_of(name: str, replication: Replication) -> Iterator[ExpandedFlow]:
    match replication:
        case Flow():
            yield ExpandedFlow(name, name, FlowShape.FLOW, replication)
        case PrefixlessPair():
            for source, target in _directions(replication.between):
                half = _half(replication, source, target)
                yield ExpandedFlow(f"{name}-to-{target}", name, FlowShape.PREFIXLESS_PAIR, half, target)
        case Split():
            for part, flow in _parts(replication).items():
                elsewhere = {**_OF_SPLIT, "": f"parts.{part}", **_below(f"parts.{part}", replication.parts[part])}
                yield ExpandedFlow(f"{name}-{part}", name, FlowShape.SPLIT, flow, part, elsewhere=elsewhere)
        case MirrorMaker2():
            yield from _mirrors(name, replication)


_BETWEEN = {"source": "between", "target": "between"}


def _keys_without(of: type[Model], other: type[Model]) -> list[str]:
    lacking = of.model_fields.keys() - other.model_fields.keys()
    return sorted(str(of.model_fields[name].alias or name) for name in lacking)


#: Keys of a flow that a pair lacks -> the key of a pair that decides them. Its kind decides most of them.
_OF_PAIR = {
    "namespace.labels": "namespaceLabels",
    "namespace.annotations": "namespaceAnnotations",
    **dict.fromkeys(_keys_without(Flow, PrefixlessPair), "kind"),
    **{f"connectors.{key}": "kind" for key in _keys_without(Connectors, PairConnectors)},
    **_BETWEEN,
    "namespace": "createNamespaces",
}
#: The same for a split, whose first part has the heartbeats, and for a KafkaMirrorMaker2.
_OF_SPLIT = {**dict.fromkeys(_keys_without(Flow, Split), "kind"), "replicateHeartbeats": "parts"}
_OF_MIRROR = dict.fromkeys(_keys_without(Flow, MirrorMaker2), "kind")


def _below(path: str, part: SplitPart | MirrorSource) -> dict[str, str]:
    """Return the path of each key of a part, without transforms that belong to the whole replication."""
    aliases = [str(field.alias) for field in type(part).model_fields.values()]
    return {key: f"{path}.{key}" for key in aliases if key != "transforms" or part.transforms is not None}


def _directions(between: tuple[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    first, second = between
    return (first, second), (second, first)


def _mirrors(name: str, replication: MirrorMaker2) -> Iterator[ExpandedFlow]:
    """Yield the flows of a KafkaMirrorMaker2, whose clusters are declared in one way only (`checks.replications`)."""
    shape = FlowShape.MIRROR_MAKER2
    if replication.between is not None:
        for source, target in _directions(replication.between):
            flow = _mirror(replication, source, target, {})
            yield ExpandedFlow(f"{name}-to-{target}", name, shape, flow, target, elsewhere={**_OF_MIRROR, **_BETWEEN})
    elif replication.sources:
        for alias, of_source in replication.sources.items():
            own = {key: value for key, value in of_source if value is not None}
            flow = _mirror(replication, alias, replication.target or "", own)
            path = f"sources.{alias}"
            elsewhere = {**_OF_MIRROR, "": path, "source": path, **_below(path, of_source)}
            yield ExpandedFlow(f"{name}-from-{alias}", name, shape, flow, alias, name, elsewhere)
    else:
        flow = _mirror(replication, replication.source or "", replication.target or "", {})
        yield ExpandedFlow(name, name, shape, flow, elsewhere=_OF_MIRROR)


def _mirror(replication: MirrorMaker2, source: str, target: str, of_source: Mapping[str, Any]) -> Flow:
    given: dict[str, Any] = {"topics": replication.topics, "connectors": replication.connectors}
    given |= {**_shared(FromSourceToTarget, replication), **_shared(OnKubernetes, replication), **of_source}
    given["connectors"] = Connectors(**dict(given["connectors"]))
    return Flow(kind="flow", source=source, target=target, **given)


def _shared(base: type[Model], replication: Model) -> dict[str, Any]:
    """Return the settings that a replication, or a part of one, shares with a flow because both have this base."""
    return {name: getattr(replication, name) for name in base.model_fields}


def _half(pair: PrefixlessPair, source: str, target: str) -> Flow:
    return Flow(
        kind="flow",
        source=source,
        target=target,
        topics=pair.topics,
        topics_exclude=pair.topics_exclude,
        policy=Policy.IDENTITY,
        sync_group_offsets=False,
        loop_guard=True,
        offset_syncs=pair.offset_syncs,
        namespace=NamespaceChoice(
            create=pair.create_namespaces, labels=pair.namespace_labels, annotations=pair.namespace_annotations
        ),
        connect=pair.connect,
        connectors=Connectors(
            source=pair.connectors.source,
            checkpoint=OptionalConnector(enabled=False),
            heartbeat=pair.connectors.heartbeat,
        ),
        **_shared(Delivery, pair),
    )


def _parts(split: Split) -> Mapping[str, Flow]:
    flows: dict[str, Flow] = {}
    for index, (name, part) in enumerate(split.parts.items()):
        first = index == 0
        heartbeat = part.connectors.heartbeat.model_copy(
            update={"enabled": first and part.connectors.heartbeat.enabled}
        )
        own = {"transforms": part.transforms} if part.transforms is not None else {}
        flows[name] = Flow(
            kind="flow",
            source=split.source,
            target=split.target,
            topics=part.topics,
            # If two source connectors replicated heartbeats, each heartbeat would be written twice.
            replicate_heartbeats=first,
            connectors=part.connectors.model_copy(update={"heartbeat": heartbeat}),
            **_shared(OnKubernetes, part),
            **_shared(FromSourceToTarget, split) | own,
        )
    return flows
