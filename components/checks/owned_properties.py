"""Properties that a user does not set: what decides each of them instead.

Imports what `specs` owns and the prefixes of clients.
"""

import re

from components.properties.clients import split_prefix
from components.specs.connect import EXACTLY_ONCE_SUPPORT, WORKER_OWNED

#: Set by Strimzi from other fields of KafkaConnector. Source: AbstractConnectorSpec.FORBIDDEN_PARAMETERS.
CONNECTOR_FORBIDDEN = {
    "name": "it follows from the name of the replication",
    "connector.class": "it follows from the connector's role",
    "tasks.max": "set `tasksMax` of the connector",
    "connector.plugin.version": "set `connect.version`",
}

#: Must be equal on every connector of a flow, or checkpoints speak of other topics than those replicated.
MUST_AGREE = {
    "replication.policy.class": "`policy` of the flow",
    "replication.policy.separator": "`separator` of the flow",
    "replication.policy.internal.topic.separator.enabled": "`separator` of the flow",
    "offset-syncs.topic.location": "`offsetSyncs.location` of the flow",
    "topic.filter.class": "`topics` and `topicsExclude` of the flow",
    "group.filter.class": "`groups` and `groupsExclude` of the flow",
    "topics": "`topics` of the flow",
    "topics.exclude": "`topicsExclude` of the flow",
    "topics.blacklist": "`topicsExclude` of the flow",
    "groups": "`groups` of the flow",
    "groups.exclude": "`groupsExclude` of the flow",
    "groups.blacklist": "`groupsExclude` of the flow",
}

#: What the model sets by itself, by where a user sets it instead.
_CONNECTOR_OWNED = {
    "key.converter": "records pass as bytes",
    "value.converter": "records pass as bytes",
    "header.converter": "records pass as bytes",
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
    "transforms": "set `transforms` of the flow",
    "predicates": "set `transforms` of the flow",
    "auto.offset.reset": "set `startFrom` of the flow",
    "consumer.auto.offset.reset": "set `startFrom` of the flow",
    "source.consumer.auto.offset.reset": "set `startFrom` of the flow",
}
_CONNECTION = re.compile(
    r"((source|target)\.cluster|((source|target)\.)?(producer|consumer|admin)|(producer|consumer|admin)\.override)"
    r"\.(bootstrap\.servers|security\.protocol|sasl\.|ssl\.(?!endpoint|cipher|protocol|enabled|provider|engine))"
)
_BARE_CONNECTION = re.compile(r"bootstrap\.servers|security\.protocol|sasl\.|ssl\.")
_CLUSTER = "set the cluster's `bootstrapServers`, `tls` or `authentication`"

#: Names of older versions, of other tools and of brokers, by what a topology says instead.
_OTHERWISE_NAMED = {
    "topics.whitelist": "set `topics` of the flow",
    "topics.regex": "set `topics` of the flow; each of them is a pattern",
    "topicsPattern": "set `topics` of the flow; each of them is a pattern",
    "topicsExcludePattern": "set `topicsExclude` of the flow",
    "groups.whitelist": "set `groups` of the flow",
    "groupsPattern": "set `groups` of the flow; each of them is a pattern",
    "groupsExcludePattern": "set `groupsExclude` of the flow",
    "config.properties.blacklist": "set `config.properties.exclude`",
    "tasksMax": "set `tasksMax` of the connector, beside `config`",
    "auto.offset.reset": "set `startFrom` of the flow",
    EXACTLY_ONCE_SUPPORT: "set `exactlyOnce` of the flow",
    "rename.topics": "set `policy` of the flow",
    "message.max.bytes": "set `producer.override.max.request.size` on the source connector, and the limit of the "
    "target's brokers or topics there",
    "max.message.bytes": "set `producer.override.max.request.size` on the source connector, and the limit of the "
    "target's topics there",
    "replica.fetch.max.bytes": "set it on the brokers",
    "min.insync.replicas": "set it on the target's brokers or topics; MirrorMaker does not copy it",
    "num.partitions": "remove it; remote topics have as many partitions as theirs on the source",
}

#: Worker properties that Strimzi writes itself and drops, with a line in the operator's log, from `spec.config`.
#: Source: KafkaConnectConfiguration.FORBIDDEN_PREFIXES and their exceptions.
_WORKER_FORBIDDEN = {
    "ssl.": "set the target's `tls`",
    "sasl.": "set the target's `authentication`",
    "security.": "set the target's `tls` and `authentication`",
    "listeners": "the operator needs its own listener",
    "plugin.path": "set `connect.image`, whose plugins lie where the operator looks",
    "rest.": "the operator needs its own listener",
    "bootstrap.servers": "set the target's `bootstrapServers`",
    "consumer.interceptor.classes": "Strimzi sets it for tracing",
    "producer.interceptor.classes": "Strimzi sets it for tracing",
    "prometheus.metrics.reporter.": "set `connect.metrics`",
    "group.id": "it follows from the name of the replication",
    "config.storage.topic": "it follows from the name of the replication",
    "offset.storage.topic": "it follows from the name of the replication",
    "status.storage.topic": "it follows from the name of the replication",
}
_WORKER_ALLOWED = {
    "ssl.endpoint.identification.algorithm",
    "ssl.cipher.suites",
    "ssl.protocol",
    "ssl.enabled.protocols",
}


def owned_remedy(key: str) -> str | None:
    """What to do instead of setting a connector's property that the model sets; None if it does not."""
    if key.startswith(("transforms.", "predicates.")):
        return _CONNECTOR_OWNED["transforms"]
    return _CONNECTOR_OWNED.get(key) or (_CLUSTER if _CONNECTION.match(key) else None)


def instead_of(key: str) -> str | None:
    """What to set instead of a key that no connector takes, where a topology has a key for what it means."""
    if key in MUST_AGREE:
        return f"set {MUST_AGREE[key]}"
    return otherwise_named(key) or owned_remedy(key) or (_CLUSTER if _BARE_CONNECTION.match(key) else None)


def otherwise_named(key: str) -> str | None:
    """What stands for a property of brokers, of topics, of an older version or of another tool."""
    _, name = split_prefix(key) or ("", key)
    return _OTHERWISE_NAMED.get(name)


def worker_forbidden(key: str) -> str | None:
    """What stands for a worker's property that Strimzi drops; None for any other."""
    exact = {"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"}
    if key in _WORKER_ALLOWED:
        return None
    return next(
        (
            said
            for begin, said in _WORKER_FORBIDDEN.items()
            if key == begin or (begin not in exact and key.startswith(begin))
        ),
        None,
    )


def worker_owned(key: str) -> str | None:
    """What to do instead of setting a worker's property that the model sets; None if it does not."""
    if key == EXACTLY_ONCE_SUPPORT:
        return "set `exactlyOnce` of the flow"
    if key in WORKER_OWNED or key.startswith("config.providers"):
        return "connectors read their configuration through it"
    return None
