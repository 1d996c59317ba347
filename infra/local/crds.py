"""Strimzi's CustomResourceDefinitions, generated from its published API classes as its own releases are."""

import os
from pathlib import Path

from rich.console import Console

from infra.local import paths, stamps
from infra.local.jdk import Jdk
from infra.local.maven import CRD_GENERATOR
from infra.local.steps import run_step

MAIN_CLASS = "io.strimzi.crdgenerator.CrdGenerator"
API_VERSION = "v1"
OPTIONS = [
    *("--label", "app:strimzi", "--target-kube", "1.27+", "--crd-api-version", "v1"),
    *("--api-versions", API_VERSION, "--storage-version", API_VERSION, "--yaml"),
]
CLASSES = {
    "io.strimzi.api.kafka.model.connect.KafkaConnect": "kafkaconnects.yaml",
    "io.strimzi.api.kafka.model.connector.KafkaConnector": "kafkaconnectors.yaml",
    "io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2": "kafkamirrormaker2s.yaml",
    "io.strimzi.api.kafka.model.user.KafkaUser": "kafkausers.yaml",
    "io.strimzi.api.kafka.model.topic.KafkaTopic": "kafkatopics.yaml",
}


def crd_files() -> tuple[Path, ...]:
    """The generated definitions, one file a kind."""
    return tuple(paths.CRDS / file for file in CLASSES.values())


def ensure_crds(jars: Path, jdk: Jdk, console: Console) -> tuple[Path, ...]:
    """Generate the definitions unless they are there already from the same artifacts."""
    wanted = stamps.digest([CRD_GENERATOR.pom], *OPTIONS, *(word for pair in CLASSES.items() for word in pair))
    if not stamps.is_current("crds", wanted, crd_files()):
        stamps.forget("crds")
        paths.CRDS.mkdir(parents=True, exist_ok=True)
        outputs = [f"{java_class}={paths.CRDS / file}" for java_class, file in CLASSES.items()]
        run_step(
            console,
            "generate Strimzi's CRDs",
            [jdk.java, "-cp", f"{jars}/*", MAIN_CLASS, *OPTIONS, *outputs],
            env=os.environ,
            remedy="see the lines above; the generator needs the JDK named there to be complete",
        )
        stamps.record("crds", wanted)
    return crd_files()
