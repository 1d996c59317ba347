"""Strimzi's CustomResourceDefinitions, generated from its published API classes as its own releases are.

Those of each API version lie in a folder of that name; what the API server gets is both in one, see `crd_versions`.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from infra.local import crd_versions, paths, stamps
from infra.local.jdk import Jdk
from infra.local.maven import CRD_GENERATOR, CRD_GENERATOR_V1BETA2, JarSet, ensure_jars
from infra.local.steps import run_step

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
    """An API version of Strimzi's, and the release that defines it here."""

    version: str
    jars: JarSet

    @property
    def options(self) -> list[str]:
        """The generator's arguments, as Strimzi's own build gives them."""
        return [
            *("--label", "app:strimzi", "--target-kube", "1.27+", "--crd-api-version", "v1"),
            *("--api-versions", self.version, "--storage-version", self.version, "--yaml"),
        ]

    @property
    def files(self) -> tuple[Path, ...]:
        """The generated definitions, one file a kind."""
        return _files(self.version)


V1 = Api("v1", CRD_GENERATOR)
V1BETA2 = Api("v1beta2", CRD_GENERATOR_V1BETA2)


def served_files() -> tuple[Path, ...]:
    """The definitions that the local API server serves, one file a kind."""
    return _files("served")


def ensure_crds(jdk: Jdk, console: Console) -> tuple[Path, ...]:
    """The files of the definitions that are served, made unless they are there already from the same artifacts."""
    generated = [_ensure_generated(api, jdk, console) for api in (V1, V1BETA2)]
    wanted = stamps.digest([Path(crd_versions.__file__), *V1.files, *V1BETA2.files], *generated)
    if not stamps.is_current("crds", wanted, served_files()):
        stamps.forget("crds")
        for newer, older, served in zip(V1.files, V1BETA2.files, served_files(), strict=True):
            definition = crd_versions.served_definition(_read(newer), _read(older))
            served.parent.mkdir(parents=True, exist_ok=True)
            served.write_text(yaml.dump(definition, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
        stamps.record("crds", wanted)
    return served_files()


def _ensure_generated(api: Api, jdk: Jdk, console: Console) -> str:
    """Generate the definitions of one API version if need be; a digest of what they are made from."""
    jars = ensure_jars(api.jars, jdk, console)
    wanted = stamps.digest([api.jars.pom], *api.options, *(word for pair in CLASSES.items() for word in pair))
    name = f"crds-{api.version}"
    if not stamps.is_current(name, wanted, api.files):
        stamps.forget(name)
        for file in api.files:
            file.parent.mkdir(parents=True, exist_ok=True)
        outputs = [f"{java_class}={file}" for java_class, file in zip(CLASSES, api.files, strict=True)]
        run_step(
            console,
            f"generate Strimzi's CRDs, {api.version}",
            [jdk.java, "-cp", f"{jars}/*", MAIN_CLASS, *api.options, *outputs],
            env=os.environ,
            remedy="see the lines above; the generator needs the JDK named there to be complete",
        )
        stamps.record(name, wanted)
    return wanted


def _files(folder: str) -> tuple[Path, ...]:
    return tuple(paths.CRDS / folder / file for file in CLASSES.values())


def _read(file: Path) -> dict[str, Any]:
    return dict(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
