"""ReplicationFlow registers exactly the rendered objects, under itself, in an order that works."""

from dataclasses import replace
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks

from kafka_replication import Cluster, Flow, ReplicationError, ReplicationFlow, ReplicationFlowArgs
from kafka_replication.components.render.deployments import flow_objects
from tests.builders import a_cluster, a_flow, a_resolved_flow
from tests.components.recorder import Recorder, record


def an_args(secrets: dict[str, str] | None = None, **overrides: Any) -> ReplicationFlowArgs:
    clusters: dict[str, Any] = {
        "useast": a_cluster(tls={"trust": {"config": "useastCa"}}, bootstrapServers={"config": "useastBootstrap"}),
        "uswest": a_cluster("us-west-2"),
    }
    return ReplicationFlowArgs(
        flow=Flow.model_validate(a_flow(**overrides)),
        clusters={alias: Cluster.model_validate(cluster) for alias, cluster in clusters.items()},
        strimzi="1.2",
        secrets={"useastCa": "-----BEGIN CERTIFICATE-----"} if secrets is None else secrets,
        addresses={"useastBootstrap": "kafka.useast:9093"},
    )


def a_recorded_flow(**overrides: Any) -> Recorder:
    def program() -> None:
        ReplicationFlow("orders", an_args(**overrides))

    return record(program)


def test_every_object_is_a_child_of_the_component_named_after_its_role() -> None:
    recorder = a_recorded_flow()
    component, *children = recorder.resources
    assert component.token == "replication:kafka:Flow"
    assert {child.parent for child in children} == {component.urn}
    assert {child.name for child in children} == {
        "orders-namespace",
        "orders-source-config",
        "orders-target-config",
        "orders-replication-config",
        "orders-source-credentials",
        "orders-access-role",
        "orders-access-binding",
        "orders-connect",
        "orders-source-connector",
        "orders-checkpoint-connector",
        "orders-heartbeat-connector",
    }


def test_mocks_of_an_older_pulumi_are_given_no_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mocks.MockMonitor, "RegisterResourceHook", raising=False)
    assert a_recorded_flow().named("orders-connect").hooks == ()


def test_what_is_registered_is_what_is_rendered() -> None:
    """A property lost on the way to the engine would not show in a review of rendered files."""
    recorder = a_recorded_flow()
    clusters = {
        "useast": a_cluster(tls={"trust": {"config": "useastCa"}}, bootstrapServers="kafka.useast:9093"),
        "uswest": a_cluster("us-west-2"),
    }
    for planned in flow_objects(a_resolved_flow(clusters)):
        inputs = dict(recorder.named(f"orders-{planned.role}").inputs)
        if planned.secret_values:
            inputs.pop("stringData")
        assert inputs == planned.manifest


def test_a_credential_from_configuration_is_a_secret_input() -> None:
    inputs = a_recorded_flow().named("orders-source-credentials").inputs
    assert inputs["stringData"] == {"secret": {"ca.crt": "-----BEGIN CERTIFICATE-----"}}


def test_connectors_wait_for_what_they_read() -> None:
    """Connect resolves placeholders when a connector starts, so one that is created too early fails."""
    recorder = a_recorded_flow()
    for role in ("source", "checkpoint", "heartbeat"):
        waited = {urn.rsplit("::", 1)[-1] for urn in recorder.named(f"orders-{role}-connector").dependencies}
        assert waited == {
            "orders-namespace",
            "orders-connect",
            "orders-access-binding",
            "orders-source-config",
            "orders-target-config",
            "orders-replication-config",
            "orders-source-credentials",
        }


def test_an_existing_namespace_is_not_created() -> None:
    recorder = a_recorded_flow(namespace={"name": "kafka", "create": False})
    assert not [resource for resource in recorder.resources if resource.token.endswith(":Namespace")]
    assert recorder.named("orders-connect").inputs["metadata"]["namespace"] == "kafka"


def test_outputs_contain_names_and_digest() -> None:
    (outputs,) = a_recorded_flow().finished.values()
    assert outputs["namespace"] == "mirror-orders"
    assert outputs["connectors"] == ["orders-source", "orders-checkpoint", "orders-heartbeat"]
    assert outputs["remoteTopics"] == ["useast.orders", "useast.payments-.*"]
    assert outputs["digest"].startswith("sha256:")


def test_the_parameters_of_the_validation_job_are_an_output() -> None:
    parameters: list[Any] = []

    def program() -> None:
        ReplicationFlow("orders", an_args()).validation.apply(parameters.append)

    record(program)
    assert [parameter["source"]["bootstrapServers"] for parameter in parameters] == ["kafka.useast:9093"]


def test_problems_are_raised_before_anything_is_registered() -> None:
    recorder = Recorder()

    def program() -> None:
        with pytest.raises(ReplicationError, match="no-topics"):
            ReplicationFlow("orders", an_args(topics=[]))

    recorder = record(program)
    assert recorder.resources == []


def test_a_missing_secret_is_named_by_its_configuration_key() -> None:
    def program() -> None:
        with pytest.raises(ReplicationError, match="missing-config: configuration key `useastCa` is not set"):
            ReplicationFlow("orders", an_args(secrets={}))

    assert record(program).resources == []


