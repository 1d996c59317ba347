"""Builds and downloads everything that the local stack needs, once."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from infra.local.build.crds import ensure_crds
from infra.machine import go_tools
from infra.machine import jars as maven
from infra.machine import paths as machine_paths
from infra.machine.go_tools import ensure_go_tool
from infra.machine.jars import ensure_jars
from infra.machine.jdk import Jdk, find_jdk
from infra.machine.locks import exclusive

COLD_BUILD_SECONDS = 3600.0
_JARS = (maven.CONNECT, maven.CONFIG_PROVIDER, maven.METRICS)


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
    """Build or download whatever is missing or was built from other versions.

    Raises CannotRunError with the step that failed, or with the program to install.
    """
    with exclusive(machine_paths.build_lock(), console, "building the local stack's parts", COLD_BUILD_SECONDS):
        jdk = find_jdk()
        # Jars first: they take seconds, so a missing Maven shows before minutes of compiling.
        jars = {jar_set: ensure_jars(jar_set, jdk, console) for jar_set in _JARS}
        crds = ensure_crds(jdk, console)
        spark_lib = ensure_jars(maven.SPARK, jdk, console)
        etcd, apiserver, controller_manager, pulumi = (ensure_go_tool(tool, console) for tool in go_tools.ALL)
        return Artifacts(
            jdk=jdk,
            etcd=etcd,
            kube_apiserver=apiserver,
            kube_controller_manager=controller_manager,
            pulumi=pulumi,
            connect_lib=jars[maven.CONNECT],
            config_provider_lib=jars[maven.CONFIG_PROVIDER],
            metrics_lib=jars[maven.METRICS],
            spark_lib=spark_lib,
            crds=crds,
        )
