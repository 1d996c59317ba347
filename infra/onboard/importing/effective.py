"""Effective settings of connectors and workers that were read: placeholders resolved, Kafka's defaults filled in."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kafka_replication.components.changes.deployment_state import (
    DeployedConnector,
    DeployedWorkers,
    DeploymentState,
    deployment_state,
)
from kafka_replication.components.kafka.plugins import BYTE_ARRAY_CONVERTER, CONVERTER_KEYS, full_class_name
from kafka_replication.components.kafka.replication_policy import SIDES
from kafka_replication.components.kafka.topic_names import default_topics_exclude
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.connections import FILE_PROVIDER, WORKER_FILE
from kafka_replication.components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from kafka_replication.components.render.planned_objects import PART_OF, Manifest
from kafka_replication.infra.onboard.importing.flows import Imported, role_of
from kafka_replication.infra.onboard.importing.logins import OPTION
from kafka_replication.infra.onboard.importing.mirrors import effective_configs, ends_of_mirrors, selections_of
from kafka_replication.infra.onboard.importing.reading import ReadObject
from kafka_replication.infra.onboard.importing.settings import OLD_NAMES
from kafka_replication.infra.onboard.importing.values import Placeholders
from kafka_replication.infra.onboard.importing.workers import CONVERTERS, group_names, state_of

#: Lists whose order does not matter, and one whose order does.
_SELECTIONS = frozenset({"topics", "topics.exclude", "groups", "groups.exclude"})
_LISTS = _SELECTIONS | {"transforms"}
#: What the consumer of a source connector uses by default. Source: MirrorSourceConfig, ConsumerConfig.
_SOURCE_CONSUMER = {"auto.offset.reset": "earliest", "isolation.level": "read_uncommitted"}
_PREDICATE = re.compile(r"(transforms\.[^.]+)\.predicate")
#: What workers have besides what their pods depend on.
_KEPT_APART = frozenset({"groupId", "offsetStorageTopic"})


def objects_of(imported: Imported, placeholders: Placeholders) -> dict[str, Manifest]:
    """Return the objects as rendering would name them, without parts whose form differs between versions."""
    objects: dict[str, Manifest] = {}
    for read in imported.read:
        metadata = dict(read.body["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), PART_OF: imported.name}
        body = {**read.body, "spec": {**read.spec}, "metadata": metadata}
        if read.kind == "KafkaMirrorMaker2":
            body["spec"]["mirrors"] = list(_mirrors(read, placeholders))
            objects["mirror-maker2"] = body
        elif read.kind == "KafkaConnect":
            body["spec"]["config"] = read.config
            objects["connect"] = body
        else:
            body["spec"]["config"] = {key: value for key, value in read.config.items() if value is not None}
            body["spec"]["state"] = state_of(read.spec)
            part = imported.parts.get(read.name)
            objects[f"{role_of(read)}-connector" + (f"-{part}" if part else "")] = body
    return objects


def _mirrors(read: ReadObject, placeholders: Placeholders) -> Iterator[Manifest]:
    normal = ends_of_mirrors(read)
    if not isinstance(normal, tuple):
        return
    for _, mirror, source in normal[1]:
        normal_mirror = {key: mirror[key] for key in ("source", "sourceCluster", "targetCluster") if key in mirror}
        normal_mirror |= selections_of(mirror)
        for role, config in effective_configs(mirror, source, placeholders):
            given = mirror[f"{role}Connector"]
            normal_mirror[f"{role}Connector"] = {**given, "config": config, "state": state_of(given)}
        yield normal_mirror


def effective_state(
    name: str,
    objects: Mapping[str, Manifest],
    placeholders: Placeholders,
    kafka: str,
    flows: Mapping[str, str] | None = None,
) -> DeploymentState:
    """Return what objects make Connect run, with every setting that it would read; `flows` is by source alias."""
    state = deployment_state(name, objects, flows)
    specs = {body["metadata"]["name"]: body["spec"] for body in objects.values() if body["kind"] in CONVERTERS}
    workers = {id(group): _effective_workers(group, specs[group.name]) for group in state.workers}
    connectors = tuple(
        _effective_connector(connector, workers.get(id(connector.workers), connector.workers), placeholders, kafka)
        for connector in state.connectors
    )
    return replace(state, workers=tuple(workers.values()), connectors=connectors)


def _effective_workers(workers: DeployedWorkers, spec: Manifest) -> DeployedWorkers:
    given = {**CONVERTERS[workers.kind], EXACTLY_ONCE_SUPPORT: "disabled", **workers.config}
    # The storage topics exist, so nothing reads how they would be created.
    config = {key: value_text(value) for key, value in given.items() if not key.endswith(".storage.replication.factor")}
    config[EXACTLY_ONCE_SUPPORT] = config[EXACTLY_ONCE_SUPPORT].lower()
    names = group_names(workers.kind, spec)
    return replace(
        workers,
        config=config,
        pods={
            key: names.get(key, _plain(value))
            for key, value in {**workers.pods, **names}.items()
            if key not in _KEPT_APART and (value not in ({}, []) or key == "tls") and not _is_written_out(key, value)
        },
        group=names["groupId"],
        offsets_topic=names["offsetStorageTopic"],
        replicas=int(spec.get("replicas", 3)),
    )


def _is_written_out(key: str, value: Any) -> bool:
    """Return whether `tls` or `authentication` of a cluster are compared as the connectors' client properties."""
    return (key.endswith(".tls") and not _plain(value)) or (key.endswith(".authentication") and _is_custom(value))


