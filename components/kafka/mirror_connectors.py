"""The three connectors of MirrorMaker: their roles and classes."""

from typing import Literal

ConnectorRole = Literal["source", "checkpoint", "heartbeat"]

CONNECTOR_CLASSES: dict[ConnectorRole, str] = {
    "source": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "checkpoint": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    "heartbeat": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
}
#: Role of each connector by its class name without the package, which is also the end of a mirror's connector name.
ROLE_OF_CLASS: dict[str, ConnectorRole] = {
    connector_class.rpartition(".")[2]: role for role, connector_class in CONNECTOR_CLASSES.items()
}

#: Switches that leave a running connector without a task.
#: Source: MirrorCheckpointConnector.taskConfigs, MirrorHeartbeatConnector.taskConfigs.
EMIT_CHECKPOINTS = "emit.checkpoints.enabled"
EMIT_HEARTBEATS = "emit.heartbeats.enabled"
