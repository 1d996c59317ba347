"""The policy pack's answers for the resources of a program that is none of ours."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import Severity
from kafka_replication.infra.review.policy import violations as policy
from kafka_replication.infra.review.policy.violations import Violation, violations
from kafka_replication.infra.review.yaml import objects
from kafka_replication.infra.review.yaml.objects import FolderObjects
from tests.infra.onboard.importing.resources import FLOW, OLD_MIRROR

OBJECTS: list[dict[str, Any]] = [body for body in yaml.safe_load_all(FLOW) if body]


def urn(body: Mapping[str, Any]) -> str:
    return f"urn:pulumi:dev::theirs::kubernetes:{body['apiVersion']}:{body['kind']}::{body['metadata']['name']}"


def answers(*bodies: Mapping[str, Any]) -> list[Violation]:
    return list(violations((urn(body), body) for body in bodies))


def test_a_program_without_a_mirror_has_no_violation() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {}}
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ name }}"}, "data": {"a": "${B}"}}
    of_others: list[tuple[str, Mapping[str, Any]]] = [
        ("urn:bucket", {"acl": "private"}),
        (urn(service), service),
        (urn(template), template),
    ]
    assert list(violations(of_others)) == []


def test_objects_without_a_mistake_have_no_violation() -> None:
    assert answers(*OBJECTS) == []


def test_a_mistake_names_its_code_and_remedy_at_the_resource() -> None:
    bodies = copy.deepcopy(OBJECTS)
    (source,) = (body for body in bodies if body["metadata"]["name"] == "source")
    source["spec"]["config"]["producer.override.acks"] = "1"
    (violation,) = answers(*bodies)
    # The first resource of the replication is its workers.
    assert (violation.severity, violation.urn) == (Severity.WARNING, urn(OBJECTS[0]))
    assert violation.text.startswith("records-may-be-lost: the producer of records has `acks` 1, at ")
    assert "Remedy: " in violation.text


def test_a_resource_that_the_operator_refuses_is_an_error() -> None:
    (mirror,) = (body for body in yaml.safe_load_all(OLD_MIRROR.replace("{alias: east", "{alias: east1")) if body)
    (violation,) = [each for each in answers(mirror) if each.severity is Severity.ERROR]
    assert "unknown-alias" in violation.text
    assert violation.urn == urn(mirror)


def test_what_a_preview_does_not_know_yet_is_called_not_judged() -> None:
    unknown = ("urn:later", "string value at .metadata.name can't be known during preview")
    found = list(violations([*((urn(body), body) for body in OBJECTS), unknown]))
    assert Violation(Severity.WARNING, f"not judged: {unknown[1]}", unknown[0]) in found


def test_two_resources_that_are_one_object_are_not_judged() -> None:
    other = copy.deepcopy(OBJECTS[0])
    other["spec"]["replicas"] = 7
    found = list(violations([*((urn(body), body) for body in OBJECTS), ("urn:other", other)]))
    start = f"not judged: KafkaConnect kafka/workers. `urn:other`, `{urn(OBJECTS[0])}` hold it with different content"
    assert len([each for each in found if each.text.startswith(start)]) == 1
    assert {each.severity for each in found} == {Severity.ERROR}


def test_a_config_map_that_is_no_part_of_a_mirror_stops_nothing() -> None:
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ name }}"}, "data": {"a": "b"}}
    assert {each.severity for each in answers(*OBJECTS, template)} == {Severity.WARNING}


def test_the_values_of_a_secret_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "useast"},
        "stringData": {"password": "hunter2"},
        "data": {"password": "aHVudGVyMg=="},
    }
    read: dict[str, bytes] = {}

    def side_of(files: Mapping[str, bytes], namespace: str) -> FolderObjects:
        read.update(files)
        return objects.side_of(files, namespace)

    monkeypatch.setattr(policy, "side_of", side_of)
    assert answers(*OBJECTS, secret) == []
    assert yaml.safe_load(read[urn(secret)]) == {key: secret[key] for key in ("apiVersion", "kind", "metadata")}
