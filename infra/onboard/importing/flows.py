"""Turns a KafkaConnect with its mirror connectors into a `flow`, and names replications."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kafka_replication.components.checks.properties import owned_remedy
from kafka_replication.components.contract.wording import agreeing
from kafka_replication.components.flows.operators import USES_CONNECTOR_RESOURCES
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ROLE_OF_CLASS, ConnectorRole
from kafka_replication.components.kafka.plugins import below
from kafka_replication.components.kafka.replication_policy import SIDES, Side, is_readable
from kafka_replication.components.kafka.topic_names import has_topic_characters_only
from kafka_replication.components.render.connections import FILE_PROVIDER, WORKER_FILE
from kafka_replication.components.render.secrets import CONFIG_MAP_PROVIDER
from kafka_replication.components.topology.clusters import is_label, is_subdomain
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.logins import Logins, operator_properties
from kafka_replication.infra.onboard.importing.reading import Notes, ReadObject, ReadProperties
from kafka_replication.infra.onboard.importing.settings import flow_keys
from kafka_replication.infra.onboard.importing.values import ConfigMaps, Placeholders, unresolved
from kafka_replication.infra.onboard.importing.workers import CONVERTERS, connect_of, connector_keys, own_labels

_CLIENTS = ("producer.override.", "consumer.override.", "admin.override.")
#: Properties that the topology expresses in its own way, so a placeholder cannot replace them.
_TO_KNOW = frozenset({"topics", "topics.exclude", "groups", "groups.exclude", "replication.policy.class"})
#: Key of a cluster -> the client properties that it stands for.
_PROPERTIES_OF = {
    "bootstrapServers": ("bootstrap.",),
    "tls": ("security.", "ssl.truststore."),
    "authentication": ("security.", "sasl.", "ssl.key"),
}
#: Each role with the project's number of tasks.
TASKS: Mapping[ConnectorRole, int] = {"source": 3, "checkpoint": 1, "heartbeat": 1}


@dataclass
class Imported:
    """One replication of a topology, with its clusters by alias, and the objects that it was made of. `parts` names the
    parts of several source connectors, by the names of their KafkaConnectors. `mirror_index` is the place of the mirror
    that becomes this flow in the KafkaMirrorMaker2 that was read; None if the replication is what was read. `wanted` is
    the name that it would have if Kubernetes accepted it and nothing else had it."""

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


def flow_of(
    name: str, connect: ReadObject, by_role: Mapping[ConnectorRole, ReadObject], config_maps: ConfigMaps, kafka: str
) -> Imported:
    """Return the flow of a KafkaConnect with one source connector and at most one connector of each other role."""
    made = Imported(name, connect.api, {}, {}, [connect, *by_role.values()], wanted=connect.name)
    of_connect = Notes(connect, made.left_out)
    notes = {role: Notes(read, made.left_out, "spec") for role, read in by_role.items()}
    by_operator = not isinstance(by_role["source"], ReadProperties)
    if by_operator and connect.annotations.get(USES_CONNECTOR_RESOURCES) != "true":
        why = "It is not `true`, so the operator ignores the KafkaConnectors. Deploying this project starts them."
        remedy = "make sure that they are meant to run: Connect's REST API shows what runs now."
        of_connect(f"metadata.annotations.{USES_CONNECTOR_RESOURCES}", "connectors-not-managed", why, remedy)
    placeholders = Placeholders.of(connect.namespace, connect.config, config_maps)
    configs = {role: _config(notes[role], placeholders) for role in by_role}
    source, target = (configs["source"].get(f"{side}.cluster.alias", side) for side in SIDES)
    made.clusters[source] = _end("source", source, configs["source"], made, notes["source"])
    if isinstance(connect, ReadProperties):
        made.clusters[target] = _end("target", target, by_role["source"].config, made, notes["source"])
    else:
        of_spec = of_connect.below("spec")
        made.clusters[target] = Logins(target, of_spec, made.needed, placeholders.text).of_fields(connect.spec)
    _compare_connectors(configs, notes)
    if not isinstance(connect, ReadProperties) and (own := _connections(configs["source"], "target")):
        of_target = notes["source"].below("config.target.cluster")
        _compare_with_workers(own, connect.spec, made.clusters[target], of_target)
    for key in sorted(below("target.cluster.", configs.get("heartbeat", {}))):
        if owned_remedy(f"target.cluster.{key}") is None:
            why = "The heartbeat connector of a flow writes to the source, and gets no property of the target."
            remedy = f"none, or set `producer.override.{key}` of it if the source needs it."
            notes["heartbeat"](f"config.target.cluster.{key}", "connectors-differ", why, remedy)
    others = {role: _without_connections(config, role) for role, config in configs.items()}
    # The rendering sets it, too.
    rack = connect.spec.get("rack") or {}
    ours = f"${{strimzienv:{rack.get('envVarName')}}}"
    if "topologyKey" in rack:
        ours = "${strimzidir:/opt/kafka/init:rack.id}"
    if others["source"].get("consumer.client.rack") == ours:
        del others["source"]["consumer.client.rack"]
    keys = flow_keys(others, connect.config, CONVERTERS[connect.kind], kafka, notes)
    fields = connect_of(of_connect, connect.config, name, kafka)
    if isinstance(connect, ReadProperties) and not connect.keeps_group:
        del fields["groupId"], fields["storageTopics"]
    made.replication |= {
        **{"kind": "flow", "source": source, "target": target, **keys},
        "namespace": {"name": connect.namespace, "create": False},
        "connect": fields,
        "connectors": {
            role: _connector(notes[role], others[role], tasks) if role in by_role else {"enabled": False}
            for role, tasks in TASKS.items()
        },
    }
    return made


def _config(notes: Notes, placeholders: Placeholders) -> dict[str, str]:
    given = notes.read.config
    config = {str(key): placeholders.text(value) for key, value in given.items() if value is not None}
    for key in sorted(_TO_KNOW & config.keys()):
        if f"${{{CONFIG_MAP_PROVIDER}:" in config[key]:
            why = f"{config[key]} is in a ConfigMap that was not read, and without it the selection is not known."
            notes(f"config.{key}", "config-map-not-read", why, "also import the ConfigMap.")
    return config


def _compare_connectors(
    configs: Mapping[ConnectorRole, Mapping[str, str]], notes: Mapping[ConnectorRole, Notes]
) -> None:
    """Report aliases by which the checkpoint connector looks for other topics than the source connector writes, and
    note where connectors connect otherwise than the source connector. The clusters of heartbeats are others."""
    for side in SIDES:
        key = f"{side}.cluster.alias"
        aliases = {role: config.get(key, side).strip() for role, config in configs.items()}
        known = not any("${" in alias for alias in aliases.values())
        if known and aliases.get("checkpoint", aliases["source"]) != aliases["source"]:
            why = (
                f"It is `{aliases['checkpoint']}`, but the source connector has `{aliases['source']}`, and topics "
                "are named after it: committed offsets are not translated to the records that are copied."
            )
            notes["checkpoint"](f"config.{key}", "connectors-disagree", why, "give both connectors the same alias.")
        for role in (role for role in configs if role != "heartbeat"):
            note_other_login(
                _connections(configs[role], side), _connections(configs["source"], side), side, notes[role]
            )


def _compare_with_workers(
    own: Mapping[str, str], workers: Mapping[str, Any], target: dict[str, Any], notes: Notes
) -> None:
    """Note where a connector connects to the `target` of the workers otherwise than they do. `own` are its client
    properties, and `workers` is the spec. The key that it trusts beside a pattern of the workers goes into the target.
    """
    groups = {
        key: {name: value for name, value in own.items() if name.startswith(prefixes)}
        for key, prefixes in _PROPERTIES_OF.items()
    }
    opaque = {key: group for key, group in groups.items() if any(map(unresolved, group.values()))}
    hidden = {name for group in opaque.values() for name in group} - {"security.protocol"}
    read = Logins("target", notes, {}).of_properties({key: own[key] for key in own if key not in hidden})
    trust, of_connector = (cluster.get("tls", {}).get("trust", {}) for cluster in (target, read))
    if "pattern" in trust and trust["secret"] == of_connector.get("secret"):
        target["tls"] = read["tls"] = {"trust": {**trust, **of_connector}}
    for key in (key for key in groups if key not in opaque):
        if read.get(key) != target.get(key):
            why = f"It gives the target another `{key}` than its workers have. A topology has one, that of the workers."
            notes("", "connectors-differ", why, "give both the same, or keep this object as it is.")
    derived = operator_properties(workers)
    for name, value in sorted({entry for group in opaque.values() for entry in group.items()}):
        if derived.get(name) == value or f"${{{FILE_PROVIDER}:{WORKER_FILE}" in value:
            continue
        why = "A topology has one login for the target, that of the workers, and this value cannot be compared with it."
        if name in derived and not unresolved(value):
            why = f"A topology has one login for the target, that of the workers, which have `{derived[name]}`."
        notes(name, "connectors-differ", why, "make sure that both are the same, or keep this object as it is.")


def note_other_login(own: Mapping[str, str], wanted: Mapping[str, str], side: Side, notes: Notes) -> None:
    """Note the properties of a connector's connection to a cluster that are not those `wanted` of all connectors."""
    for key in sorted(key for key in {*own, *wanted} if own.get(key) != wanted.get(key)):
        why = (
            "Another connector, or the cluster itself, has another value. A topology has one address and one login for "
            "each cluster, which all connectors of a flow get."
        )
        remedy = "give all of them the same value, or keep this object as it is."
        notes(f"config.{side}.cluster.{key}", "connectors-differ", why, remedy)


