"""The workers' template is judged by Strimzi's definitions: the API server drops a misspelt field without a word."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.worker_template import worker_template
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.components.topology.workers import Template
from tests.builders import a_flow, a_topology


def reported(**connect: Any) -> list[tuple[str, str, str]]:
    problems = check_topology(parse_topology(a_topology(a_flow(connect=connect))))
    return [
        (problem.code, problem.where.removeprefix("replications.orders.connect."), problem.remedy)
        for problem in problems
    ]


@pytest.mark.parametrize(
    ("template", "code", "where", "remedy"),
    [
        pytest.param(
            {"pod": {"affinty": {}}}, "unknown-key", "pod.affinty", "did you mean `affinity`?", id="a misspelt field"
        ),
        pytest.param(
            {"pod": {"affinity": {"nodeAffinity": {"required": {}}}}},
            "unknown-key",
            "pod.affinity.nodeAffinity.required",
            "remove it; accepted keys: preferredDuringSchedulingIgnoredDuringExecution, "
            "requiredDuringSchedulingIgnoredDuringExecution.",
            id="a field that resembles none",
        ),
        pytest.param(
            {"connectContainer": {"securityContext": {"runAsNonRoot": "yes"}}},
            "wrong-type",
            "connectContainer.securityContext.runAsNonRoot",
            "write true or false.",
            id="text for a boolean",
        ),
        pytest.param(
            {"pod": {"metadata": {"labels": {"team": 5}}}},
            "wrong-type",
            "pod.metadata.labels.team",
            'write `"5"`, in quotation marks.',
            id="a number for text",
        ),
        pytest.param(
            {"pod": {"metadata": {"annotations": {"sidecar.istio.io/inject": False}}}},
            "wrong-type",
            "pod.metadata.annotations.sidecar.istio.io/inject",
            'write `"false"`, in quotation marks.',
            id="a boolean for text",
        ),
        pytest.param(
            {"pod": {"terminationGracePeriodSeconds": True}},
            "wrong-type",
            "pod.terminationGracePeriodSeconds",
            "write a whole number.",
            id="a boolean for a number",
        ),
        pytest.param(
            {"pod": {"tolerations": {"key": "kafka"}}},
            "wrong-type",
            "pod.tolerations",
            "write a list.",
            id="a mapping for a list",
        ),
        pytest.param(
            {"pod": {"tolerations": [{"key": "kafka", "opertor": "Exists"}]}},
            "unknown-key",
            "pod.tolerations.0.opertor",
            "did you mean `operator`?",
            id="a field in a list",
        ),
        pytest.param(
            {"podDisruptionBudget": {"maxUnavailable": [1]}},
            "wrong-type",
            "podDisruptionBudget.maxUnavailable",
            "write a whole number.",
            id="a list for a number",
        ),
    ],
)
def test_a_field_that_strimzi_does_not_take_is_an_error(
    template: dict[str, Any], code: str, where: str, remedy: str
) -> None:
    assert reported(template=template) == [(code, f"template.{where}", remedy)]


def test_a_template_that_strimzi_takes_is_accepted() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"strimzi.io/cluster": "orders"}},
    }
    pod = {
        "metadata": {"labels": {"team": "kafka"}},
        "topologySpreadConstraints": [spread],
        "tolerations": [{"key": "kafka", "operator": "Exists", "tolerationSeconds": 60}],
        "volumes": [{"name": "plugins", "emptyDir": {"sizeLimit": "1Gi"}}],
        "securityContext": None,
    }
    container = {"env": [{"name": "A", "value": "b"}], "securityContext": {"runAsNonRoot": True}}
    assert reported(template={"pod": pod, "connectContainer": container}) == []


def test_no_value_of_another_type_is_printed() -> None:
    """It may be a credential in the wrong place."""
    flow = a_flow(connect={"template": {"pod": {"securityContext": "hunter2"}}})
    (problem,) = check_topology(parse_topology(a_topology(flow)))
    assert "hunter2" not in problem.text


def test_the_model_and_the_definitions_have_the_same_parts() -> None:
    assert set(worker_template()["keys"]) == set(Template.__annotations__)