def _is_custom(login: Any) -> bool:
    return isinstance(login, Mapping) and login.get("type") == "custom"


def _plain(value: Any) -> Any:
    """Return a value without the difference between an absent field and an empty one."""
    if isinstance(value, Mapping):
        return {key: _plain(below) for key, below in sorted(value.items()) if below not in (None, {}, [])}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _effective_connector(
    connector: DeployedConnector, workers: DeployedWorkers, placeholders: Placeholders, kafka: str
) -> DeployedConnector:
    """Return a connector with everything that it would read, Kafka's defaults included."""
    config = {key: _canonical(key, placeholders.text(value), workers) for key, value in connector.config.items()}
    known = definitions(kafka, Owner(connector.role)) if connector.role else {}
    config = _with_new_names(_with_predicates(config), connector.role, known)
    defaults = {
        key: _canonical(key, definition.default, workers)
        for key, definition in known.items()
        if definition.default is not None
    }
    defaults |= {key: value for key, value in workers.config.items() if ".converter" in key}
    if "topics.exclude" in defaults:
        # The definitions of a version may be those of an older one.
        defaults["topics.exclude"] = _canonical("topics.exclude", ",".join(default_topics_exclude(kafka)), workers)
    if connector.role == "source":
        defaults |= {f"source.consumer.{name}": default for name, default in _SOURCE_CONSUMER.items()}
    effective = {**defaults, **config}
    if connector.role != "source":
        # Checkpoints and heartbeats have no headers.
        effective = {key: value for key, value in effective.items() if not key.startswith("header.converter")}
    for side in SIDES:
        if f"{side}.cluster.bootstrap.servers" in effective:
            tls, login = (connector.submitted.get(f"{side}.{key}") for key in ("tls", "authentication"))
            login = login if isinstance(login, Mapping) else {}
            own = login["config"] if _is_custom(login) else {}
            written = {"security.protocol": _protocol(tls is not None, login), **own}
            for name, value in written.items():
                key = f"{side}.cluster.{name}"
                effective.setdefault(key, _canonical(key, placeholders.text(value), workers))
            if effective[f"{side}.cluster.security.protocol"].startswith("SASL") and (not login or own):
                effective.setdefault(f"{side}.cluster.sasl.mechanism", "GSSAPI")
    for name in CONVERTER_KEYS:
        if effective.get(name) == BYTE_ARRAY_CONVERTER:
            # It reads no property.
            effective = {key: value for key, value in effective.items() if not key.startswith(f"{name}.")}
    for field in ("name", "connector.class", "tasks.max"):
        effective.pop(field, None)
    tasks = connector.submitted.get("tasksMax") or connector.config.get("tasks.max") or 1
    logins = {
        key: _plain(value)
        for key, value in connector.submitted.items()
        if key.endswith((".tls", ".authentication")) and not _is_written_out(key, value)
    }
    submitted = {**effective, **logins, "class": connector.role, "tasksMax": int(tasks)}
    return replace(connector, workers=workers, config=effective, submitted=submitted)


def _canonical(key: str, value: str, workers: DeployedWorkers) -> str:
    if key in _LISTS:
        entries = dict.fromkeys(entry.strip() for entry in value.split(",") if entry.strip())
        return ",".join(sorted(entries) if key in _SELECTIONS else entries)
    if key.endswith("sasl.jaas.config"):
        module, _, rest = value.strip().partition(" ")
        options = sorted((name, next(filter(None, values), "")) for name, *values in OPTION.findall(rest))
        return f"{module} required " + " ".join(f'{name}="{given}"' for name, given in options) if options else value
    if key in CONVERTER_KEYS:
        return full_class_name(value.strip())
    value = value.replace(f"${{{FILE_PROVIDER}:{WORKER_FILE}:bootstrap.servers}}", workers.target_address)
    protocol = _protocol("tls" in workers.pods, workers.pods.get("authentication") or {})
    return value.replace(f"${{{FILE_PROVIDER}:{WORKER_FILE}:security.protocol}}", protocol)


def _protocol(encrypted: bool, login: Mapping[str, Any]) -> str:
    sasl = login.get("sasl", True) if _is_custom(login) else login.get("type", "tls") != "tls"
    return ("SASL_" if sasl else "") + ("SSL" if encrypted else "PLAINTEXT")


def _with_new_names(config: Mapping[str, str], role: str, known: Mapping[str, object]) -> dict[str, str]:
    """Return a configuration with one name for each property; of two names, the value of the newer one wins."""
    names = {old: new for old, new in OLD_NAMES.items() if old in known}
    if role == "source":
        # The only consumer of a source connector reads both.
        names |= {f"consumer.{name}": f"source.consumer.{name}" for name in _SOURCE_CONSUMER}
    renamed = {names[key]: value for key, value in config.items() if key in names}
    return renamed | {key: value for key, value in config.items() if key not in names}


def _with_predicates(config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration whose predicates have the names of their transforms."""
    renamed = {key: value for key, value in config.items() if not key.startswith("predicates")}
    for key in [key for key in renamed if _PREDICATE.fullmatch(key)]:
        alias = renamed.pop(key)
        prefix = f"predicates.{alias}."
        renamed |= {f"{key}.{name.removeprefix(prefix)}": config[name] for name in config if name.startswith(prefix)}
    return renamed
