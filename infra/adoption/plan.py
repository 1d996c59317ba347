"""What a take-over would do to each object, and what it needs an agreement for or refuses. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.changes.effect import Effect
from components.contract.problems import Problem
from components.render.planned_objects import Manifest
from infra.adoption.facts import Facts
from infra.adoption.meaning import effects_of
from infra.adoption.refusals import Refusal, refusals_of
from infra.adoption.removed_fields import before_take_over
from infra.kubernetes.api import Reference, reference
from infra.kubernetes.managed_fields import Owner, owned_parts
from infra.kubernetes.replacing_fields import replacing_fields
from infra.review.object_changes import FieldChange, field_changes, identity


class Fate(StrEnum):
    """What happens to one object that the stack declares."""

    CREATED = "created"
    EQUAL = "equal"
    CHANGED = "changed"
    REPLACED = "replaced"


@dataclass(frozen=True)
class PlannedTakeOver:
    """What happens to one object: which fields change, who owns which parts, and whether Pulumi knows it already."""

    object: Reference
    fate: Fate
    fields: tuple[FieldChange, ...] = ()
    owners: Mapping[Owner, tuple[str, ...]] = field(default_factory=dict)
    known: bool = False


@dataclass(frozen=True)
class Plan:
    """A whole take-over. `refusals` are those that nobody has agreed to; `unused` agreed to nothing.

    `searched` are the only namespaces in which something else that copies was looked for, if not the whole cluster.
    """

    stack: str
    objects: tuple[PlannedTakeOver, ...]
    effects: tuple[Effect, ...]
    refusals: tuple[Refusal, ...]
    unused: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[Reference, ...]:
        """The objects that Pulumi does not know yet and that exist."""
        return tuple(each.object for each in self.objects if each.fate is not Fate.CREATED and not each.known)

    @property
    def exists(self) -> bool:
        return any(each.fate is not Fate.CREATED for each in self.objects)

    @property
    def is_done(self) -> bool:
        """Whether the stack manages everything, and everything is as it declares it."""
        return all(each.known and each.fate is Fate.EQUAL for each in self.objects)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(each.problem for each in self.refusals)


def planned(facts: Facts, agreed: Collection[str]) -> Plan:
    """The plan for what was seen, with these agreements."""
    objects = tuple(_planned(body, live, facts) for _, _, body, live in facts.objects())
    effects = effects_of(facts)
    replaced = [each.object for each in objects if each.fate is Fate.REPLACED]
    refusals = tuple(refusals_of(facts, effects, replaced))
    left = tuple(each for each in refusals if each.agreement not in agreed)
    unused = tuple(sorted(set(agreed) - {each.agreement for each in refusals}))
    return Plan(facts.stack, objects, effects, left, unused, facts.searched)


def _planned(declared: Manifest, live: Manifest | None, facts: Facts) -> PlannedTakeOver:
    target, known = reference(declared), identity(declared) in facts.known
    if live is None:
        return PlannedTakeOver(target, Fate.CREATED, known=known)
    wanted = {key: value for key, value in declared.items() if key != "values"}
    before = before_take_over(live, wanted)
    fields = () if declared["kind"] == "Secret" else tuple(field_changes(before, wanted))
    changed = Fate.REPLACED if _is_replaced(before, wanted) else Fate.CHANGED
    fate = changed if fields else Fate.EQUAL
    return PlannedTakeOver(target, fate, fields, owned_parts(live), known)


def _is_replaced(before: Manifest, declared: Manifest) -> bool:
    paths = replacing_fields(declared)
    return declared["kind"] != "Secret" and any(_at(before, path) != _at(declared, path) for path in paths)


def _at(body: Mapping[str, object], path: tuple[str, ...]) -> object:
    found: object = body
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
