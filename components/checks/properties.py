"""Properties of workers and connectors: Kafka knows them there, users may set them, and they lose no record."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_replication.components.checks.property_values import check_credential, check_hostnames, check_value
from kafka_replication.components.contract.problems import Problem, Severity, warning
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.properties.clients import split_prefix
from kafka_replication.components.properties.definitions import CONNECTORS, Owner
from kafka_replication.components.properties.keys import (
    STORAGE_CLIENTS,
    ClientProperty,
    KeyMeaning,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Unknown,
    WithoutEffect,
    connector_key_meaning,
    worker_key_meaning,
)
from kafka_replication.components.render.api_versions import GROUP_FIELDS
from kafka_replication.components.render.kafka_connect import EXACTLY_ONCE_SUPPORT, WORKER_OWNED
from kafka_replication.components.topology.clusters import Properties, PropertyValue
from kafka_replication.components.topology.known_keys import OF_CONNECTORS
from kafka_replication.components.topology.model import ExactlyOnce, PrefixlessPair

#: Properties that Strimzi sets from other fields of a KafkaConnector.
#: Source: AbstractConnectorSpec.FORBIDDEN_PARAMETERS.
CONNECTOR_FORBIDDEN = {
    "name": "it derives from the name of the replication",
    "connector.class": "it derives from the connector's role",
    "tasks.max": "set `tasksMax` of the connector",
    "connector.plugin.version": "set `version` of the connector",
}

#: Properties that must be equal on all connectors of a flow; otherwise checkpoints name other topics than those
#: replicated.
MUST_AGREE = {
    "replication.policy.class": "`policy` or `policyClass` of the flow",
    "replication.policy.separator": "`separator` of the flow",
    "replication.policy.internal.topic.separator.enabled": "`separator` of the flow",
    "offset-syncs.topic.location": "`offsetSyncs.location` of the flow",
    "topic.filter.class": "`topicFilterClass` of the flow",
    "group.filter.class": "`groupFilterClass` of the flow",
    "topics": "`topics` of the flow",
    "topics.exclude": "`topicsExclude` of the flow",
    "topics.blacklist": "`topicsExclude` of the flow",
    "groups": "`groups` of the flow",
    "groups.exclude": "`groupsExclude` of the flow",
    "groups.blacklist": "`groupsExclude` of the flow",
}

#: Properties that derive from the topology -> what to set instead.
_CONNECTOR_OWNED = {
    **{f"{part}.converter": f"set `transforms.converters.{part}` of the flow" for part in ("key", "value", "header")},
    "source.cluster.alias": "set `source` of the flow",
    "target.cluster.alias": "set `target` of the flow",
    **{key: f"set `{ours}` of the flow" for key, ours in OF_CONNECTORS.items()},
    "emit.offset-syncs.enabled": "set `offsetSyncs.enabled` of the flow",
    "heartbeats.replication.enabled": "set `replicateHeartbeats` of the flow",
    "exactly.once.support": "set `exactlyOnce` of the flow",
    "enabled": "set `enabled` or `state` of the connector",
    **dict.fromkeys(("transforms", "predicates"), "set `transforms` of the flow"),
    **{f"{prefix}auto.offset.reset": "set `startFrom` of the flow" for prefix in ("", "consumer.", "source.consumer.")},
}
_CONNECTION = re.compile(
    r"((source|target)\.cluster|((source|target)\.)?(producer|consumer|admin)|(producer|consumer|admin)\.override)"
    r"\.(bootstrap\.servers|security\.protocol|sasl\.|ssl\.(?!endpoint|cipher|protocol|enabled|provider|engine))"
)
_BARE_CONNECTION = re.compile(r"bootstrap\.servers|security\.protocol|sasl\.|ssl\.")
_CLUSTER = "set the cluster's `bootstrapServers`, `tls` or `authentication`"

#: Properties of older versions, other tools, brokers and topics -> what to set in a topology instead.
_OTHERWISE_NAMED = {
    "topics.whitelist": "set `topics` of the flow",
    "topics.regex": "set `topics` of the flow; each entry is a pattern",
    "topicsPattern": "set `topics` of the flow; each entry is a pattern",
    "topicsExcludePattern": "set `topicsExclude` of the flow",
    "groups.whitelist": "set `groups` of the flow",
    "groupsPattern": "set `groups` of the flow; each entry is a pattern",
    "groupsExcludePattern": "set `groupsExclude` of the flow",
    "config.properties.blacklist": "set `config.properties.exclude`",
    "tasksMax": "set `tasksMax` of the connector, next to `config`",
    "auto.offset.reset": "set `startFrom` of the flow",
    EXACTLY_ONCE_SUPPORT: "set `exactlyOnce` of the flow",
    "rename.topics": "set `policy` of the flow",
    "message.max.bytes": "set `producer.override.max.request.size` on the source connector, and raise the limit "
    "on the target's brokers or topics",
    "max.message.bytes": "set `producer.override.max.request.size` on the source connector, and raise the limit "
    "on the target's topics",
    "replica.fetch.max.bytes": "set it on the brokers",
    "min.insync.replicas": "set it on the target's brokers or topics; MirrorMaker does not copy it",
    "num.partitions": "remove it; a remote topic has as many partitions as the topic on the source",
}

#: Beginnings of worker properties that Strimzi sets itself. It drops them from `spec.config` and only logs that.
#: Source: KafkaConnectConfiguration.FORBIDDEN_PREFIXES and their exceptions.
_WORKER_FORBIDDEN = {
    "ssl.": "set the target's `tls`",
    "sasl.": "set the target's `authentication`",
    "security.": "set the target's `tls` and `authentication`",
    "listeners": "the operator needs its own listener",
    "plugin.path": "set `connect.image`, `connect.build` or `connect.plugins`; the operator knows where to look",
    "rest.": "the operator needs its own listener",
    "bootstrap.servers": "set the target's `bootstrapServers`",
    "consumer.interceptor.classes": "Strimzi sets it for tracing",
    "producer.interceptor.classes": "Strimzi sets it for tracing",
    "prometheus.metrics.reporter.": "set `connect.metrics`",
}
_WORKER_ALLOWED = {
    "ssl.endpoint.identification.algorithm",
    "ssl.cipher.suites",
    "ssl.protocol",
    "ssl.enabled.protocols",
}


def owned_remedy(key: str) -> str | None:
    """Return what to do instead of setting a connector property that derives from the topology; None for others."""
    if key.startswith(("transforms.", "predicates.")):
        return _CONNECTOR_OWNED["transforms"]
    return _CONNECTOR_OWNED.get(key) or (_CLUSTER if _CONNECTION.match(key) else None)


#: Keys of a flow that each of several source connectors may also have.
_OF_EACH_SOURCE = ("topics", "topicsExclude", "startFrom", "offsetSyncs.lagMax", "transforms")


def at_one_source(remedy: str) -> str:
    """Return the remedy for one of several source connectors, with the connector's own keys instead of the flow's."""
    for key in _OF_EACH_SOURCE:
        remedy = re.sub(rf"(`{re.escape(key)}(\.\w+)*`) of the flow", r"\1 of this source connector", remedy)
    return remedy


#: Begins what `in_pair` says of a key that a pair does not have.
NOT_IN_PAIR = "a pair has no"
_PAIR_KEYS = frozenset(str(field.alias or name) for name, field in PrefixlessPair.model_fields.items())


def in_pair(remedy: str) -> str:
    """Return the remedy for a connector of a pair, which has fewer keys than a flow."""
    key_of_flow = re.search(r"`((\w+)[\w.]*)`.* of the flow", remedy)
    if key_of_flow is None:
        return remedy
    key, top = key_of_flow.groups()
    if top in ("source", "target"):
        return remedy.replace(f"`{key}` of the flow", "`between` of the pair")
    return remedy.replace("of the flow", "of the pair") if top in _PAIR_KEYS else f"{NOT_IN_PAIR} `{key}`"


def instead_of(key: str) -> str | None:
    """Return what to set instead of a property that no connector has, if a topology key has the same meaning."""
    if key in MUST_AGREE:
        return f"set {MUST_AGREE[key]}"
    return otherwise_named(key) or owned_remedy(key) or (_CLUSTER if _BARE_CONNECTION.match(key) else None)


def otherwise_named(key: str) -> str | None:
    """Return what to set instead of a property of brokers, topics, an older version or another tool."""
    _, name = split_prefix(key) or ("", key)
    return _OTHERWISE_NAMED.get(name)


def worker_forbidden(key: str) -> str | None:
    """Return what to set instead of a worker property that Strimzi drops; None for others."""
    if key in _WORKER_ALLOWED:
        return None
    if key in GROUP_FIELDS:
        return "it derives from the name of the replication"
    return next((said for begin, said in _WORKER_FORBIDDEN.items() if key.startswith(begin)), None)


def worker_owned(key: str) -> str | None:
    """Return what to do instead of setting a worker property that derives from the topology; None for others."""
    if key == EXACTLY_ONCE_SUPPORT:
        return "set `exactlyOnce` of the flow"
    if key in WORKER_OWNED or key.startswith("config.providers"):
        return "the connectors need it to read their configuration"
    return None


_OWNERS = {
    Owner.SOURCE: "source connectors",
    Owner.CHECKPOINT: "the checkpoint connector",
    Owner.HEARTBEAT: "the heartbeat connector",
    Owner.WORKER: "the workers",
}
_CONFIG_OF = {Owner.WORKER: "connect.config", **{role: f"connectors.{role}.config" for role in CONNECTORS}}


@dataclass(frozen=True)
class _Place:
    """The configuration that a property is in: its path, what reads it, and in which version of Kafka."""

    where: str
    owner: Owner
    config: Properties
    kafka: str
    offset_syncs: Side | str
    exactly_once: bool
    stops: bool = False
    is_one_source: bool = False
    of_pair: bool = False

    def here(self, remedy: str) -> str:
        """Return the remedy as it reads in this place."""
        if self.of_pair:
            return in_pair(remedy)
        return at_one_source(remedy) if self.is_one_source else remedy

    def alone(self, remedy: str) -> str:
        """Return the same for a remedy that does not follow `remove it`."""
        said = self.here(remedy)
        return f"remove it; {said}" if said.startswith(NOT_IN_PAIR) else said

    def meaning(self, key: str) -> KeyMeaning:
        if self.owner is Owner.WORKER:
            return worker_key_meaning(key, self.kafka, exactly_once=self.exactly_once)
        return connector_key_meaning(
            self.owner,
            key,
            self.kafka,
            config=self.config,
            offset_syncs_location=self.offset_syncs,
            exactly_once=self.exactly_once,
        )


def check_properties(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every property of the workers and connectors of a flow is known, has an effect, and may be set."""
    settings = flow.settings
    exactly_once = settings.exactly_once is ExactlyOnce.ENABLED
    stops = settings.on_loss is not None
    syncs = settings.offset_syncs.location.value if settings.offset_syncs.enabled else ""
    configs: Mapping[str, tuple[Owner, Properties]] = {
        "connect.config": (Owner.WORKER, settings.connect.config),
        **{_CONFIG_OF[role]: (role, getattr(settings.connectors, role).config) for role in CONNECTORS},
        **{
            f"connectors.sources.{part}.config": (Owner.SOURCE, source.config)
            for part, source in settings.connectors.sources.items()
        },
    }
    for path, (owner, config) in configs.items():
        is_one_source = path.startswith("connectors.sources.")
        of_pair = flow.shape is FlowShape.PREFIXLESS_PAIR
        place = _Place(flow.where(path), owner, config, flow.kafka, syncs, exactly_once, stops, is_one_source, of_pair)
        check = _check_worker if owner is Owner.WORKER else _check_connector
        for key, value in config.items():
            yield from check(place, key, value)
        if owner is Owner.SOURCE:
            yield from _check_losses(place)


