"""Names that a topology sets itself: each belongs to one Connect cluster and is rendered unchanged."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import model_digest, resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology

INHERITED: dict[str, Any] = {
    "namespace": {"name": "kafka", "create": False},
    "connect": {
        "name": "repl",
        "groupId": "repl-consumer-group",
        "storageTopics": {"configs": "repl_config", "offsets": "repl_offsets", "status": "repl_status"},
        "labels": {"team": "data"},
        "annotations": {"argocd.argoproj.io/sync-wave": "1"},
    },
    "connectors": {
        "source": {"name": "my-source", "labels": {"team": "data"}},
        "checkpoint": {"name": "my-checkpoint"},
        "heartbeat": {"name": "my-heartbeat", "annotations": {"note": "x"}},
    },
}


def problems(**flows: dict[str, Any]) -> list[tuple[str, str]]:
    topology = parse_topology({**a_topology(), "replications": flows})
    return [(problem.code, problem.where) for problem in check_topology(topology)]


def objects(**overrides: Any) -> dict[str, dict[str, Any]]:
    topology = parse_topology(a_topology(a_flow(**overrides)))
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    return {planned.key: planned.manifest for planned in deployment.objects}


def test_inherited_names_render_as_they_are_given() -> None:
    rendered = objects(**INHERITED)
    connect = rendered["connect"]
    assert connect["metadata"] == {
        "name": "repl",
        "namespace": "kafka",
        "labels": {
            "team": "data",
            "app.kubernetes.io/managed-by": "kafka-replication",
            "app.kubernetes.io/part-of": "orders",
        },
        "annotations": {"argocd.argoproj.io/sync-wave": "1", "strimzi.io/use-connector-resources": "true"},
    }
    fields = ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")
    assert [connect["spec"][field] for field in fields] == [
        "repl-consumer-group",
        "repl_config",
        "repl_offsets",
        "repl_status",
    ]
    connectors = {key: body["metadata"] for key, body in rendered.items() if body["kind"] == "KafkaConnector"}
    assert {key: connector["name"] for key, connector in connectors.items()} == {
        "source-connector": "my-source",
        "checkpoint-connector": "my-checkpoint",
        "heartbeat-connector": "my-heartbeat",
    }
    assert {connector["labels"]["strimzi.io/cluster"] for connector in connectors.values()} == {"repl"}
    assert connectors["heartbeat-connector"]["annotations"] == {"note": "x"}
    assert rendered["access-binding"]["subjects"][0]["name"] == "repl-connect"


def test_inherited_names_are_accepted_and_do_not_change_the_digest() -> None:
    assert problems(orders=a_flow(**INHERITED)) == []
    plain, named = (parse_topology(a_topology(flow)) for flow in (a_flow(), a_flow(**INHERITED)))
    assert model_digest(plain) == model_digest(named)


@pytest.mark.parametrize(
    ("connect", "expected"),
    [
        pytest.param(
            {"groupId": "connect-cluster"},
            [("worker-group-shared", "replications.other.connect.groupId")],
            id="one worker group for two Connect clusters",
        ),
        pytest.param(
            {"storageTopics": {"status": "connect-status"}},
            [("storage-topic-shared", "replications.other.connect.storageTopics.status")],
            id="one storage topic for two Connect clusters",
        ),
        pytest.param({"name": "connect"}, [], id="one name in two namespaces"),
    ],
)
def test_a_worker_group_or_storage_topic_of_two_connect_clusters_is_refused(
    connect: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    other = a_flow(topics=["returns"], groups=["billing"], connect=connect)
    assert problems(orders=a_flow(connect=connect), other=other) == expected


def test_a_storage_topic_for_two_purposes_is_refused() -> None:
    topics = {"configs": "connect-internal", "offsets": "connect-internal"}
    assert problems(orders=a_flow(connect={"storageTopics": topics})) == [
        ("storage-topic-shared", "replications.orders.connect.storageTopics.offsets")
    ]


def test_the_same_group_on_two_targets_is_allowed() -> None:
    connect = {"groupId": "connect-cluster", "storageTopics": {"offsets": "connect-offsets"}}
    assert (
        problems(
            there=a_flow(connect=connect),
            back=a_flow(source="uswest", target="useast", topics=["returns"], connect=connect),
        )
        == []
    )


POD_SECURITY = "pod-security.kubernetes.io/"


@pytest.mark.parametrize(
    ("labels", "remedies"),
    [
        pytest.param({f"{POD_SECURITY}enforce": "restrictd"}, ["did you mean `restricted`?"], id="a misspelt level"),
        pytest.param(
            {f"{POD_SECURITY}warn": "none"},
            ["set one of these."],
            id="a level that does not exist",
        ),
        pytest.param(
            {f"{POD_SECURITY}enforced": "baseline"}, [f"did you mean `{POD_SECURITY}enforce`?"], id="a misspelt mode"
        ),
        pytest.param(
            {f"{POD_SECURITY}audit-version": "1.31"}, ["set `latest` or a version such as `v1.31`."], id="a version"
        ),
        pytest.param(
            {"team": "data team"},
            ["shorten or correct it, or make it an annotation, whose value is free."],
            id="a space",
        ),
        pytest.param(
            {"team": "data-"},
            ["shorten or correct it, or make it an annotation, whose value is free."],
            id="a dash at the end",
        ),
        pytest.param(
            {"team": "x" * 64},
            ["shorten or correct it, or make it an annotation, whose value is free."],
            id="a long value",
        ),
        pytest.param({"x" * 64: "data"}, ["correct it."], id="a long key"),
        pytest.param({"example..com/team": "data"}, ["correct it."], id="an empty part of the domain"),
        pytest.param(
            {"team": "", "example.com/Team_1": "Data.2", f"{POD_SECURITY}enforce": "baseline"}
            | {f"{POD_SECURITY}enforce-version": "latest", f"{POD_SECURITY}warn-version": "v1.31"},
            [],
            id="labels that Kubernetes accepts",
        ),
    ],
)
def test_labels_of_a_namespace_that_kubernetes_refuses_are_reported(
    labels: dict[str, str], remedies: list[str]
) -> None:
    for key, replication in (
        ("namespaceLabels", {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]}),
        ("namespace", a_flow()),
    ):
        given = labels if key == "namespaceLabels" else {"labels": labels}
        found = check_topology(parse_topology({**a_topology(), "replications": {"x": {**replication, key: given}}}))
        assert [(problem.code, problem.remedy) for problem in dict.fromkeys(found)] == [
            ("bad-label", remedy) for remedy in remedies
        ]


def test_labels_of_other_objects_and_keys_of_annotations_are_checked_but_not_values_of_annotations() -> None:
    refused = {"labels": {"team": "data team"}, "annotations": {"example..com/team": "data", "note": "a b"}}
    monitoring = {"namespace": "monitoring", "labels": {"a": "-"}, "dashboardLabels": {"b": "-"}}
    flow = a_flow(connect={**refused, "metrics": {"type": "jmxPrometheusExporter"}}, connectors={"source": refused})
    found = check_topology(parse_topology(a_topology(flow, monitoring=monitoring)))
    assert sorted((problem.code, problem.where) for problem in found) == [
        ("bad-label", "monitoring.dashboardLabels.b"),
        ("bad-label", "monitoring.labels.a"),
        ("bad-label", "replications.orders.connect.annotations.example..com/team"),
        ("bad-label", "replications.orders.connect.labels.team"),
        ("bad-label", "replications.orders.connectors.source.annotations.example..com/team"),
        ("bad-label", "replications.orders.connectors.source.labels.team"),
    ]
