"""The form of Strimzi's resources, as far as an import reads them: a field of another form is left out and named."""

from collections.abc import Callable, Mapping
from typing import Any

from kafka_replication.components.checks.properties import CONNECTOR_FORBIDDEN
from kafka_replication.components.kafka.connectors import ConnectorRole

#: Text or a number, a whole number, and a mapping of names to plain values: any, properties, those of a connector.
TEXT, NUMBER, VALUES, PROPERTIES, CONNECTOR_PROPERTIES = "text", "a whole number", "values", "properties", "connector"
#: A field of `v1beta2` that `v1` does not have. Source: Strimzi KafkaMirrorMaker2MirrorSpec, AbstractConnectorSpec.
REMOVED = "removed"
#: The form of a field: a mapping of the fields that are read, a list with the form of its entries, or one of the above.
FieldForm = Mapping[str, Any] | list[Any] | str
#: Takes the path of a field that is left out, a code, why, and the remedy.
Leave = Callable[[str, str, str, str], None]

_REFERENCE = {"secretName": TEXT, "key": TEXT, "password": TEXT, "certificate": TEXT, "pattern": TEXT}
_KEY_REFERENCE = {"valueFrom": {"configMapKeyRef": {"name": TEXT, "key": TEXT}}}
_LOGIN = {
    "type": TEXT,
    "username": TEXT,
    "passwordSecret": _REFERENCE,
    "certificateAndKey": _REFERENCE,
    "config": PROPERTIES,
    "tlsTrustedCertificates": [_REFERENCE],
    **dict.fromkeys(("clientSecret", "accessToken", "refreshToken"), _REFERENCE),
}
_GROUP = dict.fromkeys(("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic"), TEXT)
#: The fields of a cluster of a KafkaMirrorMaker2, and of a mirror, with their forms.
CLUSTER = {
    "alias": TEXT,
    "bootstrapServers": TEXT,
    "tls": {"trustedCertificates": [_REFERENCE]},
    "authentication": _LOGIN,
    "config": PROPERTIES,
    **_GROUP,
}
_CONTAINERS = ("connectContainer", "initContainer", "buildContainer")
_WORKERS = {
    "replicas": NUMBER,
    "version": TEXT,
    "image": TEXT,
    "logging": {"type": TEXT, "loggers": VALUES, **_KEY_REFERENCE},
    "metricsConfig": {"type": TEXT, "values": {"allowList": [TEXT]}, **_KEY_REFERENCE},
    "jvmOptions": {"javaSystemProperties": [{}]},
    "template": {container: {"env": [{}]} for container in _CONTAINERS},
    "resources": {},
    "rack": {},
    "tracing": {},
}
_CONNECTOR = {
    "tasksMax": NUMBER,
    "state": TEXT,
    "version": TEXT,
    "autoRestart": {"maxRestarts": NUMBER},
    "config": CONNECTOR_PROPERTIES,
}
_CONNECTOR_OF_V1 = {**_CONNECTOR, "pause": REMOVED}
#: Field of a mirror -> the property that it sets, and the connectors that read it. The operator gives it to all
#: connectors. Source: Strimzi KafkaMirrorMaker2Connectors.
SELECTIONS: Mapping[str, tuple[str, tuple[ConnectorRole, ...]]] = {
    "topicsPattern": ("topics", ("source", "checkpoint")),
    # The newer of two fields wins, so it comes later.
    "topicsBlacklistPattern": ("topics.exclude", ("source", "checkpoint")),
    "topicsExcludePattern": ("topics.exclude", ("source", "checkpoint")),
    "groupsPattern": ("groups", ("checkpoint",)),
    "groupsBlacklistPattern": ("groups.exclude", ("checkpoint",)),
    "groupsExcludePattern": ("groups.exclude", ("checkpoint",)),
}
MIRROR = {
    "source": CLUSTER,
    "sourceCluster": TEXT,
    "targetCluster": TEXT,
    **dict.fromkeys(SELECTIONS, TEXT),
    **dict.fromkeys(("sourceConnector", "checkpointConnector", "heartbeatConnector"), _CONNECTOR),
}
_MIRROR_OF_V1 = {
    **MIRROR,
    **dict.fromkeys(("sourceConnector", "checkpointConnector"), _CONNECTOR_OF_V1),
    **dict.fromkeys(("heartbeatConnector", "topicsBlacklistPattern", "groupsBlacklistPattern"), REMOVED),
}
_METADATA = {"name": TEXT, "namespace": TEXT, "labels": VALUES, "annotations": VALUES}
_CONNECT = {**_WORKERS, **CLUSTER, "build": {}, "plugins": [{}]}
_MIRROR_MAKER = {**_WORKERS, "connectCluster": TEXT, "clusters": [CLUSTER], "target": CLUSTER}
_SPECS: Mapping[tuple[str, str], FieldForm] = {
    ("KafkaConnect", "v1"): _CONNECT,
    ("KafkaConnect", "v1beta2"): _CONNECT,
    ("KafkaConnector", "v1"): {"class": TEXT, **_CONNECTOR_OF_V1},
    ("KafkaConnector", "v1beta2"): {"class": TEXT, **_CONNECTOR},
    ("KafkaMirrorMaker2", "v1"): {**_MIRROR_MAKER, "mirrors": [_MIRROR_OF_V1]},
    ("KafkaMirrorMaker2", "v1beta2"): {**_MIRROR_MAKER, "mirrors": [MIRROR]},
}


