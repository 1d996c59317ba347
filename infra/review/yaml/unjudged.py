"""Lists what a review of a folder cannot judge, and why: objects, fields and files. Pure.

An object is unclear if the folder does not show what the cluster will hold. A field is not judged if no rule derives an
effect from it. Nothing of this may pass as a change without an effect.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from components.flows.operators import PAUSE, REPLICATING_KINDS, STRIMZI_GROUP, USES_CONNECTOR_RESOURCES
from infra.onboard.importing.flows import role_of
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.reading import ReadObject
from infra.onboard.importing.topologies import kafka_of
from infra.review.comparison import Unjudged
from infra.review.object_changes import ChangeKind
from infra.review.yaml.effects import REQUESTS, connectors_reading
from infra.review.yaml.folder import Files
from infra.review.yaml.objects import FileObject, FolderObjects, IdentifiedChange, Identity, kind_of, label_of
from infra.review.yaml.states import FolderWorkers

_CLUSTER = r"(\.(alias|bootstrapServers|tls|authentication|config|groupId|\w+StorageTopic)(\W.*)?)?"
_CONNECTOR = r"(tasksMax|state|pause|(autoRestart|config)(\..*)?)"
_OF_WORKERS = (
    r"apiVersion|metadata\.labels(\..*)?|spec\.template\.(pod|connectContainer|initContainer)(\W.*)?"
    r"|spec\.(?!template\b|mirrors\b|clusters\b|target\b)\w+(\W.*)?"
)
#: The fields from which the effects of a change are derived.
_JUDGED = {
    "KafkaConnector": re.compile(rf"apiVersion|metadata\.labels\.strimzi\.io/cluster|spec\.(class|{_CONNECTOR})"),
    "KafkaConnect": re.compile(_OF_WORKERS),
    "KafkaMirrorMaker2": re.compile(
        rf"{_OF_WORKERS}|spec\.(clusters(\[[^]]*\])?|target|mirrors\[[^]]*\]\.source){_CLUSTER}"
        r"|spec\.mirrors|spec\.mirrors\[[^]]*\](\.(sourceCluster|targetCluster|(topics|groups)(Exclude|Blacklist)?Pattern"
        rf"|(source|checkpoint|heartbeat)Connector(\.{_CONNECTOR})?))?"
    ),
}
_WHY_NOT = (
    (re.compile(r"metadata\.annotations(\..*)?"), "This command does not know what reads this annotation."),
    (
        re.compile(r"metadata\.namespace"),
        (
            "An object without a namespace gets one when it is applied, so the folder does not show whether this is "
            "a change."
        ),
    ),
    (re.compile(r"metadata\.labels.*"), "The operator does not read this label, but something else may."),
)
#: Fields that older APIs have. Source: Strimzi KafkaMirrorMaker2MirrorSpec, AbstractConnectorSpec.
_NOT_IN_V1 = re.compile(r"spec\.(mirrors\[[^]]*\]\.(heartbeatConnector|\w+BlacklistPattern|\w+\.pause)|pause)(\W.*)?")
_TEMPLATE = re.compile(r"\{\{.*\}\}|\{%.*%\}", re.DOTALL)
#: What Flux's `postBuild` and `envsubst` fill in; a Kafka placeholder has a colon after the provider's name.
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(:[-=+?][^}]*)?\}|\$[A-Z_][A-Z0-9_]*\b")


#: Kinds and API groups on which no connector or worker depends.
_BESIDE = frozenset({"Service", "Pod", "Event", "Endpoints", "PersistentVolume", "PersistentVolumeClaim"})
_GROUPS_BESIDE = frozenset({"apps", "batch", "autoscaling", "monitoring.coreos.com", "metrics.k8s.io"})
_KUSTOMIZATIONS = frozenset({"kustomize.config.k8s.io/Kustomization", "Kustomization"})
_JUST_LISTS = frozenset({"apiVersion", "kind", "metadata", "resources"})
#: How a whole file is named where a report has an object.
_FILE = "(the file)"
_WHY_BESIDE = {
    "Secret": "Connectors and workers may log in with it. Its values are not read.",
    "KafkaUser": "Its ACLs and its login decide what connectors may do.",
    "KafkaTopic": "Changes to it take effect in Kafka, and this command does not connect to Kafka.",
    "Role": "Connectors may need it to read Secrets and ConfigMaps.",
    "RoleBinding": "Connectors may need it to read Secrets and ConfigMaps.",
    "NetworkPolicy": "It decides which addresses workers reach.",
    "KafkaMirrorMaker": "It is MirrorMaker 1, which keeps its positions in a consumer group.",
}


def unclear_objects(before: FolderObjects, after: FolderObjects) -> dict[Identity, str]:
    """Return why an object that replicates, or that such an object reads, cannot be judged, for each that cannot."""
    reasons: dict[Identity, str] = {}
    for identity in {**after.objects, **before.objects}:
        if identity[0] in {"ConfigMap", *(f"{STRIMZI_GROUP}/{kind}" for kind in REPLICATING_KINDS)}:
            why = next(_reasons(identity, before, after), None)
            if why is not None:
                reasons[identity] = why
    return reasons | dict(_without_workers(before, after, reasons))


def _reasons(identity: Identity, before: FolderObjects, after: FolderObjects) -> Iterator[str]:
    if not identity[2]:
        yield "It has no name, so it cannot be matched to an object on the other side."
    for side, other, word in ((after, before, "new"), (before, after, "removed")):
        copies = side.objects.get(identity, [])
        if any(copy.body != copies[0].body for copy in copies):
            files = ", ".join(f"`{copy.file}`" for copy in copies)
            why = "hold it with different content, and the folder does not say which one is applied"
            yield f"{files} {why}. If they belong to different clusters, review each cluster's folder separately."
        for copy in copies:
            yield from _filled_in_later(copy)
        if copies and identity not in other.objects and other.unreadable:
            names = ", ".join(f"`{file}`" for file in sorted(other.unreadable))
            yield f"It is not known whether it is {word}: {names} cannot be read on the other side."
        if copies and identity[0] != "ConfigMap":
            yield from _not_read(identity, side)


def _filled_in_later(copy: FileObject) -> Iterator[str]:
    for text in _texts(copy.body):
        if _TEMPLATE.search(text):
            yield "It is a template. Review the output of `helm template` or `kustomize build`."
        elif kind_of(copy.identity) != "ConfigMap" and (variable := _VARIABLE.search(text)):
            yield f"Another tool fills in `{variable[0]}`, and its value is not in the folder. Review the result."


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield str(key)
            yield from _texts(below)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, str):
        yield value


def _not_read(identity: Identity, side: FolderObjects) -> Iterator[str]:
    kind = kind_of(identity)
    read = side.read(kind).get(identity)
    left_out = side.left_out(identity)
    if read is None:
        yield left_out[0].why if left_out else "It is not a KafkaMirrorMaker2, KafkaConnect or KafkaConnector."
        return
    yield from (f"`{note.field}`: {note.why}" for note in left_out if note.code == "wrong-form")
    annotations = read.body["metadata"].get("annotations") or {}
    if str(annotations.get(PAUSE)) == "true":
        yield f"`{PAUSE}` keeps the operator from acting on it, so what runs may be something else."
    yield from _REASONS[kind](read)


def _mirror_maker(read: ReadObject) -> Iterator[str]:
    ends, version = ends_of_mirrors(read), kafka_of(read, None)
    yield from (refused.why for refused in (ends, version) if isinstance(refused, LeftOut))
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


def _without_workers(
    before: FolderObjects, after: FolderObjects, unclear: Mapping[Identity, str]
) -> Iterator[tuple[Identity, str]]:
    """Yield the connectors whose workers cannot be judged, or are not in the folder."""
    for side in (before, after):
        connects = side.read("KafkaConnect")
        for identity, read in side.read("KafkaConnector").items():
            if identity in unclear:
                continue
            workers = (f"{STRIMZI_GROUP}/KafkaConnect", read.namespace, read.workers)
            if not workers[2]:
                yield identity, "It has no label `strimzi.io/cluster`, so the operator ignores it."
            elif workers in unclear:
                yield identity, f"Its KafkaConnect `{workers[2]}` cannot be judged."
            elif workers not in connects:
                yield identity, f"Its KafkaConnect `{workers[2]}` is not in the folder. Name a folder that holds both."


def unjudged_of(
    sides: tuple[FolderObjects, FolderObjects],
    files: tuple[Files, Files],
    changes: Sequence[IdentifiedChange],
    unclear: Mapping[Identity, str],
    judged: Mapping[Identity, str],
    with_effects: Collection[str],
    workers: Sequence[FolderWorkers],
    namespace: str | None,
) -> Iterator[Unjudged]:
    """Yield every part of a change whose effect is not known. `judged` names the workers of each object that was
    judged, `with_effects` those for which effects were found; `namespace` is None if nobody named it."""
    yield from _unreadable(*sides)
    yield from _without_object(*sides)
    yield from _other_files(*files)
    for change in changes:
        obj = label_of(change.identity)
        for paths, why in _of_change(change, unclear, judged, with_effects, workers, namespace):
            yield Unjudged(change.file, obj, paths, why)


def _unreadable(old: FolderObjects, new: FolderObjects) -> Iterator[Unjudged]:
    for file in sorted({*old.unreadable, *new.unreadable}):
        if old.files.get(file) == new.files.get(file):
            continue
        if file in new.unreadable:
            note = new.unreadable[file]
            place = f" ({note.field})" if note.field else ""
            remedy = note.remedy[:1].upper() + note.remedy[1:]
            yield Unjudged(file, "", (), f"It cannot be read{place}. {note.why} {remedy}")
        else:
            yield Unjudged(file, _FILE, (), "It could not be read before, so what it changes is unknown.")


def _without_object(old: FolderObjects, new: FolderObjects) -> Iterator[Unjudged]:
    for file in sorted(old.without_object | new.without_object):
        if old.files.get(file) != new.files.get(file):
            why = (
                "It holds something that is not an object, such as a chart's values. Other tools may generate "
                "objects from it."
            )
            yield Unjudged(file, _FILE, (), why)


def _other_files(before: Files, after: Files) -> Iterator[Unjudged]:
    for file in sorted({*before.others, *after.others}):
        if before.others.get(file) != after.others.get(file):
            why = "It is a link, a submodule, a template or a properties file, which this command does not read."
            yield Unjudged(file, _FILE, (), why)


def _of_change(
    change: IdentifiedChange,
    unclear: Mapping[Identity, str],
    judged: Mapping[Identity, str],
    with_effects: Collection[str],
    workers: Sequence[FolderWorkers],
    namespace: str | None,
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fields of a changed object that are not judged, by the reason."""
    if change.identity in unclear:
        yield change.paths, unclear[change.identity]
    elif change.identity in judged:
        paths = [path for path in change.paths if path != "metadata.namespace" or namespace is None]
        reasons: dict[str, list[str]] = {}
        for path, why in _fields_without_rule(change):
            if path in paths:
                reasons.setdefault(why, []).append(path)
        yield from ((tuple(unjudged), why) for why, unjudged in reasons.items())
        explained = {path for unjudged in reasons.values() for path in unjudged}
        if judged[change.identity] not in with_effects and (not change.paths or set(paths) - explained):
            yield tuple(paths), "The rules of this command derive no effect from this change, but it may have one."
    elif change.kind == "ConfigMap":
        yield from _config_map(change, workers)
    elif not is_beside(change.identity):
        yield change.paths, _why_beside(change.identity)


