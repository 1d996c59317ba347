"""The Go programs of the local stack and its tests: found here in the pinned version, or built from pinned modules."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from infra.local import paths, stamps, versions
from infra.local.errors import LocalStackError
from infra.local.steps import run_step

GO_REMEDY = "install Go (https://go.dev/doc/install, or your system's package `golang`) so that `go` is on PATH"


@dataclass(frozen=True)
class GoTool:
    """A program that the ordinary Go client builds: `module` is the folder of its go.mod, `package` what to build."""

    name: str
    version: str
    module: str
    package: str
    version_command: str
    stamp_variables: tuple[str, ...] = ()
    newer_minor_is_fine: bool = False

    @property
    def module_dir(self) -> Path:
        """Where the go.mod that pins the program lies."""
        return paths.SOURCES / "go" / self.module

    @property
    def link_flags(self) -> str:
        """Small, and saying its version: a plain `go build` leaves the version of these programs empty."""
        return " ".join(["-s -w", *(f"-X {variable}" for variable in self.stamp_variables)])


_KUBERNETES_STAMP = tuple(
    f"k8s.io/component-base/version.{variable}"
    for variable in (
        f"gitVersion=v{versions.KUBERNETES}",
        f"gitMajor={versions.KUBERNETES.split('.')[0]}",
        f"gitMinor={versions.KUBERNETES.split('.')[1]}",
    )
)

ETCD = GoTool("etcd", versions.ETCD, "controlplane", "go.etcd.io/etcd/server/v3", "--version")
KUBE_APISERVER = GoTool(
    "kube-apiserver",
    versions.KUBERNETES,
    "controlplane",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "--version",
    _KUBERNETES_STAMP,
)
KUBE_CONTROLLER_MANAGER = GoTool(
    "kube-controller-manager",
    versions.KUBERNETES,
    "controlplane",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "--version",
    _KUBERNETES_STAMP,
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
ALL = (ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, PULUMI)

ACTIONLINT = GoTool(
    "actionlint", versions.ACTIONLINT, "actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "-version"
)
KUSTOMIZE = GoTool("kustomize", versions.KUSTOMIZE, "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "version")
FOR_TESTS = (ACTIONLINT, KUSTOMIZE)
"""What judges workflow files and rendered folders, and no stack needs."""


def ensure_go_tool(tool: GoTool, console: Console) -> Path:
    """The program: from KUBEBUILDER_ASSETS or PATH in the right version, else built once into `.local/bin`.

    Raises LocalStackError if it has to be built and Go is missing, or if the build fails.
    """
    for candidate in _installed(tool):
        if version_fits(tool, _version_of(candidate, tool)):
            return candidate
    built = paths.BIN / tool.name
    wanted = stamps.digest(
        [tool.module_dir / "go.mod", tool.module_dir / "go.sum"], tool.package, tool.link_flags, tool.version
    )
    if not stamps.is_current(f"go-{tool.name}", wanted, [built]):
        _build(tool, built, console)
        stamps.record(f"go-{tool.name}", wanted)
    return built


def version_fits(tool: GoTool, found: str | None) -> bool:
    """Same major and minor version as the pin; for a program that stays compatible, a newer minor is fine too."""
    if found is None:
        return False
    have, want = ([int(number) for number in version.split(".")[:2]] for version in (found, tool.version))
    return have == want or (tool.newer_minor_is_fine and have[0] == want[0] and have[1] > want[1])


def _installed(tool: GoTool) -> Iterator[Path]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / tool.name).is_file():
        yield Path(assets) / tool.name
    if found := shutil.which(tool.name):
        yield Path(found)


def _version_of(program: Path, tool: GoTool) -> str | None:
    """What the program says of itself, remembered as long as its file does not change."""
    status = program.stat()
    name = f"version-{tool.name}"
    key = f"{program.resolve()} {status.st_size} {status.st_mtime_ns} "
    stamp = paths.STAMPS / name
    if stamp.is_file() and (remembered := stamp.read_text(encoding="utf-8")).startswith(key):
        return remembered.removeprefix(key) or None
    try:
        answer = subprocess.run(
            [program, tool.version_command], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\d+\.\d+\.\d+", answer.stdout)
    stamps.record(name, key + (match.group() if match else ""))
    return match.group() if match else None


def _build(tool: GoTool, built: Path, console: Console) -> None:
    go = shutil.which("go")
    if go is None:
        raise LocalStackError(
            f"{tool.name} {tool.version} is not on this machine and cannot be built: `go` was not found on PATH",
            f"{GO_REMEDY}; or put {tool.name} {tool.version} on PATH",
        )
    stamps.forget(f"go-{tool.name}")
    paths.BIN.mkdir(parents=True, exist_ok=True)
    half_built = built.with_name(f".{tool.name}.building")
    run_step(
        console,
        f"build {tool.name} {tool.version} (once, up to some minutes)",
        # -v names each package as it is compiled, which is the only sign of life that `go build` gives.
        [go, "build", "-v", "-trimpath", "-ldflags", tool.link_flags, "-o", half_built, tool.package],
        cwd=tool.module_dir,
        env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly"},
        remedy="see the lines above; the Go module proxy must be reachable and some GB of disk free. Then run it again",
    )
    half_built.replace(built)
