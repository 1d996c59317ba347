"""The transforms of a source connector, in order: the user's `before`, the loop guard, the user's `after`. The guard
drops records that come from the target and marks those that go there.
"""

from collections.abc import Mapping

from components.topology.clusters import PropertyValue
from components.topology.model import Flow
from components.topology.transforms import Converters, Transform, Transforms

_TRANSFORMS = "org.apache.kafka.connect.transforms"
#: The guard's filter; a chain that contains it has the guard.
GUARD_FILTER = "DropReplicated"
_GUARD_TRANSFORMS = (GUARD_FILTER, "MarkReplicated")
_GUARD_PREDICATES = ("ReplicatedFromTarget", "NotHeartbeats")

#: Names that a user's transforms and predicates must not use.
RESERVED_NAMES = frozenset({*_GUARD_TRANSFORMS, *_GUARD_PREDICATES})

#: Heartbeats never loop: their topic names show where they come from.
_NOT_HEARTBEATS = r"^(?!(.*\.)?heartbeats$).*$"


def marker_header(alias: str) -> str:
    """Return the header that marks records replicated from this cluster."""
    return f"replicated-from-{alias}"


def transform_properties(flow: Flow) -> dict[str, PropertyValue]:
    """Return the properties of all transforms and predicates of a flow's source connectors; empty without any."""
    chain = [*flow.transforms.before, *(_GUARD_TRANSFORMS if flow.loop_guard else ()), *flow.transforms.after]
    if not chain:
        return {}
    properties: dict[str, PropertyValue] = {"transforms": ",".join(chain)}
    predicates: list[str] = []
    for name, transform in {**flow.transforms.before, **flow.transforms.after}.items():
        properties |= _user_transform(name, transform)
        predicates += [f"{name}Predicate"] if transform.predicate else []
    if flow.loop_guard:
        properties |= _guard(flow)
        predicates += _GUARD_PREDICATES
    return {**properties, "predicates": ",".join(predicates)} if predicates else properties


def converter_properties(transforms: Transforms) -> dict[str, PropertyValue]:
    """Return the properties of the converters that the user chose."""
    converters = transforms.converters or Converters()
    chosen = {"key": converters.key, "value": converters.value, "header": converters.header}
    properties: dict[str, PropertyValue] = {}
    for part, converter in chosen.items():
        if converter is not None:
            prefix = f"{part}.converter"
            properties |= {prefix: converter.type}
            properties |= {f"{prefix}.{key}": value for key, value in converter.config.items()}
    return properties


def _guard(flow: Flow) -> Mapping[str, PropertyValue]:
    drop, mark = (f"transforms.{name}" for name in _GUARD_TRANSFORMS)
    from_target, not_heartbeats = (f"predicates.{name}" for name in _GUARD_PREDICATES)
    return {
        f"{drop}.type": f"{_TRANSFORMS}.Filter",
        f"{drop}.predicate": _GUARD_PREDICATES[0],
        f"{mark}.type": f"{_TRANSFORMS}.InsertHeader",
        f"{mark}.header": marker_header(flow.source),
        # ByteArrayConverter accepts only bytes or null; any other literal fails the task.
        f"{mark}.value.literal": "null",
        f"{mark}.predicate": _GUARD_PREDICATES[1],
        f"{from_target}.type": f"{_TRANSFORMS}.predicates.HasHeaderKey",
        f"{from_target}.name": marker_header(flow.target),
        f"{not_heartbeats}.type": f"{_TRANSFORMS}.predicates.TopicNameMatches",
        f"{not_heartbeats}.pattern": _NOT_HEARTBEATS,
    }


def _user_transform(name: str, transform: Transform) -> Mapping[str, PropertyValue]:
    prefix = f"transforms.{name}"
    properties: dict[str, PropertyValue] = {f"{prefix}.type": transform.type}
    properties |= {f"{prefix}.{key}": value for key, value in transform.config.items()}
    if transform.predicate is not None:
        predicate = f"{name}Predicate"
        properties |= {f"{prefix}.predicate": predicate, f"predicates.{predicate}.type": transform.predicate.type}
        properties |= {f"predicates.{predicate}.{key}": value for key, value in transform.predicate.config.items()}
    if transform.negate:
        properties[f"{prefix}.negate"] = True
    return properties
