"""Derives every name: of Kubernetes objects, connectors, worker groups, internal and remote topics."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Literal

from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from kafka_replication.components.kafka.replication_policy import POLICY_CLASSES, ReplicationPolicy, Side
from kafka_replication.components.topology.connectors import Connector
from kafka_replication.components.topology.model import Flow, OffsetSyncsLocation

StorageRole = Literal["configs", "offsets", "status"]
STORAGE_ROLES: tuple[StorageRole, ...] = ("configs", "offsets", "status")
#: Who uses a Secret with credentials: the connectors, the validation job or the keeper.
SecretUse = Literal["credentials", "validation", "keeper"]
#: A pattern that matches the names of all storage topics.
STORAGE_TOPICS = "mirror-.*-(configs|offsets|status)-internal"
#: The names that connectors of a KafkaMirrorMaker2 have in Connect.
MIRRORED = re.compile(r".+->.+\.Mirror\w+")


def namespace_name(flow_name: str, flow: Flow) -> str:
    return flow.namespace.name or f"mirror-{flow_name}"


def connect_name(workers: str, flow: Flow) -> str:
    """Return the name of the KafkaConnect or KafkaMirrorMaker2."""
    return flow.connect.name or workers


def service_account_name(workers: str) -> str:
    """Return the name of the workers' ServiceAccount. Source: Strimzi KafkaConnectResources.serviceAccountName."""
    return f"{workers}-connect"


def mirror_maker2_account_name(workers: str) -> str:
    """Return the name of the ServiceAccount of a KafkaMirrorMaker2's workers. Source: KafkaMirrorMaker2Resources."""
    return f"{workers}-mirrormaker2"


def heartbeat_workers_name(workers: str) -> str:
    """Return the name of the separate workers that send heartbeats for these workers or this flow."""
    return f"{workers}-heartbeats"


def mirror_connector_name(flow: Flow, role: ConnectorRole) -> str:
    """Name that the operator gives a connector of a KafkaMirrorMaker2. Source: KafkaMirrorMaker2Connectors."""
    return f"{flow.source}->{flow.target}.{CONNECTOR_CLASSES[role].rpartition('.')[2]}"


def group_id(workers: str, flow: Flow) -> str:
    """Return the workers' group, which is unique on the target Kafka cluster."""
    return flow.connect.group_id or f"mirror-{workers}"


def starts_group(flow_name: str) -> str:
    """Return the group on the source whose offsets say where each partition starts under `onLoss: stop`. Because of its
    name, MirrorMaker never translates it (`groups.exclude`).
    """
    return f"__mm2-starts.{flow_name}"


def storage_topic_name(workers: str, flow: Flow, role: StorageRole) -> str:
    """Return a storage topic of the Connect cluster; no flow replicates a derived one (`STORAGE_TOPICS`)."""
    return getattr(flow.connect.storage_topics, role) or f"mirror-{workers}-{role}-internal"


def connector_name(flow_name: str, flow: Flow, role: ConnectorRole, part: str = "") -> str:
    """Return the name of a KafkaConnector; `part` tells the source connectors of a flow apart if it has several."""
    connector: Connector = flow.connectors.sources[part] if part else getattr(flow.connectors, role)
    if connector.name is not None:
        return connector.name
    return f"{flow_name}-{role}-{part}" if part else f"{flow_name}-{role}"


def secret_name(flow_name: str, side: Side, use: SecretUse) -> str:
    """Rendered Secret with a cluster's credentials; the connectors' Role includes only the one with theirs."""
    return f"{flow_name}-{side}-{use}"


def validation_run_name(flow_name: str) -> str:
    """Return the name of the ServiceAccount, Role, RoleBinding and CronJob that run the validation in the cluster."""
    return f"{flow_name}-validation"


def validation_job_name(flow_name: str, content: str) -> str:
    """Return the name of the Job after a deployment. A Job cannot be changed, so new content needs a new name."""
    return f"{validation_run_name(flow_name)}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def kafka_user_password_secret_name(user: str) -> str:
    """Return the name of the rendered Secret with a KafkaUser's password; the User Operator's has the user's name."""
    return f"{user}-given-password"


def config_map_name(flow_name: str, role: str, data: Mapping[str, str]) -> str:
    """Return a name with a digest of the content. Connect resolves a placeholder once: new content needs a new name."""
    content = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{flow_name}-{role}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def role_name(flow_name: str) -> str:
    return f"{flow_name}-connector-configuration"


def policy_class(flow: Flow) -> str:
    """Return the Java class of a flow's replication policy."""
    return flow.policy_class or POLICY_CLASSES[flow.policy]


def replication_policy(flow: Flow) -> ReplicationPolicy:
    """Return the replication policy of a flow, which names its topics."""
    return ReplicationPolicy(flow.policy, flow.separator, flow.source, flow.target)


def offset_syncs_topic_name(flow: Flow) -> str:
    """Return the internal topic of the flow's offset syncs."""
    return replication_policy(flow).offset_syncs_topic(
        on_source=flow.offset_syncs.location is OffsetSyncsLocation.SOURCE
    )
