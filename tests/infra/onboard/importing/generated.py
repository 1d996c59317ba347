"""Inputs with one more property, in every place where Strimzi, Connect's REST API and `mm2.properties` take it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.properties import owned_remedy
from kafka_replication.components.contract.problems import ReplicationError, Severity
from kafka_replication.components.properties.clients import PREFIXES
from kafka_replication.components.properties.definitions import Definition, Owner, PropertyType, definitions
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.onboard.importing.deployment_changes import changes_of_imports
from kafka_replication.infra.onboard.importing.reading import ReadInput
from kafka_replication.infra.onboard.importing.topologies import imported_topologies
from tests.infra.onboard.importing.resources import FLOW, MIRROR, OLD_MIRROR

KAFKA = "4.2"
#: Defaults above it are the largest number of their type, or near it.
_LARGE = 2**30
_DEDICATED = """\
clusters = east, west
east.bootstrap.servers = east:9092
west.bootstrap.servers = west:9092
east->west.enabled = true
east->west.topics = orders
east->west.groups = shop
"""
_WORKERS = """\
bootstrap.servers=west:9092
group.id=workers
config.storage.topic=workers-configs
offset.storage.topic=workers-offsets
status.storage.topic=workers-status
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
header.converter=org.apache.kafka.connect.converters.ByteArrayConverter
"""
_ROLES = ("source", "checkpoint", "heartbeat")
#: Form of the input -> the places in it that take a property.
PLACES: Mapping[str, tuple[str, ...]] = {
    "v1beta2": ("source cluster", "target cluster", *_ROLES),
    "v1": ("source cluster", "target cluster", "source", "checkpoint"),
    "connectors": ("workers", "source", "checkpoint"),
    "rest": ("workers", "source", "checkpoint"),
    "dedicated": ("", "east.", "west.", "east->west."),
}


def keys() -> list[str]:
    """Every property of every connector, client and worker, alone and with every prefix, and some that nothing has."""
    names = sorted({name for owner in Owner for name in definitions(KAFKA, owner)})
    made_up = ["no.such.property", "topics.excluded", "tasksMax", "topics.blacklist", "groups.blacklist"]
    prefixed = [f"{prefix}{name}" for prefix in PREFIXES for name in [*names, *made_up]]
    return [*names, *made_up, *prefixed]


def value_of(key: str) -> str:
    """Return a value that Kafka accepts for the property that a key ends with, other than its default if possible."""
    name = next(
        (key.removeprefix(prefix) for prefix in sorted(PREFIXES, key=len, reverse=True) if key.startswith(prefix)), key
    )
    defined = _definition(name) or _definition(key)
    if defined is None:
        return "some"
    if defined.accepted:
        return next((each for each in defined.accepted if each != defined.default), defined.accepted[0])
    match defined.type:
        case PropertyType.BOOLEAN:
            return "false" if defined.default == "true" else "true"
        case PropertyType.CLASS:
            return "com.example.Own"
        case PropertyType.STRING | PropertyType.LIST:
            return "other:9092" if name == "bootstrap.servers" else "some"
        case PropertyType.PASSWORD:
            return "${secrets:kafka/login:key}"
    if "." in (default := defined.default or "1"):
        return str(float(default) + 0.1)
    return str(int(default) + (-3 if int(default) > _LARGE else 3))


@cache
def _definition(name: str) -> Definition | None:
    return next((found for owner in Owner if (found := definitions(KAFKA, owner).get(name))), None)


def input_with(form: str, place: str, key: str, value: str) -> dict[str, str]:
    """Return the files of an input with one more property; with the key "", the input alone."""
    own = {key: value} if key else {}
    if form == "dedicated":
        return {"mm2.properties": _DEDICATED + "".join(f"{place}{name} = {text}\n" for name, text in own.items())}
    if form in ("v1", "v1beta2"):
        body = yaml.safe_load(MIRROR if form == "v1" else OLD_MIRROR)
        spec = body["spec"]
        (mirror,) = spec["mirrors"]
        if form == "v1beta2":
            mirror["heartbeatConnector"] = {}
        ends = (mirror["source"], spec["target"]) if form == "v1" else spec["clusters"]
        at = dict(zip(("source cluster", "target cluster"), ends, strict=True)).get(place)
        _add(mirror[f"{place}Connector"] if at is None else at, own)
        return {"read.yaml": yaml.safe_dump(body)}
    bodies = list(yaml.safe_load_all(FLOW))
    at = {"workers": 0, "source": 1, "checkpoint": 2}[place]
    if form == "connectors":
        _add(bodies[at]["spec"], own)
        return {"read.yaml": yaml.safe_dump_all(bodies)}
    if at:
        _add(bodies[at]["spec"], own)
    answers = {
        body["metadata"]["name"]: {
            "info": {
                "name": body["metadata"]["name"],
                "config": {
                    "connector.class": body["spec"]["class"],
                    "tasks.max": str(body["spec"]["tasksMax"]),
                    **{name: str(text) for name, text in body["spec"]["config"].items()},
                },
            },
            "status": {"connector": {"state": "RUNNING"}},
        }
        for body in bodies[1:]
    }
    workers = _WORKERS + ("" if at else "".join(f"{name}={text}\n" for name, text in own.items()))
    return {"connectors.json": json.dumps(answers), "connect-distributed.properties": workers}


def _add(part: dict[str, Any], own: Mapping[str, str]) -> None:
    part["config"] = {**(part.get("config") or {}), **own}


class Outcome:
    """What an import of files says: notes, errors of a check, and what deploying the project would change."""

    def __init__(self, files: Mapping[str, str]) -> None:
        found = ReadInput()
        for name, text in files.items():
            found.take_file(name, text.encode())
        topologies, left_out = imported_topologies(found, None, "imported")
        self.notes = {str(note) for note in left_out}
        self.errors: set[str] = set()
        self.changes: set[str] = set()
        for topology in topologies:
            try:
                problems = list(check_topology(parse_topology(topology.document)))
            except ReplicationError as error:
                problems = list(error.problems)
            self.errors |= {str(problem) for problem in problems if problem.severity is Severity.ERROR}
            if not self.errors:
                self.changes |= set(_changes(topology, found))


def _changes(topology: Any, found: ReadInput) -> Iterator[str]:
    for changes in changes_of_imports(topology, found.of("ConfigMap")):
        yield from (f"{effect.severity} {effect.code}" for effect in changes.effects if effect.severity.rank > 1)
        moved = {each.obj for each in changes.differences if each.key == "target.cluster.bootstrap.servers"}
        for difference in changes.differences:
            # Heartbeats that begin in another cluster get its connection.
            if not (difference.obj in moved and difference.obj.endswith("heartbeat") and owned_remedy(difference.key)):
                yield f"{difference.obj}: {difference.key}"
