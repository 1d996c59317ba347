"""The KafkaConnect of a flow, compared as a whole, and what settings and trust change."""

from typing import Any

import pytest

from kafka_replication.components.render.kafka_connect import connect_object
from tests.builders import a_cluster, a_resolved_flow

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def spec(**overrides: Any) -> dict[str, Any]:
    fields: dict[str, Any] = connect_object(a_resolved_flow(**overrides)).manifest["spec"]
    return fields


METADATA = {
    "name": "orders",
    "namespace": "mirror-orders",
    "labels": {"app.kubernetes.io/managed-by": "kafka-replication", "app.kubernetes.io/part-of": "orders"},
    "annotations": {"strimzi.io/use-connector-resources": "true"},
}
SPEC = {
    "replicas": 3,
    "bootstrapServers": "kafka.uswest.example.com:9093",
    "tls": {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.crt"}]},
    "authentication": {
        "type": "scram-sha-512",
        "username": "mirror",
        "passwordSecret": {"secretName": "mirror", "password": "password"},
    },
}
CONFIG = {
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
}
WORKER_FILE = {
    "config.providers": "cfmap,secret,file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.file.param.allowed.paths": "/tmp/strimzi-connect.properties",
}
GROUP_FIELDS = {
    "groupId": "mirror-orders",
    "configStorageTopic": "mirror-orders-configs-internal",
    "offsetStorageTopic": "mirror-orders-offsets-internal",
    "statusStorageTopic": "mirror-orders-status-internal",
}
GROUP_PROPERTIES = {
    "group.id": "mirror-orders",
    "config.storage.topic": "mirror-orders-configs-internal",
    "offset.storage.topic": "mirror-orders-offsets-internal",
    "status.storage.topic": "mirror-orders-status-internal",
}


@pytest.mark.parametrize(
    ("strimzi", "version", "difference"),
    [
        pytest.param("1.2", "v1", {**GROUP_FIELDS, "config": CONFIG}, id="v1 names the group in fields"),
        pytest.param(
            "0.48",
            "v1beta2",
            {"config": {**GROUP_PROPERTIES, **CONFIG}},
            id="v1beta2 names the group in worker properties",
        ),
        pytest.param(
            "0.45",
            "v1beta2",
            {"config": {**GROUP_PROPERTIES, **CONFIG, **WORKER_FILE}},
            id="connectors read the worker file if it holds values",
        ),
        pytest.param(
            "v1beta2",
            "v1beta2",
            {"config": {**GROUP_PROPERTIES, **CONFIG, **WORKER_FILE}},
            id="an operator known only by its old API counts as an old one",
        ),
    ],
)
def test_the_whole_connect_cluster(strimzi: str, version: str, difference: dict[str, Any]) -> None:
    assert connect_object(a_resolved_flow(strimzi=strimzi)).manifest == {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnect",
        "metadata": METADATA,
        "spec": {**SPEC, **difference},
    }


@pytest.mark.parametrize("strimzi", ["1.2", "v1beta2"])
def test_every_setting_of_the_workers_reaches_the_resource(strimzi: str) -> None:
    fields = spec(strimzi=strimzi, connect=EVERY_SETTING)
    assert {key: fields[key] for key in EVERY_FIELD} == EVERY_FIELD


EVERY_SETTING = {
    "version": "4.2.0",
    "image": "registry.example.com/connect:1",
    "imagePullSecret": "registry",
    "resources": {"limits": {"memory": "2Gi"}},
    "jvmOptions": {"-Xmx": "1g"},
    "logging": {"type": "inline", "loggers": {"rootLogger.level": "INFO"}},
    "metrics": {"type": "jmxPrometheusExporter", "configMap": "metrics", "key": "rules.yaml"},
    "readinessProbe": {"initialDelaySeconds": 30, "timeoutSeconds": 7},
    "livenessProbe": {"periodSeconds": 20, "failureThreshold": 5},
    "rack": {"topologyKey": "topology.kubernetes.io/zone"},
    "tracing": {"type": "opentelemetry"},
    "template": {"pod": {"metadata": {"labels": {"team": "orders"}}, "imagePullSecrets": [{"name": "mine"}]}},
}
EVERY_FIELD = {
    "version": "4.2.0",
    "image": "registry.example.com/connect:1",
    "resources": {"limits": {"memory": "2Gi"}},
    "jvmOptions": {"-Xmx": "1g"},
    "logging": {"type": "inline", "loggers": {"rootLogger.level": "INFO"}},
    "metricsConfig": {
        "type": "jmxPrometheusExporter",
        "valueFrom": {"configMapKeyRef": {"name": "metrics", "key": "rules.yaml"}},
    },
    "readinessProbe": {"initialDelaySeconds": 30, "timeoutSeconds": 7},
    "livenessProbe": {"periodSeconds": 20, "failureThreshold": 5},
    "rack": {"topologyKey": "topology.kubernetes.io/zone"},
    "tracing": {"type": "opentelemetry"},
    "template": {
        "pod": {
            "metadata": {"labels": {"team": "orders"}},
            "imagePullSecrets": [{"name": "mine"}, {"name": "registry"}],
        }
    },
}


@pytest.mark.parametrize(
    ("connect", "field", "wanted"),
    [
        pytest.param(
            {"logging": {"type": "external", "configMap": "levels", "key": "log4j2.properties"}},
            "logging",
            {"type": "external", "valueFrom": {"configMapKeyRef": {"name": "levels", "key": "log4j2.properties"}}},
            id="a logging configuration in a ConfigMap",
        ),
        pytest.param(
            {"metrics": {"type": "strimziMetricsReporter", "allowList": ["kafka_connect.*"]}},
            "metricsConfig",
            {"type": "strimziMetricsReporter", "values": {"allowList": ["kafka_connect.*"]}},
            id="chosen metrics of Strimzi's reporter",
        ),
        pytest.param(
            {"metrics": {"type": "strimziMetricsReporter"}},
            "metricsConfig",
            {
                "type": "strimziMetricsReporter",
                "values": {
                    "allowList": [
                        "kafka_connect_.*",
                        "kafka_consumer_consumer_fetch_manager_metrics_records_lag",
                        "jvm_.*",
                        "process_.*",
                    ]
                },
            },
            id="our default metrics of Strimzi's reporter",
        ),
    ],
)
def test_alternative_settings_are_rendered_under_strimzis_names(
    connect: dict[str, Any], field: str, wanted: dict[str, Any]
) -> None:
    assert spec(connect=connect)[field] == wanted


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
    fields = spec(connect=connect)
    assert (fields["replicas"], fields["version"], fields["image"]) == (2, "4.2.0", "registry.example.com/connect:1")
    assert fields["resources"] == {"limits": {"memory": "2Gi"}}
    assert fields["jvmOptions"] == {"-Xmx": "1g"}
    assert fields["template"] == {"pod": {"imagePullSecrets": [{"name": "registry"}]}}
    assert fields["config"]["offset.flush.interval.ms"] == 10000
    assert fields["config"]["config.storage.replication.factor"] == 3


def test_a_client_certificate_of_the_target_is_taken_from_its_secret() -> None:
    target = a_cluster("us-west-2", authentication={"type": "tls", "secret": "client", "certificate": "tls.crt"})
    assert spec(clusters={"useast": a_cluster(), "uswest": target})["authentication"] == {
        "type": "tls",
        "certificateAndKey": {"secretName": "client", "certificate": "tls.crt", "key": "user.key"},
    }


def test_a_binary_truststore_of_the_source_is_mounted_below_mnt() -> None:
    password = {"secret": "ca", "key": "password"}
    trust = {"format": "PKCS12", "secret": "source-ca", "key": "truststore.p12", "password": password}
    fields = spec(clusters={"useast": a_cluster(tls={"trust": trust}), "uswest": a_cluster("us-west-2")})
    items = [{"key": "truststore.p12", "path": "truststore.p12"}]
    assert fields["template"] == {
        "pod": {"volumes": [{"name": "source-truststore", "secret": {"secretName": "source-ca", "items": items}}]},
        "connectContainer": {"volumeMounts": [{"name": "source-truststore", "mountPath": "/mnt/source-truststore"}]},
    }


def test_a_target_that_the_jvm_already_trusts_needs_no_certificate() -> None:
    fields = spec(clusters={"useast": a_cluster(), "uswest": a_cluster("us-west-2", tls={}, authentication=None)})
    assert fields["tls"] == {"trustedCertificates": []}
    assert "authentication" not in fields


def test_a_template_of_the_user_is_extended_and_never_replaced() -> None:
    """Otherwise a user's volumes would replace the mount of the truststore, or the other way round."""
    password = {"secret": "ca", "key": "password"}
    trust = {"format": "JKS", "secret": "source-ca", "key": "trust.jks", "password": password}
    template = {
        "pod": {"volumes": [{"name": "plugins", "emptyDir": {}}], "terminationGracePeriodSeconds": 60},
        "connectContainer": {"volumeMounts": [{"name": "plugins", "mountPath": "/mnt/plugins"}]},
    }
    clusters = {"useast": a_cluster(tls={"trust": trust}), "uswest": a_cluster("us-west-2")}
    fields = spec(clusters=clusters, connect={"template": template})["template"]
    assert [volume["name"] for volume in fields["pod"]["volumes"]] == ["plugins", "source-truststore"]
    assert fields["pod"]["terminationGracePeriodSeconds"] == 60
    mounts = fields["connectContainer"]["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts] == ["/mnt/plugins", "/mnt/source-truststore"]


def test_the_targets_certificates_may_be_given_as_a_pattern_of_keys() -> None:
    trust = {"secret": "uswest-cluster-ca-cert", "pattern": "*.crt"}
    clusters = {"useast": a_cluster(), "uswest": a_cluster("us-west-2", tls={"trust": trust})}
    assert spec(clusters=clusters, strimzi="0.45")["tls"] == {
        "trustedCertificates": [{"secretName": "uswest-cluster-ca-cert", "pattern": "*.crt"}]
    }