def _fields_without_rule(change: IdentifiedChange) -> Iterator[tuple[str, str]]:
    """Yield the fields of a replicating object from which no effect is derived, and why."""
    for field in change.shown.fields:
        if change.version == "v1" and _NOT_IN_V1.fullmatch(field.path) and field.after is not None:
            yield field.path, "The API `v1` has no such field: the API server refuses it or removes it."
            continue
        requested = REQUESTS.fullmatch(field.path) is not None and field.after is not None
        if not requested and not _JUDGED[change.kind].fullmatch(field.path):
            no_rule = "This command has no rule for this field."
            yield field.path, next((why for path, why in _WHY_NOT if path.fullmatch(field.path)), no_rule)


def _config_map(change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> Iterator[tuple[tuple[str, ...], str]]:
    unread = tuple(field.path for field in change.shown.fields if not connectors_reading(field, change, workers))
    if unread or not change.paths:
        why = "No connector's configuration reads it, but workers may read it for metrics or logging."
        if change.shown.change is not ChangeKind.CHANGED:
            why = "Connectors and workers may read it."
        yield unread, why


def _why_beside(identity: Identity) -> str:
    if identity[0] in _KUSTOMIZATIONS:
        return "What `kustomize build` makes of the folder is not judged. Review its output."
    return _WHY_BESIDE.get(kind_of(identity), "This command does not know what objects of this kind do.")


def is_beside(identity: Identity) -> bool:
    """Return whether no connector or worker depends on objects of this kind."""
    return identity[0] in _BESIDE or identity[0].rpartition("/")[0] in _GROUPS_BESIDE


def unjudged_before(
    old: FolderObjects, new: FolderObjects, unclear: Mapping[Identity, str], changed: Collection[Identity]
) -> Iterator[Unjudged]:
    """Yield what was not judged before and has not changed."""
    for file in sorted(new.unreadable):
        if old.files.get(file) == new.files.get(file):
            yield Unjudged(file, "", (), f"It cannot be read. {new.unreadable[file].why}")
    for identity, copies in new.objects.items():
        if identity in changed:
            continue
        if identity in unclear:
            yield Unjudged(copies[0].file, label_of(identity), (), unclear[identity])
        elif identity[0] in _KUSTOMIZATIONS:
            why = "It changes the objects that it lists; the output of `kustomize build` is not judged."
            for copy in copies:
                if copy.body.keys() - _JUST_LISTS:
                    yield Unjudged(copy.file, label_of(identity), (), why)
