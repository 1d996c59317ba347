"""Names that Strimzi, MirrorMaker and Kafka's clients use for settings that have other names here."""

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
