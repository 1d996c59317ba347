"""What the rules derive from a changed object of a folder, and what they cannot judge: objects, fields, files. Pure.

These effects are only of published objects: requests to the operator, labels, ConfigMaps, namespaces. An object is
unclear if the folder does not show what the cluster will hold; a field is not judged if no rule derives an effect from
it. Nothing of this may pass as a change without an effect.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka_replication.components.changes.deployment_state import DeploymentState
from kafka_replication.components.changes.effect import Effect, Impact, listed
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.flows.operators import PAUSE, STRIMZI_GROUP, USES_CONNECTOR_RESOURCES
from kafka_replication.infra.onboard.importing.flows import role_of
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.mirrors import ends_of_mirrors
from kafka_replication.infra.onboard.importing.reading import ReadObject
from kafka_replication.infra.onboard.importing.topologies import kafka_of
from kafka_replication.infra.onboard.importing.values import texts_in
from kafka_replication.infra.review.comparison import Unjudged
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange
from kafka_replication.infra.review.yaml.folder import Files
from kafka_replication.infra.review.yaml.objects import (
    FolderObjects,
    FolderWorkers,
    IdentifiedChange,
    ObjectId,
    id_of,
)

#: Annotations that ask the operator for something; `_requested` says what each does.
REQUESTS = re.compile(
    r"metadata\.annotations\.strimzi\.io/(restart|restart-connector|restart-task|restart-connector-task"
    r"|manual-rolling-update|connector-offsets)"
)
_OFFSETS = "connector-offsets"
_LABEL = re.compile(r"metadata\.labels(\..*)?")
#: Labels that a chart or Flux changes with each release. Source: Strimzi Labels.STRIMZI_LABELS_EXCLUSION_PATTERN.
_NOT_ON_PODS = re.compile(r"metadata\.labels\.(app\.kubernetes\.io/(?!part-of).*|kustomize\.toolkit\.fluxcd\.io.*)")
_AUTO_RESTART = re.compile(r"spec\.(mirrors\[[^]]*\]\.\w+Connector\.)?autoRestart(\..*)?")


def deployments_of(workers: Sequence[FolderWorkers]) -> dict[ObjectId, str]:
    """Return the name of the workers of each object; of two, the names of those that come first."""
    return {id_of(read): group.name for group in reversed(workers) for read in group.objects}


def object_effects(changes: Sequence[IdentifiedChange], workers: Sequence[FolderWorkers]) -> Iterator[Effect]:
    """Yield the effects of fields that are not part of what Connect runs."""
    deployments = deployments_of(workers)
    for change in changes:
        flow = deployments.get(change.id)
        if flow is not None and change.kind != "ConfigMap":
            yield from _requested(change, flow)
            yield from _of_fields(change, flow)
        elif change.kind == "ConfigMap":
            yield from _read_later(change, workers)
        elif change.kind == "Namespace" and change.shown.change is ChangeKind.REMOVED:
            yield from _namespace(change, workers)


def _requested(change: IdentifiedChange, flow: str) -> Iterator[Effect]:
    for field in change.shown.fields:
        asked = REQUESTS.fullmatch(field.path)
        if asked is None or field.after is None:
            continue
        who = f"{change.kind} `{change.id.name}`"
        if asked[1] != _OFFSETS:
            what = f"`strimzi.io/{asked[1]}: {field.after}` makes the operator restart {who}, or part of it, once"
            yield Effect(Impact.RESTART, "restart-requested", flow, "", what)
        elif field.after == "list":
            what = f"the operator writes the offsets of {who} into a ConfigMap once"
            yield Effect(Impact.NONE, "offsets-listed", flow, "", what)
        else:
            what = (
                f"`strimzi.io/{_OFFSETS}: {field.after}` makes the operator change the offsets of {who} as soon as "
                "the connector is stopped: records are replicated again, or skipped"
            )
            yield Effect(Impact.DATA, "offsets-requested", flow, "", what)


def _of_fields(change: IdentifiedChange, flow: str) -> Iterator[Effect]:
    def paths(matches: re.Pattern[str]) -> list[str]:
        return [field.path for field in change.shown.fields if matches.fullmatch(field.path)]

    if restarts := paths(_AUTO_RESTART):
        what = f"the operator restarts failed tasks of `{change.id.name}` differently ({listed(restarts)})"
        yield Effect(Impact.NONE, "auto-restart-changes", flow, "", what)
    if change.kind == "KafkaConnector":
        return
    unused = paths(_NOT_ON_PODS)
    if labels := [path for path in paths(_LABEL) if path not in unused]:
        what = (
            f"{change.kind} `{change.id.name}` rolls: the operator gives its labels to the pods, so its workers "
            f"restart one by one ({listed(labels)})"
        )
        yield Effect(Impact.RESTART, "connect-rolls", flow, "", what)
    elif unused:
        what = (
            f"the operator does not give {listed(unused)} to the pods, unless it runs with its own "
            "`STRIMZI_LABELS_EXCLUSION_PATTERN`"
        )
        yield Effect(Impact.NONE, "labels-kept-from-pods", flow, "", what)


def connectors_reading(field: FieldChange, change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> list[str]:
    """Return the connectors that read a key of a ConfigMap in their configuration."""
    _, namespace, name = change.id
    key = field.path.removeprefix("data.")
    names = []
    for worker in workers:
        home = rf"{re.escape(namespace)}/" if worker.read.namespace != namespace else rf"({re.escape(namespace)}/)?"
        place = re.compile(rf"\$\{{[\w-]+:{home}{re.escape(name)}:{re.escape(key)}\}}")
        names += [read.name for read in worker.objects if place.search(str(read.body.get("spec")))]
    return sorted(set(names))


def _read_later(change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> Iterator[Effect]:
    readers = {name: None for field in change.shown.fields for name in connectors_reading(field, change, workers)}
    if not readers:
        return
    flow = next(worker.name for worker in workers for read in worker.objects if read.name in readers)
    what = (
        f"ConfigMap `{change.id.name}` has other values for {listed(list(readers))}. No connector restarts "
        "because of that: the other effects of these values occur at the next restart"
    )
    yield Effect(Impact.NONE, "config-map-read-later", flow, "", what)


def _namespace(change: IdentifiedChange, workers: Sequence[FolderWorkers]) -> Iterator[Effect]:
    name = change.id.name
    for worker in workers:
        if worker.read.namespace == name:
            what = (
                f"namespace {name} is removed from the folder, and workers run in it: if the tool that applies the "
                "folder prunes removed objects, everything in the namespace is deleted, and replication stops"
            )
            yield Effect(Impact.DATA, "namespace-deleted", worker.name, "", what)
            return


def effects_at_rest(before: Sequence[DeploymentState], after: Sequence[DeploymentState]) -> Iterator[Effect]:
    """Yield the connectors that change while they are not running."""
    old = {(state.name, connector.name): connector for state in before for connector in state.connectors}
    for state in after:
        for connector in state.connectors:
            earlier = old.get((state.name, connector.name), connector)
            if earlier.submitted != connector.submitted and "running" not in (earlier.state, connector.state):
                what = f"connector `{connector.name}` is {connector.state}: its change takes effect when it runs again"
                yield Effect(Impact.NONE, "takes-effect-later", connector.flow, "", what)


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
        "An object without a namespace gets one when it is applied, so the folder does not show whether this is a "
        "change.",
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


def unclear_objects(before: FolderObjects, after: FolderObjects) -> dict[ObjectId, str]:
    """Return why an object that replicates, or that such an object reads, cannot be judged, for each that cannot."""
    reasons = {
        identity: why
        for identity in {**after.objects, **before.objects}
        if identity.replicates or identity.group_kind == "ConfigMap"
        if (why := next(_reasons(identity, before, after), None)) is not None
    }
    return reasons | dict(_without_workers(before, after, reasons))


def _reasons(identity: ObjectId, before: FolderObjects, after: FolderObjects) -> Iterator[str]:
    if not identity.name:
        yield "It has no name, so it cannot be matched to an object on the other side."
    for side, other, word in ((after, before, "new"), (before, after, "removed")):
        copies = side.objects.get(identity, [])
        if any(copy.body != copies[0].body for copy in copies):
            files = ", ".join(f"`{copy.file}`" for copy in copies)
            why = "hold it with different content, and the folder does not say which one is applied"
            yield f"{files} {why}. If they belong to different clusters, review each cluster's folder separately."
        for text in (text for copy in copies for text in texts_in(copy.body)):
            if _TEMPLATE.search(text):
                yield "It is a template. Review the output of `helm template` or `kustomize build`."
            elif identity.kind != "ConfigMap" and (variable := _VARIABLE.search(text)):
                yield f"Another tool fills in `{variable[0]}`, and its value is not in the folder. Review the result."
        if copies and identity not in other.objects and other.unreadable:
            names = ", ".join(f"`{file}`" for file in sorted(other.unreadable))
            yield f"It is not known whether it is {word}: {names} cannot be read on the other side."
        if copies and identity.group_kind != "ConfigMap":
            yield from _not_read(identity, side)


def _not_read(identity: ObjectId, side: FolderObjects) -> Iterator[str]:
    read = side.by_id.get(identity)
    left_out = side.left_out(identity)
    if read is None:
        yield left_out[0].why if left_out else "It is not a KafkaMirrorMaker2, KafkaConnect or KafkaConnector."
        return
    yield from (f"`{note.field}`: {note.why}" for note in left_out if note.code == "wrong-form")
    if str(read.annotations.get(PAUSE)) == "true":
        yield f"`{PAUSE}` keeps the operator from acting on it, so what runs may be something else."
    yield from _REASONS[read.kind](read)


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
    if str(read.annotations.get(USES_CONNECTOR_RESOURCES)) != "true":
        without = f'Without `{USES_CONNECTOR_RESOURCES}: "true"` the operator ignores its KafkaConnectors'
        yield f"{without}, so what runs is not known."


def _connector(read: ReadObject) -> Iterator[str]:
    if role_of(read) is None:
        yield "It is not one of MirrorMaker's connectors."
    elif not str(read.config.get("tasks.max", 1)).isdecimal():
        yield "Its `tasks.max` is not a number."


_REASONS = {"KafkaMirrorMaker2": _mirror_maker, "KafkaConnect": _connect, "KafkaConnector": _connector}


def _without_workers(
    before: FolderObjects, after: FolderObjects, unclear: Mapping[ObjectId, str]
) -> Iterator[tuple[ObjectId, str]]:
    """Yield the connectors whose workers cannot be judged, or are not in the folder."""
    for side in (before, after):
        connects = side.read("KafkaConnect")
        for identity, read in side.read("KafkaConnector", unclear).items():
            workers = ObjectId(f"{STRIMZI_GROUP}/KafkaConnect", read.namespace, read.workers)
            if not workers.name:
                yield identity, "It has no label `strimzi.io/cluster`, so the operator ignores it."
            elif workers in unclear:
                yield identity, f"Its KafkaConnect `{workers.name}` cannot be judged."
            elif workers not in connects:
                yield (identity, f"Its KafkaConnect `{workers.name}` is not in the folder. Name one that holds both.")


def unjudged_files(old: FolderObjects, new: FolderObjects, before: Files, after: Files) -> Iterator[Unjudged]:
    """Yield the changed files that cannot be read, or that hold something else than objects."""
    for file in sorted({*old.files, *new.files}):
        if old.files.get(file) == new.files.get(file):
            continue
        if file in new.unreadable:
            note = new.unreadable[file]
            place = f" ({note.field})" if note.field else ""
            remedy = note.remedy[:1].upper() + note.remedy[1:]
            yield Unjudged(file, "", (), f"It cannot be read{place}. {note.why} {remedy}")
        elif file in old.unreadable:
            yield Unjudged(file, _FILE, (), "It could not be read before, so what it changes is unknown.")
        if file in old.without_object | new.without_object:
            why = "It holds something that is not an object, such as a chart's values."
            yield Unjudged(file, _FILE, (), f"{why} Other tools may generate objects from it.")
    for file in sorted({*before.others, *after.others}):
        if before.others.get(file) != after.others.get(file):
            why = "It is a link, a submodule, a template or a properties file, which this command does not read."
            yield Unjudged(file, _FILE, (), why)


def unjudged_fields(
    change: IdentifiedChange,
    unclear: Mapping[ObjectId, str],
    workers: Sequence[FolderWorkers],
    with_effects: Collection[str],
    namespace: str | None,
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fields of a changed object that are not judged, by the reason. `with_effects` names the workers for
    which effects were found; `namespace` is None if nobody named that of objects without one."""
    judged = deployments_of(workers).get(change.id)
    if change.id in unclear:
        yield change.paths, unclear[change.id]
    elif judged is not None:
        paths = [path for path in change.paths if path != "metadata.namespace" or namespace is None]
        reasons = grouped((why, path) for path, why in _fields_without_rule(change) if path in paths)
        yield from ((tuple(unjudged), why) for why, unjudged in reasons.items())
        explained = {path for unjudged in reasons.values() for path in unjudged}
        if judged not in with_effects and (not change.paths or set(paths) - explained):
            yield tuple(paths), "The rules of this command derive no effect from this change, but it may have one."
    elif change.kind == "ConfigMap":
        unread = tuple(field.path for field in change.shown.fields if not connectors_reading(field, change, workers))
        if unread or not change.paths:
            why = "No connector's configuration reads it, but workers may read it for metrics or logging."
            yield unread, why if change.shown.change is ChangeKind.CHANGED else "Connectors and workers may read it."
    elif change.id.group_kind in _KUSTOMIZATIONS:
        yield change.paths, "What `kustomize build` makes of the folder is not judged. Review its output."
    elif not is_beside(change.id):
        no_rule = "This command does not know what objects of this kind do."
        yield change.paths, _WHY_BESIDE.get(change.kind, no_rule)


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


def is_beside(identity: ObjectId) -> bool:
    """Return whether no connector or worker depends on objects of this kind."""
    return identity.group_kind in _BESIDE or identity.group_kind.rpartition("/")[0] in _GROUPS_BESIDE


def unjudged_before(
    old: FolderObjects, new: FolderObjects, unclear: Mapping[ObjectId, str], changed: Collection[ObjectId]
) -> Iterator[Unjudged]:
    """Yield what was not judged before and has not changed."""
    for file in sorted(new.unreadable):
        if old.files.get(file) == new.files.get(file):
            yield Unjudged(file, "", (), f"It cannot be read. {new.unreadable[file].why}")
    for identity, copies in new.objects.items():
        if identity in changed:
            continue
        if identity in unclear:
            yield Unjudged(copies[0].file, identity.label, (), unclear[identity])
        elif identity.group_kind in _KUSTOMIZATIONS:
            why = "It changes the objects that it lists; the output of `kustomize build` is not judged."
            for copy in copies:
                if copy.body.keys() - _JUST_LISTS:
                    yield Unjudged(copy.file, identity.label, (), why)
