"""A real API server accepts every object of every example, strictly, with Strimzi's own definitions.

The operator that a topology names decides the API version and, in the older one, how connectors read the target.
"""

from collections.abc import Callable, Iterable

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.render.deployments import deployments, flow_objects
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.preconditions import require_prometheus_operator, require_spark_operator
from kafka_replication.infra.stack.settings import read_settings, stack_names
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology
from tests.contract.api_servers import ApiServer, strict_apply
from tests.repository import STACKS

ADDRESSES = {f"{alias}Bootstrap": f"{alias}:9093" for alias in ("useast", "uswest")}
OPERATORS = ("1.2", "0.48", "0.45", "v1beta2")


@pytest.fixture(params=OPERATORS)
def operator(request: pytest.FixtureRequest) -> str:
    """The operator as a topology names it, each in turn."""
    return str(request.param)


@pytest.fixture
def server(operator: str, api_server_of: Callable[[str], ApiServer]) -> ApiServer:
    """A server with the definitions of the operator's release."""
    return api_server_of(strimzi(operator).api.value)


def refused(server: ApiServer, flows: Iterable[ResolvedFlow]) -> dict[str, list[str]]:
    """The server's complaints about the objects of flows, by object."""
    objects = [planned for each in deployments(flows) for planned in each.objects]
    assert objects
    complaints = {f"{planned.kind} {planned.name}": strict_apply(server, planned.manifest) for planned in objects}
    return {name: found for name, found in complaints.items() if found}


@pytest.mark.parametrize("stack", stack_names(STACKS))
def test_every_object_of_an_example_is_accepted_with_nothing_dropped(
    server: ApiServer, operator: str, stack: str
) -> None:
    settings = read_settings(stack, STACKS)
    topology = settings.topology.model_copy(update={"strimzi": operator})
    assert refused(server, resolve_flows(topology, settings.region, {**settings.values, **ADDRESSES})) == {}


LOGINS = {
    "mutual TLS": {"type": "tls", "secret": "client"},
    "PLAIN": {"type": "plain", "username": "m", "password": {"secret": "s", "key": "p"}},
    "SCRAM with SHA-256": {"type": "scram-sha-256", "username": "m", "password": {"secret": "s", "key": "p"}},
    "tokens from an endpoint": {
        "type": "oauth",
        "tokenEndpointUri": "https://auth.example.com/token",
        "clientId": "mirror",
        "clientSecret": {"secret": "s", "key": "p"},
        "trust": {"secret": "auth-ca", "key": "ca.crt"},
        "scope": "kafka",
        "audience": "brokers",
    },
    "a token": {"type": "oauth", "accessToken": {"secret": "s", "key": "p"}},
    "no login": None,
}


@pytest.mark.parametrize("kind", ["flow", "mirrorMaker2"])
@pytest.mark.parametrize("login", LOGINS)
def test_every_login_to_both_clusters_is_accepted(server: ApiServer, operator: str, kind: str, login: str) -> None:
    clusters = {alias: a_cluster(authentication=LOGINS[login], tls={}) for alias in ("useast", "uswest")}
    topology = parse_topology(a_topology(a_flow(kind=kind), clusters=clusters, strimzi=operator))
    assert refused(server, resolve_flows(topology, None, {})) == {}


def test_a_custom_login_is_accepted_in_v1(api_server_of: Callable[[str], ApiServer]) -> None:
    login = {"type": "custom", "config": {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": "x required;"}}
    clusters = {alias: a_cluster(authentication=login) for alias in ("useast", "uswest")}
    assert refused(api_server_of("v1"), [a_resolved_flow(clusters)]) == {}


def test_clusters_without_security_are_accepted(server: ApiServer, operator: str) -> None:
    clusters = {alias: a_cluster(authentication=None, tls=None) for alias in ("useast", "uswest")}
    assert refused(server, [a_resolved_flow(clusters, strimzi=operator)]) == {}


WORKERS = {
    "replicas": 2,
    "version": "4.2.0",
    "image": "registry.example.com/connect:1",
    "imagePullSecret": "registry",
    "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "2Gi"}},
    "jvmOptions": {"-Xmx": "1g"},
    "logging": {"type": "external", "configMap": "levels", "key": "log4j2.properties"},
    "metrics": {"type": "jmxPrometheusExporter", "configMap": "metrics", "key": "rules.yaml"},
    "readinessProbe": {"initialDelaySeconds": 30, "timeoutSeconds": 7},
    "livenessProbe": {"periodSeconds": 20, "successThreshold": 1, "failureThreshold": 5},
    "rack": {"topologyKey": "topology.kubernetes.io/zone"},
    "tracing": {"type": "opentelemetry"},
    "template": {
        "pod": {
            "metadata": {"labels": {"team": "orders"}},
            "volumes": [{"name": "plugins", "configMap": {"name": "plugins"}}],
        },
        "connectContainer": {
            "env": [{"name": "OTEL_SERVICE_NAME", "value": "mirror"}],
            "volumeMounts": [{"name": "plugins", "mountPath": "/mnt/plugins"}],
        },
    },
}


def test_a_full_connect_cluster_is_accepted(server: ApiServer, operator: str) -> None:
    password = {"secret": "ca", "key": "password"}
    trust = {"format": "JKS", "secret": "ca", "key": "truststore.jks", "password": password}
    flow = a_resolved_flow(
        {"useast": a_cluster(tls={"trust": trust}), "uswest": a_cluster("us-west-2")},
        strimzi=operator,
        connect=WORKERS,
        connectors={"heartbeat": {"enabled": False}, "source": {"autoRestart": {"maxRestarts": 5}, "state": "paused"}},
        quota={"hard": {"pods": 3, "limits.memory": "8Gi"}, "defaultLimits": {"memory": "2Gi"}},
    )
    assert refused(server, [flow]) == {}


def test_strimzis_metrics_reporter_is_accepted_in_v1(
    api_server_of: Callable[[str], ApiServer],
) -> None:
    metrics = {"type": "strimziMetricsReporter", "allowList": ["kafka_connect.*"]}
    assert refused(api_server_of("v1"), [a_resolved_flow(connect={"metrics": metrics})]) == {}


def test_a_misspelt_field_is_refused_by_name(api_server: ApiServer) -> None:
    """Without this check the tests above might accept anything."""
    objects = flow_objects(a_resolved_flow(strimzi=api_server.version))
    manifest = next(planned.manifest for planned in objects if planned.kind == "KafkaConnect")
    (complaint,) = strict_apply(api_server, {**manifest, "spec": {**manifest["spec"], "groupID": "x"}})
    assert "groupID" in complaint


def test_a_cluster_without_the_prometheus_operator_is_refused_before_anything_is_deployed(
    api_server_of: Callable[[str], ApiServer],
) -> None:
    # The tests of permissions install these kinds on the server of v1.
    with pytest.raises(CannotRunError, match="prometheus-operator-missing: the Kubernetes cluster has no kind PodMon"):
        require_prometheus_operator(api_server_of("v1beta2").api)


def test_a_cluster_without_the_spark_operator_is_refused_before_anything_is_deployed(
    api_server_of: Callable[[str], ApiServer],
) -> None:
    with pytest.raises(CannotRunError, match="spark-operator-missing: the Kubernetes cluster has no kind SparkAppl"):
        require_spark_operator(api_server_of("v1beta2").api)
