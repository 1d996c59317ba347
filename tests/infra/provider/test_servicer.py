"""The protocol's edges: what is refused, and how types and values cross the wire."""

from typing import Any

import pytest

from kafka_replication.infra.local.provider import manifests
from kafka_replication.infra.local.provider.servicer import kind_of_urn, problems

URN = "urn:pulumi:dev::replication::kubernetes:core/v1:ConfigMap::a"


def a_config_map(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize(
    ("inputs", "where", "words"),
    [
        pytest.param({"chart": "nginx"}, "", "plain objects only", id="no-plain-object"),
        pytest.param(a_config_map(), "metadata.name", "does not generate names", id="no-name"),
        pytest.param(
            a_config_map(name="a", annotations={"pulumi.com/waitFor": "condition=Ready"}),
            'metadata.annotations["pulumi.com/waitFor"]',
            "does not wait for conditions",
            id="a-wait",
        ),
    ],
)
def test_inputs_that_cannot_be_deployed_are_refused_by_property(inputs: dict[str, Any], where: str, words: str) -> None:
    [(property_name, why)] = problems(inputs, URN)
    assert property_name == where
    assert words in why


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"name": "a"}, id="named"),
        pytest.param({"name": manifests.UNKNOWN}, id="name-not-known-yet"),
        pytest.param({"name": "a", "annotations": {"b": "c"}}, id="annotated"),
    ],
)
def test_a_plain_object_is_accepted(metadata: dict[str, Any]) -> None:
    assert problems(a_config_map(**metadata), URN) == []


def test_metadata_not_known_yet_is_accepted() -> None:
    assert problems({"apiVersion": "v1", "kind": "ConfigMap", "metadata": manifests.UNKNOWN}, URN) == []


@pytest.mark.parametrize(
    ("token", "api_version", "kind"),
    [
        pytest.param("kubernetes:core/v1:Secret", "v1", "Secret", id="core"),
        pytest.param("kubernetes:kafka.strimzi.io/v1:KafkaConnect", "kafka.strimzi.io/v1", "KafkaConnect", id="custom"),
        pytest.param(
            "replication:flow:ReplicationFlow$kubernetes:core/v1:Secret", "v1", "Secret", id="child-of-a-component"
        ),
    ],
)
def test_the_kind_is_read_from_the_type_token(token: str, api_version: str, kind: str) -> None:
    assert kind_of_urn(f"urn:pulumi:dev::project::{token}::name") == {"apiVersion": api_version, "kind": kind}


def test_values_are_unchanged_after_they_are_encoded_and_decoded() -> None:
    """The protocol has floats only: a count that came back as 3.0 would be a change that the API server refuses."""
    values = {"replicas": 3, "ratio": 0.5, "on": True, "list": [1, {"a": None}], "text": "3"}
    returned = manifests.decode(manifests.encode(values))
    assert returned == values
    assert isinstance(returned["replicas"], int)
    assert returned["on"] is True


def test_unknowns_are_found_at_any_depth() -> None:
    assert manifests.has_unknowns({"a": [{"b": manifests.UNKNOWN}]})
    assert not manifests.has_unknowns({"a": ["text", {"b": 1}]})
