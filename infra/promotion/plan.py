"""The plan of promotion, `promotion.yaml` beside the stack files: its model, its mistakes, and who comes before whom.

Pure but for `read_plan`. A stack that the plan does not name has no predecessor.
"""

import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from pydantic import Field

from components.clusters import Model
from components.parsing import parse_model
from components.problems import Problem, ReplicationError, raise_errors
from infra.errors import CannotRunError
from infra.settings import STACKS, load_yaml, shown, stack_names

FILE_NAME = "promotion.yaml"
_PREFIX = "promotion-"
_MAX_NAME = 253
_YEAR_MINUTES = 525_600
#: RFC 1123, as Kubernetes holds names of ConfigMaps and of namespaces to it.
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Wave(Model):
    """Stacks that follow the same stacks; the next wave waits until each of them is proven, and its soak time over."""

    stacks: tuple[str, ...]
    soak_minutes: float = Field(
        default=0,
        ge=0,
        le=_YEAR_MINUTES,
        allow_inf_nan=False,
        description="How long a stack of this wave is proven before a stack of the next wave may follow, in minutes.",
    )


class Environment(Model):
    """Waves of stacks, in order; the first follows the last wave of the environment before."""

    name: str = Field(min_length=1)
    waves: tuple[Wave, ...] = ()
    may_skip: tuple[str, ...] = Field(
        default=(),
        description="Who may deploy a stack of this environment unproven with `replicate promote --skip REASON`. Names "
        "as given by `--as`, REPLICATE_USER or the operating system: a convention, not a protection.",
    )


class Plan(Model):
    """Order in which stacks are promoted, and where the evidence is kept."""

    evidence_namespace: str = Field(
        default="replication-evidence",
        description="Namespace, in each stack's own Kubernetes cluster, of the ConfigMaps with the evidence.",
    )
    environments: tuple[Environment, ...]


@dataclass(frozen=True)
class Predecessor:
    """A stack that has to be proven first, and for how long, in minutes."""

    stack: str
    soak_minutes: float


def read_plan(stacks: Path = STACKS) -> Plan | None:
    """The plan of a folder of stacks, checked; None where there is none.

    Raises ReplicationError for its mistakes, CannotRunError or OSError where it cannot be read, which is not none.
    """
    file = stacks / FILE_NAME
    if not os.path.lexists(file):
        return None
    try:
        plan = parse_model(Plan, load_yaml(file))
        raise_errors(check_plan(plan, stack_names(stacks)))
    except ReplicationError as error:
        where = plan_place(stacks)
        raise ReplicationError(replace(each, where=f"{where}: {each.where}") for each in error.problems) from None
    return plan


def plan_place(stacks: Path = STACKS) -> str:
    """Where the plan of a folder of stacks is, for messages."""
    return shown(stacks / FILE_NAME)


def plan_problems(stacks: Path = STACKS) -> dict[str, list[Problem]]:
    """Mistakes of the plan of a folder under its file's name; nothing without a mistake."""
    try:
        read_plan(stacks)
    except ReplicationError as error:
        return {FILE_NAME: list(error.problems)}
    return {}


def required_plan(stacks: Path = STACKS) -> Plan:
    """The plan of a folder of stacks; raises CannotRunError where there is none."""
    plan = read_plan(stacks)
    if plan is None:
        raise CannotRunError(
            "no plan of promotion",
            plan_place(stacks),
            "It says in which order stacks follow each other.",
            f"write {FILE_NAME} beside the stack files; the README shows one.",
        )
    return plan


