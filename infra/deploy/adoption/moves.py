"""Decides which mirrors of KafkaMirrorMaker2s become flows, and which offsets go to which connector. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.flows.selections import topic_selection
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from kafka_replication.components.kafka.overlap import Disjoint, overlap_of_selections
from kafka_replication.components.kafka.patterns import Selection, pattern_error
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.replication_policy import is_heartbeat_topic
from kafka_replication.components.kafka.topic_names import default_topics_exclude
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.render.kafka_connectors import waits_for_offsets
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.kubernetes.api import Reference, reference
from kafka_replication.infra.onboard.importing.mirrors import effective_configs, ends_of_mirrors
from kafka_replication.infra.onboard.importing.reading import ReadObject
from kafka_replication.infra.onboard.importing.values import Placeholders
from kafka_replication.infra.onboard.importing.workers import group_names
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace, connector_places
from kafka_replication.infra.operate.offsets.plan import OffsetChange, Stored
from kafka_replication.infra.review.object_changes import identity

_EVERYTHING = ".*"
Fields = Mapping[str, Any]


def flows_of_mirror(
    mirror: Fields, source: Fields, flows: Sequence[ResolvedFlow], placeholders: Placeholders
) -> tuple[ResolvedFlow, ...]:
    """Return the flows that may share a topic with the mirror; undecided cases count as sharing.

    `source` is the mirror's source cluster in the resource.
    """
    configs = effective_configs(mirror, source, placeholders)
    config = next((config for role, config in configs if role == "source"), {})
    return tuple(flow for flow in flows if not isinstance(_overlap(config, flow), Disjoint))


def _overlap(config: Mapping[str, str], flow: ResolvedFlow) -> object:
    default = ",".join(default_topics_exclude(flow.expanded.kafka))
    excluded = config.get("topics.exclude", config.get("topics.blacklist", default))
    selected = Selection(_patterns(config.get("topics", _EVERYTHING), (_EVERYTHING,)), _patterns(excluded, ()))
    return overlap_of_selections(selected, topic_selection(flow.settings, flow.expanded.kafka))


def _patterns(text: str, unknown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries of a list, or `unknown` if it is not known, because a placeholder in it has no value here."""
    entries = tuple(entry.strip() for entry in text.split(",") if entry.strip())
    return unknown if "${" in text or any(pattern_error(entry) for entry in entries) else entries


Mirrored = Mapping[TopicPartition, int]


def connectors_of(flow: FlowParameters, sources: Collection[str], topics: Collection[str]) -> dict[str, str]:
    """Map each topic to the source connector of a flow that replicates it. The first one replicates heartbeats."""
    parts = [(flow.part_selection(part), part.connector) for part in flow.parts]
    every = next(iter(sources), "")
    chosen = parts or [(flow.topic_selection, every)]
    by_topic = {topic: name for topic in topics for selection, name in chosen if topic in selection}
    by_topic |= {topic: every for topic in topics if is_heartbeat_topic(topic, flow.separator)}
    return {topic: name for topic, name in by_topic.items() if name in sources}


def offset_moves(mirrored: Mirrored, connectors: Mapping[str, str], stored: Stored) -> list[OffsetChange]:
    """Return what Connect must still store. `mirrored` are the offsets of the mirror, `connectors` names the
    connector of each topic, and `stored` are the offsets that Connect has. Offsets that Connect has but the mirror
    lacks are left over from an earlier connector, and are deleted.
    """
    wanted: dict[tuple[str, TopicPartition], int | None] = {
        (connectors[partition.topic], partition): offset
        for partition, offset in mirrored.items()
        if partition.topic in connectors
    }
    outdated = {place: None for place in stored if place[0] in {*connectors.values()} and place not in wanted}
    return [
        OffsetChange(connector, partition, _next(stored.get((connector, partition))), _next(offset), offset)
        for (connector, partition), offset in sorted({**outdated, **wanted}.items())
        if stored.get((connector, partition)) != offset
    ]


def _next(stored: int | None) -> int:
    return 0 if stored is None else stored + 1


