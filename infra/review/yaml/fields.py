"""Which objects of a folder differ in which fields, and which of these are not judged. No field shows a credential."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from components.kafka.connectors import ROLE_OF_CLASS
from infra.onboard.importing.values import may_be_secret
from infra.review.object_changes import ChangeKind, FieldChange, ObjectChange, field_changes
from infra.review.yaml.objects import Identity, Published, Side

_HIDDEN = "(not shown)"
_BELOW_CONFIG = re.compile(r"(?:^|\.)(?:config|data|loggers|labels|annotations)\.(.+)$")
#: Values of these lists may be anything.
_VARIABLES = re.compile(r"\.(env|javaSystemProperties)(\[[^]]*\])?(\..*)?$")
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
#: Annotations that ask the operator for something; `requests` says what each does.
ASKED = re.compile(
    r"metadata\.annotations\.strimzi\.io/(restart|restart-connector|restart-task|restart-connector-task"
    r"|manual-rolling-update|connector-offsets)"
)
_ANNOTATION = re.compile(r"metadata\.annotations(\..*)?")
_WHY_NOT = (
    (_ANNOTATION, "This command does not know what reads this annotation."),
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
_NO_FIELD = "The API `v1` has no such field: the API server refuses it or removes it."
_NO_RULE = "This command has no rule for this field."


@dataclass(frozen=True)
class Change:
    """An object that differs, and its fields; `identity` is the same before and after.

    `version` is that of its API, after the change if it exists then.
    """

    identity: Identity
    seen: ObjectChange
    version: str = ""

    @property
    def kind(self) -> str:
        return self.seen.kind


def changed_objects(before: Side, after: Side) -> Iterator[Change]:
    """Yield each object that differs; if it has several copies, each copy that differs in its file."""
    for identity in {**after.objects, **before.objects}:
        old, new = (side.objects.get(identity, []) for side in (before, after))
        if len(old) <= 1 and len(new) <= 1:
            yield from _compared(identity, old[0] if old else None, new[0] if new else None)
            continue
        files = dict.fromkeys(each.file for each in (*new, *old))
        for file in files:
            pairs = [[each for each in side if each.file == file] for side in (old, new)]
            for index in range(max(map(len, pairs))):
                earlier, later = (side[index] if index < len(side) else None for side in pairs)
                yield from _compared(identity, earlier, later)


def _compared(identity: Identity, before: Published | None, after: Published | None) -> Iterator[Change]:
    shown = after or before
    if shown is None or (before is not None and after is not None and before.body == after.body):
        return
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    fields: tuple[FieldChange, ...] = ()
    if before is not None and after is not None:
        found = field_changes(before.body, after.body)
        fields = tuple(_masked(each, shown) for change in found for each in _leaves(change))
    title = ObjectChange(kind, shown.file, _role(shown), shown.kind, identity[1] or None, identity[2], fields)
    yield Change(identity, title, str(shown.body.get("apiVersion", "")).rpartition("/")[2])


def _leaves(change: FieldChange) -> Iterator[FieldChange]:
    """Yield the fields of a mapping that only one side has."""
    given = change.before if change.after is None else change.after if change.before is None else None
    if not isinstance(given, Mapping) or not given:
        yield change
        return
    for key, value in given.items():
        before, after = (value, None) if change.after is None else (None, value)
        yield from _leaves(FieldChange(f"{change.path}.{key}", before, after))


def _role(published: Published) -> str:
    if published.kind == "KafkaConnector":
        spec = published.body.get("spec")
        given = str(spec.get("class")) if isinstance(spec, Mapping) else ""
        return f"{ROLE_OF_CLASS.get(given.rpartition('.')[2], 'other')} connector"
    return "workers" if published.replicates else "beside"


def _masked(change: FieldChange, published: Published) -> FieldChange:
    shows = published.replicates or published.kind == "ConfigMap"
    before, after = (
        None if value is None else _safe(change.path, value) if shows else _HIDDEN
        for value in (change.before, change.after)
    )
    return replace(change, before=before, after=after)


def _safe(path: str, value: Any) -> Any:
    """A value without what may be a credential."""
    if isinstance(value, Mapping):
        return {key: _safe(f"{path}.{key}", each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(path, each) for each in value]
    if value is None:
        return None
    key = found[1] if (found := _BELOW_CONFIG.search(path)) else path
    # A text of several lines may be a file with arbitrary content.
    hidden = _VARIABLES.search(path) or "\n" in str(value) or may_be_secret(key, value)
    return _HIDDEN if hidden else value


def unjudged_fields(change: Change) -> Iterator[tuple[str, str]]:
    """Yield the fields of a replicating object from which no effect is derived, and why."""
    for field in change.seen.fields:
        if change.version == "v1" and _NOT_IN_V1.fullmatch(field.path) and field.after is not None:
            yield field.path, _NO_FIELD
            continue
        asked = ASKED.fullmatch(field.path) is not None and field.after is not None
        if not asked and not _JUDGED[change.kind].fullmatch(field.path):
            yield field.path, next((why for path, why in _WHY_NOT if path.fullmatch(field.path)), _NO_RULE)