#: Codes of refused properties that nothing reads where they are.
WITHOUT_EFFECT = frozenset({"property-without-effect", "property-of-other-connector", "forbidden-property"})


def refused_properties(
    owner: Owner, config: Properties, kafka: str, *, offset_syncs: Side | str = "source", exactly_once: bool = False
) -> dict[str, Problem]:
    """Return the properties that a check of this configuration refuses, each with the first reason."""
    place = _Place("", owner, config, kafka, offset_syncs, exactly_once)
    check = _check_worker if owner is Owner.WORKER else _check_connector
    found = ((key, problem) for key, value in config.items() for problem in check(place, key, value))
    return {key: problem for key, problem in reversed([*found]) if problem.severity is Severity.ERROR}


def _check_connector(place: _Place, key: str, value: PropertyValue) -> Iterator[Problem]:
    where, meaning = f"{place.where}.{key}", place.meaning(key)
    if key in CONNECTOR_FORBIDDEN:
        yield _forbidden(where, key, "A KafkaConnector has a separate field for it", CONNECTOR_FORBIDDEN[key])
    elif key in MUST_AGREE and not isinstance(meaning, Unknown) and not place.of_pair:
        yield Problem(
            where,
            "must-agree",
            f"`{key}` is set on one connector",
            "The source and the checkpoint connector must agree on it. Otherwise checkpoints name other topics than "
            "the replicated ones, and offsets never translate.",
            f"remove it here and set {place.here(MUST_AGREE[key])}.",
        )
    elif not isinstance(meaning, OtherOwner | WithoutEffect) and (instead := _owned_remedy(place, key)):
        yield _owned(where, key, place.here(instead))
    else:
        yield from _check_placed(place, key, value, meaning)


