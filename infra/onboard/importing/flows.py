"""Turns a KafkaConnect with its mirror connectors into a `flow`, and names replications."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from components.flows.operators import USES_CONNECTOR_RESOURCES
from components.kafka.connectors import CONNECTOR_CLASSES, ROLE_OF_CLASS, ConnectorRole
from components.kafka.plugins import below
from components.kafka.replication_policy import SIDES, Side
from components.render.connections import FILE_PROVIDER, WORKER_FILE
from components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from components.render.secrets import CONFIG_MAP_PROVIDER
from components.topology.clusters import is_label, is_subdomain
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.logins import Logins
from infra.onboard.importing.reading import ReadObject, ReadProperties
from infra.onboard.importing.settings import Settings, taken_transforms, without_bytes
from infra.onboard.importing.values import Placeholders, may_be_secret, providers_of, unresolved
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

    `parts` names the parts of several source connectors, by the names of their KafkaConnectors. `mirror_index` is the
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
    mirror_index: int | None = None
    wanted: str = ""


def role_of(connector: ReadObject) -> ConnectorRole | None:
    """Return which of MirrorMaker's connectors it is; None for somebody else's class, even of the same name."""
    given = str(connector.spec.get("class"))
    role = ROLE_OF_CLASS.get(given.rpartition(".")[2])
    return role if role is not None and ("." not in given or given == CONNECTOR_CLASSES[role]) else None


def placeholders_of(connect: ReadObject, config_maps: Sequence[ReadObject]) -> Placeholders:
    """Return what resolves placeholders of the connectors that these workers run."""
    data = {
        (config_map.namespace, config_map.name): dict(config_map.body.get("data") or {}) for config_map in config_maps
    }
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
            aliases = {role: config.get(key, side).strip() for role, config in configs.items()}
            known = not any("${" in alias for alias in aliases.values())
            if known and aliases.get("checkpoint", aliases["source"]) != aliases["source"]:
                why = (
                    f"It is `{aliases['checkpoint']}`, but the source connector has `{aliases['source']}`, and topics "
                    "are named after it: committed offsets are not translated to the records that are copied."
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
        fields = connect_of(self.connect, self.connect.spec, config, self.name, self.left_out)
        named = not isinstance(self.connect, ReadProperties) or self.connect.keeps_group
        return {key: value for key, value in fields.items() if named or key not in {"groupId", "storageTopics"}}

    def _refuse_credential(self, key: str) -> None:
        self.left_out.append(open_credential(_refusing(self.by_role["source"]), key))

    def _connector(self, role: ConnectorRole, own: Mapping[ConnectorRole, dict[str, str]]) -> dict[str, Any]:
        read = self.by_role.get(role)
        if read is None:
            return {"enabled": False}
        refuse = _refusing(read)
        fields = connector_fields_of(read.spec, refuse, self.left_out, TASKS[role])
        config = passed_config(own[role], refuse, self.left_out)
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
    own = {key: value for key, value in config.items() if not key.startswith(prefixes)}
    if role == "heartbeat":
        ends = {key.removeprefix("target.cluster.") for key in config if key.startswith("target.cluster.")}
        for prefix in _CLIENTS[1:]:
            own = {key: value for key, value in own.items() if key.removeprefix(prefix) not in ends}
    return own


def open_credential(refuse: Any, key: str) -> LeftOut:
    """Report that a property is not taken over because it holds a credential in plain text."""
    why = "It holds a credential in plain text, which is not written."
    remedy = "put it into a Secret, and set the property to `${secret:NAME:KEY}`."
    note: LeftOut = refuse(f"config.{key}", "plain-text-credential", why, remedy)
    return note


def passed_config(config: Mapping[str, str], refuse: Any, left_out: list[LeftOut]) -> dict[str, Any]:
    """Return the properties that the topology passes on: no credentials, no placeholders that it cannot express."""
    passed: dict[str, Any] = {}
    for key, value in config.items():
        placeholder = unresolved(value)
        if placeholder is not None and not placeholder.startswith(f"${{{FILE_PROVIDER}:{WORKER_FILE}"):
            why = f"Its placeholder {placeholder} needs a configuration provider that the rendered workers do not have."
            left_out.append(refuse(f"config.{key}", "provider-not-known", why, "use a Secret or a ConfigMap."))
        elif may_be_secret(key, value):
            left_out.append(open_credential(refuse, key))
        else:
            passed[key] = int(value) if _NUMBER.fullmatch(value) else _SWITCH.get(value, value)
    return passed


_Replication: TypeAlias = dict[str, Any]
#: Keys that each of several source connectors may have, with the value that an absent one means.
_OF_EACH: Mapping[str, Any] = {"topicsExclude": [], "startFrom": "earliest", "transforms": {}}
#: Keys that are compared differently, or not at all: only the first source connector replicates heartbeats.
_APART = frozenset({"topics", "connectors", "replicateHeartbeats", "offsetSyncs", *_OF_EACH})


def imported_flow(
    name: str, connect: ReadObject, connectors: Sequence[ReadObject], config_maps: Sequence[ReadObject], kafka: str
) -> Imported | LeftOut:
    """Return the flow of a KafkaConnect and its mirror connectors, or why there is none."""
    sources = [connector for connector in connectors if role_of(connector) == "source"]
    others: dict[ConnectorRole, ReadObject] = {}
    for connector in connectors:
        role = role_of(connector)
        if role is None or role == "source":
            continue
        if role in others:
            why = f"`{others[role].name}` and `{connector.name}` are both its {role} connectors."
            remedy = "give each flow its own KafkaConnect, then import both."
            return connect.left_out("", "several-flows-on-one-connect", why, remedy)
        others[role] = connector
    if not sources:
        names = ", ".join(f"`{connector.name}`" for connector in connectors)
        why = f"It runs {names}, but no MirrorSourceConnector, so it replicates no records."
        return connect.left_out("", "no-source-connector", why, "also import its source connector.")
    if len(sources) == 1:
        return flow_of(name, connect, {"source": sources[0], **others}, config_maps, kafka)
    alone = {
        source.name: flow_of(name, connect, {"source": source}, config_maps, kafka)
        for source in sorted(sources, key=_replicates_no_heartbeats)
    }
    if differing := _differing(list(alone.values())):
        why = (
            f"Its source connectors differ in {', '.join(f'`{key}`' for key in differing)}, which must be the same "
            "within one flow."
        )
        remedy = "make them equal, or give each flow its own KafkaConnect, then import both."
        return connect.left_out("", "several-flows-on-one-connect", why, remedy)
    by_name = {source.name: source for source in sources}
    first = _with_all_topics(by_name[next(iter(alone))], list(alone.values()))
    whole = flow_of(name, connect, {"source": first, **others}, config_maps, kafka)
    return _divided(whole, alone, [connect, *(by_name[source] for source in alone), *others.values()])


def _replicates_no_heartbeats(source: ReadObject) -> bool:
    config = source.spec.get("config") or {}
    return str(config.get("heartbeats.replication.enabled", True)).lower() == "false"


def _differing(made: Sequence[Imported]) -> list[str]:
    """Return the keys in which the flows of single source connectors differ although one flow must share them."""
    shared_keys = [_shared(flow) for flow in made]
    return sorted(
        {
            key
            for shared in shared_keys
            for key in {*shared, *shared_keys[0]}
            if shared.get(key) != shared_keys[0].get(key)
        }
    )


def _shared(made: Imported) -> _Replication:
    shared = {key: value for key, value in made.replication.items() if key not in _APART}
    syncs = {key: value for key, value in made.replication.get("offsetSyncs", {}).items() if key != "lagMax"}
    return {**shared, "offsetSyncs": syncs, "clusters": made.clusters}


def _with_all_topics(first: ReadObject, made: Sequence[Imported]) -> ReadObject:
    """Return the first source connector with the topics of all, which is how the checkpoint connector sees it."""
    config = dict(first.spec.get("config") or {})
    config["topics"] = ",".join(dict.fromkeys(topic for flow in made for topic in flow.replication.get("topics", ())))
    if not _equal(made, "topicsExclude"):
        config.pop("topics.exclude", None)
    return replace(first, body={**first.body, "spec": {**first.spec, "config": config}})


def _equal(made: Sequence[Imported], key: str) -> bool:
    values = [flow.replication.get(key, _OF_EACH[key]) for flow in made]
    return all(value == values[0] for value in values)


def _divided(whole: Imported, alone: Mapping[str, Imported], read: list[ReadObject]) -> Imported:
    """Return the flow of all source connectors; `alone` has that of each, by the name of its KafkaConnector."""
    made = list(alone.values())
    own = [key for key in _OF_EACH if not _equal(made, key)]
    parts = {connector: _part_name(connector, index) for index, connector in enumerate(alone)}
    sources = {parts[connector]: _part(one.replication, own, made) for connector, one in alone.items()}
    flow = {key: value for key, value in whole.replication.items() if key != "topics" and key not in own}
    flow["connectors"] = {key: value for key, value in flow["connectors"].items() if key != "source"}
    flow["connectors"]["sources"] = sources
    left_out = list(dict.fromkeys([*whole.left_out, *(note for one in made for note in one.left_out)]))
    needed = {key: what for one in (whole, *made) for key, what in one.needed.items()}
    return replace(whole, replication=flow, read=read, left_out=left_out, needed=needed, parts=parts)


def _part(alone: _Replication, own: Sequence[str], made: Sequence[Imported]) -> _Replication:
    part = {"topics": alone.get("topics", [])}
    part |= {key: alone.get(key, _OF_EACH[key]) for key in own}
    lags = [flow.replication.get("offsetSyncs", {}).get("lagMax") for flow in made]
    lag = alone.get("offsetSyncs", {}).get("lagMax")
    if any(other != lags[0] for other in lags) and lag is not None:
        part["offsetSyncs"] = {"lagMax": lag}
    return {**part, **alone["connectors"]["source"]}


def _part_name(connector: str, index: int) -> str:
    return connector if is_label(connector) else f"{re.sub('[^a-z0-9]+', '-', connector)[:50].strip('-')}-{index + 1}"


@dataclass
class Names:
    """The names that replications have so far."""

    taken: set[str] = field(default_factory=set)

    def free(self, given: str, namespace: str = "", kind: str = "mm2") -> str:
        """Take a name that no other replication has; `namespace` and `kind` distinguish equal names."""
        plain = plain_name(given, kind)
        wanted = [plain, *([f"{namespace}-{plain}", f"{namespace}-{plain}-{kind}"] if namespace else [])]
        numbered = (f"{plain}-{number}" for number in range(2, len(self.taken) + 3))
        name = next(candidate for candidate in (*wanted, *numbered) if candidate not in self.taken)
        self.taken.add(name)
        return name


def plain_name(given: str, kind: str = "mm2") -> str:
    """Return the text as a Kubernetes name, if it is not too long; the kind if no part of it can be in a name."""
    return given if is_label(given) else re.sub("[^a-z0-9-]+", "-", given.lower()).strip("-") or kind


def why_named(name: str, wanted: str, what: str, aliases: list[str]) -> str:
    """Say why a replication does not have the name that the input suggests; `what` is what was read."""
    plain = plain_name(wanted)
    reasons = [
        *([] if is_label(wanted) else [f"`{wanted}` is not a valid name in Kubernetes"]),
        *([] if plain == name else [f"`{plain}` is the name of another replication"]),
    ]
    return f"{name}: {what}. {', and '.join(reasons)}.{_kept([alias for alias in aliases if not is_label(alias)])}"


def _kept(aliases: list[str]) -> str:
    names = ", ".join(f"`{alias}`" for alias in aliases)
    if len(aliases) > 1:
        return f" The aliases {names} stay: MirrorMaker names topics after them."
    return f" The alias {names} stays: MirrorMaker names topics after it." if aliases else ""
