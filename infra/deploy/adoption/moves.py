"""Which mirrors of KafkaMirrorMaker2s become flows of a stack. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.contract.problems import Problem
from components.flows.expansion import Shape
from components.flows.resolved import ResolvedFlow
from components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from components.properties.definitions import nearest
from components.render.kafka_connectors import is_held_back
from components.render.planned_objects import Manifest
from infra.deploy.adoption.facts import Facts
from infra.deploy.adoption.mirror_topics import flows_of_mirror
from infra.kubernetes.api import Reference, reference
from infra.onboard.importing.effective import group_names
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.reading import ReadObject
from infra.onboard.importing.values import Placeholders, providers_of
from infra.operate.connectors.places import ConnectorPlace, connector_places
from infra.review.object_changes import identity

_KIND = "KafkaMirrorMaker2"
_ROLES: tuple[ConnectorRole, ...] = ("source", "checkpoint", "heartbeat")

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Move:
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
    def connector(self) -> str:
        """Name of the mirror's source connector."""
        return self.places[0].name

    def topic(self, role: str) -> str:
        """The workers' own topic for `offset` or `status`."""
        return group_names(_KIND, self.live["spec"])[f"{role}StorageTopic"]


@dataclass(frozen=True)
class Moves:
    """Which parts of the named `resources` move, which stay as they are, and which cannot move and why."""

    found: tuple[Move, ...] = ()
    staying: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    resources: frozenset[Reference] = frozenset()


def moves_of(facts: Facts, names: Sequence[str]) -> Moves:
    """The mirrors of the KafkaMirrorMaker2s `NAME` or `NAMESPACE/NAME` that a flow of the stack replaces."""
    found: list[Move] = []
    staying: list[str] = []
    problems: list[Problem] = []
    resources: list[Reference] = []
    for name in dict.fromkeys(names):
        live = _named(facts, name)
        if isinstance(live, Problem):
            problems.append(live)
            continue
        resources.append(reference(live))
        made = list(_moves(facts, live))
        found += [each for each in made if isinstance(each, Move)]
        staying += [each for each in made if isinstance(each, str)]
        problems += [each for each in made if isinstance(each, Problem)]
        if not any(isinstance(each, Move | Problem) for each in made):
            problems.append(_nothing_to_move(facts, live))
    return Moves(tuple(found), tuple(staying), tuple(problems), frozenset(resources))


def _named(facts: Facts, name: str) -> Manifest | Problem:
    bodies = [each for each in (*facts.others, *facts.live.values()) if each["kind"] == _KIND]
    known = {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each for each in bodies}
    found = [each for place, each in known.items() if name in (place, place.partition("/")[2])]
    where = ", ".join(facts.searched) or "the whole cluster"
    if len(found) == 1:
        return _declared(facts, found[0]) or found[0]
    if found:
        what = f"{len(found)} KafkaMirrorMaker2s are called `{name}`"
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


def _declared(facts: Facts, live: Manifest) -> Problem | None:
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


def _moves(facts: Facts, live: Manifest) -> Iterator[Move | Problem | str]:
    """For each mirror: what it becomes, why it cannot move, or its name if no flow of the stack matches it."""
    normal = ends_of_mirrors(ReadObject("the cluster", live))
    if not isinstance(normal, tuple):
        yield Problem(str(reference(live)), "mirror-refused", "nothing of it runs", normal.why, normal.remedy)
        return
    target, mirrors = normal
    flows = [flow for each in facts.declared.deployments.values() for flow in each.flows]
    flows = [flow for flow in flows if flow.expanded.shape is not Shape.MIRROR_MAKER2]
    for index, mirror, source in mirrors:
        ends = str(source.get("alias")), str(target.get("alias"))
        same = [flow for flow in flows if (flow.alias("source"), flow.alias("target")) == ends]
        chosen = flows_of_mirror(mirror, source, same, _placeholders(facts, live, target))
        beside = [flow for flow in flows if _addresses(flow) == (_address(source), _address(target))]
        if chosen and "sourceConnector" in mirror:
            yield _move(facts, live, index, ends, chosen)
        elif beside and not same:
            yield _other_alias(live, ends, beside[0])
        else:
            yield "->".join(ends)


def _placeholders(facts: Facts, live: Manifest, target: Part) -> Placeholders:
    providers = providers_of(target.get("config") or {})
    return Placeholders(live["metadata"]["namespace"], providers, facts.config_map_data)


def _move(facts: Facts, live: Manifest, index: int, ends: tuple[str, str], flows: tuple[ResolvedFlow, ...]) -> Move:
    resource, mirror = reference(live), live["spec"]["mirrors"][index]
    names = {role: f"{'->'.join(ends)}.{CONNECTOR_CLASSES[role].rpartition('.')[2]}" for role in _ROLES}
    places = tuple(
        ConnectorPlace(names[role], role, resource) for role in _ROLES if mirror.get(f"{role}Connector") is not None
    )
    waiting = tuple(place for flow in flows for place in connector_places(flow) if _waits(facts, place.resource))
    return Move(live, index, *ends, flows, places, waiting)


def _waits(facts: Facts, resource: Reference) -> bool:
    live = facts.live.get((resource.kind, resource.namespace or "", resource.name))
    return live is None or is_held_back(live)


def _address(cluster: Part) -> str:
    return str(cluster.get("bootstrapServers"))


def _addresses(flow: ResolvedFlow) -> tuple[str, str]:
    return str(flow.source.bootstrap_servers), str(flow.target.bootstrap_servers)


def _other_alias(live: Manifest, ends: tuple[str, str], flow: ResolvedFlow) -> Problem:
    ours = f"{flow.alias('source')}->{flow.alias('target')}"
    return Problem(
        str(reference(live)),
        "alias-differs",
        f"flow `{flow.name}` copies {ours}, and the mirror between the same addresses is {'->'.join(ends)}",
        "Offsets are stored with the alias of the source, and remote topics are named after it.",
        f"call the clusters `{ends[0]}` and `{ends[1]}` in the topology.",
    )


def _nothing_to_move(facts: Facts, live: Manifest) -> Problem:
    return Problem(
        str(reference(live)),
        "nothing-to-move",
        f"no flow of stack `{facts.stack}` copies topics of any mirror of this KafkaMirrorMaker2",
        "A mirror becomes the flow that has its source and target aliases and some of its topics.",
        "declare such a flow, of `kind: flow`: `replicate import --as-flows` writes the topology.",
    )
