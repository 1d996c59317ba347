"""Maven and Go fetch exactly the versions that `versions.py` names."""

import re

import pytest

from kafka_replication.infra.machine import toolchain, versions
from kafka_replication.infra.machine.toolchain import ALL, GoTool
from tests.go_programs import FOR_TESTS

PINS = [
    (toolchain.CONNECT, "kafka.version", versions.KAFKA),
    (toolchain.KAFKA_3_9, "kafka.version", versions.KAFKA_3_9),
    (toolchain.KAFKA_4_3, "kafka.version", versions.KAFKA_4_3),
    (toolchain.METRICS, "agent.version", versions.JMX_EXPORTER),
    (toolchain.METRICS, "reporter.version", versions.METRICS_REPORTER),
    (toolchain.CRD_GENERATOR, "strimzi.version", versions.STRIMZI),
    (toolchain.CRD_GENERATOR_V1BETA2, "strimzi.version", versions.STRIMZI_V1BETA2),
]


@pytest.mark.parametrize(("jars", "element", "version"), PINS, ids=[jars.name for jars, _, _ in PINS])
def test_a_pom_pins_what_versions_says(jars: toolchain.JarSet, element: str, version: str) -> None:
    assert f"<{element}>{version}</{element}>" in jars.pom.read_text()


def test_the_config_provider_is_pinned_as_versions_says() -> None:
    assert f"<version>{versions.CONFIG_PROVIDER}</version>" in toolchain.CONFIG_PROVIDER.pom.read_text()


def test_sparks_kafka_source_has_sparks_version() -> None:
    artifact = r"<artifactId>spark-sql-kafka-0-10_2\.13</artifactId>\s*<version>([^<]*)</version>"
    assert re.findall(artifact, toolchain.SPARK.pom.read_text()) == [versions.SPARK]


@pytest.mark.parametrize("tool", [*ALL, *FOR_TESTS], ids=lambda tool: tool.name)
def test_a_go_module_requires_what_versions_says(tool: GoTool) -> None:
    module = re.sub(r"/cmd/.*", "", tool.package)
    required = re.findall(rf"^\s*{re.escape(module)} v(\S+)", (tool.module_dir / "go.mod").read_text(), re.MULTILINE)
    assert required[0] == tool.version
