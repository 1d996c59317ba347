"""Maven and Go fetch exactly the versions that `versions.py` names."""

import re

import pytest

from infra.machine import jars as maven
from infra.machine import versions
from infra.machine.go_tools import ALL, GoTool
from tests.go_programs import FOR_TESTS

PINS = [
    (maven.CONNECT, "kafka.version", versions.KAFKA),
    (maven.KAFKA_3_9, "kafka.version", versions.KAFKA_3_9),
    (maven.KAFKA_4_3, "kafka.version", versions.KAFKA_4_3),
    (maven.METRICS, "agent.version", versions.JMX_EXPORTER),
    (maven.METRICS, "reporter.version", versions.METRICS_REPORTER),
    (maven.CRD_GENERATOR, "strimzi.version", versions.STRIMZI),
    (maven.CRD_GENERATOR_V1BETA2, "strimzi.version", versions.STRIMZI_V1BETA2),
]


@pytest.mark.parametrize(("jars", "element", "version"), PINS, ids=[jars.name for jars, _, _ in PINS])
def test_a_pom_pins_what_versions_says(jars: maven.JarSet, element: str, version: str) -> None:
    assert f"<{element}>{version}</{element}>" in jars.pom.read_text()


def test_the_config_provider_is_pinned_as_versions_says() -> None:
    assert f"<version>{versions.CONFIG_PROVIDER}</version>" in maven.CONFIG_PROVIDER.pom.read_text()


def test_sparks_kafka_source_has_sparks_version() -> None:
    artifact = r"<artifactId>spark-sql-kafka-0-10_2\.13</artifactId>\s*<version>([^<]*)</version>"
    assert re.findall(artifact, maven.SPARK.pom.read_text()) == [versions.SPARK]


@pytest.mark.parametrize("tool", [*ALL, *FOR_TESTS], ids=lambda tool: tool.name)
def test_a_go_module_requires_what_versions_says(tool: GoTool) -> None:
    module = re.sub(r"/cmd/.*", "", tool.package)
    required = re.findall(rf"^\s*{re.escape(module)} v(\S+)", (tool.module_dir / "go.mod").read_text(), re.MULTILINE)
    assert required[0] == tool.version
