"""The objects of a folder at one time: as its files hold them, and as an import reads them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from components.flows.operators import REPLICATING_KINDS, STRIMZI_GROUP
from components.render.planned_objects import Manifest
from infra.onboard.importing.documents import documents_of
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.reading import Found, ReadObject, read_parsed

#: Kinds whose objects are in the folder's own namespace if they name none.
_IN_NAMESPACE = frozenset({*REPLICATING_KINDS, "ConfigMap", "Secret"})
#: What an API server writes into an object, and copies of the whole object, including credentials.
_SERVERS_FIELDS = frozenset({"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

#: API group and kind, namespace and name.
Identity = tuple[str, str, str]


@dataclass(frozen=True)
class Published:
    """An object as a file holds it, without its status."""

    file: str
    identity: Identity
    body: Manifest

    @property
    def kind(self) -> str:
        return self.identity[0].rpartition("/")[2]

    @property
    def replicates(self) -> bool:
        return self.identity[0] in {f"{STRIMZI_GROUP}/{kind}" for kind in REPLICATING_KINDS}

    @property
    def label(self) -> str:
        return label_of(self.identity)


def label_of(identity: Identity) -> str:
    """An object by kind, namespace and name."""
    kind, namespace, name = identity
    return f"{kind.rpartition('/')[2]} {'/'.join(filter(None, (namespace, name)))}"


@dataclass
class Side:
    """A folder at one time.

    `unreadable` says why a file was not read. `without_object` are files with documents that are not Kubernetes
    objects, such as a chart's values.
    """

    files: Mapping[str, bytes]
    objects: dict[Identity, list[Published]] = field(default_factory=dict)
    found: Found = field(default_factory=Found)
    unreadable: dict[str, LeftOut] = field(default_factory=dict)
    without_object: set[str] = field(default_factory=set)

    def read(self, kind: str) -> Mapping[Identity, ReadObject]:
        """Objects of a kind as an import reads them."""
        return self._read.get(kind, {})

    @cached_property
    def _read(self) -> dict[str, dict[Identity, ReadObject]]:
        found: dict[str, dict[Identity, ReadObject]] = {}
        for each in self.found.objects:
            found.setdefault(each.kind, {})[identity_of(each)] = each
        return found

    @cached_property
    def said(self) -> Mapping[tuple[str, str], list[LeftOut]]:
        """What an import leaves out, by file and object."""
        found: dict[tuple[str, str], list[LeftOut]] = {}
        for each in self.found.left_out:
            found.setdefault((each.file, each.obj), []).append(each)
        return found


def identity_of(read: ReadObject) -> Identity:
    """The identity of an object that an import read."""
    return _group_and_kind(read.body), read.namespace, read.name


def side_of(files: Mapping[str, bytes], namespace: str) -> Side:
    """Read the files of a folder; `namespace` is that of objects that name none."""
    side = Side(files)
    parsed: list[tuple[str, Mapping[str, Any]]] = []
    notes: list[LeftOut] = []
    for file in sorted(files):
        said: list[LeftOut] = []
        documents = list(documents_of(file, files[file], said))
        for note in said:
            if note.code == "invalid-yaml":
                side.unreadable[file] = note
            else:
                notes.append(note)
        for document in documents:
            for each in _objects(document):
                if isinstance(each, Mapping) and isinstance(each.get("kind"), str):
                    parsed.append((file, each))
                elif each is not None:
                    side.without_object.add(file)
    for file, body in parsed:
        published = _published(file, body, namespace)
        side.objects.setdefault(published.identity, []).append(published)
    side.found = read_parsed(parsed, namespace)
    side.found.left_out += notes
    return side


def _objects(document: object) -> Iterator[object]:
    """A document, or the items of a list."""
    if isinstance(document, Mapping) and str(document.get("kind", "")).endswith("List"):
        items = document.get("items")
        if isinstance(items, Sequence) and not isinstance(items, str):
            for each in items:
                yield from _objects(each)
            return
    yield document


def _published(file: str, body: Mapping[str, Any], namespace: str) -> Published:
    given = body.get("metadata")
    metadata = dict(given) if isinstance(given, Mapping) else {}
    metadata = {key: value for key, value in metadata.items() if key not in _SERVERS_FIELDS}
    if isinstance(marks := metadata.get("annotations"), Mapping):
        metadata["annotations"] = {key: value for key, value in marks.items() if key != _LAST_APPLIED}
        if not metadata["annotations"]:
            del metadata["annotations"]
    kept = {str(key): value for key, value in body.items() if key != "status"} | {"metadata": metadata}
    where = str(metadata.get("namespace") or (namespace if body["kind"] in _IN_NAMESPACE else ""))
    return Published(file, (_group_and_kind(body), where, str(metadata.get("name") or "")), kept)


def _group_and_kind(body: Mapping[str, Any]) -> str:
    group, slash, _ = str(body.get("apiVersion", "")).partition("/")
    return f"{group}/{body['kind']}" if slash else str(body["kind"])
