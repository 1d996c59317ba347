"""A user's own policies, filters and plugin versions reach the connectors that must agree on them."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import flow_digest
from kafka_replication.components.render.config_layers import values
from kafka_replication.components.render.connector_config import connector_layers
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.render.kafka_connectors import connector_objects
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_resolved_flow, a_topology

OWN: dict[str, Any] = {
    "policyClass": "com.example.RegionPolicy",
    "topicFilterClass": "com.example.CatalogFilter",
    "groupFilterClass": "com.example.TeamFilter",
}
KEYS = ("replication.policy.class", "topic.filter.class", "group.filter.class")


def problems(**overrides: Any) -> dict[str, str]:
    strimzi = overrides.pop("strimzi", "1.2")
    problems = check_topology(parse_topology(a_topology(a_flow(**overrides), strimzi=strimzi)))
    return {problem.code: problem.where for problem in problems}


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


def test_all_connectors_read_a_users_own_policy_class_from_one_config_map() -> None:
    classes = [
        str(planned.manifest["spec"]["config"]["replication.policy.class"])
        for planned in connector_objects(a_resolved_flow(**OWN))
    ]
    assert len(set(classes)) == 1
    assert classes[0].startswith("${cfmap:")


def test_a_connector_is_rendered_with_its_plugin_version() -> None:
    flow = a_resolved_flow(connectors={"source": {"version": "[4.2,5)"}})
    versions = {planned.role.value: planned.manifest["spec"].get("version") for planned in connector_objects(flow)}
    assert versions == {"source-connector": "[4.2,5)", "checkpoint-connector": None, "heartbeat-connector": None}


def test_a_plugin_version_is_refused_if_the_operator_does_not_support_it() -> None:
    connectors = {"checkpoint": {"version": "4.2.0"}}
    where = "replications.orders.connectors.checkpoint.version"
    assert problems(connectors=connectors, strimzi="0.48")["strimzi-too-old"] == where
    assert problems(connectors=connectors) == {}


def test_a_users_own_classes_change_the_digest_of_the_flow() -> None:
    """A published verdict names the digest of the flow that it is about."""
    assert flow_digest(a_resolved_flow(**OWN)) != flow_digest(a_resolved_flow())


@pytest.mark.parametrize("value", [False, "false", "False"])
def test_the_job_expects_nothing_from_a_connector_whose_emit_property_is_off(value: object) -> None:
    """Otherwise the job would wait for heartbeats that nobody produces, and fail the flow."""
    connectors = {role: {"config": {f"emit.{role}s.enabled": value}} for role in ("heartbeat", "checkpoint")}
    parameters = flow_parameters(a_resolved_flow(connectors=connectors))
    assert (parameters.heartbeats.enabled, parameters.checkpoints.enabled) == (False, False)
