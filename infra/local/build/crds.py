"""Generates Strimzi's CustomResourceDefinitions from its published API classes, as its releases do. Each API version
has its own folder. The API server gets both versions in one definition; see `crd_versions`.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from infra.local.build import crd_versions
from infra.machine.jars import CRD_GENERATOR, CRD_GENERATOR_V1BETA2, JarSet, ensure_jars
from infra.machine.jdk import Jdk
from infra.machine.paths import pinned_folder, unfinished
from infra.machine.steps import run_step

MAIN_CLASS = "io.strimzi.crdgenerator.CrdGenerator"
CLASSES = {
    "io.strimzi.api.kafka.model.connect.KafkaConnect": "kafkaconnects.yaml",
    "io.strimzi.api.kafka.model.connector.KafkaConnector": "kafkaconnectors.yaml",
    "io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2": "kafkamirrormaker2s.yaml",
    "io.strimzi.api.kafka.model.user.KafkaUser": "kafkausers.yaml",
    "io.strimzi.api.kafka.model.topic.KafkaTopic": "kafkatopics.yaml",
}


@dataclass(frozen=True)
class Api:
    """A version of Strimzi's API, and the jars of the release that defines it."""

    version: str
    jars: JarSet

    @property
    def options(self) -> list[str]:
        """The arguments that Strimzi's own build passes to the generator."""
        return [
            *("--label", "app:strimzi", "--target-kube", "1.27+", "--crd-api-version", "v1"),
            *("--api-versions", self.version, "--storage-version", self.version, "--yaml"),
        ]

    @property
    def folder(self) -> Path:
        """The folder of the generated definitions."""
        words = (word for pair in CLASSES.items() for word in pair)
        return pinned_folder(f"crds-{self.version}", [self.jars.pom], *self.options, *words)

    @property
    def files(self) -> tuple[Path, ...]:
        """The generated definitions, one file for each kind."""
        return _files(self.folder)


V1 = Api("v1", CRD_GENERATOR)
V1BETA2 = Api("v1beta2", CRD_GENERATOR_V1BETA2)


def ensure_crds(jdk: Jdk, console: Console) -> tuple[Path, ...]:
    """The files of the served definitions, generated unless they exist for the same artifacts."""
    newer, older = (_ensure_generated(api, jdk, console) for api in (V1, V1BETA2))
    served = pinned_folder("crds-served", [Path(crd_versions.__file__)], V1.folder.name, V1BETA2.folder.name)
    if not served.is_dir():
        making = _empty(unfinished(served))
        for file, v1, v1beta2 in zip(_files(making), newer, older, strict=True):
            definition = crd_versions.served_definition(_read(v1), _read(v1beta2))
            file.write_text(yaml.dump(definition, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
        making.replace(served)
    return _files(served)


def _ensure_generated(api: Api, jdk: Jdk, console: Console) -> tuple[Path, ...]:
    """Generate the definitions of one API version if need be; their files."""
    if not api.folder.is_dir():
        jars = ensure_jars(api.jars, jdk, console)
        making = _empty(unfinished(api.folder))
        outputs = [f"{java_class}={file}" for java_class, file in zip(CLASSES, _files(making), strict=True)]
        run_step(
            console,
            f"generate Strimzi's CRDs, {api.version}",
            [jdk.java, "-cp", f"{jars}/*", MAIN_CLASS, *api.options, *outputs],
            env=os.environ,
            remedy="see the lines below; the generator needs a complete JDK, so check the one named there",
        )
        making.replace(api.folder)
    return api.files


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / file for file in CLASSES.values())


def _read(file: Path) -> dict[str, Any]:
    return dict(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
