"""Properties of workers and connectors: Kafka knows them in that place, and users may set them.

`owned_properties` lists what users must not set, and `property_values` checks values. `components.properties` knows
which client a property reaches.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.checks.owned_properties import (
    CONNECTOR_FORBIDDEN,
    MUST_AGREE,
    NOT_IN_PAIR,
    at_one_source,
    in_pair,
    instead_of,
    otherwise_named,
    owned_remedy,
    worker_forbidden,
    worker_owned,
)
from components.checks.property_values import check_credential, check_hostnames, check_value
from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow, Shape
from components.kafka.replication_policy import Side
from components.properties.connector_keys import (
    ClientProperty,
    KeyMeaning,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Unknown,
    WithoutEffect,
    connector_key_meaning,
)
from components.properties.definitions import CONNECTORS, Owner
from components.properties.worker_keys import worker_key_meaning
from components.topology.clusters import Properties, PropertyValue
from components.topology.model import ExactlyOnce

_OWNERS = {
    Owner.SOURCE: "source connectors",
    Owner.CHECKPOINT: "the checkpoint connector",
    Owner.HEARTBEAT: "the heartbeat connector",
    Owner.WORKER: "the workers",
}
_CONFIG_OF = {
    Owner.WORKER: "connect.config",
    **{role: f"connectors.{role}.config" for role in CONNECTORS},
}


@dataclass(frozen=True)
class _Place:
    """The configuration that a property is in: its path, what reads it, and in which version of Kafka."""

    where: str
    owner: Owner
    config: Properties
    kafka: str
    offset_syncs: Side | str
    exactly_once: bool
    is_one_source: bool
    of_pair: bool

    def here(self, remedy: str) -> str:
        """The remedy as it reads in this place."""
        if self.of_pair:
            return in_pair(remedy)
        return at_one_source(remedy) if self.is_one_source else remedy

    def alone(self, remedy: str) -> str:
        """The same for a remedy that does not follow `remove it`."""
        said = self.here(remedy)
        return f"remove it; {said}" if said.startswith(NOT_IN_PAIR) else said

    def meaning(self, key: str) -> KeyMeaning:
        if self.owner is Owner.WORKER:
            return worker_key_meaning(key, self.kafka, exactly_once=self.exactly_once)
        return connector_key_meaning(
            self.owner,
            key,
            self.kafka,
            config=self.config,
            offset_syncs_location=self.offset_syncs,
            exactly_once=self.exactly_once,
        )


def check_properties(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every property of the workers and connectors of a flow is known, has an effect, and may be set."""
    settings = flow.settings
    exactly_once = settings.exactly_once is ExactlyOnce.ENABLED
    syncs = settings.offset_syncs.location.value if settings.offset_syncs.enabled else ""
    configs: Mapping[str, tuple[Owner, Properties]] = {
        "connect.config": (Owner.WORKER, settings.connect.config),
        **{_CONFIG_OF[role]: (role, getattr(settings.connectors, role).config) for role in CONNECTORS},
        **{
            f"connectors.sources.{part}.config": (Owner.SOURCE, source.config)
            for part, source in settings.connectors.sources.items()
        },
    }
    for path, (owner, config) in configs.items():
        is_one_source = path.startswith("connectors.sources.")
        of_pair = flow.shape is Shape.PREFIXLESS_PAIR
        place = _Place(flow.where(path), owner, config, flow.kafka, syncs, exactly_once, is_one_source, of_pair)
        check = _check_worker if owner is Owner.WORKER else _check_connector
        for key, value in config.items():
            yield from check(place, key, value)


def _check_connector(place: _Place, key: str, value: PropertyValue) -> Iterator[Problem]:
    where, found = f"{place.where}.{key}", place.meaning(key)
    if key in CONNECTOR_FORBIDDEN:
        yield _forbidden(where, key, "A KafkaConnector has a separate field for it", CONNECTOR_FORBIDDEN[key])
    elif key in MUST_AGREE and not isinstance(found, Unknown) and not place.of_pair:
        yield Problem(
            where,
            "must-agree",
            f"`{key}` is set on one connector",
            "The source and the checkpoint connector must agree on it. Otherwise checkpoints name other topics than "
            "the replicated ones, and offsets never translate.",
            f"remove it here and set {place.here(MUST_AGREE[key])}.",
        )
    elif not isinstance(found, OtherOwner | WithoutEffect) and (instead := _owned_remedy(place, key)):
        yield _owned(where, key, place.here(instead))
    else:
        yield from _check_placed(place, key, value, found)


