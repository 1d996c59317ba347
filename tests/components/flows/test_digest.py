"""A digest covers what must be equal in environments that should behave alike, and nothing else."""

from typing import Any

import pytest

from kafka_replication.components.flows.resolved import flow_digest, flow_digests, model_digest, resolve_flows
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology

FILTER = {"type": "org.apache.kafka.connect.transforms.Filter"}
INSERT = {"type": "org.apache.kafka.connect.transforms.InsertHeader", "config": {"header": "h", "value.literal": "v"}}
TRANSFORMS = {"before": {"drop": FILTER, "mark": INSERT}}
SOURCES = {"first": {"topics": ["orders"]}, "second": {"topics": ["payments-.*"]}}
PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}
SPLIT: dict[str, Any] = {
    "kind": "split",
    "source": "useast",
    "target": "uswest",
    "groups": ["shop-.*"],
    "parts": {"sales": {"topics": ["sales"]}, "logs": {"topics": ["logs"]}},
}
MIRROR = {"kind": "mirrorMaker2", "source": "useast", "target": "uswest", "topics": ["stock"], "groups": ["g"]}
#: A replication of each kind, with settings that only say where it runs and how large it may grow.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "flow": (a_flow(), {"namespace": {"name": "other"}, "quota": {"hard": {"pods": 9}}}),
    "prefixlessPair": (PAIR, {"createNamespaces": False}),
    "split": (SPLIT, {}),
    "mirrorMaker2": (MIRROR, {"namespace": {"name": "other"}, "quota": {"hard": {"pods": 9}}}),
}
WORKERS: dict[str, Any] = {
    "replicas": 9,
    "resources": {"limits": {"cpu": "4"}},
    "jvmOptions": {"-Xmx": "4g"},
    "image": "registry.example.com/connect:1",
    "imagePullSecret": "registry",
    "build": {"output": {"type": "docker", "image": "registry.example.com/connect:1"}, "plugins": []},
    "plugins": [{"name": "policy", "artifacts": [{"type": "image", "reference": "registry.example.com/policy:1"}]}],
    "template": {"pod": {"metadata": {"labels": {"team": "a"}}}},
    "rack": {"topologyKey": "topology.kubernetes.io/zone"},
    "logging": {"type": "inline", "loggers": {"rootLogger.level": "DEBUG"}},
    "metrics": {"type": "jmxPrometheusExporter", "configMap": "metrics", "key": "rules"},
    "readinessProbe": {"timeoutSeconds": 9},
    "livenessProbe": {"timeoutSeconds": 9},
    "tracing": {"type": "opentelemetry"},
}
TASKS = {"source": {"tasksMax": 12}, "checkpoint": {"tasksMax": 2}, "heartbeat": {"tasksMax": 2}}


def a_model(replication: dict[str, Any], **overrides: Any) -> Topology:
    return parse_topology(a_topology({**replication, **overrides}))


@pytest.mark.parametrize("kind", KINDS)
def test_size_and_place_of_a_replication_of_any_kind_are_not_in_the_digest(kind: str) -> None:
    replication, elsewhere = KINDS[kind]
    if kind == "split":
        parts = {name: {**part, "connect": WORKERS} for name, part in SPLIT["parts"].items()}
        larger = a_model(replication, parts=parts)
    else:
        larger = a_model(replication, connect=WORKERS, **elsewhere)
    assert flow_digests(larger) == flow_digests(a_model(replication))
    assert model_digest(larger) == model_digest(a_model(replication))


@pytest.mark.parametrize("name", WORKERS)
def test_settings_of_how_workers_run_are_not_in_the_digest(name: str) -> None:
    assert model_digest(a_model(a_flow(connect={name: WORKERS[name]}))) == model_digest(a_model(a_flow()))


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({"connectors": TASKS}, id="tasks"),
        pytest.param({"tuning": {"roundTripMilliseconds": 80}}, id="distance"),
        pytest.param({"tuning": {"bytesPerSecondPerPartition": 80}}, id="rate"),
    ],
)
def test_tasks_distance_and_rate_are_not_in_the_digest(overrides: dict[str, Any]) -> None:
    assert model_digest(a_model(a_flow(), **overrides)) == model_digest(a_model(a_flow()))


def test_tasks_of_several_source_connectors_are_not_in_the_digest() -> None:
    few = a_model(a_flow(topics=[]), connectors={"sources": SOURCES})
    more = {name: {**part, "tasksMax": 8} for name, part in SOURCES.items()}
    assert model_digest(a_model(a_flow(topics=[]), connectors={"sources": more})) == model_digest(few)


