"""Classes of transforms, predicates and converters: Connect has the class, and it is of the required kind."""

import difflib
from collections.abc import Iterator

from components.contract.problems import Problem, Severity
from components.kafka.plugins import (
    CLASSES,
    FOR_KEY_OR_VALUE,
    KAFKA_TRANSFORMS,
    SHORT_NAMES,
    Role,
    full_class_name,
    simple_name,
)
from components.properties.definitions import Definition, PropertyType, nearest
from components.properties.values import type_problem

_OF_KAFKA = "org.apache.kafka."
_A_CLASS = Definition("type", PropertyType.CLASS)
#: How similar a full name must be to one of Kafka's to count as misspelt.
_MISSPELT = 0.95
#: Simple names that many classes share, so they identify none of them.
_HALVES = ("Key", "Value")


def check_class(where: str, name: str, role: Role) -> Iterator[Problem]:
    """A class exists, as far as can be known here, and can be used where it is named. Kafka's own classes are known.
    Others come with the workers' image, and only a full name distinguishes them from a misspelt one.
    """
    if name in CLASSES[role]:
        return
    is_name = type_problem(_A_CLASS, name) is None
    if is_name and (other := _other_role(name)) is not None:
        yield _refused(where, role, f"`{name}` is a {other.value}, not a {role.value}", _instead(role, None))
    elif not is_name or name in _HALVES or name.startswith(_OF_KAFKA) or _meant(name, role) is not None:
        what = f"Kafka has no class `{name}` that Connect can create"
        yield _refused(where, role, what, _instead(role, _meant(name, role)))
    elif "." not in name:
        yield _not_known(where, name, role)


def _other_role(name: str) -> Role | None:
    return next((role for role, names in CLASSES.items() if name in names), None)


def _refused(where: str, role: Role, what: str, remedy: str) -> Problem:
    why = "Connect would refuse the connector."
    if role in (Role.TRANSFORM, Role.PREDICATE):
        return Problem(where, "transform-class", what, why, remedy)
    return Problem(where, "converter-class", what, why, remedy)


def _not_known(where: str, name: str, role: Role) -> Problem:
    return Problem(
        where,
        "class-not-known",
        f"`{name}` is not the short name of any of Kafka's {role.value}s",
        "If a class in the workers' image has this name, Connect finds it. Otherwise it would refuse the connector.",
        "write the full name of the class, with its package.",
        Severity.WARNING,
    )


def _meant(name: str, role: Role) -> str | None:
    """The Kafka class that a wrong name probably means; without `$Value` if the name lacks `$Key` or `$Value`."""
    if "." in name and not name.startswith(_OF_KAFKA):
        return next(iter(difflib.get_close_matches(name, sorted(CLASSES[role]), 1, _MISSPELT)), None)
    outer, _, half = simple_name(name).partition("$")
    halved = FOR_KEY_OR_VALUE if role is Role.TRANSFORM else ()
    found = nearest(outer, {*halved, *(short for short, full in SHORT_NAMES.items() if full in CLASSES[role])})
    if found in halved:
        return f"{KAFKA_TRANSFORMS}{found}" + (f"${half}" if half in _HALVES else "")
    return full_class_name(found) if found else None


def _instead(role: Role, meant: str | None) -> str:
    if meant is None:
        return f"write the full name of a {role.value} that Kafka or the workers' image has."
    return f"write `{meant}`." if meant in CLASSES[role] else f"write `{meant}$Value`, or `$Key` for keys."
