"""Properties that users must not set, and what to set instead of each."""

import re

from components.properties.clients import split_prefix
from components.render.kafka_connect import EXACTLY_ONCE_SUPPORT, WORKER_OWNED
from components.topology.model import PrefixlessPair

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
    "refresh.topics.interval.seconds": "set `intervals.refreshTopicsSeconds` of the flow",
    "refresh.groups.interval.seconds": "set `intervals.refreshGroupsSeconds` of the flow",
    "emit.checkpoints.interval.seconds": "set `intervals.emitCheckpointsSeconds` of the flow",
    "emit.heartbeats.interval.seconds": "set `intervals.emitHeartbeatsSeconds` of the flow",
    "sync.group.offsets.enabled": "set `syncGroupOffsets` of the flow",
    "sync.group.offsets.interval.seconds": "set `intervals.syncGroupOffsetsSeconds` of the flow",
    "sync.topic.acls.enabled": "set `syncTopicAcls` of the flow",
    "emit.offset-syncs.enabled": "set `offsetSyncs.enabled` of the flow",
    "offset.lag.max": "set `offsetSyncs.lagMax` of the flow",
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
    "plugin.path": "set `connect.image` to an image that has the plugins where the operator looks",
    "rest.": "the operator needs its own listener",
    "bootstrap.servers": "set the target's `bootstrapServers`",
    "consumer.interceptor.classes": "Strimzi sets it for tracing",
    "producer.interceptor.classes": "Strimzi sets it for tracing",
    "prometheus.metrics.reporter.": "set `connect.metrics`",
}
_WORKER_NAMES = {"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"}
_WORKER_ALLOWED = {
    "ssl.endpoint.identification.algorithm",
    "ssl.cipher.suites",
    "ssl.protocol",
    "ssl.enabled.protocols",
}


def owned_remedy(key: str) -> str | None:
    """What to do instead of setting a connector property that derives from the topology; None for others."""
    if key.startswith(("transforms.", "predicates.")):
        return _CONNECTOR_OWNED["transforms"]
    return _CONNECTOR_OWNED.get(key) or (_CLUSTER if _CONNECTION.match(key) else None)


#: Keys of a flow that each of several source connectors may also have.
_OF_EACH_SOURCE = ("topics", "topicsExclude", "startFrom", "offsetSyncs.lagMax", "transforms")


def at_one_source(remedy: str) -> str:
    """The remedy for one of several source connectors: it names the connector's own keys instead of the flow's."""
    for key in _OF_EACH_SOURCE:
        remedy = re.sub(rf"(`{re.escape(key)}(\.\w+)*`) of the flow", r"\1 of this source connector", remedy)
    return remedy


#: Begins what `in_pair` says of a key that a pair does not have.
NOT_IN_PAIR = "a pair has no"
_PAIR_KEYS = frozenset(str(field.alias or name) for name, field in PrefixlessPair.model_fields.items())


def in_pair(remedy: str) -> str:
    """The remedy for a connector of a pair, which has fewer keys than a flow."""
    found = re.search(r"`((\w+)[\w.]*)`.* of the flow", remedy)
    if found is None:
        return remedy
    key, top = found.groups()
    if top in ("source", "target"):
        return remedy.replace(f"`{key}` of the flow", "`between` of the pair")
    return remedy.replace("of the flow", "of the pair") if top in _PAIR_KEYS else f"{NOT_IN_PAIR} `{key}`"


def instead_of(key: str) -> str | None:
    """What to set instead of a property that no connector has, if a topology key has the same meaning."""
    if key in MUST_AGREE:
        return f"set {MUST_AGREE[key]}"
    return otherwise_named(key) or owned_remedy(key) or (_CLUSTER if _BARE_CONNECTION.match(key) else None)


def otherwise_named(key: str) -> str | None:
    """What to set instead of a property of brokers, topics, an older version or another tool."""
    _, name = split_prefix(key) or ("", key)
    return _OTHERWISE_NAMED.get(name)


def worker_forbidden(key: str) -> str | None:
    """What to set instead of a worker property that Strimzi drops; None for others."""
    if key in _WORKER_ALLOWED:
        return None
    if key in _WORKER_NAMES:
        return "it derives from the name of the replication"
    return next((said for begin, said in _WORKER_FORBIDDEN.items() if key.startswith(begin)), None)


def worker_owned(key: str) -> str | None:
    """What to do instead of setting a worker property that derives from the topology; None for others."""
    if key == EXACTLY_ONCE_SUPPORT:
        return "set `exactlyOnce` of the flow"
    if key in WORKER_OWNED or key.startswith("config.providers"):
        return "the connectors need it to read their configuration"
    return None
