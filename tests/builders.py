"""Models for tests, each valid as it is, each with overrides."""

from collections.abc import Mapping
from typing import Any

from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology


def a_cluster(region: str = "us-east-1", **overrides: Any) -> dict[str, Any]:
    return {
        "region": region,
        "bootstrapServers": f"kafka.{region}.example.com:9093",
        "tls": {"trust": {"secret": "ca", "key": "ca.crt"}},
        "authentication": {
            "type": "scram-sha-512",
            "username": "mirror",
            "password": {"secret": "mirror", "key": "password"},
        },
        **overrides,
    }


def a_flow(**overrides: Any) -> dict[str, Any]:
    return {
        "kind": "flow",
        "source": "useast",
        "target": "uswest",
        "topics": ["orders", "payments-.*"],
        "groups": ["checkout-.*"],
        **overrides,
    }


def a_topology(
    flow: Mapping[str, Any] | None = None, name: str = "orders", clusters: Mapping[str, Any] | None = None, **top: Any
) -> dict[str, Any]:
    return {
        "strimzi": "1.2",
        "clusters": clusters
        or {
            "useast": a_cluster(bootstrapServers="kafka.useast.example.com:9093"),
            "uswest": a_cluster("us-west-2", bootstrapServers="kafka.uswest.example.com:9093"),
        },
        "replications": {name: flow or a_flow()},
        **top,
    }


def a_resolved_flow(
    clusters: Mapping[str, Any] | None = None, name: str = "orders", strimzi: str = "1.2", **overrides: Any
) -> ResolvedFlow:
    topology: Topology = parse_topology(a_topology(a_flow(**overrides), name, clusters, strimzi=strimzi))
    (resolved,) = resolve_flows(topology, None, {})
    return resolved
