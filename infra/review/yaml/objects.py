"""Reads the objects of a folder at two times, compares them, and derives what they make Connect run. Pure.

Objects are judged as published: a changed text restarts a connector, while records and offsets depend on its meaning.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from kafka_replication.components.changes.deployment_state import (
    DeployedConnector,
    DeploymentState,
    deployment_state,
    worker_cluster,
)
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.flows.operators import REPLICATING_KINDS, STRIMZI_GROUP
from kafka_replication.components.kafka.connectors import ROLE_OF_CLASS
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.onboard.importing.documents import documents_of
from kafka_replication.infra.onboard.importing.effective import effective_state, objects_of
from kafka_replication.infra.onboard.importing.flows import Imported, role_of
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.reading import ReadInput, ReadObject, objects_in
from kafka_replication.infra.onboard.importing.topologies import kafka_of
from kafka_replication.infra.onboard.importing.values import ConfigMaps, Placeholders, config_map_data, may_be_secret
from kafka_replication.infra.onboard.importing.workers import group_names
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, ObjectChange, field_changes

#: Kinds whose objects are in the folder's own namespace if they name none.
_IN_NAMESPACE = frozenset({*REPLICATING_KINDS, "ConfigMap", "Secret"})
#: What an API server writes into an object, and copies of the whole object, including credentials.
_SERVERS_FIELDS = frozenset({"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN = "(not shown)"
_BELOW_CONFIG = re.compile(r"(?:^|\.)(?:config|data|loggers|labels|annotations)\.(.+)$")
#: Values of these lists may be anything.
_VARIABLES = re.compile(r"\.(env|javaSystemProperties)(\[[^]]*\])?(\..*)?$")


class ObjectId(NamedTuple):
    """API group and kind, namespace and name."""

    group_kind: str
    namespace: str
    name: str

    @property
    def kind(self) -> str:
        """Return the kind without its API group."""
        return self.group_kind.rpartition("/")[2]

    @property
    def label(self) -> str:
        return f"{self.kind} {'/'.join(filter(None, self[1:]))}"

    @property
    def replicates(self) -> bool:
        """Return whether the operator makes connectors and workers from the object."""
        return self.group_kind in {f"{STRIMZI_GROUP}/{kind}" for kind in REPLICATING_KINDS}


def id_of(read: ReadObject) -> ObjectId:
    """Return the identity of an object that an import read."""
    return ObjectId(_group_and_kind(read.body), read.namespace, read.name)


@dataclass(frozen=True)
class FileObject:
    """An object as a file holds it, without its status."""

    file: str
    id: ObjectId
    body: Manifest


@dataclass
class FolderObjects:
    """A folder at one time; `without_object` are files with other documents, such as a chart's values."""

    files: Mapping[str, bytes]
    objects: dict[ObjectId, list[FileObject]] = field(default_factory=dict)
    found: ReadInput = field(default_factory=ReadInput)
    unreadable: dict[str, LeftOut] = field(default_factory=dict)
    without_object: set[str] = field(default_factory=set)

    @cached_property
    def by_id(self) -> dict[ObjectId, ReadObject]:
        """Return the objects as an import reads them."""
        return {id_of(read): read for read in self.found.objects}

    def read(self, kind: str, unclear: Collection[ObjectId] = ()) -> dict[ObjectId, ReadObject]:
        """Return the objects of a kind, except `unclear` ones."""
        return {name: read for name, read in self.by_id.items() if read.kind == kind and name not in unclear}

    def left_out(self, identity: ObjectId) -> list[LeftOut]:
        """Return what an import leaves out of an object."""
        places = {(copy.file, identity.label) for copy in self.objects[identity]}
        return [left_out for left_out in self.found.left_out if (left_out.file, left_out.obj) in places]