def test_a_warning_about_a_cluster_is_logged_once_for_all_replications_of_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warnings.append)
    token = {"type": "oauth", "accessToken": {"secret": "login", "key": "token"}}
    clusters = {
        alias: Cluster.model_validate(a_cluster(authentication=token, bootstrapServers=f"kafka.{alias}:9093"))
        for alias in ("useast", "uswest")
    }

    def program() -> None:
        for name in ("orders", "ledger"):
            flow = Flow.model_validate(a_flow(topics=[name], groups=[name]))
            ReplicationFlow(name, ReplicationFlowArgs(flow=flow, clusters=clusters, strimzi="1.2"))

    record(program)
    assert [text.partition(":")[0] for text in warnings] == ["validation-needs-credentials"] * 2
    assert len(set(warnings)) == 2


def test_a_component_does_not_say_that_nothing_watches_its_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not know the rest of the program, which may have the component `Monitoring`."""
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warnings.append)
    clusters = {
        alias: Cluster.model_validate(a_cluster(bootstrapServers=f"{alias}:9093")) for alias in ("useast", "uswest")
    }
    flow = Flow.model_validate(a_flow(objectives={"lagSeconds": 60, "readAgain": 100}))

    def program() -> None:
        ReplicationFlow("orders", ReplicationFlowArgs(flow=flow, clusters=clusters, strimzi="1.2"))

    record(program)
    assert warnings == []


@pytest.mark.parametrize(
    ("secrets", "remedy"),
    [
        pytest.param({"useastCA": "hunter2"}, "did you mean `useastCa`?", id="a misspelt key"),
        pytest.param({"useastCa": "pem", "x": "hunter2"}, "remove it; the keys are useastBootstrap, useastCa.", id="x"),
    ],
)
def test_a_secret_that_no_cluster_reads_is_refused_by_its_key(secrets: dict[str, str], remedy: str) -> None:
    def program() -> None:
        with pytest.raises(ReplicationError) as caught:
            ReplicationFlow("orders", an_args(secrets=secrets))
        (problem,) = caught.value.problems
        assert (problem.code, problem.remedy) == ("unknown-key", remedy)
        assert "hunter2" not in str(problem)

    assert record(program).resources == []


def refused(args: ReplicationFlowArgs, *earlier: ReplicationFlowArgs) -> dict[str, str]:
    """The remedy of each problem, by code, if a program first has the flows `earlier-…`, and then the flow `orders`."""
    found: dict[str, str] = {}

    def program() -> None:
        for number, before in enumerate(earlier):
            ReplicationFlow(f"earlier-{number}", before)
        with pytest.raises(ReplicationError) as caught:
            ReplicationFlow("orders", args)
        found.update({problem.code: problem.remedy for problem in caught.value.problems})

    record(program)
    return found


def test_a_flow_and_its_clusters_may_be_mappings_whose_mistakes_are_all_problems() -> None:
    clusters = {"useast": a_cluster(bootstrapServer="a:9093"), "uswest": a_cluster("us-west-2")}
    flow = {"source": "useast", "target": "uswest", "topics": ["orders"], "groups": ["app"], "topicsExcluded": []}
    found = refused(ReplicationFlowArgs(flow=flow, clusters=clusters, strimzi="1.2"))
    assert found == {"unknown-key": "did you mean `topicsExclude`?"}
    found = refused(ReplicationFlowArgs(flow={**flow, "topics": "orders"}, clusters=clusters, strimzi="one"))
    assert {"not-accepted", "unknown-key", "wrong-type"} <= set(found)


def test_the_remedy_for_a_missing_credential_is_for_a_program() -> None:
    assert refused(an_args(secrets={})) == {
        "missing-config": "add `useastCa` to `secrets`; in Python: "
        "`secrets={'useastCa': pulumi.Config().require_secret('useastCa')}`."
    }


def test_an_address_from_the_program_is_checked() -> None:
    args = replace(an_args(), addresses={"useastBootstrap": "kafka.useast"})
    assert set(refused(args)) == {"bad-address"}


def test_two_components_of_a_program_are_checked_together() -> None:
    """Nothing else would find that both write the same topics twice."""
    assert set(refused(an_args(), an_args())) == {"topics-overlap"}


def test_another_login_or_version_of_strimzi_does_not_end_the_joint_check() -> None:
    clusters = {
        "useast": a_cluster(tls={}, bootstrapServers={"config": "useastBootstrap"}),
        "uswest": a_cluster("us-west-2"),
    }
    assert set(refused(an_args(), replace(an_args(), clusters=clusters, secrets={}))) == {"topics-overlap"}
    assert set(refused(an_args(), replace(an_args(), strimzi="1.1"))) == {"topics-overlap"}


def test_names_in_kubernetes_may_be_taken_on_another_kubernetes_cluster() -> None:
    namespaces = {"namespace": {"name": "kafka-mirror"}}
    flows = [Flow.model_validate(a_flow(topics=[topic], **namespaces)) for topic in ("orders", "returns")]

    def program() -> None:
        for flow in flows:
            ReplicationFlow(flow.topics[0], replace(an_args(), flow=flow))

    assert len([each for each in record(program).resources if each.token.endswith(":Flow")]) == 2


def test_a_component_whose_aliases_mean_other_clusters_is_checked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    clusters = {"useast": a_cluster(bootstrapServers="other:9093"), "uswest": a_cluster("us-west-2")}
    flow = Flow.model_validate(a_flow())
    other = ReplicationFlowArgs(flow=flow, clusters=clusters, strimzi="1.2")

    def program() -> None:
        ReplicationFlow("orders", an_args())
        ReplicationFlow("other", other)

    recorder = record(program)
    assert {one.name for one in recorder.resources if one.token.endswith(":Flow")} == {"orders", "other"}
    assert "`other` and `orders` are not checked together: `useast` is another cluster there" in warned
