"""Reads files, folders and standard input as Kubernetes objects, without what the cluster adds to them."""

import codecs
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.components.flows.operators import (
    CLUSTER_LABEL,
    REPLICATING_KINDS,
    STRIMZI_GROUP,
    USES_CONNECTOR_RESOURCES,
)
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.clusters import is_subdomain
from kafka_replication.infra.onboard.importing.documents import (
    COMPLETE,
    OF_CONNECTOR,
    OF_DEDICATED,
    OF_DEDICATED_AFTER_BLANK,
    OF_WORKERS,
    PropertiesFile,
    RestConnector,
    documents_of,
    properties_of,
    rest_connectors,
    template_note,
)
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.strimzi_fields import in_form, missing
from kafka_replication.infra.stack.yaml_files import shown

_PROPERTIES = ".properties"
#: Bytes of the largest file of a folder that may be properties under another ending.
_LARGEST_PROPERTIES = 1 << 17
_ENDINGS = frozenset({".yaml", ".yml", ".json", _PROPERTIES})
_TAKEN = frozenset(REPLICATING_KINDS)
#: Kinds that are read: those that replicate, and what they refer to.
_READ = _TAKEN | {"ConfigMap"}
_VERSIONS = frozenset({"kafka.strimzi.io/v1", "kafka.strimzi.io/v1beta2"})
#: Kinds that stay as they are -> why.
_STAYING = {
    "Secret": "A Secret stays where it is, and its values are not read.",
    "Role": "The rendering has its own Role, with exactly what the connectors read.",
    "RoleBinding": "The rendering has its own RoleBinding.",
    "Namespace": "The namespace exists, so the topology does not create it.",
}
_FROM_ELSEWHERE = "It makes objects that are not in it."
_PRINT_OR_READ = "import these objects, from the cluster or as `{}` prints them."
_OF_CONFLUENT = "Confluent's operator runs it. This command reads objects of Strimzi's group `kafka.strimzi.io` only."
#: Group and kind of objects that stay as they are, though a replication may come from them -> why, and the remedy.
_INDIRECT = {
    "argoproj.io/Application": (_FROM_ELSEWHERE, _PRINT_OR_READ.format("helm template")),
    "helm.toolkit.fluxcd.io/HelmRelease": (_FROM_ELSEWHERE, _PRINT_OR_READ.format("helm template")),
    "kustomize.toolkit.fluxcd.io/Kustomization": (_FROM_ELSEWHERE, _PRINT_OR_READ.format("kustomize build")),
    "template.openshift.io/Template": ("Its objects have placeholders.", _PRINT_OR_READ.format("oc process")),
    "/Template": ("Its objects have placeholders.", _PRINT_OR_READ.format("oc process")),
    "platform.confluent.io/Connector": (_OF_CONFLUENT, COMPLETE),
    "platform.confluent.io/Connect": (_OF_CONFLUENT, COMPLETE),
}
_MIRROR_MAKER_1 = (
    "It is MirrorMaker 1, which Strimzi removed in 0.46. It keeps its position in a consumer group, which no connector "
    "of MirrorMaker 2 reads."
)


