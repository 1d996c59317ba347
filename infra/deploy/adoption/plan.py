"""Plans what adoption does to each object, and what it refuses or needs agreement for. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kafka_replication.components.changes.effect import Effect
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.adoption.effects import before_take_over, effects_of
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.deploy.adoption.moves import MirrorMove, MirrorMoves, moves_of
from kafka_replication.infra.deploy.adoption.refusals import AdoptionRefusal, refusals_of, refusals_of_moves
from kafka_replication.infra.kubernetes.api import Reference, reference
from kafka_replication.infra.kubernetes.managed_fields import FieldOwner, owned_parts, replacing_fields
from kafka_replication.infra.onboard.importing.deployment_changes import effects_of_move
from kafka_replication.infra.review.object_changes import FieldChange, field_changes, identity


class Fate(StrEnum):
    """Name what happens to one object that the stack declares."""

    CREATED = "created"
    EQUAL = "equal"
    CHANGED = "changed"
    REPLACED = "replaced"


@dataclass(frozen=True)
class PlannedTakeOver:
    """Describe what happens to one object: which fields change, who owns which parts, whether Pulumi knows it."""

    object: Reference
    fate: Fate
    fields: tuple[FieldChange, ...] = ()
    owners: Mapping[FieldOwner, tuple[str, ...]] = field(default_factory=dict)
    known: bool = False


@dataclass(frozen=True)
class AdoptionPlan:
    """Describe an adoption. `refusals` are those not agreed to; `unused` agreements match nothing. `searched` are the
    namespaces that were searched for other copying resources, if not the whole cluster. `moves` are the mirrors
    that become flows.
    """

    stack: str
    objects: tuple[PlannedTakeOver, ...]
    effects: tuple[Effect, ...]
    refusals: tuple[AdoptionRefusal, ...]
    unused: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    moves: MirrorMoves = field(default_factory=MirrorMoves)

    @property
    def unmanaged(self) -> tuple[Reference, ...]:
        """Return the objects that Pulumi does not know yet and that exist."""
        return tuple(entry.object for entry in self.objects if entry.fate is not Fate.CREATED and not entry.known)

    @property
    def exists(self) -> bool:
        """Whether there is anything to adopt or move."""
        return bool(self.moves.mirrors) or any(entry.fate is not Fate.CREATED for entry in self.objects)

    @property
    def is_done(self) -> bool:
        """Whether the stack manages everything, and everything is as declared."""
        waiting = any(move.waiting for move in self.moves.mirrors)
        return not waiting and all(entry.known and entry.fate is Fate.EQUAL for entry in self.objects)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(refusal.problem for refusal in self.refusals)


def planned(facts: AdoptionFacts, agreed: Collection[str], mirrors: Sequence[str] = ()) -> AdoptionPlan:
    """Plan for what was seen, with these agreements; KafkaMirrorMaker2s with these names become flows."""
    moves = moves_of(facts, mirrors)
    objects = tuple(_planned(body, live, facts) for _, _, body, live in facts.objects())
    unfinished = [move for move in moves.mirrors if move.waiting]
    effects = effects_of(facts, {flow.name for move in unfinished for flow in move.flows})
    effects += tuple(effect for move in unfinished for effect in _effects_of(facts, move))
    replaced = [entry.object for entry in objects if entry.fate is Fate.REPLACED]
    refusals = (*refusals_of_moves(facts, moves), *refusals_of(facts, effects, replaced, moves.resources))
    open_refusals = tuple(refusal for refusal in refusals if refusal.agreement not in agreed)
    unused = tuple(sorted(set(agreed) - {refusal.agreement for refusal in refusals}))
    return AdoptionPlan(facts.stack, objects, effects, open_refusals, unused, facts.searched, moves)


def _effects_of(facts: AdoptionFacts, move: MirrorMove) -> tuple[Effect, ...]:
    names = {flow.name for flow in move.flows}
    chosen = [
        deployment
        for deployment in facts.declared.deployments.values()
        if names & {flow.name for flow in deployment.flows}
    ]
    return effects_of_move(move.live, move.index, chosen, facts.config_map_data)


def _planned(declared: Manifest, live: Manifest | None, facts: AdoptionFacts) -> PlannedTakeOver:
    target, known = reference(declared), identity(declared) in facts.known
    if live is None:
        return PlannedTakeOver(target, Fate.CREATED, known=known)
    wanted = {key: value for key, value in declared.items() if key != "values"}
    before = before_take_over(live, wanted)
    fields = () if declared["kind"] == "Secret" else tuple(field_changes(before, wanted))
    fate = Fate.CHANGED if fields else Fate.EQUAL
    if fields and any(_at(before, path) != _at(wanted, path) for path in replacing_fields(wanted)):
        fate = Fate.REPLACED
    return PlannedTakeOver(target, fate, fields, owned_parts(live), known)


def _at(body: Mapping[str, object], path: tuple[str, ...]) -> object:
    value: object = body
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