def _owned_remedy(place: _Place, key: str) -> str | None:
    if place.exactly_once and key == "source.consumer.isolation.level":
        return "`exactlyOnce` of the flow already sets it to read only committed records"
    if place.stops and place.owner is Owner.SOURCE and key == "source.consumer.group.id":
        return "`onLoss` of the flow sets it to the group in which a keeper commits where partitions start"
    if place.owner is Owner.CHECKPOINT and key.endswith("consumer.auto.offset.reset"):
        return "the connector must read offset syncs and checkpoints from the beginning"
    if place.of_pair and key in MUST_AGREE:
        return f"set {MUST_AGREE[key]}"
    return owned_remedy(key)


def _check_worker(place: _Place, key: str, value: PropertyValue) -> Iterator[Problem]:
    where = f"{place.where}.{key}"
    if (instead := worker_forbidden(key)) is not None:
        yield _forbidden(where, key, "The operator drops it and only logs that", instead)
    elif instead := worker_owned(key):
        yield _owned(where, key, place.here(instead))
    else:
        yield from _check_placed(place, key, value, place.meaning(key))


def _check_placed(place: _Place, key: str, value: PropertyValue, meaning: KeyMeaning) -> Iterator[Problem]:
    where = f"{place.where}.{key}"
    match meaning:
        case Unknown():
            yield _unknown(place, key, meaning)
        case OtherOwner(owners):
            yield _other_owner(place, key, owners)
        case WithoutEffect(why, instead):
            yield Problem(
                where,
                "property-without-effect",
                f"`{key}` has no effect here",
                why,
                f"{place.alone(instead_of(key) or (f'set {instead}' if instead else 'remove it'))}.",
            )
        case OwnProperty(definition):
            yield from check_value(where, key, value, definition)
        case ClientProperty(definition):
            yield from check_value(where, key, value, definition)
            yield from _check_data_producer(place, key, meaning)
        case PassedOn():
            pass
    if not isinstance(meaning, Unknown | OtherOwner | WithoutEffect):
        yield from check_credential(where, key, value)
        yield from check_hostnames(where, key, value)


