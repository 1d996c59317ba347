"""Reads the objects of a folder at two times, as its files hold them and as an import sees them, and compares them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from components.flows.operators import REPLICATING_KINDS, STRIMZI_GROUP
from components.kafka.connectors import ROLE_OF_CLASS
from components.render.planned_objects import Manifest
from infra.onboard.importing.documents import documents_of
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.reading import ReadInput, ReadObject, objects_in
from infra.onboard.importing.values import may_be_secret
from infra.review.object_changes import ChangeKind, FieldChange, ObjectChange, field_changes

#: Kinds whose objects are in the folder's own namespace if they name none.
_IN_NAMESPACE = frozenset({*REPLICATING_KINDS, "ConfigMap", "Secret"})
#: What an API server writes into an object, and copies of the whole object, including credentials.
_SERVERS_FIELDS = frozenset({"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN = "(not shown)"
_BELOW_CONFIG = re.compile(r"(?:^|\.)(?:config|data|loggers|labels|annotations)\.(.+)$")
#: Values of these lists may be anything.
_VARIABLES = re.compile(r"\.(env|javaSystemProperties)(\[[^]]*\])?(\..*)?$")

#: API group and kind, namespace and name.
Identity = tuple[str, str, str]


def kind_of(identity: Identity) -> str:
    """Return the kind without its API group."""
    return identity[0].rpartition("/")[2]


def label_of(identity: Identity) -> str:
    """Return an object by kind, namespace and name."""
    return f"{kind_of(identity)} {'/'.join(filter(None, identity[1:]))}"


def replicates(identity: Identity) -> bool:
    """Return whether an object is one of those from which the operator makes connectors and workers."""
    return identity[0] in {f"{STRIMZI_GROUP}/{kind}" for kind in REPLICATING_KINDS}


@dataclass(frozen=True)
class FileObject:
    """An object as a file holds it, without its status."""

    file: str
    identity: Identity
    body: Manifest


@dataclass
class FolderObjects:
    """A folder at one time; `without_object` are files with other documents, such as a chart's values."""

    files: Mapping[str, bytes]
    objects: dict[Identity, list[FileObject]] = field(default_factory=dict)
    found: ReadInput = field(default_factory=ReadInput)
    unreadable: dict[str, LeftOut] = field(default_factory=dict)
    without_object: set[str] = field(default_factory=set)

    def read(self, kind: str) -> Mapping[Identity, ReadObject]:
        """Return objects of a kind as an import reads them."""
        return self._read.get(kind, {})

    @cached_property
    def _read(self) -> dict[str, dict[Identity, ReadObject]]:
        by_kind: dict[str, dict[Identity, ReadObject]] = {}
        for read in self.found.objects:
            by_kind.setdefault(read.kind, {})[identity_of(read)] = read
        return by_kind

    def left_out(self, identity: Identity) -> list[LeftOut]:
        """Return what an import leaves out of an object."""
        places = {(copy.file, label_of(identity)) for copy in self.objects[identity]}
        return [left_out for left_out in self.found.left_out if (left_out.file, left_out.obj) in places]


def identity_of(read: ReadObject) -> Identity:
    """Return the identity of an object that an import read."""
    return _group_and_kind(read.body), read.namespace, read.name


def side_of(files: Mapping[str, bytes], namespace: str) -> FolderObjects:
    """Read the files of a folder; `namespace` is that of objects that name none."""
    side = FolderObjects(files, found=ReadInput(namespace=namespace))
    parsed: list[tuple[str, Mapping[str, Any]]] = []
    notes: list[LeftOut] = []
    for file in sorted(files):
        noted: list[LeftOut] = []
        for document in documents_of(file, files[file], noted):
            for given in objects_in(document):
                if isinstance(given, Mapping) and isinstance(given.get("kind"), str):
                    parsed.append((file, given))
                elif given is not None:
                    side.without_object.add(file)
        for note in noted:
            if note.code == "invalid-yaml":
                side.unreadable[file] = note
            else:
                notes.append(note)
    for file, body in parsed:
        in_file = _in_file(file, body, namespace)
        side.objects.setdefault(in_file.identity, []).append(in_file)
        side.found.take(file, body)
    side.found.left_out += notes
    return side


