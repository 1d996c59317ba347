"""Which flows a stack deploys, and where their addresses come from."""

from typing import Any

import pytest

from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.flows.operators import StrimziApi, strimzi
from kafka_replication.components.flows.resolved import flow_digest, resolve_flows
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology


@pytest.mark.parametrize(
    ("version", "api"),
    [("0.45", StrimziApi.V1BETA2), ("0.48.1", StrimziApi.V1BETA2), ("0.49", StrimziApi.V1), ("1.2", StrimziApi.V1)],
)
def test_the_operators_version_decides_the_api(version: str, api: StrimziApi) -> None:
    assert strimzi(version).api is api


def test_a_stack_deploys_the_flows_whose_target_is_in_its_region() -> None:
    """Connect runs beside its target; the source's region must not deploy it a second time."""
    replications = {"west": a_flow(), "east": a_flow(source="uswest", target="useast")}
    topology = parse_topology(a_topology(replications=replications))
    assert [flow.name for flow in resolve_flows(topology, "us-west-2", {})] == ["west"]
    assert [flow.name for flow in resolve_flows(topology, None, {})] == ["east", "west"]


def test_an_address_from_configuration_is_filled_in_or_named_as_missing() -> None:
    clusters = {"useast": a_cluster(bootstrapServers={"config": "useast"}), "uswest": a_cluster("us-west-2")}
    topology = parse_topology(a_topology(clusters=clusters))
    (flow,) = resolve_flows(topology, None, {"useast": "127.0.0.1:9092"})
    assert flow.source.bootstrap_servers == "127.0.0.1:9092"
    with pytest.raises(ReplicationError, match=r"clusters\.useast\.bootstrapServers"):
        resolve_flows(topology, None, {})


def test_sizes_addresses_and_credentials_are_not_in_the_digest() -> None:
    """They differ between environments by nature; a promotion compares everything else."""
    clusters = {"useast": a_cluster(bootstrapServers="elsewhere:9092", authentication=None), "uswest": a_cluster("x")}
    other = a_resolved_flow(clusters, connect={"replicas": 9, "resources": {"limits": {"cpu": "4"}}})
    assert flow_digest(other) == flow_digest(a_resolved_flow())


@pytest.mark.parametrize(
    "overrides",
    [
        {"topics": ["orders"]},
        {"policy": "identity"},
        {"offsetSyncs": {"lagMax": 0}},
        {"connectors": {"source": {"config": {"replication.factor": 2}}}},
        {"connect": {"config": {"exactly.once.source.support": "enabled"}}},
    ],
    ids=["topics", "policy", "lag", "connector property", "worker property"],
)
def test_settings_that_change_what_a_flow_does_are_in_the_digest(overrides: dict[str, Any]) -> None:
    assert flow_digest(a_resolved_flow(**overrides)) != flow_digest(a_resolved_flow())
