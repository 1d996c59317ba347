"""Reads files, folders and standard input as Kubernetes objects, without what the cluster adds to them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.contract.problems import CannotRunError
from components.flows.operators import CLUSTER_LABEL, REPLICATING_KINDS, USES_CONNECTOR_RESOURCES
from components.render.planned_objects import Manifest
from components.topology.clusters import is_subdomain
from infra.onboard.importing.documents import (
    PropertiesFile,
    RestConnector,
    documents_of,
    has_workers,
    is_dedicated,
    properties_file,
    rest_connectors,
    without_config,
)
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.strimzi_fields import missing, without_removed, without_wrong_forms
from infra.stack.yaml_files import shown

_PROPERTIES = ".properties"
_ENDINGS = frozenset({".yaml", ".yml", ".json", _PROPERTIES})
#: Kinds that are read to resolve what others refer to.
_HELPING = frozenset({"ConfigMap"})
_TAKEN = frozenset(REPLICATING_KINDS)
_VERSIONS = frozenset({"kafka.strimzi.io/v1", "kafka.strimzi.io/v1beta2"})
#: Kinds that stay as they are -> why.
_STAYING = {
    "Secret": "A Secret stays where it is, and its values are not read.",
    "Role": "The rendering has its own Role, with exactly what the connectors read.",
    "RoleBinding": "The rendering has its own RoleBinding.",
    "Namespace": "The namespace exists, so the topology does not create it.",
}
_MIRROR_MAKER_1 = (
    "It is MirrorMaker 1, which Strimzi removed in 0.46. It keeps its position in a consumer group, which no connector "
    "of MirrorMaker 2 reads."
)


@dataclass(frozen=True)
class ReadObject:
    """A Kubernetes object, the file that it was read from, and whether that file names its namespace."""

    file: str
    body: Manifest

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def spec(self) -> Manifest:
        given = self.body.get("spec")
        return dict(given) if isinstance(given, Mapping) else {}

    @property
    def label(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    def left_out(self, where: str, code: str, why: str, remedy: str) -> LeftOut:
        return LeftOut(self.file, self.label, where, code, why, remedy)


@dataclass
class ReadInput:
    """Everything that was read; `first` has the first copy of each object by its label."""

    objects: list[ReadObject] = field(default_factory=list)
    dedicated: list[PropertiesFile] = field(default_factory=list)
    workers: list[PropertiesFile] = field(default_factory=list)
    rest: list[RestConnector] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    first: dict[str, ReadObject] = field(default_factory=dict)

    def of(self, kind: str) -> list[ReadObject]:
        return [read for read in self.objects if read.kind == kind]


def read_objects(sources: Sequence[str], namespace: str) -> ReadInput:
    """Read files, folders and `-`; `namespace` is the default. Raises CannotRunError if nothing replicates."""
    found = ReadInput()
    for file, content in _contents(sources):
        _take_file(file, content, namespace, found)
    _require_any(found, ", ".join(sources))
    return found


def read_documents(where: str, documents: Iterable[object]) -> ReadInput:
    """Read objects of a cluster that `where` names. Raises CannotRunError if none of them is a MirrorMaker."""
    found = ReadInput()
    for document in documents:
        _take(document, where, "default", found)
    _require_any(found, where)
    return found


def read_parsed(documents: Iterable[tuple[str, object]], namespace: str) -> ReadInput:
    """Read parsed documents, each with its file; there may be no MirrorMaker among them."""
    found = ReadInput()
    for file, document in documents:
        _take(document, file, namespace, found)
    return found


def _require_any(found: ReadInput, where: str) -> None:
    if not (found.dedicated or found.rest or found.of("KafkaConnector") or found.of("KafkaMirrorMaker2")):
        raise CannotRunError(
            "nothing-to-import",
            "no KafkaMirrorMaker2, no mirror connector and no `mm2.properties` was found",
            where,
            "".join(f"{note}\n" for note in found.left_out) or "Nothing that was read describes a replication.",
            "name the files, or pipe `kubectl get kafkamirrormaker2,kafkaconnect,kafkaconnector,configmap -A -o yaml` "
            "into `replicate import -`.",
        )


def _take_file(file: str, content: bytes, namespace: str, found: ReadInput) -> None:
    named = file.endswith(_PROPERTIES)
    if is_dedicated(content) and (named or b"apiVersion:" not in content):
        found.dedicated += properties_file(file, content, namespace, found.left_out)
    elif named and has_workers(content):
        found.workers += properties_file(file, content, namespace, found.left_out)
    elif named and not _is_text(content):
        remedy = "save it as UTF-8, or name other files."
        found.left_out.append(LeftOut(file, "", "", "no-object", "It is not text in UTF-8.", remedy))
    elif named:
        why = "It has neither the `clusters` of a dedicated MirrorMaker nor the `group.id` of Connect's workers."
        found.left_out.append(LeftOut(file, "", "", "no-object", why, "name other files."))
    else:
        for document in documents_of(file, content, found.left_out):
            _take(document, file, namespace, found)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _contents(sources: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for source in sources:
        path = Path(source)
        if source == "-":
            yield "standard input", sys.stdin.buffer.read()
        elif path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS and file.is_file())
            for file in files:
                yield shown(file), file.read_bytes()
        elif path.exists():
            yield shown(path), path.read_bytes()
        else:
            raise CannotRunError(
                "no-such-file", "there is no such file or folder", source, "Nothing can be read.", "name another."
            )


def _take(document: object, file: str, namespace: str, found: ReadInput) -> None:
    if document is None:
        return
    connectors, lacking = rest_connectors(document, file, namespace), without_config(document, file)
    if connectors or lacking:
        found.rest += connectors
        found.left_out += lacking
        return
    if not isinstance(document, Mapping) or "kind" not in document:
        why = "It has no `kind`, so it is not a Kubernetes object."
        found.left_out.append(LeftOut(file, "a document", "", "no-object", why, "name other files."))
    elif (items := _items(document)) is not None:
        for item in items:
            _take(item, file, namespace, found)
    else:
        _take_object(document, file, namespace, found)


def objects_in(document: object) -> Iterator[object]:
    """Yield a document, or the items of a list of Kubernetes objects."""
    items = _items(document)
    if items is None:
        yield document
    else:
        for item in items:
            yield from objects_in(item)


def _items(document: object) -> Sequence[object] | None:
    if not isinstance(document, Mapping) or not str(document.get("kind", "")).endswith("List"):
        return None
    items = document.get("items")
    return items if isinstance(items, Sequence) and not isinstance(items, str) else None


def _take_object(document: Mapping[str, Any], file: str, namespace: str, found: ReadInput) -> None:
    kind = str(document["kind"])
    metadata = document.get("metadata")
    given = dict(metadata) if isinstance(metadata, Mapping) else {}
    name = str(given.get("name", ""))
    where = given.get("namespace") or (namespace if kind in _TAKEN | _HELPING else "")
    label = f"{kind} {where}/{name}" if where else f"{kind} {name}"
    if kind == "KafkaMirrorMaker":
        remedy = "declare a flow with `policy: identity`, and choose where it starts with `startFrom`."
        found.left_out.append(LeftOut(file, label, "", "mirror-maker-1", _MIRROR_MAKER_1, remedy))
        return
    if kind not in _TAKEN | _HELPING:
        why = _STAYING.get(kind, "It is not part of a replication.")
        found.left_out.append(LeftOut(file, label, "", "stays-as-it-is", why, "leave it as it is."))
        return
    version = str(document.get("apiVersion", ""))
    if kind in _TAKEN and version not in _VERSIONS:
        why = f"Its `apiVersion` is `{version}`. Operators since Strimzi 0.45 serve `v1beta2` and `v1`."
        remedy = "convert it with Strimzi's `api-conversion` tool, then import it again."
        found.left_out.append(LeftOut(file, label, "apiVersion", "version-not-served", why, remedy))
        return
    if not name:
        why = "It has no `metadata.name`; with `generateName` its name is known only in the cluster."
        remedy = "import it from the cluster."
        found.left_out.append(LeftOut(file, label, "metadata", "without-name", why, remedy))
        return
    if not is_subdomain(name):
        why = f"Kubernetes accepts no object with the name `{name}`."
        remedy = "correct it; if it is a template, print it first with `helm template` or `kustomize build`."
        found.left_out.append(LeftOut(file, label, "metadata.name", "not-a-name", why, remedy))
        return

    def report(path: str, form: str) -> None:
        why = f"It is not {form}, as Strimzi requires; the API server would refuse the object."
        found.left_out.append(LeftOut(file, label, path, "wrong-form", why, f"make it {form}."))

    metadata_read = {key: given[key] for key in ("name", "namespace", "labels", "annotations") if given.get(key)}
    body = {key: value for key, value in document.items() if key != "status"}
    body = without_wrong_forms({**body, "metadata": {"namespace": namespace, **metadata_read}}, report)
    if version == "kafka.strimzi.io/v1":
        body = without_removed(body, _reporting_removed(file, label, found))
    lacking = missing(kind, body.get("spec", {})) if kind in _TAKEN else None
    if {"name", "namespace"} - body["metadata"].keys():
        lacking = "metadata.name"
    if lacking is None:
        _keep(ReadObject(file, body), found)
    else:
        why = "Strimzi requires this field, so the operator would refuse the object."
        found.left_out.append(LeftOut(file, label, lacking, "field-missing", why, "complete the object."))


def _reporting_removed(file: str, label: str, found: ReadInput) -> Callable[[str], None]:
    def report(path: str) -> None:
        why = "The API `v1` does not have this field, so the API server removes it and the operator never sees it."
        found.left_out.append(LeftOut(file, label, path, "without-effect", why, "remove it."))

    return report


def _keep(read: ReadObject, found: ReadInput) -> None:
    """Keep each object only once: a second copy may have different content."""
    first = found.first.setdefault(read.label, read)
    if first is read:
        found.objects.append(read)
    elif first.body != read.body:
        why = f"{first.file} has the same object with different content, which the import takes instead."
        found.left_out.append(read.left_out("", "read-twice", why, "import only what runs."))


#: The properties that name a worker group, and the topics where it keeps its state.
GROUP = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")


_IN_OBJECT = "spec.", "config."


@dataclass(frozen=True)
class ReadProperties(ReadObject):
    """Workers or a connector with client properties; `origins` has the key of the file for each. `part` is the part of
    the file that they represent. The worker group stays only if `keeps_group`."""

    part: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    keeps_group: bool = False

    @property
    def label(self) -> str:
        return self.part

    def left_out(self, where: str, code: str, why: str, remedy: str) -> LeftOut:
        key = where
        for prefix in _IN_OBJECT:
            key = key.removeprefix(prefix)
        below = (origin for name, origin in self.origins.items() if name.startswith(f"{key}."))
        return LeftOut(self.file, self.part, self.origins.get(key) or next(below, key), code, why, remedy)


def read_workers(
    file: str, namespace: str, name: str, address: str, config: Mapping[str, str], **of_file: Any
) -> ReadProperties:
    """Return workers as the KafkaConnect that would run them; `of_file` are the fields of ReadProperties."""
    metadata = {"annotations": {USES_CONNECTOR_RESOURCES: "true"}}
    body = _body("KafkaConnect", namespace, name, metadata, {"bootstrapServers": address, "config": dict(config)})
    return ReadProperties(file, body, **of_file)


def read_connector(
    file: str, namespace: str, workers: str, name: str, spec: Mapping[str, Any], **of_file: Any
) -> ReadProperties:
    """Return a connector as its KafkaConnector on these workers would be, if that could have its name."""
    return ReadProperties(
        file,
        # Nothing restarts its failed tasks, but the project's default does no harm.
        _body("KafkaConnector", namespace, name, {"labels": {CLUSTER_LABEL: workers}}, {"autoRestart": {}, **spec}),
        **of_file,
    )


def _body(kind: str, namespace: str, name: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": dict(spec),
    }