@pytest.mark.parametrize(
    "cluster",
    [
        {"bootstrapServers": "elsewhere:9092"},
        {"bootstrapServers": {"config": "address"}},
        {"tls": None},
        {"authentication": None},
        {"authentication": {"type": "plain", "username": "other", "password": {"config": "key"}}},
        {"credentialsRevision": 3},
        {"kafkaUser": {"cluster": "kafka", "namespace": "kafka"}},
    ],
    ids=["address", "address by configuration", "TLS", "no login", "login", "rotation", "KafkaUser"],
)
def test_addresses_and_credentials_are_not_in_the_digest(cluster: dict[str, Any]) -> None:
    clusters = {"useast": a_cluster(**cluster), "uswest": a_cluster("eu-north-1", **cluster)}
    elsewhere = parse_topology(a_topology(clusters=clusters))
    assert model_digest(elsewhere) == model_digest(parse_topology(a_topology()))


@pytest.mark.parametrize(
    ("kind", "overrides"),
    [
        ("flow", {"source": "uswest", "target": "useast"}),
        ("flow", {"topics": ["orders"]}),
        ("flow", {"topicsExclude": ["payments-x"]}),
        ("flow", {"groups": ["other"]}),
        ("flow", {"groupsExclude": ["other"]}),
        ("flow", {"policy": "identity"}),
        ("flow", {"separator": "-"}),
        ("flow", {"syncGroupOffsets": False}),
        ("flow", {"syncTopicAcls": True}),
        ("flow", {"exactlyOnce": "preparing"}),
        ("flow", {"startFrom": "latest"}),
        ("flow", {"onLoss": "stop"}),
        ("flow", {"tuning": {"preset": "latency"}}),
        ("flow", {"offsetSyncs": {"lagMax": 0}}),
        ("flow", {"intervals": {"refreshTopicsSeconds": 1}}),
        ("flow", {"replicateHeartbeats": False}),
        ("flow", {"loopGuard": True}),
        ("flow", {"transforms": {"before": {"drop": FILTER}}}),
        ("flow", {"connect": {"version": "4.2.0"}}),
        ("flow", {"connect": {"config": {"offset.flush.interval.ms": 1}}}),
        ("flow", {"connectors": {"source": {"config": {"replication.factor": 2}}}}),
        ("flow", {"connectors": {"source": {"state": "paused"}}}),
        ("flow", {"connectors": {"source": {"autoRestart": {"enabled": False}}}}),
        ("flow", {"connectors": {"checkpoint": {"enabled": False}}}),
        ("flow", {"kind": "mirrorMaker2"}),
        ("prefixlessPair", {"topics": ["other"]}),
        ("prefixlessPair", {"startFrom": "latest"}),
        ("split", {"parts": {"sales": {"topics": ["sales"]}, "logs": {"topics": ["other"]}}}),
        ("split", {"parts": {"logs": {"topics": ["logs"]}, "sales": {"topics": ["sales"]}}}),
        ("mirrorMaker2", {"topics": ["other"]}),
        ("mirrorMaker2", {"source": None, "target": None, "between": ["useast", "uswest"]}),
    ],
)
def test_settings_that_change_what_is_replicated_or_how_are_in_the_digest(kind: str, overrides: dict[str, Any]) -> None:
    replication, _ = KINDS[kind]
    assert model_digest(a_model(replication, **overrides)) != model_digest(a_model(replication))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            a_flow(transforms=TRANSFORMS),
            a_flow(transforms={"before": dict(reversed(TRANSFORMS["before"].items()))}),
            id="transforms run one after the other",
        ),
        pytest.param(
            a_flow(topics=[], connectors={"sources": SOURCES}),
            a_flow(topics=[], connectors={"sources": dict(reversed(SOURCES.items()))}),
            id="the first source connector has the heartbeats",
        ),
    ],
)
def test_an_order_that_matters_is_in_the_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert model_digest(a_model(one)) != model_digest(a_model(other))


def test_the_name_of_a_flow_and_the_operators_api_are_in_the_digest() -> None:
    digest = model_digest(parse_topology(a_topology()))
    assert model_digest(parse_topology(a_topology(name="payments"))) != digest
    assert model_digest(parse_topology(a_topology(strimzi="0.45"))) != digest
    assert model_digest(parse_topology(a_topology(strimzi="1.1"))) == digest


def test_the_model_digest_is_the_same_in_every_region() -> None:
    """A stack deploys only the flows of its region, but the region promoted before it proves the same model."""
    topology = a_model(PAIR)
    for region in ("us-east-1", "us-west-2", None):
        for flow in resolve_flows(topology, region, {}):
            assert flow_digests(topology)[flow.name] == flow_digest(flow)


def test_another_flow_changes_the_model_digest_and_no_other_flows_digest() -> None:
    alone, both = a_topology(), a_topology()
    both["replications"]["more"] = a_flow(topics=["more"])
    one, two = parse_topology(alone), parse_topology(both)
    assert model_digest(one) != model_digest(two)
    assert flow_digests(one)["orders"] == flow_digests(two)["orders"] == flow_digest(a_resolved_flow())