def _owned_remedy(place: _Place, key: str) -> str | None:
    if place.exactly_once and key == "source.consumer.isolation.level":
        return "`exactlyOnce` of the flow already sets it to read only committed records"
    if place.owner is Owner.CHECKPOINT and key.endswith("consumer.auto.offset.reset"):
        return "the connector must read offset syncs and checkpoints from the beginning"
    if place.of_pair and key in MUST_AGREE:
        return f"set {MUST_AGREE[key]}"
    return owned_remedy(key)


def _check_worker(place: _Place, key: str, value: PropertyValue) -> Iterator[Problem]:
    where = f"{place.where}.{key}"
    if (instead := worker_forbidden(key)) is not None:
        yield _forbidden(where, key, "The operator drops it and only logs that", instead)
    elif instead := worker_owned(key):
        yield _owned(where, key, place.here(instead))
    else:
        yield from _check_placed(place, key, value, place.meaning(key))


def _check_placed(place: _Place, key: str, value: PropertyValue, found: KeyMeaning) -> Iterator[Problem]:
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
                f"{place.alone(instead_of(key) or (f'set {instead}' if instead else 'remove it'))}.",
            )
        case OwnProperty(definition):
            yield from check_value(where, key, value, definition)
        case ClientProperty(definition):
            yield from check_value(where, key, value, definition)
            yield from _check_data_producer(place, key, found)
        case PassedOn():
            pass
    if not isinstance(found, Unknown | OtherOwner | WithoutEffect):
        yield from check_credential(where, key, value)
        yield from check_hostnames(where, key, value)


def _check_data_producer(place: _Place, key: str, found: ClientProperty) -> Iterator[Problem]:
    """A producer property of a source connector is usually meant for records, which another producer writes."""
    producers = [client.name for client in found.clients if client.kind is Owner.PRODUCER]
    side = place.offset_syncs or "source"
    if producers == ["offset-syncs-producer"] and found.missed and not key.startswith("source."):
        name = found.definition.name
        yield Problem(
            f"{place.where}.{key}",
            "property-without-effect",
            f"`{key}` has no effect on replicated records",
            "It reaches only the producer of offset syncs. The worker's producer writes the records.",
            f"set `producer.override.{name}` for records, or `{side}.producer.{name}` for offset syncs.",
            Severity.WARNING,
        )


def _unknown(place: _Place, key: str, found: Unknown) -> Problem:
    why = f"Kafka {place.kafka} has no such property for {_OWNERS[place.owner]}, and would silently ignore it."
    if found.known_in:
        why = f"Kafka {place.kafka} does not have it, but Kafka {' and '.join(found.known_in)} does."
    remedy = otherwise_named(key) if place.owner is Owner.WORKER else instead_of(key)
    return Problem(
        f"{place.where}.{key}",
        "unknown-property",
        f"`{key}` is not known",
        why,
        f"{place.alone(remedy or _nearest_remedy(place, found.nearest))}.",
    )


def _nearest_remedy(place: _Place, nearest: str | None) -> str:
    if nearest is None:
        return "remove it or correct its name"
    decided = None if place.owner is Owner.WORKER else instead_of(nearest)
    return f"{decided} if you mean `{nearest}`" if decided else f"set `{nearest}`"


def _other_owner(place: _Place, key: str, owners: tuple[Owner, ...]) -> Problem:
    theirs = " and ".join(_OWNERS[owner] for owner in owners)
    known = [owner for owner in owners if not (place.of_pair and owner is Owner.CHECKPOINT)]
    instead = instead_of(key) or f"set it at {' or '.join(f'`{_CONFIG_OF[owner]}`' for owner in known)}"
    if not known:
        instead = "a pair has no checkpoint connector"
    return Problem(
        f"{place.where}.{key}",
        "property-of-other-connector",
        f"`{key}` belongs to {theirs}",
        f"{_OWNERS[place.owner].capitalize()} would silently ignore it.",
        f"remove it here; {place.here(instead)}.",
    )


def _forbidden(where: str, key: str, reason: str, instead: str) -> Problem:
    what = f"`{key}` cannot be set here"
    return Problem(where, "forbidden-property", what, f"{reason}.", f"remove it; {instead}.")


def _owned(where: str, key: str, instead: str) -> Problem:
    return Problem(
        where,
        "owned-property",
        f"`{key}` derives from the topology",
        "The objects of the flow must agree on its value, and a second value could differ.",
        f"remove it; {instead}.",
    )
