"""Properties given to a worker or a connector: none forbidden, none that the model owns, no credential as text."""

import re
from collections.abc import Iterator, Mapping

from components.clusters import Properties
from components.connectors import Connector
from components.expansion import NamedFlow
from components.problems import Problem
from components.specs.connect import WORKER_OWNED

#: Set by Strimzi from other fields of KafkaConnector. Source: AbstractConnectorSpec.FORBIDDEN_PARAMETERS.
_CONNECTOR_FORBIDDEN = {
    "name": "the name of the replication",
    "connector.class": "the connector's role",
    "tasks.max": "`tasksMax` of the connector",
    "connector.plugin.version": "`connect.version`",
}

#: Must be equal on every connector of a flow, or checkpoints speak of other topics than those replicated.
_AGREED = {
    "replication.policy.class": "`policy` of the flow",
    "replication.policy.separator": "`separator` of the flow",
    "replication.policy.internal.topic.separator.enabled": "`separator` of the flow",
    "offset-syncs.topic.location": "`offsetSyncs.location` of the flow",
    "topic.filter.class": "`topics` and `topicsExclude` of the flow",
    "group.filter.class": "`groups` and `groupsExclude` of the flow",
    "topics": "`topics` of the flow",
    "topics.exclude": "`topicsExclude` of the flow",
    "groups": "`groups` of the flow",
    "groups.exclude": "`groupsExclude` of the flow",
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
    "emit.offset-syncs.enabled": "set `offsetSyncs.enabled` of the flow",
    "heartbeats.replication.enabled": "set `replicateHeartbeats` of the flow",
    "transforms": "set `transforms` of the flow",
    "predicates": "set `transforms` of the flow",
    "offset.lag.max": "set `offsetSyncs.lagMax` of the flow",
    "sync.topic.acls.enabled": "set `syncTopicAcls` of the flow",
    "consumer.auto.offset.reset": "set `startFrom` of the flow",
    "source.consumer.auto.offset.reset": "set `startFrom` of the flow",
}
_CONNECTION = re.compile(
    r"((source|target)\.cluster|((source|target)\.)?(producer|consumer|admin)|(producer|consumer|admin)\.override)"
    r"\.(bootstrap\.servers|security\.protocol|sasl\.|ssl\.(?!endpoint|cipher|protocol|enabled|provider|engine))"
)

#: Worker properties that Strimzi writes itself and drops, with a line in the operator's log, from `spec.config`.
#: Source: KafkaConnectConfiguration.FORBIDDEN_PREFIXES and their exceptions.
_WORKER_FORBIDDEN_PREFIXES = (
    "ssl.",
    "sasl.",
    "security.",
    "listeners",
    "plugin.path",
    "rest.",
    "bootstrap.servers",
    "consumer.interceptor.classes",
    "producer.interceptor.classes",
    "prometheus.metrics.reporter.",
)
_WORKER_ALLOWED = {
    "ssl.endpoint.identification.algorithm",
    "ssl.cipher.suites",
    "ssl.protocol",
    "ssl.enabled.protocols",
}
_WORKER_NAMED = {"group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"}

_CREDENTIAL = re.compile(r"(^|\.)(sasl\.jaas\.config|ssl\.keystore\.key|[a-z.]*password|[a-z.]*secret)$")
_PLACEHOLDER = re.compile(r"\$\{[^}:]+:[^}]+\}")


def check_properties(named: NamedFlow) -> Iterator[Problem]:
    flow = named.flow
    yield from _check_worker(named.where("connect.config"), flow.connect.config)
    connectors: Mapping[str, Connector] = {
        "source": flow.connectors.source,
        "checkpoint": flow.connectors.checkpoint,
        "heartbeat": flow.connectors.heartbeat,
        **{f"sources.{part}": source for part, source in flow.connectors.sources.items()},
    }
    for role, connector in connectors.items():
        yield from _check_connector(named.where(f"connectors.{role}.config"), connector.config)


def _check_connector(where: str, config: Properties) -> Iterator[Problem]:
    for key, value in config.items():
        path = f"{where}.{key}"
        if key in _CONNECTOR_FORBIDDEN:
            yield _forbidden(path, key, "KafkaConnector has a field for it", _CONNECTOR_FORBIDDEN[key])
        elif key in _AGREED:
            yield Problem(
                path,
                "must-agree",
                f"`{key}` is set on one connector",
                "The source and the checkpoint connector must agree on it; otherwise checkpoints speak of other topics "
                "than those replicated, and groups never translate.",
                f"remove it here and set {_AGREED[key]}.",
            )
        elif key in _CONNECTOR_OWNED or _CONNECTION.match(key):
            instead = _CONNECTOR_OWNED.get(key, "set the cluster's `bootstrapServers`, `tls` or `authentication`")
            yield _owned(path, key, instead)
        else:
            yield from _check_credential(path, key, value)


def _check_worker(where: str, config: Properties) -> Iterator[Problem]:
    for key, value in config.items():
        path = f"{where}.{key}"
        dropped = key.startswith(_WORKER_FORBIDDEN_PREFIXES) and key not in _WORKER_ALLOWED
        if dropped or key in _WORKER_NAMED:
            reason = "the operator drops it with a line in its log only"
            yield _forbidden(path, key, reason, "the field of the topology that stands for it")
        elif key in WORKER_OWNED or key.startswith("config.providers"):
            yield _owned(path, key, "connectors read their configuration through it")
        else:
            yield from _check_credential(path, key, value)


def _check_credential(where: str, key: str, value: object) -> Iterator[Problem]:
    if _CREDENTIAL.search(key) and not _PLACEHOLDER.search(str(value)):
        yield Problem(
            where,
            "plain-text-credential",
            f"`{key}` is given as text",
            "It would stand in the topology file, the custom resource and Connect's REST API.",
            "set it to a placeholder such as `${secret:NAMESPACE/NAME:KEY}`.",
        )


def _forbidden(where: str, key: str, reason: str, instead: str) -> Problem:
    return Problem(where, "forbidden-property", f"`{key}` cannot be set here", f"Strimzi: {reason}.", f"set {instead}.")


def _owned(where: str, key: str, instead: str) -> Problem:
    return Problem(
        where,
        "owned-property",
        f"`{key}` is set by the model",
        "Two places that say it could disagree; the flow's objects all derive it from one.",
        f"remove it; {instead}.",
    )
