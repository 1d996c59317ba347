"""Everything that is built or fetched once before the local stack can run."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from infra.local import go_tools, maven, paths
from infra.local.crds import ensure_crds
from infra.local.go_tools import ensure_go_tool
from infra.local.jdk import Jdk, find_jdk
from infra.local.locks import exclusive
from infra.local.maven import ensure_jars

COLD_BUILD_SECONDS = 3600.0


@dataclass(frozen=True)
class Artifacts:
    """Programs, directories of jars and generated definitions, all present."""

    jdk: Jdk
    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    pulumi: Path
    connect_lib: Path
    config_provider_lib: Path
    spark_lib: Path
    crds: tuple[Path, ...]


def ensure(console: Console) -> Artifacts:
    """Find, build or fetch whatever is missing or was made from other pins; fast when nothing is.

    Raises LocalStackError naming what to install, or what failed.
    """
    with exclusive(paths.BUILT / "build.lock", console, "building the local stack's parts", COLD_BUILD_SECONDS):
        jdk = find_jdk()
        # Jars first: they take seconds, so a machine without Maven learns it before minutes of compiling.
        jars = {jar_set: ensure_jars(jar_set, jdk, console) for jar_set in (maven.CONNECT, maven.CONFIG_PROVIDER)}
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
            spark_lib=spark_lib,
            crds=crds,
        )
