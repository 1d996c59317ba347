"""A Connect cluster with one heartbeat connector on the running local stack, made of bare custom resources."""

from collections.abc import Callable, Iterable
from typing import Any

from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.local.parts.processes import ProcessRecord
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.operator.workspace import DEADLINE_SECONDS, Workspace, scram_login

STRIMZI = "kafka.strimzi.io/v1"
RBAC = "rbac.authorization.k8s.io"
NAMESPACE, CONNECT, CONNECTOR = "operator-test", "beats", "beats-heartbeat"
_USER = "User:mirror"
ACLS = (
    Acl("uswest", _USER, "topic", "prefixed", f"{NAMESPACE}-", ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")),
    Acl("uswest", _USER, "group", "literal", NAMESPACE, ("READ",)),
    Acl("useast", _USER, "topic", "literal", "heartbeats", ("CREATE", "WRITE")),
)
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
HEARTBEATS = {
    # No flow of another test has these aliases, so none mistakes these heartbeats for its own.
    "source.cluster.alias": "operator-source",
    "target.cluster.alias": "operator-target",
    # Heartbeats are bytes. Strimzi's default converters would write JSON into a topic that flows of other tests read.
    **dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.converters.ByteArrayConverter"),
}


class ConnectFlow(Workspace):
    """A KafkaConnect and its KafkaConnector."""

    namespace = NAMESPACE

    def set_up(self, acls: Iterable[Acl] = ()) -> None:
        """Set up the namespace, and let the connectors read the credentials of the source."""
        super().set_up([*ACLS, *acls])
        self.grant("useast")

    def client_certificate(self, name: str) -> None:
        """Certificate and key of the user `mirror` in uswest."""
        pair = self.region("uswest").users["mirror"].certificate
        self.apply_secret(name, {"tls.crt": pair.certificate.read_text(), "tls.key": pair.key.read_text()})

    def grant(self, *secrets: str) -> None:
        """Let the connectors read exactly these Secrets."""
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [*secrets], "verbs": ["get"]}
        self.apply(f"{RBAC}/v1", "Role", "connectors", rules=[rule])
        self.apply(
            f"{RBAC}/v1",
            "RoleBinding",
            "connectors",
            roleRef={"apiGroup": RBAC, "kind": "Role", "name": "connectors"},
            subjects=[{"kind": "ServiceAccount", "name": f"{CONNECT}-connect", "namespace": NAMESPACE}],
        )

    def connect(self, **spec: Any) -> None:
        """Apply the KafkaConnect, whose workers use uswest; it is correct except for the overrides."""
        ordinary = {
            "replicas": 1,
            "bootstrapServers": self.region("uswest").bootstrap_servers,
            "groupId": NAMESPACE,
            "configStorageTopic": f"{NAMESPACE}-configs",
            "offsetStorageTopic": f"{NAMESPACE}-offsets",
            "statusStorageTopic": f"{NAMESPACE}-status",
            "tls": {"trustedCertificates": [{"secretName": "uswest", "certificate": "ca.crt"}]},
            "authentication": scram_login("uswest"),
            "config": {
                **{f"{topic}.storage.replication.factor": -1 for topic in ("config", "offset", "status")},
                "config.providers": "secret",
                "config.providers.secret.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
                "connector.client.config.override.policy": "All",
            },
        }
        annotations = {"strimzi.io/use-connector-resources": "true"}
        self.apply(STRIMZI, "KafkaConnect", CONNECT, annotations=annotations, spec=ordinary | spec)

    def connector(
        self, *, secret: str = "useast", interval: object = 1, offsets: str | None = None, **spec: Any
    ) -> None:
        """Apply the KafkaConnector, which emits heartbeats to useast with credentials of `secret`.

        `offsets` is the offsets operation that the operator is asked for.
        """
        config: dict[str, Any] = {
            **HEARTBEATS,
            "heartbeats.topic.replication.factor": -1,
            "emit.heartbeats.interval.seconds": interval,
        }
        for prefix in ("target.cluster.", "producer.override."):
            password = f"${{secret:{NAMESPACE}/{secret}:password}}"
            config |= {
                f"{prefix}bootstrap.servers": self.region("useast").bootstrap_servers,
                f"{prefix}security.protocol": "SASL_SSL",
                f"{prefix}sasl.mechanism": "SCRAM-SHA-512",
                f"{prefix}sasl.jaas.config": f'{LOGIN} required username="mirror" password="{password}";',
                f"{prefix}ssl.truststore.type": "PEM",
                f"{prefix}ssl.truststore.certificates": f"${{secret:{NAMESPACE}/useast:ca.crt}}",
            }
        heartbeat = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
        ordinary = {"class": heartbeat, "tasksMax": 1, "config": config}
        labels = {"strimzi.io/cluster": CONNECT}
        asked = {"strimzi.io/connector-offsets": offsets} if offsets is not None else {}
        self.apply(STRIMZI, "KafkaConnector", CONNECTOR, labels=labels, annotations=asked, spec=ordinary | spec)

    def expect_asked(self, offsets: str | None) -> None:
        """Wait until the connector's annotation asks the operator for this offsets operation."""

        def as_wanted() -> None:
            found = self.api.get(_reference("KafkaConnector")) or {}
            asked = (found["metadata"].get("annotations") or {}).get("strimzi.io/connector-offsets")
            if asked != offsets:
                raise NotYetError(f"{asked}: {found.get('status')}")

        wait_for(f"the operator to be asked for {offsets}", as_wanted, DEADLINE_SECONDS)

    def delete(self, kind: str) -> None:
        self.api.delete(_reference(kind))

    def expect(
        self, kind: str, condition: str, words: str = "", met: Callable[[Object], bool] = lambda _: True
    ) -> Object:
        """Status of the newest generation once it has this condition, with these words in its message, and `met` is
        true."""
        return self.expect_condition(_reference(kind), condition, words, met)

    def expect_workers(self, met: Callable[[list[ProcessRecord]], bool], what: str) -> list[ProcessRecord]:
        """The workers that run, once `met` is true of them."""

        def as_wanted() -> list[ProcessRecord]:
            found = self.workers()
            if not met(found):
                raise NotYetError(f"workers {[worker.pid for worker in found]}")
            return found

        return wait_for(what, as_wanted, DEADLINE_SECONDS)


def _reference(kind: str) -> Reference:
    return Reference(STRIMZI, kind, NAMESPACE, CONNECT if kind == "KafkaConnect" else CONNECTOR)