def check_plan(plan: Plan, known: Collection[str]) -> Iterator[Problem]:
    """Every mistake of a plan against the stacks that have a file."""
    if not _LABEL.fullmatch(plan.evidence_namespace):
        yield _not_kubernetes("evidenceNamespace", plan.evidence_namespace, "a namespace")
    if not plan.environments:
        yield Problem(
            "environments",
            "no-environments",
            "there is no environment",
            "No stack would follow another.",
            "add an environment with its waves, or remove the file.",
        )
    yield from _environment_problems(plan)
    first: dict[str, str] = {}
    for where, stack in _places(plan):
        if stack in first:
            yield Problem(
                where,
                "stack-twice",
                f"`{stack}` is named already at {first[stack]}",
                "A stack would come before itself.",
                f"remove `{stack}` at one of the two.",
            )
        elif stack not in known:
            yield Problem(
                where,
                "unknown-stack",
                f"`{stack}` has no stack file",
                f"Stacks are: {', '.join(sorted(known)) or 'none'}.",
                f"name one of these, or write Pulumi.{stack}.yaml.",
            )
        elif not _SUBDOMAIN.fullmatch(stack) or len(evidence_name(stack)) > _MAX_NAME:
            yield _not_kubernetes(where, stack, "a ConfigMap")
        first.setdefault(stack, where)


def _environment_problems(plan: Plan) -> Iterator[Problem]:
    names: set[str] = set()
    for index, environment in enumerate(plan.environments):
        where = f"environments.{index}"
        if environment.name in names:
            yield Problem(
                f"{where}.name",
                "environment-twice",
                f"`{environment.name}` is an environment already",
                "Messages could not tell the two apart.",
                "give it another name, or add its waves to the first.",
            )
        names.add(environment.name)
        if not environment.waves:
            yield Problem(
                f"{where}.waves",
                "environment-without-waves",
                f"`{environment.name}` has no wave",
                "Nothing would be deployed to it, and the environment after it would follow the one before it.",
                "add `waves: [{stacks: [STACK]}]`, or remove the environment.",
            )
        for number, wave in enumerate(environment.waves):
            if not wave.stacks:
                yield Problem(
                    f"{where}.waves.{number}.stacks",
                    "empty-wave",
                    "the wave has no stack",
                    "What follows it would have no predecessor and be deployed unproven.",
                    "add its stacks, or remove the wave.",
                )


def _not_kubernetes(where: str, name: str, what: str) -> Problem:
    return Problem(
        where,
        "name-not-kubernetes",
        f"`{name}` cannot be a part of the name of {what}",
        "The evidence is kept in Kubernetes, whose names are lower-case letters, digits and hyphens (RFC 1123).",
        "use another name.",
    )


def _places(plan: Plan) -> Iterator[tuple[str, str]]:
    for index, environment in enumerate(plan.environments):
        for number, wave in enumerate(environment.waves):
            for position, stack in enumerate(wave.stacks):
                yield f"environments.{index}.waves.{number}.stacks.{position}", stack


def evidence_name(stack: str) -> str:
    """Name of the ConfigMap with a stack's evidence."""
    return f"{_PREFIX}{stack}"


def stacks_in_order(plan: Plan) -> tuple[str, ...]:
    """Every stack of a plan, in the order of promotion."""
    return tuple(stack for _, stack in _places(plan))


def stacks_in_environment(plan: Plan, name: str | None, stacks: Path = STACKS) -> tuple[str, ...]:
    """The stacks of one environment, or all without a name, in the order of promotion; raises CannotRunError.

    `stacks` is the plan's folder.
    """
    if name is None:
        return stacks_in_order(plan)
    for environment in plan.environments:
        if environment.name == name:
            return tuple(stack for wave in environment.waves for stack in wave.stacks)
    raise CannotRunError(
        f"`{name}` is no environment of the plan of promotion",
        plan_place(stacks),
        f"Environments are: {', '.join(each.name for each in plan.environments)}.",
        "name one of these.",
    )


def predecessors(plan: Plan, stack: str) -> tuple[Predecessor, ...]:
    """The stacks of the wave before that of `stack`; none for the first wave and for a stack that is not named."""
    waves = [wave for environment in plan.environments for wave in environment.waves]
    for before, wave in pairwise(waves):
        if stack in wave.stacks:
            return tuple(Predecessor(each, before.soak_minutes) for each in before.stacks)
    return ()


def environment_of(plan: Plan, stack: str) -> Environment | None:
    """The environment that a stack belongs to."""
    return next((each for each in plan.environments if any(stack in wave.stacks for wave in each.waves)), None)


def plan_schema() -> str:
    """JSON Schema of the plan's file, as text."""
    return json.dumps(Plan.model_json_schema(), indent=2, sort_keys=True) + "\n"
