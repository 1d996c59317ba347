"""Turns the fields that KafkaConnect and KafkaMirrorMaker2 share into `connect` of a replication."""

import copy
import re
from collections.abc import Mapping
from typing import Any

from kafka_replication.components.changes.deployment_state import worker_cluster
from kafka_replication.components.checks.properties import refused_properties
from kafka_replication.components.checks.worker_template import credentials_in
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.operators import CLUSTER_LABEL, PAUSE, USES_CONNECTOR_RESOURCES
from kafka_replication.components.kafka.plugins import JSON_CONVERTER, SIMPLE_HEADER_CONVERTER
from kafka_replication.components.properties.definitions import Owner
from kafka_replication.components.render.connections import FILE_PROVIDER, WORKER_FILE
from kafka_replication.components.render.kafka_connect import BYTE_CONVERTERS, EXACTLY_ONCE_SUPPORT
from kafka_replication.components.render.planned_objects import MANAGED_BY, PART_OF, Manifest
from kafka_replication.components.topology.workers import Template
from kafka_replication.infra.onboard.importing.reading import Notes
from kafka_replication.infra.onboard.importing.values import may_be_secret, unresolved

#: Field of `v1` -> worker property of `v1beta2`, the key of `connect.storageTopics`, "" for the group.
GROUP_FIELDS = {
    "groupId": ("group.id", ""),
    "configStorageTopic": ("config.storage.topic", "configs"),
    "offsetStorageTopic": ("offset.storage.topic", "offsets"),
    "statusStorageTopic": ("status.storage.topic", "status"),
}
#: Names that the operator gives to an unnamed group and topics.
#: Source: Strimzi KafkaConnectConfiguration.DEFAULTS, KafkaMirrorMaker2Configuration.DEFAULTS.
_UNNAMED = {"KafkaConnect": "connect-cluster", "KafkaMirrorMaker2": "mirrormaker2-cluster"}
#: Converters of workers that set none. Source: the same, and Connect's WorkerConfig.
CONVERTERS = {
    "KafkaConnect": {
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "header.converter": SIMPLE_HEADER_CONVERTER,
    },
    "KafkaMirrorMaker2": {key: str(value) for key, value in BYTE_CONVERTERS.items()},
}
_AS_WRITTEN = (
    *("replicas", "version", "image", "build", "plugins", "resources", "jvmOptions"),
    *("readinessProbe", "livenessProbe", "rack", "tracing"),
)
_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_SWITCH = {"true": True, "false": False}
_PLAIN = "It holds a credential in plain text, which is not written."
#: Fields that other modules read.
_ELSEWHERE = {
    "KafkaConnect": {"bootstrapServers", "tls", "authentication", "config", *GROUP_FIELDS},
    "KafkaMirrorMaker2": {"clusters", "connectCluster", "mirrors", "target"},
}
#: Annotations that ask the operator for a single action, and their leftovers.
_ONCE = re.compile(r"strimzi\.io/(restart|restart-task|restart-connector|restart-connector-task|manual-rolling-update)")
#: Labels that every object of the project has.
_OWN = {MANAGED_BY, PART_OF}
#: What the project sets itself, and the marks of tools that applied an object.
_OTHERS = re.compile(
    r"(strimzi\.io/(cluster|use-connector-resources)|kubectl\.kubernetes\.io/.*|meta\.helm\.sh/.*|helm\.sh/.*"
    r"|argocd\.argoproj\.io/(instance|tracking-id)|kustomize\.toolkit\.fluxcd\.io/.*|app\.kubernetes\.io/instance"
    r")"
)


def group_names(kind: str, spec: Manifest) -> dict[str, str]:
    """Return the worker group and its topics by their fields of `v1`; the operator's defaults if they are not named."""
    # Kubernetes drops `target` and `connectCluster` of a KafkaConnect.
    at = worker_cluster(spec) if kind == "KafkaMirrorMaker2" else spec
    given = at.get("config") or {}
    return {
        field: str(at.get(field) or given.get(name) or _UNNAMED[kind] + (f"-{role}" if role else ""))
        for field, (name, role) in GROUP_FIELDS.items()
    }


