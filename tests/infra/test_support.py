"""The page of supported operators and the code agree, and the judge finds what an API server refuses or drops."""

import re
from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.operators import OPERATORS
from kafka_replication.components.topology.parsing import parse_topology
from tests.bench.matrix import PAGE, complaints
from tests.builders import a_topology
from tests.pages import section

KNOWN: dict[tuple[str, str], dict[str, Any]] = {
    ("KafkaConnect", "kafka.strimzi.io/v1"): {
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "plugins": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        },
        "required": ["replicas"],
    }
}


def test_the_page_names_exactly_the_operators_that_are_accepted_each_without_a_finding() -> None:
    table = section(PAGE.read_text(), "strimzi").splitlines()[2:]
    releases = [re.split(r" *\| *", row.strip("| ")) for row in table]
    assert {tuple(map(int, release.split(".")[:2])) for release, *_ in releases} == set(OPERATORS)
    assert {verdict for *_, verdict in releases} == {"accepted, nothing dropped"}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({"replicas": 1, "config": {"group.id": "a"}, "labels": {"team": "a"}}, [], id="all known"),
        pytest.param({}, ["KafkaConnect: spec: 'replicas' is a required property"], id="a missing field"),
        pytest.param(
            {"replicas": "1"}, ["KafkaConnect: spec.replicas: '1' is not of type 'integer'"], id="another type"
        ),
        pytest.param(
            {"replicas": 1, "plugins": [{"nam": "a"}]},
            [
                "KafkaConnect: spec.plugins.0: Additional properties are not allowed ('nam' was unexpected)",
            ],
            id="a field that would be dropped",
        ),
    ],
)
def test_what_a_definition_refuses_or_drops_is_found(spec: dict[str, Any], wanted: list[str]) -> None:
    body = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnect", "spec": spec}
    assert list(complaints(KNOWN, body)) == wanted
    old = {**body, "apiVersion": "kafka.strimzi.io/v1beta2"}
    assert list(complaints(KNOWN, old)) == ["KafkaConnect: kafka.strimzi.io/v1beta2 is not served"]


@pytest.mark.parametrize(
    ("strimzi", "remedy"),
    [
        pytest.param("0.40", "upgrade the operator and set `strimzi: '0.45'` or later.", id="older"),
        pytest.param("0.52", "set `strimzi: v1` for what", id="never released"),
        pytest.param("9.9", "set `strimzi: v1` for what", id="newer"),
    ],
)
def test_an_operator_that_is_not_on_the_page_is_refused(strimzi: str, remedy: str) -> None:
    (problem,) = check_topology(parse_topology(a_topology(strimzi=strimzi)))
    assert (problem.code, problem.what) == ("unsupported-strimzi", f"Strimzi {strimzi} is not supported")
    assert problem.remedy.startswith(remedy)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_on_the_page_is_accepted(operator: tuple[int, int]) -> None:
    topology = parse_topology(a_topology(strimzi=".".join(map(str, operator))))
    assert "unsupported-strimzi" not in {problem.code for problem in check_topology(topology)}