_KIND = "KafkaMirrorMaker2"
_ROLES: tuple[ConnectorRole, ...] = ("source", "checkpoint", "heartbeat")


@dataclass(frozen=True)
class MirrorMove:
    """One mirror of a KafkaMirrorMaker2, and the flows of the stack that replace it.

    `places` are the connectors of the mirror, `waiting` the connectors of the flows that have not started: they do not
    exist, or wait for offsets. `index` is the position of the mirror in its resource.
    """

    live: Manifest
    index: int
    source: str
    target: str
    flows: tuple[ResolvedFlow, ...]
    places: tuple[ConnectorPlace, ...]
    waiting: tuple[ConnectorPlace, ...]

    @property
    def resource(self) -> Reference:
        return reference(self.live)

    @property
    def title(self) -> str:
        return f"{self.source}->{self.target} of {self.resource}"

    @property
    def flow_names(self) -> str:
        return ", ".join(flow.name for flow in self.flows)

    @property
    def connector(self) -> str:
        """Name of the mirror's source connector."""
        return self.places[0].name

    def topic(self, role: str) -> str:
        """Return the workers' own topic for `offset` or `status`."""
        return group_names(_KIND, self.live["spec"])[f"{role}StorageTopic"]


@dataclass(frozen=True)
class MirrorMoves:
    """Tell which `mirrors` of the named `resources` move, which no flow matches, and why others cannot move."""

    mirrors: tuple[MirrorMove, ...] = ()
    unmatched: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    resources: frozenset[Reference] = frozenset()


def moves_of(facts: AdoptionFacts, names: Sequence[str]) -> MirrorMoves:
    """Find the mirrors of the KafkaMirrorMaker2s `NAME` or `NAMESPACE/NAME` that a flow of the stack replaces."""
    mirrors: list[MirrorMove] = []
    unmatched: list[str] = []
    problems: list[Problem] = []
    resources: list[Reference] = []
    for name in dict.fromkeys(names):
        live = _named(facts, name)
        if isinstance(live, Problem):
            problems.append(live)
            continue
        resources.append(reference(live))
        outcomes = list(_moves(facts, live))
        mirrors += [outcome for outcome in outcomes if isinstance(outcome, MirrorMove)]
        unmatched += [outcome for outcome in outcomes if isinstance(outcome, str)]
        problems += [outcome for outcome in outcomes if isinstance(outcome, Problem)]
        if all(isinstance(outcome, str) for outcome in outcomes):
            what = f"no flow of stack `{facts.stack}` copies topics of any mirror of this KafkaMirrorMaker2"
            why = "A mirror becomes the flow that has its source and target aliases and some of its topics."
            remedy = "declare such a flow, of `kind: flow`: `replicate import --as-flows` writes the topology."
            problems.append(Problem(str(reference(live)), "nothing-to-move", what, why, remedy))
    return MirrorMoves(tuple(mirrors), tuple(unmatched), tuple(problems), frozenset(resources))


def _named(facts: AdoptionFacts, name: str) -> Manifest | Problem:
    bodies = [body for body in (*facts.others, *facts.live.values()) if body["kind"] == _KIND]
    known = {f"{body['metadata']['namespace']}/{body['metadata']['name']}": body for body in bodies}
    matches = [body for place, body in known.items() if name in (place, place.partition("/")[2])]
    where = ", ".join(facts.searched) or "the whole cluster"
    if len(matches) == 1:
        return _declared(facts, matches[0]) or matches[0]
    if matches:
        what = f"{len(matches)} KafkaMirrorMaker2s are called `{name}`"
        why = "Without a namespace, the command does not know which of them to move."
        return Problem("--from", "mirror-ambiguous", what, why, f"name one of {', '.join(sorted(known))}.")
    similar = nearest(name, [*known, *(place.partition("/")[2] for place in known)])
    if similar:
        remedy = f"name `{similar}`."
    elif known:
        remedy = f"name one of {', '.join(sorted(known))}."
    elif facts.searched:
        remedy = "let the account of the stack's Kubernetes context list kafkamirrormaker2s in all namespaces."
    else:
        remedy = "check `kubernetes:context` of the stack: its cluster has no KafkaMirrorMaker2."
    what = f"there is no KafkaMirrorMaker2 `{name}`"
    return Problem("--from", "mirror-not-found", what, f"It was looked for in {where}.", remedy)