def side_of(files: Mapping[str, bytes], namespace: str) -> FolderObjects:
    """Read the files of a folder; `namespace` is that of objects that name none."""
    side = FolderObjects(files, found=ReadInput(namespace=namespace))
    notes: list[LeftOut] = []
    for file in sorted(files):
        for document in documents_of(file, files[file], notes):
            for given in objects_in(document):
                if isinstance(given, Mapping) and isinstance(given.get("kind"), str):
                    in_file = _in_file(file, given, namespace)
                    side.objects.setdefault(in_file.id, []).append(in_file)
                    side.found.take(file, given)
                elif given is not None:
                    side.without_object.add(file)
    side.unreadable = {note.file: note for note in notes if note.code == "invalid-yaml"}
    side.found.left_out += [note for note in notes if note.code != "invalid-yaml"]
    return side


def _in_file(file: str, body: Mapping[str, Any], namespace: str) -> FileObject:
    given = body.get("metadata")
    fields = given.items() if isinstance(given, Mapping) else ()
    metadata = {key: value for key, value in fields if key not in _SERVERS_FIELDS}
    if isinstance(annotations := metadata.get("annotations"), Mapping):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
        if not metadata["annotations"]:
            del metadata["annotations"]
    content = {str(key): value for key, value in body.items() if key != "status"} | {"metadata": metadata}
    where = str(metadata.get("namespace") or (namespace if body["kind"] in _IN_NAMESPACE else ""))
    return FileObject(file, ObjectId(_group_and_kind(body), where, str(metadata.get("name") or "")), content)


def _group_and_kind(body: Mapping[str, Any]) -> str:
    group, slash, _ = str(body.get("apiVersion", "")).partition("/")
    return f"{group}/{body['kind']}" if slash else str(body["kind"])


@dataclass(frozen=True)
class IdentifiedChange:
    """Says what happens to an object of a file; `version` is that of its API, after the change if it exists then."""

    id: ObjectId
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
            copies = ([copy for copy in side if copy.file == file] for side in (old, new))
            for earlier, later in zip_longest(*copies):
                yield from _compared(earlier, later)


def _compared(before: FileObject | None, after: FileObject | None) -> Iterator[IdentifiedChange]:
    shown = after or before
    if shown is None or (before is not None and after is not None and before.body == after.body):
        return
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    differences = field_changes(before.body, after.body) if before is not None and after is not None else ()
    fields = tuple(_masked(leaf, shown) for difference in differences for leaf in _leaves(difference))
    namespace = shown.id.namespace or None
    change = ObjectChange(kind, shown.file, _role(shown), shown.id.kind, namespace, shown.id.name, fields)
    yield IdentifiedChange(shown.id, change, str(shown.body.get("apiVersion", "")).rpartition("/")[2])


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
    if shown.id.kind == "KafkaConnector":
        spec = shown.body.get("spec")
        given = str(spec.get("class")) if isinstance(spec, Mapping) else ""
        return f"{ROLE_OF_CLASS.get(given.rpartition('.')[2], 'other')} connector"
    return "workers" if shown.id.replicates else "beside"


def _masked(change: FieldChange, shown: FileObject) -> FieldChange:
    is_open = shown.id.replicates or shown.id.kind == "ConfigMap"
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


@dataclass(frozen=True)
class FolderWorkers:
    """Workers with the mirror connectors that run on them; `config_maps` are those of the folder."""

    name: str
    read: ReadObject
    connectors: tuple[ReadObject, ...]
    config_maps: ConfigMaps

    @property
    def objects(self) -> tuple[ReadObject, ...]:
        return self.read, *self.connectors


def workers_of_both(
    before: FolderObjects, after: FolderObjects, unclear: Collection[ObjectId]
) -> tuple[tuple[FolderWorkers, ...], tuple[FolderWorkers, ...]]:
    """Return the workers of both sides that can be judged; workers that are the same before and after share a name."""
    old, new = (
        {**side.read("KafkaMirrorMaker2", unclear), **side.read("KafkaConnect", unclear)} for side in (before, after)
    )
    old_names, new_names = _names(old, new)
    return _named(before, old, old_names, unclear), _named(after, new, new_names, unclear)


