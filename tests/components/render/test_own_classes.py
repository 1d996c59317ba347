"""Policies, filters and plugin versions of the user's own reach the connectors that must agree on them."""

from typing import Any

import pytest

from components.checks import check_topology
from components.flows.digest import flow_digest
from components.render.config_layers import values
from components.render.connector_config import connector_layers
from components.render.job_parameters import flow_parameters
from components.render.kafka_connectors import connector_objects
from components.topology.parsing import parse_topology
from tests.builders import a_flow, a_resolved_flow, a_topology

OWN: dict[str, Any] = {
    "policyClass": "com.example.RegionPolicy",
    "topicFilterClass": "com.example.CatalogFilter",
    "groupFilterClass": "com.example.TeamFilter",
}
KEYS = ("replication.policy.class", "topic.filter.class", "group.filter.class")


def problems(**overrides: Any) -> dict[str, str]:
    strimzi = overrides.pop("strimzi", "1.2")
    found = check_topology(parse_topology(a_topology(a_flow(**overrides), strimzi=strimzi)))
    return {problem.code: problem.where for problem in found}


def test_each_connector_gets_the_classes_that_it_reads() -> None:
    flow = a_resolved_flow(**OWN)
    policy, topics, groups = OWN.values()
    assert {
        role: [values(connector_layers(flow, role)).get(key) for key in KEYS]
        for role in ("source", "checkpoint", "heartbeat")
    } == {
        "source": [policy, topics, None],
        "checkpoint": [policy, topics, groups],
        "heartbeat": [policy, None, None],
    }


def test_a_policy_of_ones_own_is_in_the_config_map_that_the_connectors_read() -> None:
    told = [
        str(each.manifest["spec"]["config"]["replication.policy.class"])
        for each in connector_objects(a_resolved_flow(**OWN))
    ]
    assert len(set(told)) == 1
    assert told[0].startswith("${cfmap:")


def test_a_connector_runs_the_version_of_its_plugin_that_it_names() -> None:
    flow = a_resolved_flow(connectors={"source": {"version": "[4.2,5)"}})
    versions = {each.role.value: each.manifest["spec"].get("version") for each in connector_objects(flow)}
    assert versions == {"source-connector": "[4.2,5)", "checkpoint-connector": None, "heartbeat-connector": None}


def test_an_operator_without_plugin_versions_is_named() -> None:
    connectors = {"checkpoint": {"version": "4.2.0"}}
    where = "replications.orders.connectors.checkpoint.version"
    assert problems(connectors=connectors, strimzi="0.48")["strimzi-too-old"] == where
    assert problems(connectors=connectors) == {}


def test_a_class_of_ones_own_changes_the_digest_of_its_flow() -> None:
    """A published verdict names the digest of the flow that it speaks of."""
    assert flow_digest(a_resolved_flow(**OWN)) != flow_digest(a_resolved_flow())


@pytest.mark.parametrize("value", [False, "false", "False"])
def test_a_connector_that_a_property_makes_idle_is_not_expected_to_emit(value: object) -> None:
    """The job would wait for heartbeats, and blame the flow, although nobody produces them."""
    connectors = {role: {"config": {f"emit.{role}s.enabled": value}} for role in ("heartbeat", "checkpoint")}
    told = flow_parameters(a_resolved_flow(connectors=connectors))
    assert (told.heartbeats.enabled, told.checkpoints.enabled) == (False, False)
