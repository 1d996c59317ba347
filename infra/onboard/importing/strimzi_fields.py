"""The form of Strimzi's resources, as far as an import reads them: a field of another form is left out and named."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafka_replication.components.checks.properties import CONNECTOR_FORBIDDEN

#: Text or a number, a whole number, and properties: a mapping of names to plain values.
TEXT, NUMBER, PROPERTIES = "text", "a whole number", "properties"
#: The form of a field: a mapping of the fields that are read, a list with the form of its entries, or one of the above.
FieldForm = Mapping[str, Any] | list[Any] | str
#: Takes the path of a field and what it must be.
Report = Callable[[str, str], None]

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
    "logging": {"type": TEXT, "loggers": PROPERTIES, **_KEY_REFERENCE},
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
    "config": PROPERTIES,
}
_PATTERNS = (
    *("topicsPattern", "topicsExcludePattern", "topicsBlacklistPattern"),
    *("groupsPattern", "groupsExcludePattern", "groupsBlacklistPattern"),
)
MIRROR = {
    "source": CLUSTER,
    "sourceCluster": TEXT,
    "targetCluster": TEXT,
    **dict.fromkeys(_PATTERNS, TEXT),
    **dict.fromkeys(("sourceConnector", "checkpointConnector", "heartbeatConnector"), _CONNECTOR),
}
_METADATA = {"name": TEXT, "namespace": TEXT, "labels": PROPERTIES, "annotations": PROPERTIES}
_SPECS: Mapping[str, FieldForm] = {
    "KafkaConnect": {**_WORKERS, **CLUSTER, "build": {}, "plugins": [{}]},
    "KafkaConnector": {"class": TEXT, **_CONNECTOR},
    "KafkaMirrorMaker2": {
        **_WORKERS,
        "connectCluster": TEXT,
        "clusters": [CLUSTER],
        "target": CLUSTER,
        "mirrors": [MIRROR],
    },
}


def without_wrong_forms(body: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return an object without fields whose form differs from Strimzi's, and without null fields."""
    spec = _SPECS.get(str(body.get("kind")))
    form: FieldForm = {"metadata": _METADATA, **({"spec": spec} if spec else {"data": PROPERTIES})}
    filled: dict[str, Any] = _in_form(body, form, "", report)
    return filled


#: Fields of a mirror and of a connector that exist in the API `v1beta2` but not in `v1`.
#: Source: Strimzi KafkaMirrorMaker2MirrorSpec, AbstractConnectorSpec.
_REMOVED_OF_MIRRORS = ("heartbeatConnector", "topicsBlacklistPattern", "groupsBlacklistPattern")
_REMOVED_OF_CONNECTORS = ("pause",)


def without_removed(body: Mapping[str, Any], report: Callable[[str], None]) -> dict[str, Any]:
    """Return an object of the API `v1` without the fields that only older APIs have; `report` gets their paths."""
    spec = dict(body.get("spec") or {})
    if body["kind"] == "KafkaConnector":
        spec = _without(spec, _REMOVED_OF_CONNECTORS, "spec", report)
    if "mirrors" in spec:
        spec["mirrors"] = list(spec["mirrors"])
        for index, given in enumerate(spec["mirrors"]):
            path = f"spec.mirrors.{index}"
            spec["mirrors"][index] = mirror = _without(given, _REMOVED_OF_MIRRORS, path, report)
            for name in [name for name in ("sourceConnector", "checkpointConnector") if name in mirror]:
                mirror[name] = _without(mirror[name], _REMOVED_OF_CONNECTORS, f"{path}.{name}", report)
    return {**body, "spec": spec}


def without_dropped(body: Mapping[str, Any], report: Callable[[str, str], None]) -> dict[str, Any]:
    """Return an object without what the operator drops of connectors; `report` gets each path, and what to set."""
    spec = dict(body.get("spec") or {})
    if body["kind"] == "KafkaConnector":
        spec = _without_forbidden(spec, "spec", report)
    if "mirrors" in spec:
        spec["mirrors"] = [
            {
                key: _without_forbidden(part, f"spec.mirrors.{index}.{key}", report)
                if key.endswith("Connector")
                else part
                for key, part in mirror.items()
            }
            for index, mirror in enumerate(spec["mirrors"])
        ]
    return {**body, "spec": spec}


def _without_forbidden(connector: Mapping[str, Any], path: str, report: Callable[[str, str], None]) -> dict[str, Any]:
    config = connector.get("config") or {}
    for key in CONNECTOR_FORBIDDEN.keys() & config.keys():
        report(f"{path}.config.{key}", CONNECTOR_FORBIDDEN[key])
    own = {key: value for key, value in config.items() if key not in CONNECTOR_FORBIDDEN}
    return {**connector, **({"config": own} if config else {})}


def _without(
    given: Mapping[str, Any], removed: tuple[str, ...], path: str, report: Callable[[str], None]
) -> dict[str, Any]:
    for key in removed:
        if key in given:
            report(f"{path}.{key}")
    return {key: value for key, value in given.items() if key not in removed}


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


def null_properties(value: object, path: str) -> Iterator[str]:
    """Yield the path of each property in a `config` that has no value."""
    if isinstance(value, Mapping | list):
        entries = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, inner in entries:
            if inner is None and path.endswith(".config"):
                yield f"{path}.{key}"
            yield from null_properties(inner, f"{path}.{key}")


def _in_form(value: Any, form: FieldForm, path: str, report: Report) -> Any:
    """Return a value in its form; None, after reporting it, if it has another."""
    if value is None:
        return None
    if isinstance(form, Mapping):
        return _mapping(value, form, path, report)
    if isinstance(form, list):
        if not isinstance(value, list):
            return report(path, "a list")
        entries = (_in_form(entry, form[0], f"{path}.{index}", report) for index, entry in enumerate(value))
        return [entry for entry in entries if entry is not None]
    if form == PROPERTIES:
        return _properties(value, path, report)
    if form == NUMBER and not isinstance(value, bool) and str(value).isdigit():
        return int(value)
    if form == TEXT and isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    return report(path, form)


def _mapping(value: Any, form: Mapping[str, Any], path: str, report: Report) -> Any:
    if not isinstance(value, Mapping):
        return report(path, "a mapping")
    fields = {}
    for key, below in value.items():
        where = f"{path}.{key}" if path else str(key)
        formed = _in_form(below, form[key], where, report) if key in form else below
        if formed is not None:
            fields[str(key)] = formed
    return fields


def _properties(value: Any, path: str, report: Report) -> Any:
    if not isinstance(value, Mapping):
        return report(path, "a mapping")
    for key, inner in value.items():
        if isinstance(inner, Mapping | list):
            report(f"{path}.{key}", "a plain value")
    return {
        str(key): inner for key, inner in value.items() if inner is not None and not isinstance(inner, Mapping | list)
    }
