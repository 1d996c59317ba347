"""The cost of checking a large topology, and how it grows: `python -m tests.bench.checks`."""

import os
import time

from rich.console import Console

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster

CLUSTERS = 200
SIZES = (500, 1_000, 2_000)


def a_large_topology(flows: int) -> dict[str, object]:
    """Flows between 200 clusters, at the largest size ten to each target. Some are pairs, and each has patterns."""
    clusters = {
        f"c{number}": a_cluster(f"region-{number % 20}", bootstrapServers=f"c{number}:9093")
        for number in range(CLUSTERS)
    }
    replications: dict[str, object] = {}
    for number in range(flows):
        source, target = number % CLUSTERS, (number + 1 + number // CLUSTERS) % CLUSTERS
        topics = [f"team{number}-.*", f"orders-{number}", rf"audit\.v[0-9]+-{number}", f"(bills|rates)-{number}-.*"]
        if number % 4 == 0:
            replications[f"p{number}"] = {
                "kind": "prefixlessPair",
                "between": [f"c{source}", f"c{target}"],
                "topics": topics,
            }
        else:
            replications[f"f{number}"] = {
                "kind": "flow",
                "source": f"c{source}",
                "target": f"c{target}",
                "topics": topics,
                "groups": [f"app{number}-.*"],
                "policy": "identity" if number % 3 == 0 else "default",
            }
    return {"strimzi": "1.2", "clusters": clusters, "replications": replications}


def main() -> None:
    console = Console(highlight=False)
    console.print(f"checking topologies of {CLUSTERS} clusters; load average {os.getloadavg()[0]:.1f}")
    first_per_flow = 0.0
    for size in SIZES:
        data = a_large_topology(size)
        began = time.perf_counter()
        topology = parse_topology(data)
        parsed = time.perf_counter()
        problems = list(check_topology(topology))
        checked = time.perf_counter()
        objects = sum(len(flow_objects(flow)) for flow in resolve_flows(topology, None, {}))
        rendered = time.perf_counter()
        per_flow = (checked - began) / size
        first_per_flow = first_per_flow or per_flow
        console.print(
            f"{size:>6} replications: parse {parsed - began:.2f} s, check {checked - parsed:.2f} s "
            f"({len(problems)} problems), {objects} objects {rendered - checked:.2f} s; "
            f"per replication {per_flow / first_per_flow:.2f} times that of {SIZES[0]}"
        )


if __name__ == "__main__":
    main()
