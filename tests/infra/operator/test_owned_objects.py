"""Objects that the operator makes for a KafkaConnect, compared whole."""

import base64
from typing import Any

from kafka_replication.infra.local.operator.worker_objects import owned_objects
from kafka_replication.infra.local.operator.worker_properties import as_properties_file, worker_properties
from tests.infra.operator.builders import a_connect, a_v1beta2_connect

TLS = {"trustedCertificates": [{"secretName": "uswest-ca", "certificate": "ca.crt"}]}
SCRAM = {
    "type": "scram-sha-512",
    "username": "mirror",
    "passwordSecret": {"secretName": "uswest", "password": "password"},
}
LABELS = {
    "app.kubernetes.io/instance": "orders",
    "app.kubernetes.io/managed-by": "strimzi-cluster-operator",
    "app.kubernetes.io/name": "kafka-connect",
    "app.kubernetes.io/part-of": "strimzi-orders",
    "strimzi.io/cluster": "orders",
    "strimzi.io/component-type": "kafka-connect",
    "strimzi.io/kind": "KafkaConnect",
    "strimzi.io/name": "orders-connect",
}
OWNER = {
    "apiVersion": "kafka.strimzi.io/v1beta2",
    "kind": "KafkaConnect",
    "name": "orders",
    "uid": "u-1",
    "controller": False,
    "blockOwnerDeletion": False,
}


def an_object(api_version: str, kind: str, name: str, **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "mirror", "labels": LABELS, "ownerReferences": [OWNER]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def test_all_objects_of_a_connect_cluster_with_tls_and_a_password() -> None:
    connect = a_connect(tls=TLS, authentication=SCRAM)
    rule = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["orders-connect-tls-trusted-certs", "uswest"],
        "verbs": ["get"],
    }
    group = "rbac.authorization.k8s.io"
    configuration = as_properties_file(worker_properties(connect))
    assert owned_objects(connect, {"ca.crt": "CERTIFICATE"}) == [
        an_object("v1", "ServiceAccount", "orders-connect"),
        an_object("v1", "ConfigMap", "orders-connect-config", data={"kafka-connect.properties": configuration}),
        an_object(
            "v1",
            "Secret",
            "orders-connect-tls-trusted-certs",
            data={"ca.crt": base64.b64encode(b"CERTIFICATE").decode()},
        ),
        an_object(f"{group}/v1", "Role", "orders-connect", rules=[rule]),
        an_object(
            f"{group}/v1",
            "RoleBinding",
            "orders-connect",
            roleRef={"apiGroup": group, "kind": "Role", "name": "orders-connect"},
            subjects=[{"kind": "ServiceAccount", "name": "orders-connect", "namespace": "mirror"}],
        ),
    ]


def test_a_v1beta2_connect_cluster_gets_only_a_service_account() -> None:
    """The configuration of its workers holds passwords, which everybody in the namespace could read in a ConfigMap."""
    connect = a_v1beta2_connect(tls=TLS, authentication=SCRAM)
    assert owned_objects(connect, {"ca.crt": "CERTIFICATE"}) == [an_object("v1", "ServiceAccount", "orders-connect")]


def test_the_role_of_a_cluster_without_secrets_has_no_rules() -> None:
    """A rule without resource names would grant every Secret of the namespace."""
    roles = [item for item in owned_objects(a_connect(), {}) if item["kind"] == "Role"]
    assert roles == [an_object("rbac.authorization.k8s.io/v1", "Role", "orders-connect", rules=[])]
