"""Definitions of Kafka's properties by version and owner, read from the generated data files. Imports nothing of ours.

Source: the ConfigDefs of Kafka's connectors, clients and worker, see infra/local/property_definitions.py.
"""

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
    """Types of a ConfigDef. Source: org.apache.kafka.common.config.ConfigDef.Type."""

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
    """Whose property it is: a connector's, a Kafka client's, the worker's.

    CLUSTER is what MirrorMaker lets through from `source.cluster.` and `target.cluster.` to each of its clients;
    TOPIC_CREATION is what stands behind `topic.creation.<group>.`.
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
    """Which ConfigDef says it: MirrorMaker's, Connect's, or that of a Kafka client."""

    MIRROR = "mirror"
    CONNECT = "connect"
    CLIENT = "client"


#: Owner -> sections of the data file that define its properties, later wins. A connector's filters read its
#: configuration as well; MirrorMaker's own definition of a property comes after the filter's.
_SECTIONS: Mapping[Owner, tuple[tuple[str, Origin], ...]] = {
    Owner.SOURCE: (
        ("cluster", Origin.CLIENT),
        ("connect", Origin.CONNECT),
        ("topicFilter", Origin.MIRROR),
        ("configPropertyFilter", Origin.MIRROR),
        ("source", Origin.MIRROR),
    ),
    Owner.CHECKPOINT: (
        ("cluster", Origin.CLIENT),
        ("connect", Origin.CONNECT),
        ("topicFilter", Origin.MIRROR),
        ("groupFilter", Origin.MIRROR),
        ("checkpoint", Origin.MIRROR),
    ),
    Owner.HEARTBEAT: (
        ("cluster", Origin.CLIENT),
        ("connect", Origin.CONNECT),
        ("heartbeat", Origin.MIRROR),
    ),
    Owner.CONSUMER: (("consumer", Origin.CLIENT),),
    Owner.PRODUCER: (("producer", Origin.CLIENT),),
    Owner.ADMIN: (("admin", Origin.CLIENT),),
    Owner.WORKER: (("worker", Origin.CONNECT),),
    Owner.CLUSTER: (("cluster", Origin.CLIENT),),
    Owner.TOPIC_CREATION: (("topicCreation", Origin.CONNECT),),
}

CONNECTORS = (Owner.SOURCE, Owner.CHECKPOINT, Owner.HEARTBEAT)
CLIENTS = (Owner.CONSUMER, Owner.PRODUCER, Owner.ADMIN)


@dataclass(frozen=True)
class Definition:
    """A property as its ConfigDef defines it.

    `default` is Kafka's text for it, None if there is none, if it is null or if it is a password. A number must lie
    between `at_least` and `at_most` or be one of `accepted`; of any other type, `accepted` is the closed set of values
    or of a list's elements, empty if it is open. `any_case` says that it disregards case.
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
    required: bool = False
    internal: bool = False
    origin: Origin = Origin.CLIENT


@functools.cache
def supported_versions() -> tuple[str, ...]:
    """Minor versions of Kafka that there is data for, oldest first."""
    found = (_FILE.fullmatch(path.name) for path in _DATA.iterdir())
    return tuple(sorted((match[1] for match in found if match), key=_version_key))


def minor_version(kafka_version: str) -> str:
    """Kafka's minor version of "4.2", "4.2.0" and vendors' forms such as "3.8.0.1.2".

    Raises ValueError for what does not begin so.
    """
    major, minor = _version_key(kafka_version)
    return f"{major}.{minor}"


def data_version(kafka_version: str) -> str:
    """The minor version whose data stands for `kafka_version`: the newest that is not newer, else the oldest.

    Raises ValueError as minor_version.
    """
    wanted = _version_key(kafka_version)
    not_newer = [version for version in supported_versions() if _version_key(version) <= wanted]
    return not_newer[-1] if not_newer else supported_versions()[0]


def definitions(kafka_version: str, owner: Owner) -> Mapping[str, Definition]:
    """Every property of `owner` by name, as the data for `kafka_version` has it. Raises ValueError as minor_version.

    Of a version between two that there is data for nobody here knows when a property came or went: what either knows
    is known, as the older defines it.
    """
    return _definitions(minor_version(kafka_version), owner)


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is most like `name`, if any is like it at all."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_SIMILAR_ENOUGH)
    return found[0] if found else None


def _version_key(version: str) -> tuple[int, int]:
    found = _VERSION.match(version)
    if found is None:
        raise ValueError(f"`{version}` does not begin with a version of Kafka such as 4.2")
    return int(found[1]), int(found[2])


@functools.cache
def _definitions(minor: str, owner: Owner) -> Mapping[str, Definition]:
    older = data_version(minor)
    newer = next((each for each in supported_versions() if _version_key(each) > _version_key(minor)), None)
    versions = [newer, older] if newer and _version_key(older) < _version_key(minor) else [older]
    return MappingProxyType({name: each for version in versions for name, each in _data(version, owner).items()})


def _data(version: str, owner: Owner) -> dict[str, Definition]:
    sections = _read(version)
    return {
        name: _definition(name, said, origin)
        for section, origin in _SECTIONS[owner]
        for name, said in sections[section].items()
        # Connectors define a client's security settings too, but no addresses.
        if not (section == "cluster" and owner in CONNECTORS and name == "bootstrap.servers")
    }


@functools.cache
def _read(version: str) -> Mapping[str, Mapping[str, Any]]:
    sections: Mapping[str, Mapping[str, Any]] = json.loads((_DATA / f"kafka-{version}.json").read_text())["sections"]
    return sections


def _definition(name: str, said: Mapping[str, Any], origin: Origin) -> Definition:
    return Definition(
        name=name,
        type=PropertyType(said["type"]),
        default=said.get("default"),
        importance=said["importance"],
        documentation=said["documentation"],
        at_least=said.get("atLeast"),
        at_most=said.get("atMost"),
        accepted=tuple(said.get("accepted", ())),
        any_case=said.get("anyCase", False),
        required=said.get("required", False),
        internal=said.get("internal", False),
        origin=origin,
    )