def _connections(config: Mapping[str, str], side: Side) -> dict[str, str]:
    """Return what a connector sets for the address of a cluster and the login to it, by the client's property."""
    return below(f"{side}.cluster.", {key: value for key, value in config.items() if _is_connection(key, side)})


def _end(side: Side, alias: str, config: Mapping[str, str], made: Imported, notes: Notes) -> dict[str, Any]:
    of_side = notes.below(f"config.{side}.cluster")
    return Logins(alias, of_side, made.needed).of_properties(_connections(config, side))


def _is_connection(key: str, side: Side) -> bool:
    """Return whether a property of a connector decides the address of a cluster or the login to it."""
    return key.startswith(f"{side}.cluster.") and key != f"{side}.cluster.alias" and owned_remedy(key) is not None


def _connector(notes: Notes, config: Mapping[str, str], tasks: int) -> dict[str, Any]:
    read = notes.read
    return {
        **({"name": read.name} if is_subdomain(read.name) else {}),
        **own_labels(replace(notes, path="")),
        **connector_keys(read.spec, config, notes, tasks),
    }


def _without_connections(config: Mapping[str, str], role: ConnectorRole) -> dict[str, str]:
    """Return a configuration without the properties that the clusters of the topology decide."""
    named = {f"{side}.cluster.alias" for side in SIDES}
    # The clusters of a flow's heartbeats are others.
    connections = {
        key
        for key in config
        for side in SIDES
        if _is_connection(key, side) or (role == "heartbeat" and key.startswith(f"{side}.cluster."))
    }
    own = {key: value for key, value in config.items() if key not in connections | named}
    if role == "heartbeat":
        ends = below("target.cluster.", config)
        for prefix in _CLIENTS:
            own = {key: value for key, value in own.items() if key.removeprefix(prefix) not in ends}
    return own


