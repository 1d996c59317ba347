"""The workers' template is judged by Strimzi's definitions: the API server drops a misspelt field without a word."""

from datetime import date
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


DOCKER = {"type": "docker", "image": "registry.example.com/connect:1"}
LOGIN = {"type": "jar", "url": "https://me:hunter2@repository.example.com/policy.jar"}
WITHOUT_LOGIN = "serve the artifacts without a login, or set `connect.image`."
UNREAD = "https://repository.example.com/policy.jar?xmldsig=a&token=${env:TOKEN}"
MAVEN = {"type": "maven", "group": "com.acme", "artifact": "policy"}
IMAGE = {"type": "image", "reference": "registry.example.com/policy:1"}


@pytest.mark.parametrize(
    ("connect", "wanted"),
    [
        pytest.param({"build": {"output": DOCKER, "plugins": []}}, [], id="a build"),
        pytest.param({"plugins": [{"name": "policy", "artifacts": [IMAGE]}]}, [], id="plugins"),
        pytest.param(
            {"build": {"output": DOCKER, "plugin": []}},
            [("unknown-key", "build.plugin", "did you mean `plugins`?")],
            id="a misspelt key is not missing, too",
        ),
        pytest.param(
            {"plugins": [{"name": "policy", "artifacts": [{"type": "image"}]}]},
            [("missing-key", "plugins.0.artifacts.0.reference", "set `reference`.")],
            id="a missing key",
        ),
        pytest.param(
            {"plugins": [{"name": "Policy", "artifacts": []}]},
            [("not-accepted", "plugins.0.name", "write it in that form.")],
            id="a name that the definition refuses",
        ),
        pytest.param(
            {"plugins": [{"name": 5, "artifacts": []}]},
            [("wrong-type", "plugins.0.name", 'write `"5"`, in quotation marks.')],
            id="a number for a name",
        ),
        pytest.param(
            {"plugins": [{"name": "policy", "artifacts": [{**IMAGE, "type": "jar"}]}]},
            [("not-accepted", "plugins.0.artifacts.0.type", "write one of these, such as `image`.")],
            id="an artifact for a build",
        ),
        pytest.param(
            {"build": {"output": DOCKER, "plugins": [{"name": "policy", "artifacts": [LOGIN]}]}},
            [("plain-text-credential", "build.plugins.0.artifacts.0.url", WITHOUT_LOGIN)],
            id="a login in an address",
        ),
        pytest.param(
            {"build": {"output": DOCKER, "plugins": [{"name": "policy", "artifacts": [{**LOGIN, "url": UNREAD}]}]}},
            [("not-accepted", "build.plugins.0.artifacts.0.url", "write it in that form.")],
            id="a placeholder in an address, which nothing replaces but which is no credential",
        ),
        pytest.param(
            {"build": {"output": {**DOCKER, "additionalBuildOptions": ["--creds=me:hunter2"]}, "plugins": []}},
            [("plain-text-credential", "build.output.additionalBuildOptions.0", WITHOUT_LOGIN)],
            id="a login in an option",
        ),
        pytest.param(
            {"build": {"output": DOCKER, "plugins": [{"name": "policy", "artifacts": [{"type": "zip"}]}]}},
            [("missing-key", "build.plugins.0.artifacts.0.url", "set `url`.")],
            id="an artifact without an address",
        ),
        pytest.param(
            {"build": {"output": DOCKER, "plugins": [{"name": "policy", "artifacts": [MAVEN]}]}},
            [("missing-key", "build.plugins.0.artifacts.0.version", "set `version`.")],
            id="an artifact of Maven without a version",
        ),
        pytest.param(
            {"build": {"output": DOCKER, "plugins": [{"name": "policy", "artifacts": []}] * 2}},
            [("not-accepted", "build.plugins.1.name", "choose another name, or join both.")],
            id="two plugins of one name",
        ),
        pytest.param(
            {"image": DOCKER["image"], "build": {"output": DOCKER, "plugins": []}},
            [("not-accepted", "build.output.image", "choose another name or tag.")],
            id="an image that is built on itself",
        ),
        pytest.param(
            {"plugins": [{"name": "my_policy", "artifacts": [IMAGE]}]},
            [("not-accepted", "plugins.0.name", "use at most 47 lower-case letters, digits and `-`.")],
            id="a name that no volume can have",
        ),
        pytest.param(
            {"plugins": [{"name": "p" * 48, "artifacts": [IMAGE]}]},
            [("not-accepted", "plugins.0.name", "use at most 47 lower-case letters, digits and `-`.")],
            id="a name that is too long for a volume",
        ),
        pytest.param({"plugins": [{"name": "p" * 47, "artifacts": [IMAGE]}]}, [], id="the longest name"),
        pytest.param(
            {"plugins": [{"name": date(2026, 1, 31), "artifacts": []}]},
            [("wrong-type", "plugins.0.name", 'write `"2026-01-31"`, in quotation marks.')],
            id="a date for a name",
        ),
        pytest.param(
            {"plugins": [{"name": "policy", "artifacts": 5}]},
            [("wrong-type", "plugins.0.artifacts", "write a list.")],
            id="a number for a list",
        ),
    ],
)
def test_plugins_are_judged_as_strimzi_would(connect: dict[str, Any], wanted: list[tuple[str, str, str]]) -> None:
    assert reported(**connect) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "https://me:hunter2^@repository.example.com/policy.jar",
        "s3://me:hunter2@bucket/policy.jar",
        "https://hunter2@repository.example.com/policy.jar",
        "https://blob.example.com/policy.jar?sv=2022&sig=hunter2",
        {"href": "https://me:hunter2@repository.example.com/policy.jar"},
    ],
)
def test_no_credential_of_an_address_is_printed(url: Any) -> None:
    build = {"output": DOCKER, "plugins": [{"name": "policy", "artifacts": [{"type": "jar", "url": url}]}]}
    problems = list(check_topology(parse_topology(a_topology(a_flow(connect={"build": build})))))
    assert "plain-text-credential" in {problem.code for problem in problems}
    assert "hunter2" not in str(problems)


@pytest.mark.parametrize("key", ["build", "plugins"])
def test_a_mirror_maker_2_has_no_plugins_of_its_own(key: str) -> None:
    """Kubernetes would drop the field without a message, and the workers would not find the class."""
    own = {"build": {"output": DOCKER, "plugins": []}, "plugins": [{"name": "policy", "artifacts": [IMAGE]}]}
    topology = parse_topology(a_topology(a_flow(kind="mirrorMaker2", connect={key: own[key]})))
    (problem,) = (found for found in check_topology(topology) if found.where.startswith("replications.orders.connect"))
    assert (problem.code, problem.what) == ("unknown-key", f"a KafkaMirrorMaker2 has no field `{key}`")
    assert problem.remedy == "set `connect.image` to an image that has the plugins, or use `kind: flow`."


def test_a_mirror_maker_2_has_no_empty_build_either() -> None:
    topology = parse_topology(a_topology(a_flow(kind="mirrorMaker2", connect={"build": {}})))
    assert [problem.code for problem in check_topology(topology)] == ["unknown-key"]


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
    assert set(worker_template()["keys"]["template"]["keys"]) == set(Template.__annotations__)
