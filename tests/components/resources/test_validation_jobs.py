"""ValidationJobs: registered after what it validates, and nobody waits until a Job has ended."""

import pulumi
import pytest

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.exporter import exporter_objects
from kafka_replication.components.render.planned_objects import PART_OF
from kafka_replication.components.resources.whole_topology import WholeTopologyArgs, register_topology
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.parsing import parse_model, parse_topology
from tests.builders import a_cluster, a_flow, a_topology
from tests.components.recorder import Recorder, record

IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"


@pytest.fixture(scope="module")
def recorded() -> Recorder:
    topology = parse_topology(a_topology(a_flow()))

    def program() -> None:
        flows = resolve_flows(topology, None, {})
        asked = parse_model(InCluster, {"image": IMAGE})
        register_topology(WholeTopologyArgs(topology=topology, flows=flows, stack="prod", in_cluster=asked))

    recorded = record(program)
    recorded.check_complete()
    return recorded


def test_a_job_begins_when_everything_that_it_validates_exists(recorded: Recorder) -> None:
    """Otherwise its verdict could be older than the last change of a connector, and prove nothing."""
    job = recorded.named("validation-job-orders")
    (replication,) = [resource for resource in recorded.resources if resource.token == "replication:kafka:Flow"]
    connectors = {resource.urn for resource in recorded.resources if resource.token.endswith(":KafkaConnector")}
    assert connectors
    assert replication.urn in job.dependencies or connectors <= set(job.dependencies)
    needed = ("validation-parameters-orders", "validation-account-orders", "validation-binding-orders")
    assert {recorded.named(name).urn for name in needed} <= set(job.dependencies)


def test_a_job_waits_for_all_flows_in_its_namespace() -> None:
    """A later change of any flow in the namespace would also make its verdict too old."""
    namespaces = {"orders": "kafka", "ledger": "kafka", "audit": "apart"}
    topology = parse_topology(
        a_topology(replications={name: a_flow(namespace={"name": namespace}) for name, namespace in namespaces.items()})
    )

    def program() -> None:
        flows = resolve_flows(topology, None, {})
        asked = parse_model(InCluster, {"image": IMAGE})
        register_topology(WholeTopologyArgs(topology=topology, flows=flows, stack="prod", in_cluster=asked))

    recorded = record(program)
    connectors = [resource for resource in recorded.resources if resource.token.endswith(":KafkaConnector")]
    of_connector = {connector.urn: connector.inputs["metadata"]["labels"][PART_OF] for connector in connectors}
    waits = {
        flow: {
            of_connector[dependency]
            for dependency in recorded.named(f"validation-job-{flow}").dependencies
            if dependency in of_connector
        }
        for flow in namespaces
    }
    assert waits == {"orders": {"orders", "ledger"}, "ledger": {"orders", "ledger"}, "audit": {"audit"}}


def test_a_deployment_does_not_wait_for_the_verdict(recorded: Recorder) -> None:
    """Pulumi's provider would wait until a Job has ended, and call the deployment failed if the flow does not pass."""
    annotations = recorded.named("validation-job-orders").inputs["metadata"]["annotations"]
    assert annotations["pulumi.com/skipAwait"] == "true"


def test_the_output_of_the_component_names_the_job_of_each_flow(recorded: Recorder) -> None:
    (component,) = [resource for resource in recorded.resources if resource.token == "replication:kafka:ValidationJobs"]
    name = recorded.named("validation-job-orders").inputs["metadata"]["name"]
    assert recorded.finished[component.urn] == {"jobs": {"orders": name}}
    assert pulumi


def test_an_exporter_is_registered_after_the_namespaces_of_its_roles_and_nobody_waits_for_it() -> None:
    """The provider would wait until it is ready. An exporter that cannot start must not fail a deployment."""
    topology = parse_topology(a_topology(a_flow()))
    asked = parse_model(InCluster, {"image": IMAGE, "exporter": {"namespace": "tools"}})

    def program() -> None:
        flows = resolve_flows(topology, None, {})
        objects = exporter_objects(
            "prod", flows, asked, None, {"Pulumi.yaml": "name: a"}, deployments(flows)[0].objects
        )
        register_topology(WholeTopologyArgs(topology=topology, flows=flows, stack="prod", exporter=objects))

    recorded = record(program)
    recorded.check_complete()
    role, binding = recorded.named("exporter-role-mirror-orders"), recorded.named("exporter-binding-mirror-orders")
    namespace, deployment = recorded.named("orders-namespace"), recorded.named("exporter-deployment")
    (replication,) = [resource for resource in recorded.resources if resource.token == "replication:kafka:Flow"]
    assert {replication.urn, namespace.urn} & set(role.dependencies)
    assert {binding.urn, recorded.named("exporter-project").urn} <= set(deployment.dependencies)
    for resource in (deployment, recorded.named("exporter-service")):
        assert resource.inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    # Under another type, a deployed exporter would be created again while its objects exist, and `up` would fail.
    assert recorded.named("exporter").token == "replication:kafka:Exporter"


def test_the_users_of_a_stack_that_keeps_positions_may_write_them() -> None:
    user = {"cluster": "kafka", "namespace": "kafka"}
    clusters = {"useast": a_cluster(), "uswest": a_cluster("us-west-2", kafkaUser=user)}
    topology = parse_topology(a_topology(a_flow(), clusters=clusters))

    def program() -> None:
        asked = parse_model(InCluster, {"image": IMAGE, "exporter": {"namespace": "monitoring", "keep": True}})
        flows = resolve_flows(topology, None, {})
        register_topology(WholeTopologyArgs(topology=topology, flows=flows, stack="prod", in_cluster=asked))

    (declared,) = [each for each in record(program).resources if each.token.endswith(":KafkaUser")]
    acls = declared.inputs["spec"]["authorization"]["acls"]
    assert "mm2-positions.orders.internal" in {acl["resource"].get("name") for acl in acls}
