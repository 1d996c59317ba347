"""Every derived name: Kubernetes objects, connectors, worker groups, internal and remote topics.

Pure functions of the model's values. May import the model only.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from components.model import KAFKA_GROUPS_EXCLUDE, KAFKA_TOPICS_EXCLUDE, Flow, OffsetSyncsLocation, Policy

HEARTBEATS_TOPIC = "heartbeats"

Side = Literal["source", "target"]


def namespace_name(flow_name: str, flow: Flow) -> str:
    return flow.namespace.name or f"mirror-{flow_name}"


def connect_name(flow_name: str) -> str:
    """Name of the KafkaConnect; the operator derives Services, pods and the service account from it."""
    return flow_name


def service_account_name(flow_name: str) -> str:
    """Name of the service account that workers run as. Source: Strimzi KafkaConnectResources.serviceAccountName."""
    return f"{connect_name(flow_name)}-connect"


def mirror_maker2_account_name(workers: str) -> str:
    """Name of the service account of a KafkaMirrorMaker2's workers. Source: KafkaMirrorMaker2Resources."""
    return f"{workers}-mirrormaker2"


def heartbeat_workers_name(workers: str) -> str:
    """Workers of the heartbeats of a KafkaMirrorMaker2 whose API version has none."""
    return f"{workers}-heartbeats"


def mirror_connector_name(flow: Flow, connector_class: str) -> str:
    """Name that the operator gives a connector of a KafkaMirrorMaker2. Source: KafkaMirrorMaker2Connectors."""
    return f"{flow.source}->{flow.target}.{connector_class.rpartition('.')[2]}"


def group_id(flow_name: str) -> str:
    """Worker group of the flow's Connect cluster, unique on the target Kafka cluster."""
    return f"mirror-{flow_name}"


def storage_topic_name(flow_name: str, role: Literal["configs", "offsets", "status"]) -> str:
    """Storage topic of the Connect cluster; the suffix keeps it out of every topic selection (topics.exclude)."""
    return f"{group_id(flow_name)}-{role}-internal"


def connector_name(flow_name: str, role: Literal["source", "checkpoint", "heartbeat"], part: str = "") -> str:
    """Name of a connector; `part` tells several source connectors of a flow apart."""
    return f"{flow_name}-{role}-{part}" if part else f"{flow_name}-{role}"


def secret_name(flow_name: str, side: Side) -> str:
    """Secret of our making with a cluster's credentials for the connectors."""
    return f"{flow_name}-{side}-credentials"


def validation_secret_name(flow_name: str, side: Side) -> str:
    """Secret of our making with the validation job's credentials; no Role of the flow names it."""
    return f"{flow_name}-{side}-validation"


def kafka_user_password_secret_name(user: str) -> str:
    """Secret of our making with the password of a KafkaUser; the User Operator's own has the user's name alone."""
    return f"{user}-given-password"


def config_map_name(flow_name: str, role: str, data: Mapping[str, str]) -> str:
    """Name that carries the content's digest: Connect resolves a placeholder once, so new content needs a new name."""
    content = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{flow_name}-{role}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def role_name(flow_name: str) -> str:
    return f"{flow_name}-connector-configuration"


def offset_syncs_topic_name(flow: Flow) -> str:
    """Internal topic of offset syncs, named after the other cluster.

    Source: ReplicationPolicy.offsetSyncsTopic, MirrorConnectorConfig.offsetSyncsTopic.
    """
    other = flow.target if flow.offset_syncs.location is OffsetSyncsLocation.SOURCE else flow.source
    return _internal(flow, "mm2-offset-syncs", other)


def checkpoints_topic_name(flow: Flow) -> str:
    """Internal topic of checkpoints on the target. Source: ReplicationPolicy.checkpointsTopic."""
    return _internal(flow, flow.source, "checkpoints")


def _internal(flow: Flow, first: str, second: str) -> str:
    return flow.separator.join((first, second, "internal"))


def remote_topic_name(flow: Flow, topic: str) -> str:
    """Name of a source topic on the target; identity policy, too, prefixes whatever ends in `heartbeats`.

    Source: DefaultReplicationPolicy.formatRemoteTopic, IdentityReplicationPolicy.looksLikeHeartbeat.
    """
    if flow.policy is Policy.IDENTITY and not topic.endswith(HEARTBEATS_TOPIC):
        return topic
    return f"{flow.source}{flow.separator}{topic}"


def excluded_topics(flow: Flow) -> tuple[str, ...]:
    return (*KAFKA_TOPICS_EXCLUDE, *flow.topics_exclude)


def excluded_groups(flow: Flow) -> tuple[str, ...]:
    return (*KAFKA_GROUPS_EXCLUDE, *flow.groups_exclude)
