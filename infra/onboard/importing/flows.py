"""A KafkaConnect with its mirror connectors -> a `flow`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.flows.operators import USES_CONNECTOR_RESOURCES
from components.kafka.connectors import CONNECTOR_CLASSES, ROLE_OF_CLASS, ConnectorRole
from components.kafka.plugins import below
from components.kafka.replication_policy import SIDES, Side
from components.render.connections import FILE_PROVIDER, WORKER_FILE
from components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from components.render.secrets import CONFIG_MAP_PROVIDER
from components.topology.clusters import is_subdomain
from infra.onboard.importing.chains import taken_transforms, without_bytes
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.logins import Logins
from infra.onboard.importing.placeholders import Placeholders, providers_of, unresolved
from infra.onboard.importing.read_properties import ReadProperties
from infra.onboard.importing.reading import ReadObject
from infra.onboard.importing.secret_values import may_be_secret
from infra.onboard.importing.settings import Settings
from infra.onboard.importing.workers import CONVERTERS, connect_of, connector_fields_of, own_labels

_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_SWITCH = {"true": True, "false": False}
_CLIENTS = ("target.cluster.", "producer.override.", "consumer.override.", "admin.override.")
#: Properties that the topology expresses in its own way, so a placeholder cannot replace them.
_TO_KNOW = frozenset({"topics", "topics.exclude", "groups", "groups.exclude", "replication.policy.class"})
_MANAGED_AT = f"metadata.annotations.{USES_CONNECTOR_RESOURCES}"
TASKS: Mapping[ConnectorRole, int] = {"source": 3, "checkpoint": 1, "heartbeat": 1}


@dataclass
class Imported:
    """One replication of a topology, with its clusters by alias, and the objects that it was made of.

    `parts` names the parts of several source connectors, by the names of their KafkaConnectors. `moves_from` is the
    place of the mirror that becomes this flow in the KafkaMirrorMaker2 that was read; None if the replication is what
    was read. `wanted` is the name that it would have if Kubernetes accepted it and nothing else had it.
    """

    name: str
    strimzi: str
    replication: dict[str, Any]
    clusters: dict[str, dict[str, Any]]
    read: list[ReadObject]
    left_out: list[LeftOut] = field(default_factory=list)
    needed: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    moves_from: int | None = None
    wanted: str = ""


def role_of(connector: ReadObject) -> ConnectorRole | None:
    """Return which of MirrorMaker's connectors it is; None for somebody else's class, even of the same name."""
    given = str(connector.spec.get("class"))
    role = ROLE_OF_CLASS.get(given.rpartition(".")[2])
    return role if role is not None and ("." not in given or given == CONNECTOR_CLASSES[role]) else None


def placeholders_of(connect: ReadObject, config_maps: Sequence[ReadObject]) -> Placeholders:
    """Return what resolves placeholders of the connectors that these workers run."""
    data = {(each.namespace, each.name): dict(each.body.get("data") or {}) for each in config_maps}
    return Placeholders(connect.namespace, providers_of(connect.spec.get("config") or {}), data)


def flow_of(
    name: str,
    connect: ReadObject,
    by_role: Mapping[ConnectorRole, ReadObject],
    config_maps: Sequence[ReadObject],
    kafka: str,
) -> Imported:
    """Return the flow of a KafkaConnect with one source connector and at most one connector of each other role."""
    return _Flow(name, connect, by_role, placeholders_of(connect, config_maps), kafka).imported()


@dataclass
class _Flow:
    name: str
    connect: ReadObject
    by_role: Mapping[ConnectorRole, ReadObject]
    placeholders: Placeholders
    kafka: str
    left_out: list[LeftOut] = field(default_factory=list)
    needed: dict[str, str] = field(default_factory=dict)

    def imported(self) -> Imported:
        by_operator = not isinstance(self.by_role["source"], ReadProperties)
        if (
            by_operator
            and (self.connect.body["metadata"].get("annotations") or {}).get(USES_CONNECTOR_RESOURCES) != "true"
        ):
            why = "It is not `true`, so the operator ignores the KafkaConnectors. Deploying this project starts them."
            remedy = "make sure that they are meant to run: Connect's REST API shows what runs now."
            self.left_out.append(self.connect.left_out(_MANAGED_AT, "connectors-not-managed", why, remedy))
        configs = {role: self._config(read) for role, read in self.by_role.items()}
        source = configs["source"]
        aliases = [source.get(f"{side}.cluster.alias", side) for side in ("source", "target")]
        self._compare_aliases(configs)
        clusters = {aliases[0]: self._source(source, aliases[0]), aliases[1]: self._target(aliases[1])}
        own = {role: _without_connections(config, role) for role, config in configs.items()}
        replication = self._replication(aliases, own)
        read = [self.connect, *self.by_role.values()]
        strimzi = str(self.connect.body["apiVersion"]).rpartition("/")[2]
        return Imported(self.name, strimzi, replication, clusters, read, self.left_out, self.needed)

    def _compare_aliases(self, configs: Mapping[ConnectorRole, Mapping[str, str]]) -> None:
        """Report aliases by which the checkpoint connector looks for other topics than the source connector writes."""
        for side in SIDES:
            key = f"{side}.cluster.alias"
            found = {role: config.get(key, side).strip() for role, config in configs.items()}
            known = not any("${" in alias for alias in found.values())
            if known and found.get("checkpoint", found["source"]) != found["source"]:
                why = (
                    f"It is `{found['checkpoint']}`, but the source connector has `{found['source']}`, and topics are "
                    "named after it: committed offsets are not translated to the records that are copied."
                )
                remedy = "give both connectors the same alias."
                self.left_out.append(
                    self.by_role["checkpoint"].left_out(f"spec.config.{key}", "connectors-disagree", why, remedy)
                )

    def _config(self, read: ReadObject) -> dict[str, str]:
        given = read.spec.get("config") or {}
        config = {str(key): self.placeholders.text(value) for key, value in given.items() if value is not None}
        for key in sorted(_TO_KNOW & config.keys()):
            if f"${{{CONFIG_MAP_PROVIDER}:" in config[key]:
                why = f"{config[key]} is in a ConfigMap that was not read, and without it the selection is not known."
                remedy = "also import the ConfigMap."
                self.left_out.append(read.left_out(f"spec.config.{key}", "config-map-not-read", why, remedy))
        return config

    def _source(self, config: Mapping[str, str], alias: str) -> dict[str, Any]:
        return self._end("source", config, alias)

    def _end(self, side: Side, config: Mapping[str, str], alias: str) -> dict[str, Any]:
        prefix = f"{side}.cluster."
        given = below(prefix, config)
        given.pop("alias", None)
        return self._logins(alias, self.by_role["source"], f"config.{prefix}").of_properties(given)

    def _target(self, alias: str) -> dict[str, Any]:
        if not isinstance(self.connect, ReadProperties):
            return self._logins(alias, self.connect, "").of_fields(self.connect.spec)
        return self._end("target", self.by_role["source"].spec["config"], alias)

    def _logins(self, alias: str, read: ReadObject, prefix: str) -> Logins:
        def refuse(where: str, code: str, why: str, remedy: str) -> LeftOut:
            return read.left_out(f"spec.{prefix}{where}", code, why, remedy)

        return Logins(alias, read.namespace, refuse, self.left_out, self.needed)

    def _replication(self, aliases: list[str], own: dict[ConnectorRole, dict[str, str]]) -> dict[str, Any]:
        config = dict(self.connect.spec.get("config") or {})
        converters = CONVERTERS["KafkaConnect"] | {
            key: str(value) for key, value in config.items() if ".converter" in key
        }
        transforms = taken_transforms(own["source"], converters, self._refuse_credential)
        for role in own.keys() - {"source"}:
            without_bytes(own[role])
        refuse = {role: _refusing(read) for role, read in self.by_role.items()}
        settings = Settings(own, self.kafka, refuse, self.left_out)
        support = str(config.get(EXACTLY_ONCE_SUPPORT, "disabled")).lower()
        if support != "disabled":
            settings.flow["exactlyOnce"] = support
        flow = settings.read()
        return {
            "kind": "flow",
            "source": aliases[0],
            "target": aliases[1],
            **{key: value for key, value in flow.items() if value not in ([], {})},
            **({"transforms": transforms} if transforms else {}),
            "namespace": {"name": self.connect.namespace, "create": False},
            "connect": self._connect(config),
            "connectors": {role: self._connector(role, own) for role in TASKS},
        }

    def _connect(self, config: Mapping[str, Any]) -> dict[str, Any]:
        found = connect_of(self.connect, self.connect.spec, config, self.name, self.left_out)
        named = not isinstance(self.connect, ReadProperties) or self.connect.keeps_group
        return {key: each for key, each in found.items() if named or key not in {"groupId", "storageTopics"}}

    def _refuse_credential(self, key: str) -> None:
        self.left_out.append(open_credential(_refusing(self.by_role["source"]), key))

    def _connector(self, role: ConnectorRole, own: Mapping[ConnectorRole, dict[str, str]]) -> dict[str, Any]:
        read = self.by_role.get(role)
        if read is None:
            return {"enabled": False}
        refuse = _refusing(read)
        fields = connector_fields_of(read.spec, refuse, self.left_out, TASKS[role])
        config = kept_config(own[role], refuse, self.left_out)
        return {
            **({"name": read.name} if is_subdomain(read.name) else {}),
            **own_labels(read, self.left_out),
            **fields,
            **({"config": config} if config else {}),
        }


def _refusing(read: ReadObject) -> Any:
    return lambda where, code, why, remedy: read.left_out(f"spec.{where}", code, why, remedy)


def _without_connections(config: Mapping[str, str], role: ConnectorRole) -> dict[str, str]:
    """Return a configuration without the properties that the clusters of the topology decide."""
    prefixes = ("source.cluster.", "target.cluster.")
    kept = {key: value for key, value in config.items() if not key.startswith(prefixes)}
    if role == "heartbeat":
        ends = {key.removeprefix("target.cluster.") for key in config if key.startswith("target.cluster.")}
        for prefix in _CLIENTS[1:]:
            kept = {key: value for key, value in kept.items() if key.removeprefix(prefix) not in ends}
    return kept


def open_credential(refuse: Any, key: str) -> LeftOut:
    """Report that a property is not taken over because it holds a credential in plain text."""
    why = "It holds a credential in plain text, which is not written."
    remedy = "put it into a Secret, and set the property to `${secret:NAME:KEY}`."
    found: LeftOut = refuse(f"config.{key}", "plain-text-credential", why, remedy)
    return found


def kept_config(config: Mapping[str, str], refuse: Any, left_out: list[LeftOut]) -> dict[str, Any]:
    """Return the properties that the topology passes on, without credentials and placeholders that it cannot
    express.
    """
    kept: dict[str, Any] = {}
    for key, value in config.items():
        placeholder = unresolved(value)
        if placeholder is not None and not placeholder.startswith(f"${{{FILE_PROVIDER}:{WORKER_FILE}"):
            why = f"Its placeholder {placeholder} needs a configuration provider that the rendered workers do not have."
            left_out.append(refuse(f"config.{key}", "provider-not-known", why, "use a Secret or a ConfigMap."))
        elif may_be_secret(key, value):
            left_out.append(open_credential(refuse, key))
        else:
            kept[key] = int(value) if _NUMBER.fullmatch(value) else _SWITCH.get(value, value)
    return kept