def _declared(facts: AdoptionFacts, live: Manifest) -> Problem | None:
    where, stack = str(reference(live)), facts.stack
    if any(identity(body) == identity(live) for _, _, body, _ in facts.objects()):
        why = "The stack declares it as a KafkaMirrorMaker2, so there is no flow to move it to."
        remedy = (
            "declare the replication with `kind: flow` in the topology of another stack, and run the command for that "
            "stack."
        )
        return Problem(where, "mirror-declared", f"stack `{stack}` declares this KafkaMirrorMaker2 itself", why, remedy)
    if identity(live) in facts.known:
        what = f"Pulumi deployed it with stack `{stack}`, which no longer declares it"
        why = (
            "A deployment of this stack would delete it before its connectors have stopped and their offsets are "
            "copied."
        )
        remedy = (
            "declare it here again as it was, declare the flow in the topology of another stack, and run the command "
            "for that stack. Then remove the replication from this stack."
        )
        return Problem(where, "mirror-of-this-stack", what, why, remedy)
    return None


def _moves(facts: AdoptionFacts, live: Manifest) -> Iterator[MirrorMove | Problem | str]:
    """Yield for each mirror its move, why it cannot move, or its name if no flow of the stack matches it."""
    normal = ends_of_mirrors(ReadObject("the cluster", live))
    if not isinstance(normal, tuple):
        yield Problem(str(reference(live)), "mirror-refused", "nothing of it runs", normal.why, normal.remedy)
        return
    target, mirrors = normal
    flows = [flow for deployment in facts.declared.deployments.values() for flow in deployment.flows]
    flows = [flow for flow in flows if flow.expanded.shape is not FlowShape.MIRROR_MAKER2]
    workers = target.get("config") or {}
    placeholders = Placeholders.of(live["metadata"]["namespace"], workers, facts.config_map_data)
    for index, mirror, source in mirrors:
        ends = str(source.get("alias")), str(target.get("alias"))
        same = [flow for flow in flows if (flow.alias("source"), flow.alias("target")) == ends]
        chosen = flows_of_mirror(mirror, source, same, placeholders)
        addresses = str(source.get("bootstrapServers")), str(target.get("bootstrapServers"))
        beside = [
            flow
            for flow in flows
            if (str(flow.source.bootstrap_servers), str(flow.target.bootstrap_servers)) == addresses
        ]
        if chosen and "sourceConnector" in mirror:
            yield _move(facts, live, index, ends, chosen)
        elif beside and not same:
            flow, theirs = beside[0], "->".join(ends)
            ours = f"{flow.alias('source')}->{flow.alias('target')}"
            what = f"flow `{flow.name}` copies {ours}, and the mirror between the same addresses is {theirs}"
            why = "Offsets are stored with the alias of the source, and remote topics are named after it."
            remedy = f"call the clusters `{ends[0]}` and `{ends[1]}` in the topology."
            yield Problem(str(reference(live)), "alias-differs", what, why, remedy)
        else:
            yield "->".join(ends)


def _move(
    facts: AdoptionFacts, live: Manifest, index: int, ends: tuple[str, str], flows: tuple[ResolvedFlow, ...]
) -> MirrorMove:
    resource, mirror = reference(live), live["spec"]["mirrors"][index]
    names = {role: f"{'->'.join(ends)}.{CONNECTOR_CLASSES[role].rpartition('.')[2]}" for role in _ROLES}
    places = tuple(
        ConnectorPlace(names[role], role, resource) for role in _ROLES if mirror.get(f"{role}Connector") is not None
    )
    new = ((place, facts.live_at(place.resource)) for flow in flows for place in connector_places(flow))
    waiting = tuple(place for place, own in new if own is None or waits_for_offsets(own))
    return MirrorMove(live, index, *ends, flows, places, waiting)
