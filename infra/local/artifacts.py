"""Builds and downloads everything that the local stack needs, once."""

import copy
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from kafka_replication.infra.machine import paths as machine_paths
from kafka_replication.infra.machine import toolchain
from kafka_replication.infra.machine.jdk import Jdk, find_jdk
from kafka_replication.infra.machine.paths import building, pinned_folder
from kafka_replication.infra.machine.steps import run_step
from kafka_replication.infra.machine.toolchain import CONTROLLER_GEN, JarSet, ensure_go_tool, ensure_jars
from kafka_replication.infra.machine.waiting import exclusive

Definition = dict[str, Any]
Schema = dict[str, Any]

_ANYTHING = "x-kubernetes-preserve-unknown-fields"
_SHAPE = ("type", "x-kubernetes-int-or-string", "nullable")
_NESTED = ("items", "additionalProperties")
_COMMON_ENTRIES = ("required", "x-kubernetes-validations")


def served_definition(newer: Definition, older: Definition) -> Definition:
    """Return one definition of a kind that serves the versions of both and stores the older, as Strimzi 0.49 to 0.51.

    v1 is served as 1.2 generates it. v1beta2 is stored, and has the fields of both, because conversion changes nothing
    but `apiVersion`:

    - The API server prunes a request by the schema of its version, then by that of the storage version, and in reverse
      when it answers. It would silently drop `spec.externalConfiguration` of a v1beta2 object, or `spec.groupId` of a
      v1 object.
    - A server-side apply of v1 over what the same manager applied as v1beta2 reads the merged object as v1beta2, and
      fails on the first field that v1beta2 does not declare.
    """
    (new,), (old,) = (copy.deepcopy(definition["spec"]["versions"]) for definition in (newer, older))
    old["schema"] = {
        "openAPIV3Schema": united_schema(*(version["schema"]["openAPIV3Schema"] for version in (new, old)))
    }
    versions = [{**new, "storage": False}, {**old, "storage": True}]
    return {**copy.deepcopy(newer), "spec": {**copy.deepcopy(newer["spec"]), "versions": versions}}


def united_schema(newer: Schema, older: Schema) -> Schema:
    """Return a structural schema that accepts whatever one of the two accepts.

    A constraint (`required`, `enum`, `minimum`, a CEL rule, …) stays only if both have it. Where the types differ,
    anything is accepted.
    """
    if any(newer.get(key) != older.get(key) for key in _SHAPE):
        return {_ANYTHING: True}
    united = {key: value for key, value in older.items() if newer.get(key) == value}
    if newer.get(_ANYTHING) or older.get(_ANYTHING):
        united[_ANYTHING] = True
    for key in _NESTED:
        nested = [schema[key] for schema in (newer, older) if key in schema]
        if nested:
            united[key] = united_schema(nested[0], nested[-1])
    for key in _COMMON_ENTRIES:
        if common := [entry for entry in older.get(key, ()) if entry in newer.get(key, ())]:
            united[key] = common
    if "enum" in newer and "enum" in older:
        united["enum"] = [*older["enum"], *(value for value in newer["enum"] if value not in older["enum"])]
    ours, theirs = newer.get("properties", {}), older.get("properties", {})
    if names := {**ours, **theirs}:
        united["properties"] = {
            name: united_schema(ours.get(name, schema), theirs.get(name, schema)) for name, schema in names.items()
        }
    return united


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
        """Return the arguments that Strimzi's own build passes to the generator."""
        return [
            *("--label", "app:strimzi", "--target-kube", "1.27+", "--crd-api-version", "v1"),
            *("--api-versions", self.version, "--storage-version", self.version, "--yaml"),
        ]

    @property
    def folder(self) -> Path:
        """Return the folder of the generated definitions."""
        words = (word for pair in CLASSES.items() for word in pair)
        return pinned_folder(f"crds-{self.version}", [self.jars.pom], *self.options, *words)


V1 = Api("v1", toolchain.CRD_GENERATOR)
V1BETA2 = Api("v1beta2", toolchain.CRD_GENERATOR_V1BETA2)


