"""What works in a test cluster and fails in production is said before it gets there."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology


def reported(**flow: Any) -> list[tuple[str, str, str]]:
    problems = check_topology(parse_topology(a_topology(a_flow(**flow))))
    return [
        (problem.severity.value, problem.code, problem.where.removeprefix("replications.orders."))
        for problem in problems
    ]


FACTOR = "connectors.sources.a.config.replication.factor"


@pytest.mark.parametrize(
    ("flow", "code", "where"),
    [
        pytest.param(
            {"topics": [], "connectors": {"sources": {"a": {"topics": ["a"], "config": {"replication.factor": "1"}}}}},
            "single-replica",
            FACTOR,
            id="one replica of remote topics",
        ),
        pytest.param(
            {"connect": {"config": {"offset.storage.replication.factor": 1}}},
            "single-replica",
            "connect.config.offset.storage.replication.factor",
            id="one replica of source offsets",
        ),
        pytest.param({"connect": {"replicas": 9}}, "idle-workers", "connect.replicas", id="more workers than work"),
        pytest.param(
            {"connect": {"resources": {"limits": {"memory": "511Mi"}}}},
            "too-little-memory",
            "connect.resources.limits.memory",
            id="too little memory",
        ),
        pytest.param({"connect": {"image": "connect:latest"}}, "image-not-pinned", "connect.image", id="latest"),
        pytest.param({"connect": {"image": "host:5000/connect"}}, "image-not-pinned", "connect.image", id="no tag"),
        pytest.param(
            {"connect": {"plugins": [{"name": "policy", "artifacts": [{"type": "image", "reference": "policy"}]}]}},
            "image-not-pinned",
            "connect.plugins.0.artifacts.0.reference",
            id="a plugin's artifact without a tag",
        ),
        pytest.param(
            {"namespace": {"name": "kube-system", "create": False}},
            "namespace-of-kubernetes",
            "namespace.name",
            id="kube-system",
        ),
    ],
)
def test_a_setting_that_does_not_suit_production_is_a_warning(flow: dict[str, Any], code: str, where: str) -> None:
    assert reported(**flow) == [("warning", code, where)]


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_a_namespace_that_every_cluster_has_cannot_be_created(name: str) -> None:
    problem = ("error", "namespace-of-kubernetes", "namespace.create")
    assert reported(namespace={"name": name}) == [problem]
    assert reported(namespace={"name": "default", "create": False}) == []


@pytest.mark.parametrize(
    ("flow", "where"),
    [
        pytest.param(
            {"connect": {"annotations": {"vault/token": "hunter2"}}}, "connect.annotations.vault/token", id="1"
        ),
        pytest.param(
            {"connectors": {"source": {"annotations": {"db-password": "hunter2"}}}},
            "connectors.source.annotations.db-password",
            id="2",
        ),
        pytest.param(
            {"connect": {"template": {"pod": {"metadata": {"annotations": {"api-key": "hunter2"}}}}}},
            "connect.template.pod.metadata.annotations.api-key",
            id="3",
        ),
    ],
)
def test_a_credential_in_an_annotation_is_an_error(flow: dict[str, Any], where: str) -> None:
    assert reported(**flow) == [("error", "plain-text-credential", where)]


@pytest.mark.parametrize(
    "flow",
    [
        pytest.param({"connectors": {"source": {"tasksMax": 1}, "heartbeat": {"enabled": False}}}, id="the default"),
        pytest.param({"connect": {"replicas": 8}}, id="as many workers as connectors and tasks"),
        pytest.param({"connect": {"resources": {"limits": {"memory": "512Mi"}}}}, id="just enough memory"),
        pytest.param({"connect": {"image": "host:5000/connect:1.2"}}, id="a version"),
        pytest.param({"connect": {"image": "connect@sha256:00"}}, id="a digest"),
        pytest.param({"connectors": {"source": {"config": {"replication.factor": 3}}}}, id="three replicas"),
        pytest.param({"connect": {"annotations": {"team": "kafka"}}}, id="an annotation"),
    ],
)
def test_what_suits_production_is_accepted(flow: dict[str, Any]) -> None:
    assert reported(**flow) == []
