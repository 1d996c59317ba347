"""What the operator refuses before it creates a worker, in Strimzi's words."""

from typing import Any

import pytest

from kafka_replication.infra.local.operator.conditions import (
    Condition,
    missing_version,
    refused_config_map,
    refused_version,
)
from kafka_replication.infra.local.operator.resources import ConnectResource
from tests.infra.operator.builders import a_connect, a_v1beta2_connect

LOGGING = {"type": "external", "valueFrom": {"configMapKeyRef": {"name": "logging", "key": "log4j2.properties"}}}
METRICS = {"type": "jmxPrometheusExporter", "valueFrom": {"configMapKeyRef": {"name": "metrics", "key": "rules.yaml"}}}


def test_a_version_without_an_image_is_refused_with_a_list_of_supported_versions() -> None:
    message = "Kafka version 4.1.1 is not supported. Supported versions are: 4.2.0, 4.2.1, 4.3.0, 4.3.1."
    assert refused_version(a_connect(version="4.1.1")) == Condition("NotReady", "InvalidResourceException", message)


@pytest.mark.parametrize("spec", [{}, {"version": "4.3.1"}, {"version": "4.1.1", "image": "registry/mine:1"}], ids=str)
def test_a_supported_version_or_a_custom_image_is_accepted(spec: dict[str, Any]) -> None:
    assert refused_version(a_connect(**spec)) is None
    assert refused_version(a_v1beta2_connect(version="3.9.0")) is None


@pytest.mark.parametrize("connect", [a_connect(version="4.2.1"), a_connect(version="4.1.1", image="registry/mine:1")])
def test_a_version_without_jars_is_refused_with_a_list_of_versions_that_have_jars(connect: ConnectResource) -> None:
    """Otherwise another version would run instead, and a user who tries a version would not notice."""
    message = (
        f"Kafka {connect.version} cannot run on the local stack, which has only 4.2.0 and 4.3.1: set spec.version to "
        "one of these, or remove it to run 4.2.0"
    )
    assert refused_version(connect) is None
    assert missing_version(connect) == Condition("NotReady", "UnsupportedLocally", message)


@pytest.mark.parametrize(
    "spec", [{}, {"version": "4.2.0"}, {"version": "4.3.1"}, {"image": "registry/mine:1"}], ids=str
)
def test_a_version_with_jars_is_accepted(spec: dict[str, Any]) -> None:
    assert missing_version(a_connect(**spec)) is None


@pytest.mark.parametrize(
    ("spec", "found", "message"),
    [
        ({"metricsConfig": METRICS}, {}, "ConfigMap metrics does not exist"),
        ({"metricsConfig": METRICS}, {"metrics": {}}, "ConfigMap metrics does not contain specified key rules.yaml"),
        (
            {"logging": LOGGING},
            {"logging": {}},
            "ConfigMap logging with external logging configuration does not exist or doesn't contain the configuration "
            "under the log4j2.properties key.",
        ),
    ],
    ids=["no-metrics", "no-key", "no-logging"],
)
def test_a_missing_config_map_or_key_is_named(spec: dict[str, Any], found: dict[str, Any], message: str) -> None:
    (wanted,) = a_connect(**spec).config_maps
    refused = refused_config_map(wanted, found)
    assert refused is not None
    assert refused.message == message


def test_a_config_map_with_the_key_is_accepted() -> None:
    (wanted,) = a_connect(metricsConfig=METRICS).config_maps
    assert refused_config_map(wanted, {"metrics": {"rules.yaml": ""}}) is None
