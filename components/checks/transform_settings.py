"""Kafka's own transforms and predicates: the class exists and can be created, and its properties are right.

Connect refuses a connector with a wrong class or value, and silently ignores a property that a transform does not have.
"""

from collections.abc import Iterator, Mapping

from components.checks.plugin_classes import check_class
from components.checks.property_values import check_value
from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow
from components.flows.sources import each_source, source_key
from components.kafka.globs import written_as_glob
from components.kafka.patterns import pattern_error
from components.kafka.plugins import CLASSES, KAFKA_TRANSFORMS, TOPIC_NAME_MATCHES, Role
from components.kafka.record_forms import Step
from components.kafka.transform_demands import unmet
from components.properties.definitions import Definition, nearest, transform_definitions
from components.topology.clusters import Properties
from components.topology.transforms import Converters, Transform

#: Keys of a transform in Connect's own form -> what to set in a topology instead.
_OF_CONNECT = {
    "type": "set `type` of the transform, next to `config`",
    "predicate": "set `predicate: {type: …, config: {…}}` of the transform, next to `config`",
    "negate": "set `negate` of the transform, next to `config`",
}


def check_transform_settings(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every transform, predicate and converter can be created with its given properties."""
    version = flow.kafka
    places: dict[str, Transform] = {}
    converters: dict[str, tuple[str, Role]] = {}
    for part, settings in each_source(flow.settings):
        path = flow.where(source_key(flow.settings, part, "transforms"))
        chains = {"before": settings.transforms.before, "after": settings.transforms.after}
        places |= {f"{path}.{key}.{name}": each for key, chain in chains.items() for name, each in chain.items()}
        converters |= _converters(f"{path}.converters", settings.transforms.converters or Converters())
    for where, transform in places.items():
        yield from _check_transform(where, transform, version)
    for where, (name, role) in converters.items():
        yield from check_class(where, name, role)


def _converters(path: str, chosen: Converters) -> dict[str, tuple[str, Role]]:
    roles = {"key": Role.CONVERTER, "value": Role.CONVERTER, "header": Role.HEADER_CONVERTER}
    named = {part: getattr(chosen, part) for part in roles}
    return {f"{path}.{part}": (each.type, roles[part]) for part, each in named.items() if each is not None}


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
            yield _of_connect(f"{where}.config.{key}", key, role)
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


def _of_connect(where: str, key: str, role: Role) -> Problem:
    return Problem(
        where,
        "owned-property",
        f"`{key}` derives from the topology",
        f"In Connect's configuration `{key}` belongs to the {role.value} itself, so none of its properties has this "
        "name.",
        f"remove it here; {_OF_CONNECT[key].replace('transform', role.value) if key == 'type' else _OF_CONNECT[key]}.",
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
