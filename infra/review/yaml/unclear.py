"""Which objects cannot be judged, and why: the folder does not show what the cluster will hold. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.flows.operators import PAUSE, REPLICATING_KINDS, STRIMZI_GROUP, USES_CONNECTOR_RESOURCES
from infra.onboard.importing.flows import role_of
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.reading import ReadObject
from infra.onboard.importing.topologies import kafka_of, workers_of
from infra.review.yaml.objects import Identity, Published, Side

_TEMPLATE = re.compile(r"\{\{.*\}\}|\{%.*%\}", re.DOTALL)
#: What Flux's `postBuild` and `envsubst` fill in; a Kafka placeholder has a colon after the provider's name.
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(:[-=+?][^}]*)?\}|\$[A-Z_][A-Z0-9_]*\b")
_WITHOUT_NAME = "It has no name, so it cannot be matched to an object on the other side."


def unclear_objects(before: Side, after: Side) -> dict[Identity, str]:
    """Why an object that replicates, or that such an object reads, cannot be judged. Other objects are not listed."""
    found: dict[Identity, str] = {}
    for identity in {**after.objects, **before.objects}:
        if not _is_judged(identity):
            continue
        why = next(_reasons(identity, before, after), None)
        if why is not None:
            found[identity] = why
    return found | dict(_without_workers(before, after, found))


def _is_judged(identity: Identity) -> bool:
    return identity[0] in {"ConfigMap", *(f"{STRIMZI_GROUP}/{kind}" for kind in REPLICATING_KINDS)}


def _reasons(identity: Identity, before: Side, after: Side) -> Iterator[str]:
    if not identity[2]:
        yield _WITHOUT_NAME
    for side, other, word in ((after, before, "new"), (before, after, "removed")):
        copies = side.objects.get(identity, [])
        if any(each.body != copies[0].body for each in copies):
            files = ", ".join(f"`{each.file}`" for each in copies)
            why = "hold it with different content, and the folder does not say which one is applied"
            yield f"{files} {why}. If they belong to different clusters, review each cluster's folder separately."
        for each in copies:
            yield from _filled_in_later(each)
        if copies and identity not in other.objects and other.unreadable:
            names = ", ".join(f"`{each}`" for each in sorted(other.unreadable))
            yield f"It is not known whether it is {word}: {names} cannot be read on the other side."
        if copies and identity[0] != "ConfigMap":
            yield from _not_read(identity, side)


def _filled_in_later(each: Published) -> Iterator[str]:
    for text in _texts(each.body):
        if _TEMPLATE.search(text):
            yield "It is a template. Review the output of `helm template` or `kustomize build`."
        elif each.kind != "ConfigMap" and (variable := _VARIABLE.search(text)):
            yield f"Another tool fills in `{variable[0]}`, and its value is not in the folder. Review the result."


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _not_read(identity: Identity, side: Side) -> Iterator[str]:
    kind = identity[0].removeprefix(f"{STRIMZI_GROUP}/")
    read = side.read(kind).get(identity)
    said = _said_of(identity, side)
    if read is None:
        yield said[0].why if said else "It is not a KafkaMirrorMaker2, KafkaConnect or KafkaConnector."
        return
    yield from (f"`{each.field}`: {each.why}" for each in said if each.code == "wrong-form")
    annotations = read.body["metadata"].get("annotations") or {}
    if str(annotations.get(PAUSE)) == "true":
        yield f"`{PAUSE}` keeps the operator from acting on it, so what runs may be something else."
    yield from _REASONS[kind](read)


def _said_of(identity: Identity, side: Side) -> Sequence[LeftOut]:
    places = dict.fromkeys((each.file, each.label) for each in side.objects[identity])
    return [said for place in places for said in side.said.get(place, [])]


def _mirror_maker(read: ReadObject) -> Iterator[str]:
    ends, version = ends_of_mirrors(read), kafka_of(read, None)
    yield from (each.why for each in (ends, version) if isinstance(each, LeftOut))
    if not isinstance(ends, LeftOut):
        sources = [str(source.get("alias")) for _, _, source in ends[1]]
        if len(sources) != len(set(sources)):
            yield "Two mirrors share a source, and the operator gives their connectors the same names."


def _connect(read: ReadObject) -> Iterator[str]:
    version = kafka_of(read, None)
    if isinstance(version, LeftOut):
        yield version.why
    if str((read.body["metadata"].get("annotations") or {}).get(USES_CONNECTOR_RESOURCES)) != "true":
        without = f'Without `{USES_CONNECTOR_RESOURCES}: "true"` the operator ignores its KafkaConnectors'
        yield f"{without}, so what runs is not known."


def _connector(read: ReadObject) -> Iterator[str]:
    if role_of(read) is None:
        yield "It is not one of MirrorMaker's connectors."
    elif not str((read.spec.get("config") or {}).get("tasks.max", 1)).isdecimal():
        yield "Its `tasks.max` is not a number."


_REASONS = {"KafkaMirrorMaker2": _mirror_maker, "KafkaConnect": _connect, "KafkaConnector": _connector}


def _without_workers(before: Side, after: Side, unclear: Mapping[Identity, str]) -> Iterator[tuple[Identity, str]]:
    """Yield the connectors whose workers cannot be judged, or are not in the folder."""
    for side in (before, after):
        connects = side.read("KafkaConnect")
        for identity, read in side.read("KafkaConnector").items():
            if identity in unclear:
                continue
            workers = (f"{STRIMZI_GROUP}/KafkaConnect", read.namespace, workers_of(read))
            if not workers[2]:
                yield identity, "It has no label `strimzi.io/cluster`, so the operator ignores it."
            elif workers in unclear:
                yield identity, f"Its KafkaConnect `{workers[2]}` cannot be judged."
            elif workers not in connects:
                yield identity, f"Its KafkaConnect `{workers[2]}` is not in the folder. Name a folder that holds both."