def _names(
    old: Mapping[ObjectId, ReadObject], new: Mapping[ObjectId, ReadObject]
) -> tuple[dict[ObjectId, str], dict[ObjectId, str]]:
    """Name the workers of each side; those of both sides are the same if identity, name or group is equal."""
    partner = {identity: identity for identity in new if identity in old}
    for alike in (
        lambda identity, _: (identity[0], identity[2]),
        lambda identity, read: (identity[0], group_names(read.kind, read.spec)["groupId"]),
    ):
        left = {alike(identity, read): identity for identity, read in old.items() if identity not in partner.values()}
        for identity, read in new.items():
            if identity not in partner and alike(identity, read) in left:
                partner[identity] = left.pop(alike(identity, read))
    apart = {*new, *(identity for identity in old if identity not in partner.values())}
    count = Counter(identity.name for identity in apart)

    def name(identity: ObjectId) -> str:
        return identity.name if count[identity.name] == 1 else identity.label

    renamed = {earlier: name(later) for later, earlier in partner.items()}
    return {identity: name(identity) for identity in old} | renamed, {identity: name(identity) for identity in new}


def _named(
    side: FolderObjects,
    workers: Mapping[ObjectId, ReadObject],
    names: Mapping[ObjectId, str],
    unclear: Collection[ObjectId],
) -> tuple[FolderWorkers, ...]:
    maps = config_map_data(read.body for read in side.read("ConfigMap", unclear).values())
    connectors = side.read("KafkaConnector", unclear).values()
    by_workers = grouped((("KafkaConnect", read.namespace, read.workers), read) for read in connectors)
    return tuple(
        FolderWorkers(names[identity], read, tuple(by_workers.get((read.kind, *identity[1:]), ())), maps)
        for identity, read in workers.items()
    )


def states_of_both(
    before: Sequence[FolderWorkers], after: Sequence[FolderWorkers]
) -> tuple[tuple[DeploymentState, ...], tuple[DeploymentState, ...]]:
    """Return what both sides run; flows are named after their workers, and after their source if there are several."""
    sides = [[_state(workers) for workers in side] for side in (before, after)]
    states = [state for side in sides for state in side]
    several = {state.name for state in states if len({connector.source_alias for connector in state.connectors}) > 1}

    def flow_of(state: DeploymentState, connector: DeployedConnector) -> str:
        return f"{state.name} from {connector.source_alias}" if state.name in several else state.name

    counts = [Counter((flow_of(state, one), one.role) for state in side for one in state.connectors) for side in sides]
    shared = {key for count in counts for key, number in count.items() if number > 1}

    def named(state: DeploymentState, connector: DeployedConnector) -> DeployedConnector:
        flow = flow_of(state, connector)
        part = connector.name if (flow, connector.role) in shared else connector.part
        return replace(connector, flow=flow, part=part)

    old, new = (
        tuple(replace(state, connectors=tuple(named(state, one) for one in state.connectors)) for state in side)
        for side in sides
    )
    return old, new


def _state(workers: FolderWorkers) -> DeploymentState:
    """Return what workers run. Objects restart when their text changes; effects depend on what the text means."""
    roles = Counter(role_of(connector) for connector in workers.connectors)
    parts = {connector.name: connector.name for connector in workers.connectors if roles[role_of(connector)] > 1}
    imported = Imported(workers.name, "", {}, {}, list(workers.objects), parts=parts)
    config = worker_cluster(workers.read.spec).get("config") or {}
    placeholders = Placeholders.of(workers.read.namespace, config, workers.config_maps)
    objects = objects_of(imported, placeholders)
    written = deployment_state(workers.name, objects)
    meant = effective_state(workers.name, objects, placeholders, str(kafka_of(workers.read, None)))
    (own,), (effective,) = written.workers, meant.workers
    # Naming the group and topics that they have anyway restarts no workers; only Pulumi's provider cares about that.
    named = {key: value for key, value in effective.pods.items() if key.endswith("StorageTopic")}
    group = replace(
        own,
        group=effective.group,
        offsets_topic=effective.offsets_topic,
        replicas=effective.replicas,
        pods={**own.pods, **named},
        names_group=True,
    )
    connectors = tuple(
        replace(connector, submitted=text.submitted, workers=group)
        for text, connector in zip(written.connectors, meant.connectors, strict=True)
    )
    return replace(meant, workers=(group,), connectors=connectors)