_Replication: TypeAlias = dict[str, Any]
#: Keys that each of several source connectors may have, with the value that an absent one means.
_OF_EACH: Mapping[str, Any] = {"topicsExclude": [], "startFrom": "earliest", "transforms": {}}
#: Keys that are compared differently, or not at all: only the first source connector replicates heartbeats.
_APART = frozenset({"topics", "connectors", "replicateHeartbeats", "offsetSyncs", *_OF_EACH})


def imported_flow(
    name: str, connect: ReadObject, connectors: Sequence[ReadObject], config_maps: ConfigMaps, kafka: str
) -> Imported | LeftOut:
    """Return the flow of a KafkaConnect and its mirror connectors, or why there is none."""
    # Those that replicate no heartbeats come last.
    sources = sorted(
        (connector for connector in connectors if role_of(connector) == "source"),
        key=lambda source: str(source.config.get("heartbeats.replication.enabled", True)).lower() == "false",
    )
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
    for source in sources:
        separator = source.config.get("replication.policy.separator", ".") or "."
        for side in SIDES:
            alias = str(source.config.get(f"{side}.cluster.alias", side)).strip()
            if "${" not in alias and not (has_topic_characters_only(alias) and is_readable(alias, str(separator))):
                why = (
                    f"It is `{alias}`, and a topology cannot name a cluster so: MirrorMaker takes the text before the "
                    "first separator of a remote topic as the alias, so it would not recognize records that come back."
                )
                remedy = "if topics are to keep their names, set an alias and Kafka's IdentityReplicationPolicy."
                return source.left_out(f"spec.config.{side}.cluster.alias", "alias-not-usable", why, remedy)
    if len(sources) == 1:
        return flow_of(name, connect, {"source": sources[0], **others}, config_maps, kafka)
    alone = {source.name: flow_of(name, connect, {"source": source}, config_maps, kafka) for source in sources}
    if differing := differing_keys(list(map(_shared, alone.values()))):
        why = f"Its source connectors differ in {differing}, which must be the same within one flow."
        remedy = "make them equal, or give each flow its own KafkaConnect, then import both."
        return connect.left_out("", "several-flows-on-one-connect", why, remedy)
    first = _with_all_topics(sources[0], list(alone.values()))
    whole = flow_of(name, connect, {"source": first, **others}, config_maps, kafka)
    return _divided(whole, alone, [connect, *sources, *others.values()])


def differing_keys(shared: Sequence[Mapping[str, Any]]) -> str:
    """Return the keys in which mappings differ, for a message; "" if there are none."""
    keys = {key for settings in shared for key in (*settings, *shared[0]) if settings.get(key) != shared[0].get(key)}
    return ", ".join(f"`{key}`" for key in sorted(keys))


def _shared(made: Imported) -> _Replication:
    shared = {key: value for key, value in made.replication.items() if key not in _APART}
    syncs = {key: value for key, value in made.replication.get("offsetSyncs", {}).items() if key != "lagMax"}
    return {**shared, "offsetSyncs": syncs, "clusters": made.clusters}


def _with_all_topics(first: ReadObject, made: Sequence[Imported]) -> ReadObject:
    """Return the first source connector with the topics of all, which is how the checkpoint connector sees it."""
    config = first.config
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
    parts = {
        name: name if is_label(name) else f"{re.sub('[^a-z0-9]+', '-', name)[:50].strip('-')}-{number}"
        for number, name in enumerate(alone, 1)
    }
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
    sentences = [f"{name}: {what}.", f"{', and '.join(reasons)}."]
    if kept := [f"`{alias}`" for alias in aliases if not is_label(alias)]:
        stay = agreeing(len(kept), "[stays|stay]: MirrorMaker names topics after [it|them]")
        sentences.append(f"The {agreeing(len(kept), 'alias[|es]')} {', '.join(kept)} {stay}.")
    return " ".join(sentences)
