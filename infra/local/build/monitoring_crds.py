"""Generates the Prometheus operator's CustomResourceDefinitions from its published Go types, as its releases do."""

import os
import shutil
from pathlib import Path

from rich.console import Console

from infra.machine import paths as machine_paths
from infra.machine.go_tools import CONTROLLER_GEN, ensure_go_tool
from infra.machine.locks import exclusive
from infra.machine.paths import pinned_folder, unfinished
from infra.machine.steps import run_step

_COLD_BUILD_SECONDS = 3600.0
_TYPES = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
_GENERATE = ("crd:crdVersions=v1", f"paths={_TYPES}")
#: The kinds that a topology's `monitoring` declares.
_FILES = ("monitoring.coreos.com_podmonitors.yaml", "monitoring.coreos.com_prometheusrules.yaml")


def ensure_monitoring_crds(console: Console) -> tuple[Path, ...]:
    """The files of the definitions, generated unless they exist for the same pins. Raises CannotRunError."""
    module = CONTROLLER_GEN.module_dir
    folder = pinned_folder("crds-monitoring", [module / "go.mod", module / "go.sum"], *_GENERATE)
    with exclusive(machine_paths.build_lock(), console, "building the local stack's parts", _COLD_BUILD_SECONDS):
        if not folder.is_dir():
            program, making = ensure_go_tool(CONTROLLER_GEN, console), unfinished(folder)
            shutil.rmtree(making, ignore_errors=True)
            run_step(
                console,
                "generate the Prometheus operator's CRDs",
                [program, *_GENERATE, f"output:crd:dir={making}"],
                cwd=module,
                env={**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=readonly"},
                remedy="see the lines below; the first build needs `go` and access to the Go module proxy",
            )
            making.replace(folder)
    return tuple(folder / name for name in _FILES)
