"""Each transform, predicate and converter by itself: Connect has the class and can create it, its properties are right,
a filter lets some record pass, and a predicate can hold.

Connect refuses a connector with a wrong class or value, and silently ignores a property that a transform does not have.
`transforms` checks the chain.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from kafka_replication.components.checks.property_values import check_value
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.selections import each_source, source_key, topic_selection
from kafka_replication.components.kafka.overlap import Disjoint, overlap_of_patterns
from kafka_replication.components.kafka.patterns import matches, pattern_error, written_as_glob
from kafka_replication.components.kafka.plugins import (
    CLASSES,
    FOR_KEY_OR_VALUE,
    KAFKA_TRANSFORMS,
    SHORT_NAMES,
    TOPIC_NAME_MATCHES,
    Role,
    full_class_name,
    simple_name,
)
from kafka_replication.components.kafka.record_forms import Step, unmet
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC
from kafka_replication.components.kafka.topic_names import is_name
from kafka_replication.components.kafka.transform_chains import chain_of, filters_of_everything
from kafka_replication.components.properties.definitions import Definition, PropertyType, nearest, transform_definitions
from kafka_replication.components.properties.values import type_problem
from kafka_replication.components.render.connector_config import transform_properties
from kafka_replication.components.topology.clusters import Properties
from kafka_replication.components.topology.connectors import Converters, Transform
from kafka_replication.components.topology.model import Flow

_OF_KAFKA = "org.apache.kafka."
_A_CLASS = Definition("type", PropertyType.CLASS)
#: How similar a full name must be to one of Kafka's to count as misspelt.
_MISSPELT = 0.95
#: Simple names that many classes share, so they identify none of them.
_HALVES = ("Key", "Value")


def check_class(where: str, name: str, role: Role) -> Iterator[Problem]:
    """A class exists and fits its place, as far as is known; classes that are not Kafka's need their full names."""
    if name in CLASSES[role]:
        return
    is_name = type_problem(_A_CLASS, name) is None
    if is_name and (other := next((role for role, names in CLASSES.items() if name in names), None)) is not None:
        yield _refused(where, role, f"`{name}` is a {other.value}, not a {role.value}", _instead(role, None))
    elif not is_name or name in _HALVES or name.startswith(_OF_KAFKA) or _meant(name, role) is not None:
        what = f"Kafka has no class `{name}` that Connect can create"
        yield _refused(where, role, what, _instead(role, _meant(name, role)))
    elif "." not in name:
        yield warning(
            where,
            "class-not-known",
            f"`{name}` is not the short name of any of Kafka's {role.value}s",
            "If a class in the workers' image has this name, Connect finds it. Otherwise it would refuse the "
            "connector.",
            "write the full name of the class, with its package.",
        )


def _refused(where: str, role: Role, what: str, remedy: str) -> Problem:
    why = "Connect would refuse the connector."
    if role in (Role.TRANSFORM, Role.PREDICATE):
        return Problem(where, "transform-class", what, why, remedy)
    return Problem(where, "converter-class", what, why, remedy)


def _meant(name: str, role: Role) -> str | None:
    """Return the Kafka class that a wrong name probably means, without `$Value` if it lacks `$Key` or `$Value`."""
    if "." in name and not name.startswith(_OF_KAFKA):
        return next(iter(difflib.get_close_matches(name, sorted(CLASSES[role]), 1, _MISSPELT)), None)
    outer, _, half = simple_name(name).partition("$")
    halved = FOR_KEY_OR_VALUE if role is Role.TRANSFORM else ()
    close = nearest(outer, {*halved, *(short for short, full in SHORT_NAMES.items() if full in CLASSES[role])})
    if close in halved:
        return f"{KAFKA_TRANSFORMS}{close}" + (f"${half}" if half in _HALVES else "")
    return full_class_name(close) if close else None


def _instead(role: Role, meant: str | None) -> str:
    if meant is None:
        return f"write the full name of a {role.value} that Kafka or the workers' image has."
    if meant not in CLASSES[role]:
        return f"write `{meant}$Value`, or `$Key` for keys. If it needs fields, parse the records before it."
    if role is Role.CONVERTER and simple_name(meant) != "ByteArrayConverter":
        return f"write `{meant}` if a transform parses the records before. Otherwise remove the converter."
    return f"write `{meant}`."