def connect_of(
    notes: Notes, config: Mapping[str, Any], replication: str, kafka: str, path: str = "spec"
) -> dict[str, Any]:
    """Return `connect`; `config` is that of workers, in the part of the spec at `path`."""
    read, spec = notes.read, notes.read.spec
    of_spec = notes.below("spec")
    connect: dict[str, Any] = {"name": read.name} if read.name != replication else {}
    names = group_names(read.kind, spec)
    connect["groupId"] = names["groupId"]
    connect["storageTopics"] = {role: names[field] for field, (_, role) in GROUP_FIELDS.items() if role}
    connect |= own_labels(notes)
    connect |= {key: copy.deepcopy(spec[key]) for key in _AS_WRITTEN if spec.get(key) is not None}
    for key in ("build", "plugins"):
        if read.kind == "KafkaMirrorMaker2" and key in connect:
            of_spec(key, "field-not-known", "Kubernetes drops it: a KafkaMirrorMaker2 has no such field.", "remove it.")
        elif any(credentials_in(connect.get(key), key)):
            of_spec(key, "plain-text-credential", _PLAIN, "serve the artifacts without a login, or name an image.")
        else:
            continue
        del connect[key]
    if spec.get("replicas") == 0:
        why = "It is 0, so nothing runs. A topology has at least one worker: deploying it starts the connectors."
        of_spec("replicas", "no-workers", why, "set `connect.replicas` to 1 or more, or keep this object as it is.")
    connect |= _logging(spec) | _metrics(spec, of_spec) | _template(spec, of_spec)
    named = {EXACTLY_ONCE_SUPPORT, *(name for name, _ in GROUP_FIELDS.values())}
    if own := {key: value for key, value in config.items() if key not in named and not _rendered(key, value)}:
        exactly_once = str(config.get(EXACTLY_ONCE_SUPPORT, "")).lower() == "enabled"
        refused = refused_properties(Owner.WORKER, own, kafka, exactly_once=exactly_once)
        secret = {key for key, value in own.items() if may_be_secret(key, value)}
        connect["config"] = {key: value for key, value in own.items() if key not in secret | refused.keys()}
        for key in own:
            if key in secret:
                notes.below(path).credential(f"config.{key}")
            elif key in refused:
                notes.below(path).refused(f"config.{key}", refused[key])
    _hide_variables(connect, of_spec)
    elsewhere = {*_ELSEWHERE[read.kind], *_AS_WRITTEN, "logging", "metricsConfig", "template"}
    if "target" in spec:
        elsewhere -= {"clusters", "connectCluster"}
    for key in sorted(spec.keys() - elsewhere):
        if key == "externalConfiguration":
            volumes = "`connect.template.pod.volumes`, `connect.template.connectContainer.volumeMounts`"
            of_spec(key, "field-not-known", "Strimzi removed it in `v1`.", f"set {volumes} and `env` instead.")
        else:
            of_spec.unknown(key)
    return connect


def own_labels(notes: Notes) -> dict[str, dict[str, str]]:
    """Return the labels and annotations that others need, without those of the tools that applied the object."""
    own: dict[str, dict[str, str]] = {}
    for key in ("labels", "annotations"):
        for name, value in (notes.read.body["metadata"].get(key) or {}).items():
            field = f"metadata.{key}.{name}"
            if name in {CLUSTER_LABEL, USES_CONNECTOR_RESOURCES} or name.startswith("kubectl.kubernetes.io/"):
                continue
            if _ONCE.fullmatch(name):
                notes(field, "operation-once", "It asks the operator to do something once.", "none is needed.")
            elif name == PAUSE and str(value) == "true":
                why = "The operator does not act on this object, so what runs may differ. Deploying makes it act again."
                remedy = "compare it with what Connect's REST API shows, before you deploy."
                notes(field, "reconciliation-paused", why, remedy)
            elif may_be_secret(name, value):
                remedy = "put it into a Secret; everyone who can read the object can read it."
                notes(field, "plain-text-credential", _PLAIN, remedy)
            elif name in _OWN:
                why = "Every object of this project has its own value here."
                notes(field, "label-of-a-tool", why, "none is needed.")
            elif _OTHERS.fullmatch(name):
                why = "It comes from the tool that applied the object. From now on, this project applies the object."
                notes(field, "label-of-a-tool", why, "none is needed.")
            else:
                own.setdefault(key, {})[name] = str(value)
    return own


def _hide_variables(connect: dict[str, Any], notes: Notes) -> None:
    """Take environment variables and system properties that hold credentials out of what is written."""
    lists = [(fields, "env", f"template.{name}") for name, fields in (connect.get("template") or {}).items()]
    lists.append((connect.get("jvmOptions") or {}, "javaSystemProperties", "jvmOptions"))
    for fields, key, where in lists:
        entries = fields.get(key) if isinstance(fields, dict) else None
        for entry in [candidate for candidate in entries or [] if isinstance(candidate, Mapping)]:
            if may_be_secret(str(entry.get("name", "")), entry.get("value") or ""):
                remedy = "put it into a Secret, and set `valueFrom.secretKeyRef` of an environment variable."
                notes(f"{where}.{key}.{entry['name']}", "plain-text-credential", _PLAIN, remedy)
                fields[key] = [other for other in fields[key] if other is not entry]


