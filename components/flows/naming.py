"""Every derived name: Kubernetes objects, connectors, worker groups, internal and remote topics."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Literal

from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.kafka.replication_policy import POLICY_CLASSES, ReplicationPolicy, Side
from kafka_replication.components.topology.connectors import Connector
from kafka_replication.components.topology.model import Flow, OffsetSyncsLocation

StorageRole = Literal["configs", "offsets", "status"]
STORAGE_ROLES: tuple[StorageRole, ...] = ("configs", "offsets", "status")
#: A pattern that matches the names of all storage topics.
STORAGE_TOPICS = "mirror-.*-(configs|offsets|status)-internal"
#: The names that connectors of a KafkaMirrorMaker2 have in Connect.
MIRRORED = re.compile(r".+->.+\.Mirror\w+")


def namespace_name(flow_name: str, flow: Flow) -> str:
    return flow.namespace.name or f"mirror-{flow_name}"


def connect_name(workers: str, flow: Flow) -> str:
    """Name of the KafkaConnect or KafkaMirrorMaker2."""
    return flow.connect.name or workers


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


def group_id(workers: str, flow: Flow) -> str:
    """Worker group of the Connect cluster, unique on the target Kafka cluster."""
    return flow.connect.group_id or f"mirror-{workers}"


def starts_group(flow_name: str) -> str:
    """Group on the source whose offsets say where each partition starts under `onLoss: stop`. By its name, MirrorMaker
    translates it nowhere (`groups.exclude`).
    """
    return f"__mm2-starts.{flow_name}"


def storage_topic_name(workers: str, flow: Flow, role: StorageRole) -> str:
    """Storage topic of the Connect cluster; no flow replicates a topic with a derived name (`STORAGE_TOPICS`)."""
    return getattr(flow.connect.storage_topics, role) or f"mirror-{workers}-{role}-internal"


def connector_name(flow_name: str, flow: Flow, role: ConnectorRole, part: str = "") -> str:
    """Name of a KafkaConnector; `part` distinguishes the source connectors of a flow that has several."""
    connector: Connector = flow.connectors.sources[part] if part else getattr(flow.connectors, role)
    if connector.name is not None:
        return connector.name
    return f"{flow_name}-{role}-{part}" if part else f"{flow_name}-{role}"


def secret_name(flow_name: str, side: Side) -> str:
    """Rendered Secret with a cluster's credentials for the connectors."""
    return f"{flow_name}-{side}-credentials"


def validation_secret_name(flow_name: str, side: Side) -> str:
    """Rendered Secret with the validation job's credentials; the connectors' Role does not include it."""
    return f"{flow_name}-{side}-validation"


def keeper_secret_name(flow_name: str, side: Side) -> str:
    """Rendered Secret with the keeper's credentials."""
    return f"{flow_name}-{side}-keeper"


def validation_run_name(flow_name: str) -> str:
    """Name of what runs the validation job in the cluster: its ServiceAccount, Role, RoleBinding and CronJob."""
    return f"{flow_name}-validation"


def validation_job_name(flow_name: str, content: str) -> str:
    """Name of the Job after a deployment. A Job cannot be changed, so new content needs a new name."""
    return f"{validation_run_name(flow_name)}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


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
    """Return the replication policy of a flow, which names its topics."""
    return ReplicationPolicy(flow.policy, flow.separator, flow.source, flow.target)


def offset_syncs_topic_name(flow: Flow) -> str:
    """Internal topic of the flow's offset syncs."""
    return replication_policy(flow).offset_syncs_topic(
        on_source=flow.offset_syncs.location is OffsetSyncsLocation.SOURCE
    )
