"""What Strimzi, MirrorMaker and Kafka's clients call a setting that has another name here."""

from collections.abc import Mapping

#: Their key -> the path of ours, from where the key of ours is accepted.
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

#: Those whose value has the form of ours.
OF_SAME_FORM = frozenset({"mirrors", "sourceCluster", "targetCluster", "connectCluster", "secretName"})
