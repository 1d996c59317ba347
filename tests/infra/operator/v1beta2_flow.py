"""The Connect cluster of connect_flow as v1beta2 has it, with a connector that writes to the workers' own region.

Its connector takes the credentials of that region out of the workers' property file, as connectors of Strimzi's
operators before 0.46 do.
"""

from collections.abc import Iterable
from typing import Any

from components.render.acls import Acl
from tests.infra.operator.connect_flow import CONNECT, CONNECTOR, HEARTBEATS, NAMESPACE, ConnectFlow
from tests.infra.operator.workspace import scram_login

STRIMZI = "kafka.strimzi.io/v1beta2"
FILE = "/tmp/strimzi-connect.properties"
FILE_PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"
TRUST = {f"ssl.truststore.{key}": f"${{file:{FILE}:ssl.truststore.{key}}}" for key in ("location", "password", "type")}
SASL = {f"sasl.{key}": f"${{file:{FILE}:sasl.{key}}}" for key in ("mechanism", "jaas.config")}


class V1Beta2Flow(ConnectFlow):
    """Applies the resources as v1beta2, beside those of v1."""

    def set_up(self, acls: Iterable[Acl] = ()) -> None:
        """Also the right to emit heartbeats to uswest."""
        super().set_up([*acls, Acl("uswest", "User:mirror", "topic", "literal", "heartbeats", ("CREATE", "WRITE"))])

    def old_connect(self, **spec: Any) -> None:
        """The KafkaConnect of v1beta2; what is not given is right."""
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
        """The KafkaConnector, which emits heartbeats to uswest with what the workers' file says."""
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