def in_form(body: Mapping[str, Any], leave: Leave) -> dict[str, Any]:
    """Return an object without null fields, and without those that the API server refuses or removes, or the operator
    drops."""
    spec = _SPECS.get((body["kind"], str(body.get("apiVersion", "")).rpartition("/")[2]))
    form: FieldForm = {"metadata": _METADATA, **({"spec": spec} if spec else {"data": VALUES})}
    formed: dict[str, Any] = _in_form(body, form, "", leave)
    return formed


def _in_form(value: Any, form: FieldForm, path: str, leave: Leave) -> Any:
    """Return a value in its form; None, after naming it, if it has another."""
    if value is None:
        return None
    if form == REMOVED:
        why = "The API `v1` does not have this field, so the API server removes it and the operator never sees it."
        return leave(path, "without-effect", why, "remove it.")
    if isinstance(form, Mapping) and isinstance(value, Mapping):
        prefix = f"{path}." if path else ""
        fields = {
            str(key): _in_form(inner, form[key], f"{prefix}{key}", leave) if key in form else inner
            for key, inner in value.items()
        }
        return {key: inner for key, inner in fields.items() if inner is not None}
    if isinstance(form, list) and isinstance(value, list):
        entries = (_in_form(entry, form[0], f"{path}.{index}", leave) for index, entry in enumerate(value))
        return [entry for entry in entries if entry is not None]
    if form in (VALUES, PROPERTIES, CONNECTOR_PROPERTIES) and isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items() if _is_read(key, inner, str(form), path, leave)}
    if form == NUMBER and not isinstance(value, bool) and str(value).isdigit():
        return int(value)
    if form == TEXT and isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    expected = "a list" if isinstance(form, list) else str(form) if form in (TEXT, NUMBER) else "a mapping"
    return _wrong(path, expected, leave)


def _is_read(key: str, value: Any, form: str, path: str, leave: Leave) -> bool:
    """Return whether a property counts, and name it if not."""
    if value is None:
        if form != VALUES:
            why = "It is `null`, so it is taken as not set, and Kafka's default applies."
            leave(f"{path}.{key}", "null-value", why, "set a value, or remove it.")
        return False
    if isinstance(value, Mapping | list):
        _wrong(f"{path}.{key}", "a plain value", leave)
        return False
    if form == CONNECTOR_PROPERTIES and key in CONNECTOR_FORBIDDEN:
        why = "The operator drops it, and only logs that."
        leave(f"{path}.{key}", "dropped-by-operator", why, f"remove it; {CONNECTOR_FORBIDDEN[key]}.")
        return False
    return True


def _wrong(path: str, form: str, leave: Leave) -> None:
    why = f"It is not {form}, as Strimzi requires; the API server would refuse the object."
    leave(path, "wrong-form", why, f"make it {form}.")


#: Kind and API version -> the fields that its definition requires, besides those of each cluster. A mirror connector
#: also needs its class. Source: the custom resource definitions of Strimzi 0.45 and 1.2.
_REQUIRED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("KafkaConnect", "v1"): ("replicas", "bootstrapServers", *_GROUP),
    ("KafkaConnect", "v1beta2"): ("bootstrapServers",),
    ("KafkaConnector", "v1"): ("class",),
    ("KafkaConnector", "v1beta2"): ("class",),
    ("KafkaMirrorMaker2", "v1"): ("replicas", "target", *(f"target.{field}" for field in _GROUP)),
    ("KafkaMirrorMaker2", "v1beta2"): (),
}


def missing(kind: str, api: str, spec: Mapping[str, Any]) -> str | None:
    """Return the first field that this API version requires and an object lacks."""
    for path in _REQUIRED[kind, api]:
        top, _, field = path.partition(".")
        given = (spec.get(top) or {}).get(field) if field else spec.get(top)
        if given in (None, ""):
            return f"spec.{path}"
    if kind != "KafkaMirrorMaker2":
        return None
    ends = [(f"spec.clusters.{index}", cluster) for index, cluster in enumerate(spec.get("clusters", ()))]
    if "target" in spec:
        mirrors = enumerate(spec.get("mirrors", ()))
        sources = ((f"spec.mirrors.{index}.source", mirror.get("source", {})) for index, mirror in mirrors)
        ends = [("spec.target", spec["target"]), *ends, *sources]
    keys = ("alias", "bootstrapServers")
    return next((f"{path}.{key}" for path, cluster in ends for key in keys if not cluster.get(key)), None)