def _in_file(file: str, body: Mapping[str, Any], namespace: str) -> FileObject:
    given = body.get("metadata")
    metadata = dict(given) if isinstance(given, Mapping) else {}
    metadata = {key: value for key, value in metadata.items() if key not in _SERVERS_FIELDS}
    if isinstance(annotations := metadata.get("annotations"), Mapping):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
        if not metadata["annotations"]:
            del metadata["annotations"]
    content = {str(key): value for key, value in body.items() if key != "status"} | {"metadata": metadata}
    where = str(metadata.get("namespace") or (namespace if body["kind"] in _IN_NAMESPACE else ""))
    return FileObject(file, (_group_and_kind(body), where, str(metadata.get("name") or "")), content)


def _group_and_kind(body: Mapping[str, Any]) -> str:
    group, slash, _ = str(body.get("apiVersion", "")).partition("/")
    return f"{group}/{body['kind']}" if slash else str(body["kind"])


@dataclass(frozen=True)
class IdentifiedChange:
    """Says what happens to an object of a file; `version` is that of its API, after the change if it exists then."""

    identity: Identity
    shown: ObjectChange
    version: str

    @property
    def kind(self) -> str:
        return self.shown.kind

    @property
    def file(self) -> str:
        return self.shown.deployment

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(field.path for field in self.shown.fields)


def changed_objects(before: FolderObjects, after: FolderObjects) -> Iterator[IdentifiedChange]:
    """Yield each object that differs, by identity; each copy of one with several copies."""
    for identity in {**after.objects, **before.objects}:
        old, new = (side.objects.get(identity, []) for side in (before, after))
        if len(old) <= 1 and len(new) <= 1:
            yield from _compared(old[0] if old else None, new[0] if new else None)
            continue
        for file in dict.fromkeys(copy.file for copy in (*new, *old)):
            earlier, later = ([copy for copy in side if copy.file == file] for side in (old, new))
            for index in range(max(len(earlier), len(later))):
                yield from _compared(*(side[index] if index < len(side) else None for side in (earlier, later)))


def _compared(before: FileObject | None, after: FileObject | None) -> Iterator[IdentifiedChange]:
    shown = after or before
    if shown is None or (before is not None and after is not None and before.body == after.body):
        return
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    fields: tuple[FieldChange, ...] = ()
    if before is not None and after is not None:
        differences = field_changes(before.body, after.body)
        fields = tuple(_masked(leaf, shown) for difference in differences for leaf in _leaves(difference))
    _, namespace, name = shown.identity
    change = ObjectChange(kind, shown.file, _role(shown), kind_of(shown.identity), namespace or None, name, fields)
    yield IdentifiedChange(shown.identity, change, str(shown.body.get("apiVersion", "")).rpartition("/")[2])


def _leaves(change: FieldChange) -> Iterator[FieldChange]:
    """Yield the fields of a mapping that only one side has."""
    given = change.before if change.after is None else change.after if change.before is None else None
    if not isinstance(given, Mapping) or not given:
        yield change
        return
    for key, value in given.items():
        before, after = (value, None) if change.after is None else (None, value)
        yield from _leaves(FieldChange(f"{change.path}.{key}", before, after))


def _role(shown: FileObject) -> str:
    if kind_of(shown.identity) == "KafkaConnector":
        spec = shown.body.get("spec")
        given = str(spec.get("class")) if isinstance(spec, Mapping) else ""
        return f"{ROLE_OF_CLASS.get(given.rpartition('.')[2], 'other')} connector"
    return "workers" if replicates(shown.identity) else "beside"


def _masked(change: FieldChange, shown: FileObject) -> FieldChange:
    is_open = replicates(shown.identity) or kind_of(shown.identity) == "ConfigMap"
    before, after = (
        None if value is None else _safe(change.path, value) if is_open else _HIDDEN
        for value in (change.before, change.after)
    )
    return replace(change, before=before, after=after)


def _safe(path: str, value: Any) -> Any:
    """Return a value without what may be a credential."""
    if isinstance(value, Mapping):
        return {key: _safe(f"{path}.{key}", below) for key, below in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_safe(path, entry) for entry in value]
    if value is None:
        return None
    below_config = _BELOW_CONFIG.search(path)
    key = below_config[1] if below_config else path
    # A text of several lines may be a file with arbitrary content.
    hidden = _VARIABLES.search(path) or "\n" in str(value) or may_be_secret(key, value)
    return _HIDDEN if hidden else value