#: Keys of a transform in Connect's own form -> what to set in a topology instead.
_OF_CONNECT = {
    "type": "set `type` of the transform, next to `config`",
    "predicate": "set `predicate: {type: …, config: {…}}` of the transform, next to `config`",
    "negate": "set `negate` of the transform, next to `config`",
}


def check_transform_settings(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every transform, predicate and converter can be created, passes some record, and matches some topic."""
    places: dict[str, Transform] = {}
    converters: dict[str, tuple[str, Role]] = {}
    for part, settings in each_source(flow.settings):
        path = flow.where(source_key(flow.settings, part, "transforms"))
        places |= {f"{path}.{place}.{name}": transform for place, name, transform in settings.transforms.in_order()}
        converters |= _converters(f"{path}.converters", settings.transforms.converters or Converters())
    for where, transform in places.items():
        yield from _check_transform(where, transform, flow.kafka)
    for where, (name, role) in converters.items():
        yield from check_class(where, name, role)
    yield from _of_every_source(_check_predicates(flow))
    yield from _of_every_source(_check_filters(flow))


def _converters(path: str, chosen: Converters) -> dict[str, tuple[str, Role]]:
    roles = {"key": Role.CONVERTER, "value": Role.CONVERTER, "header": Role.HEADER_CONVERTER}
    named = {part: getattr(chosen, part) for part in roles}
    return {
        f"{path}.{part}": (converter.type, roles[part]) for part, converter in named.items() if converter is not None
    }


def _check_transform(where: str, transform: Transform, version: str) -> Iterator[Problem]:
    yield from check_class(where, transform.type, Role.TRANSFORM)
    yield from _check_config(where, transform.type, transform.config, version, Role.TRANSFORM)
    if transform.predicate is not None:
        yield from check_class(f"{where}.predicate", transform.predicate.type, Role.PREDICATE)
        asked = transform.predicate
        yield from _check_config(f"{where}.predicate", asked.type, asked.config, version, Role.PREDICATE)
        yield from _check_pattern(f"{where}.predicate.config.pattern", asked.type, asked.config)
    elif transform.negate:
        yield Problem(
            f"{where}.negate",
            "negate-without-predicate",
            "`negate` is set, but there is no `predicate`",
            "Without a condition there is nothing to negate, so the transform would apply to every record.",
            "add the `predicate` whose opposite you mean, or remove `negate`.",
        )


def _check_config(where: str, name: str, config: Properties, version: str, role: Role) -> Iterator[Problem]:
    for key in sorted(config.keys() & _OF_CONNECT.keys()):
        if role is Role.TRANSFORM or key == "type":
            yield Problem(
                f"{where}.config.{key}",
                "owned-property",
                f"`{key}` derives from the topology",
                f"In Connect's configuration `{key}` belongs to the {role.value} itself, so none of its properties "
                "has this name.",
                "remove it here; "
                f"{_OF_CONNECT[key].replace('transform', role.value) if key == 'type' else _OF_CONNECT[key]}.",
            )
    if name not in CLASSES[role]:
        return
    outer = name.removeprefix(KAFKA_TRANSFORMS).partition("$")[0]
    known = transform_definitions(version)[outer]
    for key, definition in known.items():
        if definition.required and key not in config:
            yield Problem(
                where,
                "transform-incomplete",
                f"`{key}` is not set",
                f"`{outer}` requires it, so Connect would refuse the connector.",
                f"set `config: {{{key}: …}}`. {definition.documentation}",
            )
    if (demand := unmet(Step("", name, config))) is not None:
        why = "Connect would refuse the connector."
        yield Problem(where, "transform-incomplete", demand.what, why, demand.remedy)
    for key, value in config.items():
        if key in known:
            yield from check_value(f"{where}.config.{key}", key, value, known[key])
        elif key not in _OF_CONNECT:
            yield _unknown(f"{where}.config.{key}", key, outer, known)


def _check_pattern(where: str, name: str, config: Properties) -> Iterator[Problem]:
    pattern = str(config.get("pattern", "")).strip()
    # Nothing splits this pattern at its commas.
    error = pattern_error(pattern.replace(",", "")) if pattern else None
    if name != TOPIC_NAME_MATCHES or error is None or not error.refused:
        return
    glob = written_as_glob(pattern)
    yield Problem(
        where,
        "bad-pattern",
        f"`{pattern}` is not a regular expression",
        f"Connect would refuse the connector, or its tasks would hang, because {error.reason}.",
        f"write `{glob.meant}`." if glob else "use a pattern of letters and `.`, `*`, `+`, `?`, `|`, `(…)` and `[…]`.",
    )


def _unknown(where: str, key: str, outer: str, known: Mapping[str, Definition]) -> Problem:
    similar = nearest(key, known)
    takes = ", ".join(f"`{name}`" for name in known) or "no property"
    return Problem(
        where,
        "unknown-property",
        f"`{key}` is not known",
        f"`{outer}` takes {takes}; Connect would silently ignore any other.",
        f"set `{similar}`." if similar else "remove it or correct its name.",
    )


def _of_every_source(found: Iterable[tuple[str, Problem | None]]) -> Iterator[Problem]:
    """Yield the problem of a place if every source connector has it: those with different topics share a transform."""
    for problems in grouped(found).values():
        if None not in problems:
            yield from filter(None, problems[:1])


def _check_filters(flow: ExpandedFlow) -> Iterator[tuple[str, Problem | None]]:
    for part, settings in each_source(flow.settings):
        in_order = list(settings.transforms.in_order())
        always = _filters_of_everything(settings, flow.kafka) if in_order else []
        for place, name, transform in in_order:
            where = flow.where(source_key(flow.settings, part, f"transforms.{place}.{name}"))
            passes = name not in always or (transform.predicate is None and transform.negate)
            yield where, None if passes else _drops_everything(where, name, transform)


def _filters_of_everything(flow: Flow, kafka: str) -> list[str]:
    policy = replication_policy(flow)
    excluded = () if policy.prefix_of("") else topic_selection(flow, kafka, ()).excluded
    topics = [
        policy.remote(topic) if is_name(topic) else f"{re.escape(policy.prefix_of(topic))}({topic})"
        for topic in flow.topics
    ]
    return filters_of_everything(chain_of(transform_properties(flow)), topics, excluded)


def _drops_everything(where: str, name: str, transform: Transform) -> Problem:
    why, remedy = "It has no predicate", "add a `predicate` that selects the records to drop."
    if transform.predicate is not None:
        asked = simple_name(transform.predicate.type)
        why = f"{asked} holds for {'none' if transform.negate else 'each'} of them"
        remedy = "correct `predicate` or `negate`, so that only the records to drop are selected."
    return Problem(
        where,
        "every-record-dropped",
        f"the filter `{name}` drops every record that reaches it",
        f"{why}, so the flow would replicate nothing, and no error would show it.",
        remedy,
    )


def _check_predicates(flow: ExpandedFlow) -> Iterator[tuple[str, Problem | None]]:
    for part, settings in each_source(flow.settings):
        for place, name, transform in settings.transforms.in_order():
            predicate = transform.predicate
            if predicate is None or predicate.type != TOPIC_NAME_MATCHES:
                continue
            key = f"transforms.{place}.{name}.predicate.config.pattern"
            where = flow.where(source_key(flow.settings, part, key))
            pattern = str(predicate.config.get("pattern", ""))
            useless = _matches_none(settings, pattern)
            yield where, _never_holds(where, settings, pattern, negate=transform.negate) if useless else None


def _matches_none(flow: Flow, pattern: str) -> bool:
    """Return whether the pattern certainly matches no topic of the flow under its name on the target."""
    policy = replication_policy(flow)
    if pattern_error(pattern) or matches(pattern, policy.remote(HEARTBEATS_TOPIC)) or not flow.topics:
        return False
    if any(pattern_error(entry) for entry in flow.topics):
        return False
    seen = [f"{re.escape(policy.prefix_of(entry))}({entry})" for entry in flow.topics]
    return all(isinstance(overlap_of_patterns(pattern, topic), Disjoint) for topic in seen)


def _never_holds(where: str, flow: Flow, pattern: str, *, negate: bool) -> Problem:
    policy = replication_policy(flow)
    prefix = policy.prefix_of(flow.topics[0])
    return warning(
        where,
        "predicate-never-holds",
        f"`{pattern}` matches no topic that the transform sees",
        f"A transform sees a topic under its name on the target, such as `{policy.remote(flow.topics[0])}`. So this "
        f"one is applied to {'every record' if negate else 'no record'}.",
        f"begin the pattern with `{re.escape(prefix)}`." if prefix else "correct the pattern.",
    )
