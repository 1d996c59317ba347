"""Properties given to a worker or a connector: each is held against what Kafka says that it takes at that place.

What a user does not set is in `owned_properties`, what a value may be in `property_values`; `components.properties`
knows which client a key reaches.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.checks.owned_properties import (
    CONNECTOR_FORBIDDEN,
    MUST_AGREE,
    instead_of,
    otherwise_named,
    owned_remedy,
    worker_forbidden,
    worker_owned,
)
from components.checks.property_values import check_value
from components.clusters import Properties, PropertyValue
from components.expansion import NamedFlow
from components.kafka_version import kafka_version
from components.model import ExactlyOnce, Topology
from components.problems import Problem, Severity
from components.properties.clients import OffsetSyncsLocation
from components.properties.definitions import Owner
from components.properties.placement import (
    ClientProperty,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Placement,
    Unknown,
    WithoutEffect,
    placement,
)
from components.properties.worker_placement import worker_placement
from components.resolved import strimzi

_CREDENTIAL = re.compile(r"(^|\.)(sasl\.jaas\.config|ssl\.keystore\.key|[a-z.]*password|[a-z.]*secret)$")
_PLACEHOLDER = re.compile(r"\$\{[^}:]+:[^}]+\}")

_OWNERS = {
    Owner.SOURCE: "source connectors",
    Owner.CHECKPOINT: "the checkpoint connector",
    Owner.HEARTBEAT: "the heartbeat connector",
    Owner.WORKER: "the workers",
}
_CONFIG_OF = {
    Owner.SOURCE: "connectors.source.config",
    Owner.CHECKPOINT: "connectors.checkpoint.config",
    Owner.HEARTBEAT: "connectors.heartbeat.config",
    Owner.WORKER: "connect.config",
}


@dataclass(frozen=True)
class _Place:
    """Where a property stands: its configuration, whose that is, and in which Kafka."""

    where: str
    owner: Owner
    config: Properties
    kafka: str
    offset_syncs: OffsetSyncsLocation | str
    exactly_once: bool

    def placement(self, key: str) -> Placement:
        if self.owner is Owner.WORKER:
            return worker_placement(key, self.kafka, exactly_once=self.exactly_once)
        return placement(
            self.owner,
            key,
            self.kafka,
            config=self.config,
            offset_syncs_location=self.offset_syncs,
            exactly_once=self.exactly_once,
        )


def check_properties(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    """Every property of the workers and of each connector of a flow."""
    flow = named.flow
    kafka = kafka_version(flow.connect, strimzi(topology.strimzi))
    exactly_once = flow.exactly_once is ExactlyOnce.ENABLED
    syncs = flow.offset_syncs.location.value if flow.offset_syncs.enabled else ""
    configs: Mapping[str, tuple[Owner, Properties]] = {
        "connect.config": (Owner.WORKER, flow.connect.config),
        "connectors.source.config": (Owner.SOURCE, flow.connectors.source.config),
        "connectors.checkpoint.config": (Owner.CHECKPOINT, flow.connectors.checkpoint.config),
        "connectors.heartbeat.config": (Owner.HEARTBEAT, flow.connectors.heartbeat.config),
        **{
            f"connectors.sources.{part}.config": (Owner.SOURCE, source.config)
            for part, source in flow.connectors.sources.items()
        },
    }
    for path, (owner, config) in configs.items():
        place = _Place(named.where(path), owner, config, kafka, syncs, exactly_once)
        for key, value in config.items():
            yield from (
                _check_worker(place, key, value) if owner is Owner.WORKER else _check_connector(place, key, value)
            )


def _check_connector(place: _Place, key: str, value: PropertyValue) -> Iterator[Problem]:
    where, found = f"{place.where}.{key}", place.placement(key)
    if key in CONNECTOR_FORBIDDEN:
        yield _forbidden(where, key, "KafkaConnector has a field for it", CONNECTOR_FORBIDDEN[key])
    elif key in MUST_AGREE and not isinstance(found, Unknown):
        yield Problem(
            where,
            "must-agree",
            f"`{key}` is set on one connector",
            "The source and the checkpoint connector must agree on it; otherwise checkpoints speak of other topics "
            "than those replicated, and groups never translate.",
            f"remove it here and set {MUST_AGREE[key]}.",
        )
    elif not isinstance(found, OtherOwner | WithoutEffect) and (instead := _owned_remedy(place, key)):
        yield _owned(where, key, instead)
    else:
        yield from _check_placed(place, key, value, found)


def _owned_remedy(place: _Place, key: str) -> str | None:
    if place.exactly_once and key == "source.consumer.isolation.level":
        return "`exactlyOnce` of the flow reads committed records only"
    if place.owner is Owner.CHECKPOINT and key.endswith("consumer.auto.offset.reset"):
        return "offset syncs and checkpoints are read from their beginning"
    return owned_remedy(key)


def _check_worker(place: _Place, key: str, value: PropertyValue) -> Iterator[Problem]:
    where = f"{place.where}.{key}"
    if (instead := worker_forbidden(key)) is not None:
        yield _forbidden(where, key, "the operator drops it with a line in its log only", instead)
    elif instead := worker_owned(key):
        yield _owned(where, key, instead)
    else:
        yield from _check_placed(place, key, value, place.placement(key))


def _check_placed(place: _Place, key: str, value: PropertyValue, found: Placement) -> Iterator[Problem]:
    where = f"{place.where}.{key}"
    match found:
        case Unknown():
            yield _unknown(place, key, found)
        case OtherOwner(_, owners):
            yield _other_owner(place, key, owners)
        case WithoutEffect(_, why, instead):
            yield Problem(
                where,
                "property-without-effect",
                f"`{key}` has no effect here",
                why,
                _sentence(instead_of(key) or (f"set {instead}" if instead else "remove it")),
            )
        case OwnProperty(definition):
            yield from check_value(where, key, value, definition)
        case ClientProperty(definition):
            yield from check_value(where, key, value, definition)
            yield from _check_data_producer(place, key, found)
        case PassedOn():
            pass
    if not isinstance(found, Unknown | OtherOwner | WithoutEffect):
        yield from _check_credential(where, key, value)


def _check_data_producer(place: _Place, key: str, found: ClientProperty) -> Iterator[Problem]:
    """What a source connector's own producer gets is mostly meant for records, which the worker's producer writes."""
    producers = [client.name for client in found.clients if client.kind is Owner.PRODUCER]
    if producers == ["offset-syncs-producer"] and found.missed and not key.startswith("source."):
        name = found.definition.name
        yield Problem(
            f"{place.where}.{key}",
            "property-without-effect",
            f"`{key}` has no effect on replicated records",
            "It reaches only the producer of offset syncs; records are written by the worker's producer.",
            f"set `producer.override.{name}` for records, or `source.producer.{name}` for offset syncs.",
            Severity.WARNING,
        )


def _unknown(place: _Place, key: str, found: Unknown) -> Problem:
    why = f"Kafka {place.kafka} has no such property for {_OWNERS[place.owner]}, and would ignore it in silence."
    if found.known_in:
        why = f"Kafka {place.kafka} does not know it yet or any more; {' and '.join(found.known_in)} do."
    remedy = otherwise_named(key) if place.owner is Owner.WORKER else instead_of(key)
    return Problem(
        f"{place.where}.{key}",
        "unknown-property",
        f"`{key}` is not known",
        why,
        _sentence(remedy or _nearest_remedy(place, found.nearest)),
    )


def _nearest_remedy(place: _Place, nearest: str | None) -> str:
    if nearest is None:
        return "remove it, or correct its name"
    decided = None if place.owner is Owner.WORKER else instead_of(nearest)
    return f"{decided}, if `{nearest}` is meant" if decided else f"set `{nearest}`"


def _other_owner(place: _Place, key: str, owners: tuple[Owner, ...]) -> Problem:
    theirs = " and ".join(_OWNERS[owner] for owner in owners)
    instead = instead_of(key) or f"set it at {' or '.join(f'`{_CONFIG_OF[owner]}`' for owner in owners)}"
    return Problem(
        f"{place.where}.{key}",
        "property-of-other-connector",
        f"`{key}` belongs to {theirs}",
        f"{_OWNERS[place.owner].capitalize()} would ignore it in silence.",
        f"remove it here; {instead}.",
    )


def is_open_credential(key: str, value: object) -> bool:
    """Whether a property holds a credential as it is, and not a reference to one."""
    return bool(_CREDENTIAL.search(key)) and not _PLACEHOLDER.search(str(value))


def check_credentials(where: str, config: Properties) -> Iterator[Problem]:
    """Credentials that stand in a configuration as they are."""
    for key, value in config.items():
        yield from _check_credential(f"{where}.{key}", key, value)


def _check_credential(where: str, key: str, value: object) -> Iterator[Problem]:
    if is_open_credential(key, value):
        yield Problem(
            where,
            "plain-text-credential",
            f"`{key}` is given as text",
            "It would stand in the topology file, the custom resource and Connect's REST API.",
            "set it to a placeholder such as `${secret:NAMESPACE/NAME:KEY}`.",
        )


def _forbidden(where: str, key: str, reason: str, instead: str) -> Problem:
    why = f"Strimzi: {reason}."
    return Problem(where, "forbidden-property", f"`{key}` cannot be set here", why, f"remove it; {instead}.")


def _owned(where: str, key: str, instead: str) -> Problem:
    return Problem(
        where,
        "owned-property",
        f"`{key}` is set by the model",
        "Two places that say it could disagree; the flow's objects all derive it from one.",
        f"remove it; {instead}.",
    )


def _sentence(text: str) -> str:
    return f"{text}."