def _check_data_producer(place: _Place, key: str, meaning: ClientProperty) -> Iterator[Problem]:
    """A producer property is usually meant for records, which another producer writes."""
    producers = [client.name for client in meaning.clients if client.kind is Owner.PRODUCER]
    if producers == [client.name for client in meaning.clients] == [STORAGE_CLIENTS[Owner.PRODUCER].name]:
        why = "the producers of Connect's own topics. The worker's producer of records reads it with `producer.`."
        remedy = f"set `producer.{key}`."
    elif producers == ["offset-syncs-producer"] and meaning.missed and not key.startswith("source."):
        name, side = meaning.definition.name, place.offset_syncs or "source"
        why = "the producer of offset syncs. The worker's producer writes the records."
        remedy = f"set `producer.override.{name}` for records, or `{side}.producer.{name}` for offset syncs."
    else:
        return
    what = f"`{key}` has no effect on replicated records"
    yield warning(f"{place.where}.{key}", "property-without-effect", what, f"It reaches only {why}", remedy)


def _unknown(place: _Place, key: str, meaning: Unknown) -> Problem:
    why = f"Kafka {place.kafka} has no such property for {_OWNERS[place.owner]}, and would silently ignore it."
    if meaning.known_in:
        why = f"Kafka {place.kafka} does not have it, but Kafka {' and '.join(meaning.known_in)} does."
    remedy = otherwise_named(key) if place.owner is Owner.WORKER else instead_of(key)
    return Problem(
        f"{place.where}.{key}",
        "unknown-property",
        f"`{key}` is not known",
        why,
        f"{place.alone(remedy or _nearest_remedy(place, meaning.nearest))}.",
    )


