"""Keys that a place does not accept because the setting has another name there: names of Strimzi, MirrorMaker and
Kafka's clients, and keys of another kind of replication.
"""

from collections.abc import Mapping

#: Their key -> the path of ours, relative to where our key is accepted.
OURS: Mapping[str, str] = {
    "topicsPattern": "topics",
    "topicsExcludePattern": "topicsExclude",
    "topicsBlacklistPattern": "topicsExclude",
    "groupsPattern": "groups",
    "groupsExcludePattern": "groupsExclude",
    "groupsBlacklistPattern": "groupsExclude",
    "mirrors": "replications",
    "sourceCluster": "source",
    "targetCluster": "target",
    "connectCluster": "target",
    "sourceConnector": "connectors.source",
    "checkpointConnector": "connectors.checkpoint",
    "heartbeatConnector": "connectors.heartbeat",
    "tasksMax": "connectors.source.tasksMax",
    "tasks.max": "connectors.source.tasksMax",
    "trustedCertificates": "trust",
    "secretName": "secret",
    "certificateAndKey": "secret",
    "passwordSecret": "password",
    "security.protocol": "tls",
    "sasl.mechanism": "authentication.type",
    "sasl.jaas.config": "authentication",
    "replication.policy.class": "policy",
    "replication.policy.separator": "separator",
    "exactly.once.source.support": "exactlyOnce",
    "sync.group.offsets.enabled": "syncGroupOffsets",
    "sync.topic.acls.enabled": "syncTopicAcls",
    "offset.lag.max": "offsetSyncs.lagMax",
    "offset-syncs.topic.location": "offsetSyncs.location",
    "emit.heartbeats.enabled": "connectors.heartbeat.enabled",
    "emit.checkpoints.enabled": "connectors.checkpoint.enabled",
    "refresh.topics.interval.seconds": "intervals.refreshTopicsSeconds",
    "refresh.groups.interval.seconds": "intervals.refreshGroupsSeconds",
    "emit.checkpoints.interval.seconds": "intervals.emitCheckpointsSeconds",
    "emit.heartbeats.interval.seconds": "intervals.emitHeartbeatsSeconds",
    "sync.group.offsets.interval.seconds": "intervals.syncGroupOffsetsSeconds",
    "config": "connectors.source.config",
}

#: Those whose value has the same form as ours.
OF_SAME_FORM = frozenset({"mirrors", "sourceCluster", "targetCluster", "connectCluster", "secretName"})

_NO_OFFSETS = "A pair translates no offsets, so it has no groups and no checkpoint connector."
_ONE_SOURCE = "Only a `flow` and a part of a `split` can have several source connectors in one direction."
_ONE_NAMESPACE = "Only a pair has this key, because it has two namespaces."

#: The kind of a replication and the path of a key that other kinds have -> why it lacks the key, and the remedy.
OF_OTHER_KINDS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("prefixlessPair", "namespace"): (
        "A pair has two namespaces, `mirror-PAIR-to-CLUSTER` beside each cluster, and their names are fixed.",
        "remove it; if these namespaces already exist, set `createNamespaces: false`.",
    ),
    ("flow", "createNamespaces"): (_ONE_NAMESPACE, "set `namespace.create`."),
    ("mirrorMaker2", "createNamespaces"): (_ONE_NAMESPACE, "set `namespace.create`."),
    ("prefixlessPair", "groupsExclude"): (_NO_OFFSETS, "remove it."),
    ("prefixlessPair", "connectors.checkpoint"): (_NO_OFFSETS, "remove it."),
    ("prefixlessPair", "connectors.sources"): (
        _ONE_SOURCE,
        "write all topics under `topics`, and the connectors' other settings under `connectors.source`.",
    ),
}
