"""Kafka's properties by version and owner, from data files that tests/contract/property_definitions.py writes."""

import difflib
import functools
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

_DATA = Path(__file__).resolve().parent
_FILE = re.compile(r"kafka-(\d+\.\d+)\.json")
_VERSION = re.compile(r"(\d+)\.(\d+)")
_SIMILAR_ENOUGH = 0.75


class PropertyType(StrEnum):
    """Type of a property in a ConfigDef. Source: org.apache.kafka.common.config.ConfigDef.Type."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    SHORT = "short"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    LIST = "list"
    CLASS = "class"
    PASSWORD = "password"


class Owner(StrEnum):
    """What a property belongs to: a connector, a Kafka client or the worker.

    CLUSTER stands for the properties that MirrorMaker passes from `source.cluster.` and `target.cluster.` to all its
    clients, TOPIC_CREATION for those that follow `topic.creation.<group>.`.
    """

    SOURCE = "source"
    CHECKPOINT = "checkpoint"
    HEARTBEAT = "heartbeat"
    CONSUMER = "consumer"
    PRODUCER = "producer"
    ADMIN = "admin"
    WORKER = "worker"
    CLUSTER = "cluster"
    TOPIC_CREATION = "topicCreation"


class Origin(StrEnum):
    """The ConfigDef that defines a property: MirrorMaker's, Connect's, or a Kafka client's."""

    MIRROR = "mirror"
    CONNECT = "connect"
    CLIENT = "client"


#: Connector -> sections of the data file that define its properties; a later section wins. A connector's filters read
#: the same configuration, so their definitions come before MirrorMaker's own. Every other owner has one section.
_SECTIONS = {
    Owner.SOURCE: ("cluster", "connect", "topicFilter", "configPropertyFilter", "source"),
    Owner.CHECKPOINT: ("cluster", "connect", "topicFilter", "groupFilter", "checkpoint"),
    Owner.HEARTBEAT: ("cluster", "connect", "heartbeat"),
}
#: The origin of a section; MirrorMaker defines the others.
_ORIGINS = {
    **dict.fromkeys(("cluster", "consumer", "producer", "admin"), Origin.CLIENT),
    **dict.fromkeys(("connect", "worker", "topicCreation"), Origin.CONNECT),
}

#: Key of the data files -> field of a definition, where the two differ.
_FIELDS = {"atLeast": "at_least", "atMost": "at_most", "anyCase": "any_case", "notEmpty": "not_empty"}

#: Beginning of the sections of transforms and predicates.
_TRANSFORM = "transforms."

CONNECTORS = (Owner.SOURCE, Owner.CHECKPOINT, Owner.HEARTBEAT)
CLIENTS = (Owner.CONSUMER, Owner.PRODUCER, Owner.ADMIN)


@dataclass(frozen=True)
class Definition:
    """A property as its ConfigDef defines it.

    `default` is Kafka's default as text; None if there is none, or if it is null or a password. A number must lie
    between `at_least` and `at_most` or be one of `accepted`. For every other type, `accepted` lists the only valid
    values (or list elements); empty means that any value is valid. `any_case` means that case is ignored.
    `not_empty` means that an empty text or list is refused, and `distinct` that repeated list elements are.
    """

    name: str
    type: PropertyType
    default: str | None = None
    importance: str = "low"
    documentation: str = ""
    at_least: float | None = None
    at_most: float | None = None
    accepted: tuple[str, ...] = ()
    any_case: bool = False
    not_empty: bool = False
    distinct: bool = False
    required: bool = False
    internal: bool = False
    origin: Origin = Origin.CLIENT


@functools.cache
def supported_versions() -> tuple[str, ...]:
    """Return the minor versions of Kafka that have a data file, oldest first."""
    file_names = (_FILE.fullmatch(path.name) for path in _DATA.iterdir())
    return tuple(sorted((match[1] for match in file_names if match), key=_version_key))


def minor_version(kafka_version: str) -> str:
    """Return the minor version of a text such as "4.2", "4.2.0" or "3.8.0.1.2". Raises ValueError for other texts."""
    major, minor = _version_key(kafka_version)
    return f"{major}.{minor}"


def data_version(kafka_version: str) -> str:
    """Return the version whose data file is used: the newest up to this one, or else the oldest. Raises ValueError as
    `minor_version` does.
    """
    wanted = _version_key(kafka_version)
    not_newer = [version for version in supported_versions() if _version_key(version) <= wanted]
    return not_newer[-1] if not_newer else supported_versions()[0]


def definitions(kafka_version: str, owner: Owner) -> Mapping[str, Definition]:
    """Return every property of `owner` in `kafka_version`, by name. Raises ValueError as `minor_version` does.

    A version between two data files knows the properties of both, since the data does not say when each was added or
    removed. Where both define a property, the older definition is used.
    """
    return _definitions(minor_version(kafka_version), owner)


@functools.cache
def transform_definitions(kafka_version: str) -> Mapping[str, Mapping[str, Definition]]:
    """Return the properties of Kafka's transforms and predicates, by class; raises ValueError for other texts."""
    by_class = {
        section.removeprefix(_TRANSFORM): {
            name: _definition(name, entry, Origin.CONNECT) for name, entry in properties.items()
        }
        for section, properties in _read(data_version(kafka_version)).items()
        if section.startswith(_TRANSFORM)
    }
    return MappingProxyType(by_class)


def versions_with(name: str, *owners: Owner) -> tuple[str, ...]:
    """Return the versions of Kafka in which one of these owners has a property of this name, oldest first."""
    return tuple(
        version for version in supported_versions() if any(name in definitions(version, owner) for owner in owners)
    )


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name closest to `name`, or None if none is close."""
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_SIMILAR_ENOUGH)
    return close[0] if close else None


def _version_key(version: str) -> tuple[int, int]:
    parts = _VERSION.match(version)
    if parts is None:
        raise ValueError(f"`{version}` does not begin with a version of Kafka such as 4.2")
    return int(parts[1]), int(parts[2])


@functools.cache
def _definitions(minor: str, owner: Owner) -> Mapping[str, Definition]:
    older = data_version(minor)
    newer = next((version for version in supported_versions() if _version_key(version) > _version_key(minor)), None)
    versions = [newer, older] if newer and _version_key(older) < _version_key(minor) else [older]
    return MappingProxyType(
        {name: definition for version in versions for name, definition in _data(version, owner).items()}
    )


def _data(version: str, owner: Owner) -> dict[str, Definition]:
    sections = _read(version)
    return {
        name: _definition(name, entry, _ORIGINS.get(section, Origin.MIRROR))
        for section in _SECTIONS.get(owner, (owner.value,))
        for name, entry in sections[section].items()
        # Connectors define the security settings of clients too, but not their addresses.
        if not (section == "cluster" and owner in CONNECTORS and name == "bootstrap.servers")
    }


@functools.cache
def _read(version: str) -> Mapping[str, Mapping[str, Any]]:
    sections: Mapping[str, Mapping[str, Any]] = json.loads((_DATA / f"kafka-{version}.json").read_text())["sections"]
    return sections


def _definition(name: str, entry: Mapping[str, Any], origin: Origin) -> Definition:
    fields: dict[str, Any] = {
        _FIELDS.get(key, key): tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    fields |= {"name": name, "type": PropertyType(entry["type"]), "origin": origin}
    return Definition(**fields)
