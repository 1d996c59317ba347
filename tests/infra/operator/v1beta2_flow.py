"""The Connect cluster of connect_flow in v1beta2, with a connector that writes to the workers' own region.

The connector reads the credentials of that region from the workers' properties file, as connectors did under Strimzi's
operators before 0.46.
"""

from collections.abc import Iterable
from typing import Any

from kafka_replication.components.render.flow_acls import Acl
from tests.infra.operator.connect_flow import CONNECT, CONNECTOR, HEARTBEATS, NAMESPACE, ConnectFlow
from tests.infra.operator.workspace import scram_login

STRIMZI = "kafka.strimzi.io/v1beta2"
FILE = "/tmp/strimzi-connect.properties"
FILE_PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"
TRUST = {f"ssl.truststore.{key}": f"${{file:{FILE}:ssl.truststore.{key}}}" for key in ("location", "password", "type")}
SASL = {f"sasl.{key}": f"${{file:{FILE}:sasl.{key}}}" for key in ("mechanism", "jaas.config")}


class V1Beta2Flow(ConnectFlow):
    """Applies the resources in v1beta2, as well as in v1."""

    def set_up(self, acls: Iterable[Acl] = ()) -> None:
        """Set up the namespace, and allow heartbeats in uswest."""
        super().set_up([*acls, Acl("uswest", "User:mirror", "topic", "literal", "heartbeats", ("CREATE", "WRITE"))])

    def old_connect(self, **spec: Any) -> None:
        """Apply the KafkaConnect in v1beta2; it is correct except for the overrides."""
        config = {
            "group.id": NAMESPACE,
            **{f"{topic}.storage.topic": f"{NAMESPACE}-{topic}s" for topic in ("config", "offset")},
            "status.storage.topic": f"{NAMESPACE}-status",
            **{f"{topic}.storage.replication.factor": -1 for topic in ("config", "offset", "status")},
            "config.providers": "secret,file",
            "config.providers.secret.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
            "config.providers.file.class": FILE_PROVIDER,
            "config.providers.file.param.allowed.paths": FILE,
            "connector.client.config.override.policy": "All",
        }
        ordinary = {
            "replicas": 1,
            "bootstrapServers": self.region("uswest").bootstrap_servers,
            "tls": {"trustedCertificates": [{"secretName": "uswest", "certificate": "ca.crt"}]},
            "authentication": scram_login("uswest"),
            "config": config,
        }
        annotations = {"strimzi.io/use-connector-resources": "true"}
        self.apply(STRIMZI, "KafkaConnect", CONNECT, annotations=annotations, spec=ordinary | spec)

    def file_connector(self, *, security: dict[str, str] | None = None, **spec: Any) -> None:
        """Apply the KafkaConnector, which emits heartbeats to uswest with credentials from the workers' file."""
        config: dict[str, Any] = {
            **HEARTBEATS,
            "heartbeats.topic.replication.factor": -1,
            "target.cluster.bootstrap.servers": f"${{file:{FILE}:bootstrap.servers}}",
            "target.cluster.security.protocol": "SASL_SSL",
        }
        config |= {f"target.cluster.{key}": value for key, value in (security or TRUST | SASL).items()}
        heartbeat = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
        ordinary = {"class": heartbeat, "tasksMax": 1, "config": config}
        labels = {"strimzi.io/cluster": CONNECT}
        self.apply(STRIMZI, "KafkaConnector", CONNECTOR, labels=labels, spec=ordinary | spec)
