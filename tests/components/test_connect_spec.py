"""KafkaConnect of a flow, compared whole, and what settings and trust change."""

from typing import Any

from components.specs.connect import connect_object
from tests.builders import a_cluster, a_resolved_flow

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def spec(**overrides: Any) -> dict[str, Any]:
    found: dict[str, Any] = connect_object(a_resolved_flow(**overrides)).manifest["spec"]
    return found


def test_the_connect_cluster_whole() -> None:
    assert connect_object(a_resolved_flow()).manifest == {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnect",
        "metadata": {
            "name": "orders",
            "namespace": "mirror-orders",
            "labels": {
                "app.kubernetes.io/managed-by": "kafka-replication",
                "app.kubernetes.io/part-of": "orders",
            },
            "annotations": {"strimzi.io/use-connector-resources": "true"},
        },
        "spec": {
            "replicas": 3,
            "bootstrapServers": "kafka.uswest.example.com:9093",
            "groupId": "mirror-orders",
            "configStorageTopic": "mirror-orders-configs-internal",
            "offsetStorageTopic": "mirror-orders-offsets-internal",
            "statusStorageTopic": "mirror-orders-status-internal",
            "config": {
                "config.storage.replication.factor": -1,
                "offset.storage.replication.factor": -1,
                "status.storage.replication.factor": -1,
                "key.converter": BYTES,
                "value.converter": BYTES,
                "header.converter": BYTES,
                "config.providers": "cfmap,secret",
                "config.providers.cfmap.class": "io.strimzi.kafka.KubernetesConfigMapConfigProvider",
                "config.providers.secret.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
                "connector.client.config.override.policy": "All",
            },
            "tls": {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.crt"}]},
            "authentication": {
                "type": "scram-sha-512",
                "username": "mirror",
                "passwordSecret": {"secretName": "mirror", "password": "password"},
            },
        },
    }


def test_settings_of_the_connect_cluster_reach_its_spec() -> None:
    connect = {
        "replicas": 2,
        "version": "4.2.0",
        "image": "registry.example.com/connect:1",
        "imagePullSecret": "registry",
        "resources": {"limits": {"memory": "2Gi"}},
        "jvmOptions": {"-Xmx": "1g"},
        "config": {"offset.flush.interval.ms": 10000, "config.storage.replication.factor": 3},
    }
    found = spec(connect=connect)
    assert (found["replicas"], found["version"], found["image"]) == (2, "4.2.0", "registry.example.com/connect:1")
    assert found["resources"] == {"limits": {"memory": "2Gi"}}
    assert found["jvmOptions"] == {"-Xmx": "1g"}
    assert found["template"] == {"pod": {"imagePullSecrets": [{"name": "registry"}]}}
    assert found["config"]["offset.flush.interval.ms"] == 10000
    assert found["config"]["config.storage.replication.factor"] == 3


def test_a_client_certificate_of_the_target_is_taken_from_its_secret() -> None:
    target = a_cluster("us-west-2", authentication={"type": "tls", "secret": "client", "certificate": "tls.crt"})
    assert spec(clusters={"useast": a_cluster(), "uswest": target})["authentication"] == {
        "type": "tls",
        "certificateAndKey": {"secretName": "client", "certificate": "tls.crt", "key": "user.key"},
    }


def test_a_binary_truststore_of_the_source_is_mounted_below_mnt() -> None:
    password = {"secret": "ca", "key": "password"}
    trust = {"format": "PKCS12", "secret": "source-ca", "key": "truststore.p12", "password": password}
    found = spec(clusters={"useast": a_cluster(tls={"trust": trust}), "uswest": a_cluster("us-west-2")})
    items = [{"key": "truststore.p12", "path": "truststore.p12"}]
    assert found["template"] == {
        "pod": {"volumes": [{"name": "source-truststore", "secret": {"secretName": "source-ca", "items": items}}]},
        "connectContainer": {"volumeMounts": [{"name": "source-truststore", "mountPath": "/mnt/source-truststore"}]},
    }


def test_a_target_that_the_jvm_trusts_by_itself_needs_no_certificate() -> None:
    found = spec(clusters={"useast": a_cluster(), "uswest": a_cluster("us-west-2", tls={}, authentication=None)})
    assert found["tls"] == {"trustedCertificates": []}
    assert "authentication" not in found