def ensure_crds(jdk: Jdk, console: Console) -> tuple[Path, ...]:
    """Return the files of the served definitions, generated unless they exist for the same artifacts."""
    newer, older = (_ensure_generated(api, jdk, console) for api in (V1, V1BETA2))
    served = pinned_folder("crds-served", [Path(__file__)], V1.folder.name, V1BETA2.folder.name)
    if not served.is_dir():
        with building(served) as folder:
            for file, v1, v1beta2 in zip(_files(folder), newer, older, strict=True):
                definition = served_definition(_read(v1), _read(v1beta2))
                file.write_text(yaml.dump(definition, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
    return _files(served)


def _ensure_generated(api: Api, jdk: Jdk, console: Console) -> tuple[Path, ...]:
    if not api.folder.is_dir():
        jars = ensure_jars(api.jars, jdk, console)
        with building(api.folder) as folder:
            outputs = [f"{java_class}={file}" for java_class, file in zip(CLASSES, _files(folder), strict=True)]
            run_step(
                console,
                f"generate Strimzi's CRDs, {api.version}",
                [jdk.java, "-cp", f"{jars}/*", MAIN_CLASS, *api.options, *outputs],
                env=os.environ,
                remedy="see the lines below; the generator needs a complete JDK, so check the one named there",
            )
    return _files(api.folder)


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / file for file in CLASSES.values())


def _read(file: Path) -> dict[str, Any]:
    return dict(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


COLD_BUILD_SECONDS = 3600.0
_JARS = (toolchain.CONNECT, toolchain.CONFIG_PROVIDER, toolchain.METRICS, toolchain.SPARK)


@dataclass(frozen=True)
class Artifacts:
    """The programs, the folders of jars and the generated CRDs; all of them exist."""

    jdk: Jdk
    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    pulumi: Path
    connect_lib: Path
    config_provider_lib: Path
    metrics_lib: Path
    spark_lib: Path
    crds: tuple[Path, ...]


def ensure(console: Console) -> Artifacts:
    """Build or download what is missing or of another version. Raises CannotRunError, which says what to install."""
    with exclusive(machine_paths.build_lock(), console, "building the local stack's parts", COLD_BUILD_SECONDS):
        jdk = find_jdk()
        # Jars first: they take seconds, so a missing Maven shows before minutes of compiling.
        connect, config_provider, metrics, spark = (ensure_jars(jars, jdk, console) for jars in _JARS)
        crds = ensure_crds(jdk, console)
        etcd, apiserver, manager, pulumi = (ensure_go_tool(tool, console) for tool in toolchain.ALL)
        return Artifacts(jdk, etcd, apiserver, manager, pulumi, connect, config_provider, metrics, spark, crds)


_TYPES = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
_GENERATE = ("crd:crdVersions=v1", f"paths={_TYPES}")
#: The kinds that a topology's `monitoring` declares.
_FILES = ("monitoring.coreos.com_podmonitors.yaml", "monitoring.coreos.com_prometheusrules.yaml")


def ensure_monitoring_crds(console: Console) -> tuple[Path, ...]:
    """Return the files of the definitions, generated unless they exist for the same pins. Raises CannotRunError."""
    module = CONTROLLER_GEN.module_dir
    folder = pinned_folder("crds-monitoring", [module / "go.mod", module / "go.sum"], *_GENERATE)
    with exclusive(machine_paths.build_lock(), console, "building the local stack's parts", COLD_BUILD_SECONDS):
        if not folder.is_dir():
            program = ensure_go_tool(CONTROLLER_GEN, console)
            with building(folder) as output:
                run_step(
                    console,
                    "generate the Prometheus operator's CRDs",
                    [program, *_GENERATE, f"output:crd:dir={output}"],
                    cwd=module,
                    env={**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=readonly"},
                    remedy="see the lines below; the first build needs `go` and access to the Go module proxy",
                )
    return tuple(folder / name for name in _FILES)