def _nearest_remedy(place: _Place, nearest: str | None) -> str:
    if nearest is None:
        return "remove it or correct its name"
    decided = None if place.owner is Owner.WORKER else instead_of(nearest)
    return f"{decided} if you mean `{nearest}`" if decided else f"set `{nearest}`"


def _other_owner(place: _Place, key: str, owners: tuple[Owner, ...]) -> Problem:
    theirs = " and ".join(_OWNERS[owner] for owner in owners)
    known = [owner for owner in owners if not (place.of_pair and owner is Owner.CHECKPOINT)]
    instead = instead_of(key) or f"set it at {' or '.join(f'`{_CONFIG_OF[owner]}`' for owner in known)}"
    if not known:
        instead = "a pair has no checkpoint connector"
    return Problem(
        f"{place.where}.{key}",
        "property-of-other-connector",
        f"`{key}` belongs to {theirs}",
        f"{_OWNERS[place.owner].capitalize()} would silently ignore it.",
        f"remove it here; {place.here(instead)}.",
    )


def _forbidden(where: str, key: str, reason: str, instead: str) -> Problem:
    what = f"`{key}` cannot be set here"
    return Problem(where, "forbidden-property", what, f"{reason}.", f"remove it; {instead}.")


def _owned(where: str, key: str, instead: str) -> Problem:
    return Problem(
        where,
        "owned-property",
        f"`{key}` derives from the topology",
        "The objects of the flow must agree on its value, and a second value could differ.",
        f"remove it; {instead}.",
    )


def _check_losses(place: _Place) -> Iterator[Problem]:
    """No source connector skips failing records, or stops looking for new topics."""
    if str(place.config.get("errors.tolerance")).lower() == "all":
        yield warning(
            f"{place.where}.errors.tolerance",
            "failures-skipped",
            "`errors.tolerance` is `all`",
            "The connector then skips each record that a transform or the target refuses. The record is missing on the "
            "target, and no task fails (KIP-779).",
            "remove it; the task then fails at such a record.",
        )
    if str(place.config.get("refresh.topics.enabled")).lower() == "false":
        yield warning(
            f"{place.where}.refresh.topics.enabled",
            "new-topics-left-out",
            "`refresh.topics.enabled` is `false`",
            "The connector looks for topics and partitions only when it starts. Those created later are not "
            "replicated.",
            "remove it; `intervals.refreshTopicsSeconds` says how often to look.",
        )