def _rendered(key: str, value: Any) -> bool:
    """Return whether the rendering already sets a worker property to this value, or sets it in another way."""
    if key.startswith("config.providers") or key == "connector.client.config.override.policy":
        return True
    return str(value) == str(BYTE_CONVERTERS.get(key)) or (key.endswith(".replication.factor") and str(value) == "-1")


def _logging(spec: Mapping[str, Any]) -> dict[str, Any]:
    given = spec.get("logging") or {}
    if given.get("type") == "inline":
        return {"logging": {"type": "inline", "loggers": dict(given.get("loggers") or {})}}
    return {"logging": {"type": "external", **_reference(given)}} if given else {}


def _metrics(spec: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    given = spec.get("metricsConfig") or {}
    if given.get("type") == "strimziMetricsReporter":
        values = given.get("values") or {}
        for key in sorted(values.keys() - {"allowList"}):
            notes.unknown(f"metricsConfig.values.{key}")
        allowed = values.get("allowList") or []
        return {"metrics": {"type": given["type"], **({"allowList": allowed} if allowed else {})}}
    if given and None in _reference(given).values():
        why = "It names no key of a ConfigMap, so the operator would refuse the object."
        notes("metricsConfig", "field-missing", why, "set `valueFrom.configMapKeyRef`.")
        return {}
    return {"metrics": {"type": "jmxPrometheusExporter", **_reference(given)}} if given else {}


def _reference(given: Mapping[str, Any]) -> dict[str, Any]:
    reference = (given.get("valueFrom") or {}).get("configMapKeyRef") or {}
    return {"configMap": reference.get("name"), "key": reference.get("key")}


def _template(spec: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    given = spec.get("template") or {}
    known = {key: copy.deepcopy(value) for key, value in given.items() if key in Template.__annotations__}
    for key in sorted(given.keys() - known.keys()):
        why, remedy = "The topology has no key for this template.", "remove it, or keep this object as it is."
        notes(f"template.{key}", "field-not-known", why, remedy)
    return {"template": known} if known else {}


def connector_keys(spec: Mapping[str, Any], passed: Mapping[str, str], notes: Notes, tasks: int) -> dict[str, Any]:
    """Return a connector's tasks, state, restarts and `config`, with the properties that are `passed` on. `tasks` is
    the project's number of tasks."""
    config = _passed_config(passed, notes)
    number = _tasks(spec.get("tasksMax") or (spec.get("config") or {}).get("tasks.max") or 1, notes)
    fields: dict[str, Any] = {"tasksMax": number} if number != tasks else {}
    if (state := state_of(spec)) != "running":
        fields["state"] = state
    restart = spec.get("autoRestart")
    # Source: Strimzi AutoRestart; without the field the operator restarts nothing.
    if restart is None or not restart.get("enabled", True):
        fields["autoRestart"] = {"enabled": False}
    elif restart.get("maxRestarts") is not None:
        fields["autoRestart"] = {"maxRestarts": restart["maxRestarts"]}
    if spec.get("version"):
        fields["version"] = spec["version"]
    for key in sorted((restart or {}).keys() - {"enabled", "maxRestarts"}):
        notes.unknown(f"autoRestart.{key}")
    for key in sorted(spec.keys() - {"class", "config", "tasksMax", "state", "pause", "autoRestart", "version"}):
        why = "The topology has no such key."
        remedy = "remove it. If the operator still needs it to carry out a request, let the request finish first."
        notes(key, "field-not-known", why, remedy)
    return {**fields, **({"config": config} if config else {})}


def state_of(spec: Mapping[str, Any]) -> str:
    """Return the state that the spec of a connector wants, in either API version."""
    return str(spec.get("state") or ("paused" if spec.get("pause") else "running"))


def _tasks(given: object, notes: Notes) -> int:
    """Return a number of tasks; raises CannotRunError if Kafka would refuse it."""
    text = str(given).strip()
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise CannotRunError(
        "not-a-number",
        f"`tasks.max` is `{text}`, not a whole number from 1",
        notes.read.left_out(notes.where("config.tasks.max"), "", "", "").where,
        "Kafka Connect would refuse the connector.",
        "make it a whole number.",
    )


def _passed_config(config: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    """Return the properties that the topology passes on: no credentials, no placeholders that it cannot express."""
    passed: dict[str, Any] = {}
    for key, value in config.items():
        placeholder = unresolved(value)
        if placeholder is not None and not placeholder.startswith(f"${{{FILE_PROVIDER}:{WORKER_FILE}"):
            why = f"Its placeholder {placeholder} needs a configuration provider that the rendered workers do not have."
            notes(f"config.{key}", "provider-not-known", why, "use a Secret or a ConfigMap.")
        elif may_be_secret(key, value):
            notes.credential(f"config.{key}")
        else:
            passed[key] = int(value) if _NUMBER.fullmatch(value) else _SWITCH.get(value, value)
    return passed
