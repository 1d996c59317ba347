"""The topology of the engine's bench, and its objects as the bare program takes them."""

from typing import Any

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.planned_objects import needed_keys
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster

CLUSTERS = 20


def a_topology(flows: int) -> dict[str, Any]:
    """Flows from ten clusters to ten others; the program creates the Secrets with their credentials."""
    half = CLUSTERS // 2
    clusters = {
        f"c{number}": a_cluster(
            f"region-{number}",
            bootstrapServers=f"c{number}:9093",
            tls={"trust": {"config": f"c{number}Ca"}},
            authentication={
                "type": "scram-sha-512",
                "username": "mirror",
                "password": {"config": f"c{number}Password"},
            },
        )
        for number in range(CLUSTERS)
    }
    replications = {
        f"f{number}": {
            "kind": "flow",
            "source": f"c{number % half}",
            "target": f"c{half + (number + number // half) % half}",
            "topics": [f"team{number}-.*", f"orders-{number}"],
            "groups": [f"app{number}-.*"],
        }
        for number in range(flows)
    }
    return {"strimzi": "1.2", "clusters": clusters, "replications": replications}


def plain_objects(topology: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of the topology as `bare_program` takes them, with the Pulumi names that our program gives them."""
    return [
        {
            "name": f"{deployment.name}-{planned.key}",
            "manifest": planned.manifest,
            "after": [f"{deployment.name}-{key}" for key in earlier[planned.key]],
            "secretValues": dict(planned.secret_values),
        }
        for deployment in deployments(resolve_flows(parse_topology(topology), None, {}))
        for earlier in [needed_keys(deployment.objects)]
        for planned in deployment.objects
    ]
