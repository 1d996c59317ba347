"""Values of properties: what Kafka's own definitions refuse, and what they take although nothing can work with it."""

from collections.abc import Iterator

from components.clusters import PropertyValue
from components.problems import Problem
from components.properties.definitions import Definition, PropertyType
from components.properties.values import type_problem, value_text

#: End of a connector's property that Kafka takes with any number -> the least that works, what else does, and why.
_AT_LEAST = {
    "replication.factor": (1, -1, "Kafka refuses to create a topic with such a replication factor."),
    "interval.seconds": (
        1,
        None,
        "MirrorMaker's scheduler never runs a task with a negative interval, and fails at 0.",
    ),
    "timeout.ms": (1, None, "Nothing answers within no time."),
}


def check_value(where: str, key: str, value: PropertyValue, definition: Definition) -> Iterator[Problem]:
    """Type and range of one property's value; a password's value is not shown."""
    said = type_problem(definition, value)
    why = f"`{definition.name}` is of type {definition.type} in Kafka; what reads it fails as it starts."
    if said is None:
        said, why = _beyond_definition(definition, value)
    if said is not None:
        shown = "the given value" if definition.type is PropertyType.PASSWORD else f"`{value_text(value)}`"
        yield Problem(
            where,
            "property-type",
            f"`{key}` {said}, and is {shown}",
            why,
            f"set it to {said.removeprefix('must be ')}.",
        )


def _beyond_definition(definition: Definition, value: PropertyValue) -> tuple[str | None, str]:
    end = next((end for end in _AT_LEAST if definition.name.endswith(end)), None)
    try:
        number = int(value_text(value))
    except ValueError:
        return None, ""
    if end is None or definition.at_least is not None:
        return None, ""
    least, other, why = _AT_LEAST[end]
    if number >= least or number == other:
        return None, ""
    return f"must be at least {least}" + (f", or {other} for the cluster's own" if other is not None else ""), why
