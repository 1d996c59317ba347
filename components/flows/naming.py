"""Every derived name: Kubernetes objects, connectors, worker groups, internal and remote topics."""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from components.kafka.replication_policy import POLICY_CLASSES, ReplicationPolicy, Side
from components.topology.model import Flow, OffsetSyncsLocation

#: A pattern of the names of all storage topics.
STORAGE_TOPICS = "mirror-.*-(configs|offsets|status)-internal"


def namespace_name(flow_name: str, flow: Flow) -> str:
    return flow.namespace.name or f"mirror-{flow_name}"


def service_account_name(workers: str) -> str:
    """Name of the service account that workers run as. Source: Strimzi KafkaConnectResources.serviceAccountName."""
    return f"{workers}-connect"


def mirror_maker2_account_name(workers: str) -> str:
    """Name of the service account of a KafkaMirrorMaker2's workers. Source: KafkaMirrorMaker2Resources."""
    return f"{workers}-mirrormaker2"


def heartbeat_workers_name(workers: str) -> str:
    """Workers for the heartbeats of a KafkaMirrorMaker2 whose API version has no heartbeat connector."""
    return f"{workers}-heartbeats"


def mirror_connector_name(flow: Flow, connector_class: str) -> str:
    """Name that the operator gives a connector of a KafkaMirrorMaker2. Source: KafkaMirrorMaker2Connectors."""
    return f"{flow.source}->{flow.target}.{connector_class.rpartition('.')[2]}"


def group_id(flow_name: str) -> str:
    """Worker group of the flow's Connect cluster, unique on the target Kafka cluster."""
    return f"mirror-{flow_name}"


def storage_topic_name(flow_name: str, role: Literal["configs", "offsets", "status"]) -> str:
    """Storage topic of the Connect cluster; no flow replicates it (`STORAGE_TOPICS`)."""
    return f"{group_id(flow_name)}-{role}-internal"


def connector_name(flow_name: str, role: Literal["source", "checkpoint", "heartbeat"], part: str = "") -> str:
    """Name of a connector; `part` distinguishes the source connectors of a flow that has several."""
    return f"{flow_name}-{role}-{part}" if part else f"{flow_name}-{role}"


def secret_name(flow_name: str, side: Side) -> str:
    """Rendered Secret with a cluster's credentials for the connectors."""
    return f"{flow_name}-{side}-credentials"


def validation_secret_name(flow_name: str, side: Side) -> str:
    """Rendered Secret with the validation job's credentials; the connectors' Role does not include it."""
    return f"{flow_name}-{side}-validation"


def kafka_user_password_secret_name(user: str) -> str:
    """Rendered Secret with the password of a KafkaUser; the User Operator's own Secret has just the user's name."""
    return f"{user}-given-password"


def config_map_name(flow_name: str, role: str, data: Mapping[str, str]) -> str:
    """Name with a digest of the content; Connect resolves a placeholder only once, so new content needs a new name."""
    content = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{flow_name}-{role}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def role_name(flow_name: str) -> str:
    return f"{flow_name}-connector-configuration"


def policy_class(flow: Flow) -> str:
    """Java class of a flow's replication policy."""
    return flow.policy_class or POLICY_CLASSES[flow.policy]


def replication_policy(flow: Flow) -> ReplicationPolicy:
    """The replication policy of a flow, which names its topics."""
    return ReplicationPolicy(flow.policy, flow.separator, flow.source, flow.target)


def offset_syncs_topic_name(flow: Flow) -> str:
    """Internal topic of the flow's offset syncs."""
    return replication_policy(flow).offset_syncs_topic(
        on_source=flow.offset_syncs.location is OffsetSyncsLocation.SOURCE
    )
