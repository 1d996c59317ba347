"""With the same keys, `kind: flow` and `kind: mirrorMaker2` give connectors the same effective configuration.

The tests resolve placeholders as workers do, open truststores, and include what the operator adds. They compare every
property that a connector defines, and every property that reaches its Kafka clients.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from kafka_replication.components.properties.clients import client_properties, clients
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.local.operator import mirror_maker2, resources
from kafka_replication.infra.local.operator.resources import ConnectResource
from kafka_replication.infra.local.operator.worker_files import WorkerFiles, trusted_certificates
from kafka_replication.infra.local.operator.worker_properties import trust_secret_name
from tests.builders import a_cluster, a_flow, a_topology

VERSIONS = ("1.2", "0.45")
KAFKA = {"1.2": "4.2", "0.45": "3.9"}
PASSWORDS = {"useast": "north", "uswest": "south"}
_PLACEHOLDER = re.compile(r"\$\{(\w+):([^:}]+):([^}]+)\}")
_ESCAPED = re.compile(r"\\(.)")

KEYS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "identity policy": {"policy": "identity", "separator": "_"},
    "exclusions": {"topicsExclude": ["payments-test"], "groupsExclude": ["checkout-test"]},
    "offset syncs on the target": {"offsetSyncs": {"location": "target", "lagMax": 0}},
    "exactly once from the latest": {"exactlyOnce": "enabled", "startFrom": "latest"},
    "throughput": {"tuning": {"preset": "throughput"}},
    "topic ACLs": {"syncTopicAcls": True, "syncGroupOffsets": False},
    "intervals": {"intervals": {"refreshTopicsSeconds": 7, "emitCheckpointsSeconds": 8, "emitHeartbeatsSeconds": 9}},
    "a user's own properties": {
        "connectors": {
            "source": {
                "config": {"producer.override.linger.ms": 5, "consumer.fetch.min.bytes": 9, "replication.factor": 3}
            },
            "checkpoint": {"config": {"source.admin.retries": 4, "admin.retries": 2}},
        },
        "connect": {"config": {"producer.acks": 1, "consumer.max.poll.records": 50}},
    },
}


@dataclass(frozen=True)
class Runtime:
    """The values of placeholders: `held` by provider, then by file or object, then by key."""

    held: Mapping[str, Mapping[str, Mapping[str, str]]]
    files: Mapping[str, bytes]

    def resolved(self, config: Mapping[str, Any]) -> dict[str, str]:
        return {key: _PLACEHOLDER.sub(self._value, value_text(value)) for key, value in config.items()}

    def _value(self, placeholder: re.Match[str]) -> str:
        provider, place, key = placeholder.groups()
        return self.held[provider][place][key]

    def with_trust_opened(self, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration with its trust replaced by plain certificates, whatever its form."""
        opened = dict(config)
        for prefix in {key.partition("ssl.truststore.")[0] for key in config if "ssl.truststore.type" in key}:
            kinds = ("type", "location", "password", "certificates")
            form = {kind: opened.pop(f"{prefix}ssl.truststore.{kind}", "") for kind in kinds}
            if form["type"] == "PEM":
                certificates = x509.load_pem_x509_certificates(form["certificates"].encode())
            else:
                store = pkcs12.load_pkcs12(self.files[form["location"]], form["password"].encode())
                certificates = [cert.certificate for cert in store.additional_certs]
            pem = sorted(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)
            opened[f"{prefix}ssl.truststore.certificates"] = "".join(pem)
        return opened


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """The Secrets of both clusters, each with its own certificates."""
    contents: dict[str, dict[str, str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPLICATE_LOCAL", str(tmp_path_factory.mktemp("local")))
        for alias, password in PASSWORDS.items():
            authority = Authority(alias)
            authority.issue("broker")
            contents[f"{alias}-ca"] = {"ca.crt": authority.certificate.read_text()}
            contents[f"{alias}-user"] = {"password": password}
        yield contents


def declared_objects(kind: str, strimzi: str, keys: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects of a topology with one replication, as an API server returns them."""
    clusters = {
        alias: a_cluster(
            bootstrapServers=f"kafka.{alias}.example.com:9093",
            tls={"trust": {"secret": f"{alias}-ca", "key": "ca.crt"}},
            authentication={
                "type": login,
                "username": "mirror",
                "password": {"secret": f"{alias}-user", "key": "password"},
            },
        )
        for alias, login in (("useast", "plain"), ("uswest", "scram-sha-512"))
    }
    topology = parse_topology(a_topology(a_flow(**{**keys, "kind": kind}), clusters=clusters, strimzi=strimzi))
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    served = {"uid": "u-1", "generation": 1}
    return [
        {**planned.manifest, "metadata": {**planned.manifest["metadata"], **served}} for planned in deployment.objects
    ]


def a_runtime(manifests: list[dict[str, Any]], connect: ConnectResource, secrets: Mapping[str, Any]) -> Runtime:
    encoded = {
        name: {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        for name, data in secrets.items()
    }
    workers = WorkerFiles(connect, encoded, "store")
    namespace = connect.namespace
    readable = {f"{namespace}/{name}": data for name, data in secrets.items()}
    trusted = {f"{namespace}/{trust_secret_name(connect.name)}": trusted_certificates(connect, encoded)}
    maps = {
        f"{namespace}/{manifest['metadata']['name']}": manifest["data"]
        for manifest in manifests
        if manifest["kind"] == "ConfigMap"
    }
    files = workers.files()
    read = {path: _properties(content) for path, content in files.items() if path.endswith(".properties")}
    held = {"cfmap": maps, "secret": readable, "strimzisecrets": {**readable, **trusted}, "file": read}
    return Runtime(held, files)


def _properties(content: bytes) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in content.decode().splitlines())
    return {_ESCAPED.sub(r"\1", key): _ESCAPED.sub(r"\1", value) for key, value in pairs}


def effective(config: Mapping[str, str], role: ConnectorRole, keys: Mapping[str, Any], kafka: str) -> dict[str, Any]:
    """A connector's effective properties, its own and those of each of its clients."""
    owner = Owner(role)
    location = keys.get("offsetSyncs", {}).get("location", "source")
    known = definitions(kafka, owner)
    own = {key: value for key, value in config.items() if key in known or key.startswith("transforms")}
    reached = {
        client.name: {name: value for name, (value, _) in client_properties(client, config, kafka).items()}
        for client in clients(owner, location, exactly_once="exactlyOnce" in keys)
    }
    return {"connector": own, **reached}


def flow_configurations(strimzi: str, keys: Mapping[str, Any], secrets: Any) -> dict[str, dict[str, Any]]:
    manifests = declared_objects("flow", strimzi, keys)
    workers = [resources.connect_resource(manifest) for manifest in manifests if manifest["kind"] == "KafkaConnect"]
    runtimes = {connect.name: a_runtime(manifests, connect, secrets) for connect in workers}
    configs = {}
    for manifest in manifests:
        if manifest["kind"] == "KafkaConnector":
            runtime = runtimes[manifest["metadata"]["labels"]["strimzi.io/cluster"]]
            configs[manifest["spec"]["class"]] = runtime.with_trust_opened(runtime.resolved(manifest["spec"]["config"]))
    return _effective(configs, keys, KAFKA[strimzi])


def mirror_configurations(strimzi: str, keys: Mapping[str, Any], secrets: Any) -> dict[str, dict[str, Any]]:
    manifests = declared_objects("mirrorMaker2", strimzi, keys)
    (item,) = [manifest for manifest in manifests if manifest["kind"] == "KafkaMirrorMaker2"]
    runtime = a_runtime(manifests, mirror_maker2.connect_resource(item), secrets)
    configs = {
        resource.connector_class: runtime.with_trust_opened(runtime.resolved(resource.config))
        for resource in mirror_maker2.connector_resources(item)
    }
    for manifest in manifests:
        if manifest["kind"] == "KafkaConnector":
            configs[manifest["spec"]["class"]] = runtime.with_trust_opened(runtime.resolved(manifest["spec"]["config"]))
    return _effective(configs, keys, KAFKA[strimzi])


def _effective(
    configs: Mapping[str, Mapping[str, str]], keys: Mapping[str, Any], kafka: str
) -> dict[str, dict[str, Any]]:
    return {
        role: effective(configs[class_name], role, keys, kafka)
        for role, class_name in CONNECTOR_CLASSES.items()
        if class_name in configs
    }


@pytest.mark.parametrize("strimzi", VERSIONS)
@pytest.mark.parametrize("keys", KEYS.values(), ids=list(KEYS))
def test_a_flow_and_a_mirror_have_the_same_effective_configuration(
    strimzi: str, keys: dict[str, Any], secrets: Any
) -> None:
    flow, mirror = flow_configurations(strimzi, keys, secrets), mirror_configurations(strimzi, keys, secrets)
    assert mirror["source"] == flow["source"]
    assert mirror["checkpoint"] == flow["checkpoint"]
    assert flow["source"]["source-consumer"]["sasl.jaas.config"].count("north") == 1


@pytest.mark.parametrize("keys", [keys for keys in KEYS.values() if "exactlyOnce" not in keys])
def test_in_v1_the_heartbeat_connector_is_configured_alike_for_a_mirror_and_a_flow(
    keys: dict[str, Any], secrets: Any
) -> None:
    assert (
        mirror_configurations("1.2", keys, secrets)["heartbeat"]
        == flow_configurations("1.2", keys, secrets)["heartbeat"]
    )


def test_in_v1beta2_a_mirrors_heartbeats_differ_only_in_the_cluster_they_go_to(secrets: Any) -> None:
    flow, mirror = (
        flow_configurations("0.45", {}, secrets)["heartbeat"],
        mirror_configurations("0.45", {}, secrets)["heartbeat"],
    )
    assert mirror["connector"] == flow["connector"]
    assert mirror["target-admin"]["bootstrap.servers"] == "kafka.uswest.example.com:9093"
    assert flow["target-admin"]["bootstrap.servers"] == "kafka.useast.example.com:9093"
    assert mirror["data-producer"] == {}
