"""Kafka's own transforms and predicates: the class exists and can be created, and its properties are right.

Connect refuses a connector with a wrong class or value, and silently ignores a property that a transform does not have.
"""

from collections.abc import Iterator, Mapping

from components.checks.property_values import check_value
from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow
from components.flows.kafka_version import kafka_version
from components.flows.resolved import strimzi
from components.flows.sources import each_source, source_key
from components.kafka.record_forms import FOR_KEY_OR_VALUE, KAFKA_TRANSFORMS
from components.properties.definitions import Definition, nearest, transform_definitions
from components.topology.clusters import Properties
from components.topology.model import Topology
from components.topology.transforms import Transform


def check_transform_settings(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """Every transform and predicate of Kafka's own can be created with the properties that it is given."""
    version = kafka_version(flow.settings.connect, strimzi(topology.strimzi))
    places: dict[str, Transform] = {}
    for part, settings in each_source(flow.settings):
        for key, chain in (("before", settings.transforms.before), ("after", settings.transforms.after)):
            path = flow.where(source_key(flow.settings, part, f"transforms.{key}"))
            places |= {f"{path}.{name}": transform for name, transform in chain.items()}
    for where, transform in places.items():
        yield from _check(where, transform.type, transform.config, version)
        if transform.predicate is not None:
            yield from _check(f"{where}.predicate", transform.predicate.type, transform.predicate.config, version)
        elif transform.type == f"{KAFKA_TRANSFORMS}Filter":
            yield Problem(
                where,
                "every-record-dropped",
                "a `Filter` has no predicate",
                "It drops every record that reaches it, so the flow would replicate nothing.",
                "add a `predicate` that selects the records to drop.",
            )


def _check(where: str, name: str, config: Properties, version: str) -> Iterator[Problem]:
    if not name.startswith(KAFKA_TRANSFORMS):
        return
    known = transform_definitions(version)
    outer, _, half = name.removeprefix(KAFKA_TRANSFORMS).partition("$")
    halves = ("Key", "Value") if outer in FOR_KEY_OR_VALUE else ("",)
    if outer not in known or half not in halves:
        yield _no_class(where, name, outer, known, version)
        return
    for key, definition in known[outer].items():
        if definition.required and key not in config:
            yield Problem(
                where,
                "transform-incomplete",
                f"`{key}` is not set",
                f"`{outer}` requires it, so Connect would refuse the connector.",
                f"set `config: {{{key}: …}}`. {definition.documentation}",
            )
    for key, value in config.items():
        if key in known[outer]:
            yield from check_value(f"{where}.config.{key}", key, value, known[outer][key])
        else:
            yield _unknown(f"{where}.config.{key}", key, outer, known[outer])


def _no_class(where: str, name: str, outer: str, known: Mapping[str, object], version: str) -> Problem:
    similar = outer if outer in known else nearest(outer, known)
    remedy = "write the full name of a class that Kafka or the workers' image has."
    if similar in FOR_KEY_OR_VALUE:
        remedy = f"write `{KAFKA_TRANSFORMS}{similar}$Value`, or `$Key` for keys."
    elif similar is not None:
        remedy = f"write `{KAFKA_TRANSFORMS}{similar}`."
    return Problem(
        where,
        "transform-class",
        f"Kafka {version} has no class `{name}` that Connect can create",
        "Connect would refuse the connector.",
        remedy,
    )


def _unknown(where: str, key: str, outer: str, known: Mapping[str, Definition]) -> Problem:
    similar = nearest(key, known)
    takes = ", ".join(f"`{each}`" for each in known) or "no property"
    return Problem(
        where,
        "unknown-property",
        f"`{key}` is not known",
        f"`{outer}` takes {takes}; Connect would silently ignore any other.",
        f"set `{similar}`." if similar else "remove it or correct its name.",
    )