@dataclass(frozen=True)
class ReadObject:
    """A Kubernetes object, and the file that it was read from."""

    file: str
    body: Manifest

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def api(self) -> str:
        """Return the version of the object's API, such as `v1`."""
        return str(self.body["apiVersion"]).rpartition("/")[2]

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def annotations(self) -> Mapping[str, Any]:
        return self.body["metadata"].get("annotations") or {}

    @property
    def workers(self) -> str:
        """Return the name of the KafkaConnect that runs a connector; "" if it names none."""
        return str((self.body["metadata"].get("labels") or {}).get(CLUSTER_LABEL, ""))

    @property
    def spec(self) -> Manifest:
        given = self.body.get("spec")
        return dict(given) if isinstance(given, Mapping) else {}

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.spec.get("config") or {})

    @property
    def label(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    def left_out(self, where: str, code: str, why: str, remedy: str) -> LeftOut:
        return LeftOut(self.file, self.label, where, code, why, remedy)


@dataclass(frozen=True)
class Notes:
    """Collects in `taken` what an import leaves out of an object, or of the part of it at `path`."""

    read: ReadObject
    taken: list[LeftOut]
    path: str = ""

    def __call__(self, field: str, code: str, why: str, remedy: str) -> None:
        """Note that a field is left out."""
        self.taken.append(self.read.left_out(self.where(field), code, why, remedy))

    def credential(self, field: str) -> None:
        """Note that a property is left out because it holds a credential in plain text."""
        why = "It holds a credential in plain text, which is not written."
        remedy = "put it into a Secret, and set the property to `${secret:NAME:KEY}`."
        self(field, "plain-text-credential", why, remedy)

    def unknown(self, field: str) -> None:
        """Note that a field is left out because the topology has none for it."""
        self(field, "field-not-known", "The topology has no such key.", "remove it, or keep this object as it is.")

    def refused(self, field: str, problem: Problem) -> None:
        """Note that a field is left out because a check of the topology would refuse it."""
        self(field, problem.code, problem.why, problem.remedy)

    def where(self, field: str) -> str:
        return ".".join(filter(None, (self.path, field)))

    def below(self, path: str) -> "Notes":
        """Return the notes on a part of this part."""
        return replace(self, path=self.where(path))


@dataclass
class ReadInput:
    """Everything that was read. `namespace` is that of objects that name none, and `first` the first copy of each."""

    objects: list[ReadObject] = field(default_factory=list)
    dedicated: list[PropertiesFile] = field(default_factory=list)
    workers: list[PropertiesFile] = field(default_factory=list)
    rest: list[tuple[str, RestConnector]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    first: dict[str, ReadObject] = field(default_factory=dict)
    namespace: str = "default"

    def of(self, kind: str) -> list[ReadObject]:
        return [read for read in self.objects if read.kind == kind]

    def take_file(self, file: str, content: bytes) -> None:
        """Read a file: YAML, JSON or Java properties."""
        named = file.endswith(_PROPERTIES)
        if named and content.startswith(codecs.BOM_UTF8):
            content = content.removeprefix(codecs.BOM_UTF8)
            why = "It begins with a byte order mark, which Java reads as part of the first line: its key is not found."
            self._leave(file, "", "line 1", "invalid-properties", why, "save it as UTF-8 without a byte order mark.")
        after_blank = named and OF_DEDICATED_AFTER_BLANK.search(content) is not None
        dedicated = after_blank or (
            OF_DEDICATED.search(content) is not None and (named or b"apiVersion:" not in content)
        )
        if named and OF_CONNECTOR.search(content) is not None:
            self.take(file, properties_of(file, content, self.left_out))
        elif dedicated or (named and OF_WORKERS.search(content) is not None):
            if (properties := properties_of(file, content, self.left_out)) is not None:
                files = self.dedicated if dedicated else self.workers
                files.append(PropertiesFile(file, self.namespace, properties))
        elif named and not _is_text(content):
            remedy = "save it as UTF-8, or name other files."
            self._leave(file, "", "", "no-object", "It is not text in UTF-8.", remedy)
        elif named and b"offset.storage.file.filename" in content:
            why = "A standalone worker keeps offsets in a file, so the connectors would copy every record again."
            remedy = (
                "set `connectors.source.state: stopped` before you deploy it, stop the worker, and give the offsets to "
                "`replicate offsets STACK FLOW set FILE`; then start the connector."
            )
            self._leave(file, "", "offset.storage.file.filename", "offsets-not-carried", why, remedy)
        elif named:
            why = "It has neither the `clusters` of a dedicated MirrorMaker nor the `group.id` of Connect's workers."
            self._leave(file, "", "", "no-object", *(template_note(content.decode()) or (why, "name other files.")))
        else:
            for document in documents_of(file, content, self.left_out):
                self.take(file, document)

    def take(self, file: str, document: object) -> None:
        """Read a document: Kubernetes objects, or an answer of Connect's REST API."""
        reported = list(rest_connectors(document))
        for connector in reported:
            if not connector.config:
                why = "The answer has its status, but not its configuration."
                self._leave(file, f"connector {connector.name}", "", "config-not-said", why, COMPLETE)
            else:
                self.rest.append((file, connector))
        if reported or document is None:
            return
        if isinstance(document, list) and document and all(isinstance(entry, str) for entry in document):
            self._leave(file, "", "", "config-not-said", "It lists only the names of connectors.", COMPLETE)
            return
        for given in objects_in(document):
            if isinstance(given, Mapping) and "kind" in given:
                self._take_object(file, given)
            elif given is not None:
                text = given if isinstance(given, str) else ""
                why = f"It {'is text' if text else 'has no `kind`'}, so it is not a Kubernetes object."
                note = template_note(text) or (why, "name other files.")
                self._leave(file, "a document", "", "no-object", *note)

    def _leave(self, file: str, obj: str, field: str, code: str, why: str, remedy: str) -> None:
        self.left_out.append(LeftOut(file, obj, field, code, why, remedy))

    def _take_object(self, file: str, document: Mapping[str, Any]) -> None:
        kind, version = str(document["kind"]), str(document.get("apiVersion", ""))
        metadata = document.get("metadata")
        given = dict(metadata) if isinstance(metadata, Mapping) else {}
        name = str(given.get("name", ""))
        where = given.get("namespace") or (self.namespace if kind in _READ else "")
        label = f"{kind} {where}/{name}" if where else f"{kind} {name}"

        def leave(path: str, code: str, why: str, remedy: str) -> None:
            self._leave(file, label, path, code, why, remedy)

        if kind == "KafkaMirrorMaker":
            remedy = "declare a flow with `policy: identity`, and choose where it starts with `startFrom`."
            leave("", "mirror-maker-1", _MIRROR_MAKER_1, remedy)
        elif kind not in _READ:
            own = _STAYING.get(kind, "It is not part of a replication."), "leave it as it is."
            leave("", "stays-as-it-is", *_INDIRECT.get(f"{version.rpartition('/')[0]}/{kind}", own))
        elif kind in _TAKEN and version not in _VERSIONS:
            why = f"Its `apiVersion` is `{version}`. Operators since Strimzi 0.45 serve `v1beta2` and `v1`."
            remedy = "convert it with Strimzi's `api-conversion` tool, then import it again."
            group, _, api = version.rpartition("/")
            if group != STRIMZI_GROUP and f"{STRIMZI_GROUP}/{api}" in _VERSIONS:
                why = (
                    f"Its API group is `{group}`, and the operator of that vendor runs it. This command reads and "
                    f"renders objects of Strimzi's group `{STRIMZI_GROUP}` only."
                )
                remedy = (
                    f"if the vendor took the resource from Strimzi unchanged, import a copy with `apiVersion: "
                    f"{STRIMZI_GROUP}/{api}`; do not adopt or deploy it beside the vendor's object."
                )
            leave("apiVersion", "version-not-served", why, remedy)
        elif not name:
            why = "It has no `metadata.name`; with `generateName` its name is known only in the cluster."
            leave("metadata", "without-name", why, "import it from the cluster.")
        elif not is_subdomain(name):
            why = f"Kubernetes accepts no object with the name `{name}`."
            remedy = "correct it; if it is a template, print it first with `helm template` or `kustomize build`."
            leave("metadata.name", "not-a-name", why, remedy)
        else:
            metadata = {**given, "namespace": where}
            read = {key: metadata[key] for key in ("namespace", "name", "labels", "annotations") if metadata.get(key)}
            content = {key: value for key, value in document.items() if key != "status"}
            body = in_form({**content, "metadata": read}, leave)
            lacking = missing(kind, version.rpartition("/")[2], body.get("spec") or {}) if kind in _TAKEN else None
            given_spec = document.get("spec")
            if lacking == "spec.replicas" and isinstance(given_spec, Mapping) and "replicas" in given_spec:
                lacking = None  # Its wrong form has been reported.
            if {"name", "namespace"} - body["metadata"].keys():
                lacking = "metadata.name"
            if lacking is None:
                self.keep(ReadObject(file, body))
                self._take_data(f"{file}, {label}", str(where), body.get("data") or {})
            else:
                why = "Strimzi requires this field, so the operator would refuse the object."
                leave(lacking, "field-missing", why, "complete the object.")

    def _take_data(self, place: str, namespace: str, data: Mapping[str, Any]) -> None:
        """Read each entry of a ConfigMap that is the file of a dedicated MirrorMaker."""
        for key, text in data.items():
            content = str(text).encode()
            if OF_DEDICATED.search(content) and b"bootstrap.servers" in content:
                file = f"{place}, data.{key}"
                if (properties := properties_of(file, content, self.left_out)) is not None:
                    self.dedicated.append(PropertiesFile(file, namespace, properties))

    def keep(self, read: ReadObject) -> None:
        """Keep each object only once: a second copy may have different content."""
        first = self.first.setdefault(read.label, read)
        if first is read:
            self.objects.append(read)
        elif first.body != read.body:
            why = f"{first.file} has the same object with different content, which the import takes instead."
            self.left_out.append(read.left_out("", "read-twice", why, "import only what runs."))


def read_objects(sources: Sequence[str], namespace: str) -> ReadInput:
    """Read files, folders and `-`; `namespace` is the default. Raises CannotRunError if nothing replicates."""
    read = ReadInput(namespace=namespace)
    for file, content in _contents(sources):
        read.take_file(file, content)
    for folder, (marker, command) in _unprinted_folders(sources).items():
        why = f"It has a `{marker}`, so its files are not yet the objects that are applied."
        remedy = f"print them: `{command} {shown(folder)} | replicate import - --out DIR`."
        read.left_out.append(LeftOut(shown(folder), "", "", "file-skipped", why, remedy))
    for file in (shown(file) for path in map(Path, sources) for file in dedicated_files(path)):
        if Path(file).suffix in _ENDINGS:
            continue
        why = "Of a folder, only files that end in `.yaml`, `.yml`, `.json` or `.properties` are read."
        read.left_out.append(LeftOut(file, "", "", "file-skipped", why, f"import it by its name: `{file}`."))
    return _with_any(read, ", ".join(sources))


def read_documents(where: str, documents: Iterable[object]) -> ReadInput:
    """Read objects of a cluster that `where` names. Raises CannotRunError if none of them is a MirrorMaker."""
    read = ReadInput()
    for document in documents:
        read.take(where, document)
    return _with_any(read, where)


def _with_any(read: ReadInput, where: str) -> ReadInput:
    if not (read.dedicated or read.rest or read.of("KafkaConnector") or read.of("KafkaMirrorMaker2")):
        raise CannotRunError(
            "nothing-to-import",
            "no KafkaMirrorMaker2, no mirror connector and no `mm2.properties` was found",
            where,
            "".join(f"{note}\n" for note in read.left_out) or "Nothing that was read describes a replication.",
            "name the files, or pipe `kubectl get kafkamirrormaker2,kafkaconnect,kafkaconnector,configmap -A -o yaml` "
            f"into `replicate import -`. For connectors without objects, {COMPLETE}",
        )
    return read


#: A file of a folder whose objects a tool prints -> its command.
_PRINTED_BY = {
    "Chart.yaml": "helm template",
    **dict.fromkeys(("kustomization.yaml", "kustomization.yml", "Kustomization"), "kustomize build"),
}


def _unprinted_folders(sources: Sequence[str]) -> dict[Path, tuple[str, str]]:
    """Return the folders whose objects a tool prints, each with the file that shows it and the command."""
    return {
        file.parent: (marker, command)
        for source in sources
        for marker, command in _PRINTED_BY.items()
        for file in sorted(Path(source).rglob(marker))
    }


def dedicated_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that look like a dedicated MirrorMaker's."""
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        other = hidden or file.suffix in _ENDINGS - {_PROPERTIES} or not file.is_file()
        if not other and file.stat().st_size <= _LARGEST_PROPERTIES and OF_DEDICATED.search(file.read_bytes()):
            yield file


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def ends_as_source(path: Path) -> bool:
    """Return whether a file of a folder is read because of its ending."""
    return path.suffix in _ENDINGS and path.is_file()


def _contents(sources: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for source in sources:
        path = Path(source)
        if source == "-":
            yield "standard input", sys.stdin.buffer.read()
        elif path.is_dir():
            files = sorted(filter(ends_as_source, path.rglob("*")))
            unprinted = _unprinted_folders([source])
            for file in (file for file in files if not unprinted.keys() & set(file.parents)):
                yield shown(file), file.read_bytes()
        elif path.exists():
            yield shown(path), path.read_bytes()
        else:
            raise CannotRunError(
                "no-such-file", "there is no such file or folder", source, "Nothing can be read.", "name another."
            )


def objects_in(document: object) -> Iterator[object]:
    """Yield a document, or the items of a list of Kubernetes objects."""
    items = document.get("items") if isinstance(document, Mapping) else None
    is_list = isinstance(document, Mapping) and str(document.get("kind", "")).endswith("List")
    if is_list and isinstance(items, Sequence) and not isinstance(items, str):
        for item in items:
            yield from objects_in(item)
    else:
        yield document


#: The properties that name a worker group, and the topics where it keeps its state.
GROUP = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")


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
        key = where.removeprefix("spec.").removeprefix("config.")
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
    # Nothing restarts its failed tasks, but the project's default does no harm.
    spec = {"autoRestart": {}, **spec}
    body = _body("KafkaConnector", namespace, name, {"labels": {CLUSTER_LABEL: workers}}, spec)
    return ReadProperties(file, body, **of_file)


def _body(kind: str, namespace: str, name: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": dict(spec),
    }
