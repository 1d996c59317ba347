"""The page of supported operators and the code agree, and the judge finds what an API server refuses or drops."""

import re
from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.operators import KAFKAS, OPERATORS
from kafka_replication.components.properties.definitions import minor_version
from kafka_replication.components.topology.parsing import parse_topology
from tests.bench.matrix import PAGE, PARTS, complaints, page_rows
from tests.bench.matrix_kafka import PROVEN, UNKNOWN
from tests.bench.matrix_python import COMMANDS, GOOD
from tests.builders import a_flow, a_topology
from tests.pages import section
from tests.release import project
from tests.repository import ROOT

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


def test_each_table_of_the_page_has_the_head_of_the_program_that_writes_it() -> None:
    heads = {name: section(PAGE.read_text(), name.lower()).splitlines()[0] for name in PARTS}
    assert heads == {name: f"| {' | '.join(part.HEAD)} |" for name, part in PARTS.items()}


def test_the_page_names_exactly_the_kafkas_that_are_accepted_each_with_every_property_known() -> None:
    judged = page_rows("kafka").values()
    assert [minor_version(version) for version, *_ in judged] == list(KAFKAS)
    # The page says why its story could not be run.
    assert [minor_version(version) for version, *_, story in judged if not story.startswith(PROVEN)] == ["3.8"]
    assert [version for version, properties, _ in judged if UNKNOWN in properties] == []


def test_the_page_names_exactly_the_pythons_that_the_package_states_each_with_every_test_and_command() -> None:
    stated = [each.rpartition(" ")[2] for each in project()["classifiers"] if " Python :: 3." in each]
    judged = page_rows("pythons").values()
    assert [minor_version(version) for version, *_ in judged] == stated
    commands = ", ".join(f"`{words[0]}`" for words in COMMANDS)
    assert [row for row in judged if not GOOD.fullmatch(row[1]) or row[2] != commands] == []


def test_the_page_names_both_ends_of_pulumis_packages_and_proves_the_flow_with_those_that_deploy_it() -> None:
    core, operating, newest = page_rows("pulumi").values()
    names, stated = ("pulumi", "pulumi-kubernetes"), project()
    lowest = [
        f"{name}>={minor_version(version)},<{limit}" for name, version, limit in zip(names, core, (4, 5), strict=False)
    ]
    assert set(lowest) <= set(stated["dependencies"])
    assert f"pulumi>={minor_version(operating[0])}" in stated["optional-dependencies"]["operate"]
    assert newest[:2] == locked(*names)
    assert all(GOOD.fullmatch(tests) for _, _, tests, _, _ in (core, operating, newest))
    assert all(story.startswith(PROVEN) for _, _, _, story, _ in (operating, newest))


def test_the_page_names_only_the_spark_that_the_extra_pins() -> None:
    ((version, tests),) = page_rows("spark").values()
    assert f"pyspark=={version}" in project()["optional-dependencies"]["prove"]
    assert (version,) == locked("pyspark")
    assert GOOD.fullmatch(tests)


def locked(*names: str) -> tuple[str, ...]:
    text = (ROOT / "requirements.txt").read_text()
    return tuple(re.findall(rf"(?m)^{name}==(\S+)", text)[0] for name in names)


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        pytest.param("3.7.2", ["kafka-version-unsupported"], id="older"),
        pytest.param("4.4.0", ["kafka-version-unsupported"], id="newer"),
        *(pytest.param(f"{minor}.9-vendor", [], id=minor) for minor in KAFKAS),
    ],
)
def test_a_kafka_that_is_not_on_the_page_is_refused_in_any_image(version: str, codes: list[str]) -> None:
    image = {"version": version, "image": "registry.example.com/connect@sha256:" + "0" * 64}
    problems = check_topology(parse_topology(a_topology(a_flow(connect=image))))
    assert [problem.code for problem in problems if problem.code.startswith("kafka-version")] == codes


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
