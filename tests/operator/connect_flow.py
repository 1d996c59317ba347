"""A Connect cluster with one heartbeat connector on the running local stack, made of bare custom resources.

Nothing of `components` makes these objects: what the operator does must not depend on who wrote the resources.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from components.specs.acls import Acl
from infra.local import operator_part, processes
from infra.local.acls import apply_acls
from infra.local.endpoints import Endpoints, Region
from infra.local.kubernetes_api import KubernetesApi, Object, Reference
from infra.local.processes import ProcessRecord
from infra.local.waiting import NotYetError, wait_for

STRIMZI = "kafka.strimzi.io/v1"
RBAC = "rbac.authorization.k8s.io"
NAMESPACE, CONNECT, CONNECTOR = "operator-test", "beats", "beats-heartbeat"
DEADLINE_SECONDS = 120.0
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True)
class ConnectFlow:
    """Applies the resources, and waits for what the operator makes of them."""

    api: KubernetesApi
    endpoints: Endpoints

    def set_up(self) -> None:
        """Namespace, credentials, and the right to read those of the source."""
        worker = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
        acls = (
            Acl("uswest", "User:mirror", "topic", "prefixed", f"{NAMESPACE}-", worker),
            Acl("uswest", "User:mirror", "group", "literal", NAMESPACE, ("READ",)),
            Acl("useast", "User:mirror", "topic", "literal", "heartbeats", ("CREATE", "WRITE")),
        )
        for region in self.endpoints.regions.values():
            apply_acls(region, acls)
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for region in self.endpoints.regions.values():
            self.secret(region.alias, password=region.users["mirror"].password)
        self.grant("useast")

    def tear_down(self) -> None:
        """Remove everything, and wait until no worker is left."""
        namespace = Reference("v1", "Namespace", None, NAMESPACE)
        self.api.delete(namespace)
        wait_for("the workers to end", self.expect_no_worker, DEADLINE_SECONDS)

        def expect_gone() -> None:
            if self.api.get(namespace) is not None:
                raise NotYetError("the namespace is still there")

        wait_for("the namespace to end", expect_gone, DEADLINE_SECONDS)

    def secret(self, alias: str, *, password: str, name: str | None = None) -> None:
        """Credentials of the user `mirror` in one region."""
        self._secret(name or alias, {"password": password, "ca.crt": self.region(alias).ca_file.read_text()})

    def client_certificate(self, name: str) -> None:
        """Certificate and key of the user `mirror` in uswest."""
        pair = self.region("uswest").users["mirror"].certificate
        self._secret(name, {"tls.crt": pair.certificate.read_text(), "tls.key": pair.key.read_text()})

    def grant(self, *secrets: str) -> None:
        """Let the connectors read exactly these Secrets."""
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [*secrets], "verbs": ["get"]}
        self._apply(f"{RBAC}/v1", "Role", "connectors", rules=[rule])
        self._apply(
            f"{RBAC}/v1",
            "RoleBinding",
            "connectors",
            roleRef={"apiGroup": RBAC, "kind": "Role", "name": "connectors"},
            subjects=[{"kind": "ServiceAccount", "name": f"{CONNECT}-connect", "namespace": NAMESPACE}],
        )

    def connect(self, **spec: Any) -> None:
        """The KafkaConnect, beside uswest; what is not given is right."""
        ordinary = {
            "replicas": 1,
            "bootstrapServers": self.region("uswest").bootstrap_servers,
            "groupId": NAMESPACE,
            "configStorageTopic": f"{NAMESPACE}-configs",
            "offsetStorageTopic": f"{NAMESPACE}-offsets",
            "statusStorageTopic": f"{NAMESPACE}-status",
            "tls": {"trustedCertificates": [{"secretName": "uswest", "certificate": "ca.crt"}]},
            "authentication": {
                "type": "scram-sha-512",
                "username": "mirror",
                "passwordSecret": {"secretName": "uswest", "password": "password"},
            },
            "config": {
                **{f"{topic}.storage.replication.factor": -1 for topic in ("config", "offset", "status")},
                "config.providers": "secret",
                "config.providers.secret.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
                "connector.client.config.override.policy": "All",
            },
        }
        annotations = {"strimzi.io/use-connector-resources": "true"}
        self._apply(STRIMZI, "KafkaConnect", CONNECT, annotations=annotations, spec=ordinary | spec)

    def connector(self, *, secret: str = "useast", interval: object = 1, **spec: Any) -> None:
        """The KafkaConnector, which emits heartbeats to useast with credentials of `secret`."""
        config: dict[str, Any] = {
            "source.cluster.alias": "useast",
            "target.cluster.alias": "uswest",
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
        self._apply(STRIMZI, "KafkaConnector", CONNECTOR, labels=labels, spec=ordinary | spec)

    def region(self, alias: str) -> Region:
        return self.endpoints.regions[alias]

    def delete(self, kind: str) -> None:
        self.api.delete(_reference(kind))

    def expect(self, kind: str, condition: str, words: str = "") -> Object:
        """Status of the newest generation once it has this condition with these words in its message."""

        def met() -> Object:
            item = self.api.get(_reference(kind)) or {}
            status = dict(item.get("status") or {})
            said = [(each["type"], each.get("message", "")) for each in status.get("conditions", [])]
            newest = status.get("observedGeneration") == item.get("metadata", {}).get("generation")
            if not newest or not any(type_ == condition and words in message for type_, message in said):
                raise NotYetError(str(said))
            return status

        return wait_for(f"{kind} to be {condition} {words}", met, DEADLINE_SECONDS, interval_seconds=0.2)

    def expect_workers(self, met: Callable[[list[ProcessRecord]], bool], what: str) -> list[ProcessRecord]:
        """The workers that run, once they are as wanted."""

        def as_wanted() -> list[ProcessRecord]:
            found = self.workers()
            if not met(found):
                raise NotYetError(f"workers {[worker.pid for worker in found]}")
            return found

        return wait_for(what, as_wanted, DEADLINE_SECONDS, interval_seconds=0.2)

    def expect_no_worker(self) -> None:
        if found := self.workers():
            raise NotYetError(f"workers {[worker.pid for worker in found]}")

    def workers(self) -> list[ProcessRecord]:
        """Workers of this Connect cluster that run now."""
        ours = [worker for worker in operator_part.workers() if worker.name.startswith(f"{NAMESPACE}/")]
        return [worker for worker in ours if processes.alive(worker)]

    def _secret(self, name: str, texts: dict[str, str]) -> None:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        self._apply("v1", "Secret", name, data=data)

    def _apply(self, api_version: str, kind: str, name: str, **body: Any) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        metadata |= {key: body.pop(key) for key in ("labels", "annotations") if key in body}
        self.api.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, **body})


def _reference(kind: str) -> Reference:
    return Reference(STRIMZI, kind, NAMESPACE, CONNECT if kind == "KafkaConnect" else CONNECTOR)
