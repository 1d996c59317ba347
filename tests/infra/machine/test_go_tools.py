"""Where Go programs come from: no program of a wrong version is used, and a missing Go is fetched."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine import toolchain, versions
from kafka_replication.infra.machine.toolchain import ETCD, KUBE_APISERVER, PULUMI, ensure_go_tool, version_fits

pytestmark = pytest.mark.process

PYTHON = sys.executable


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on PATH but what the test puts there, nothing in the cache, and a pip that reaches no index."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("REPLICATE_CACHE", str(tmp_path / "cache"))
    offline = a_program(tmp_path, "offline-python", "no index")
    offline.write_text("#!/bin/sh\necho 'no index'\nexit 1\n")
    monkeypatch.setattr(sys, "executable", str(offline))


def a_program(folder: Path, name: str, says: str) -> Path:
    """A program that prints `says` whatever it is asked."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return program


def test_without_go_and_without_an_index_the_error_names_the_tool_and_what_to_install() -> None:
    with pytest.raises(CannotRunError) as raised:
        ensure_go_tool(ETCD, Console(quiet=True))
    assert raised.value.what.startswith(
        f"fetch Go for etcd {versions.ETCD}, which is not on this machine (75 MB) failed"
    )
    assert raised.value.detail == "no index"
    assert raised.value.remedy == f"{toolchain.GO_REMEDY}; or put etcd {versions.ETCD} on PATH"


def test_go_is_fetched_by_its_hash_if_the_one_on_path_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", PYTHON)
    a_program(tmp_path / "path", "go", "go1.18.1")
    go = toolchain._go(ETCD, Console(quiet=True))
    answer = subprocess.run([go, "version"], capture_output=True, text=True, check=True)
    assert re.match(r"go version go1\.\d+\.\d+ ", answer.stdout)
    assert go.is_relative_to(tmp_path / "cache")


def test_a_program_on_path_in_the_pinned_version_is_used(tmp_path: Path) -> None:
    installed = a_program(tmp_path / "path", "etcd", f"etcd Version: {versions.ETCD}\nGo Version: go1.26.8")
    assert ensure_go_tool(ETCD, Console(quiet=True)) == installed


def test_kubebuilder_assets_come_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_program(tmp_path / "path", "kube-apiserver", f"Kubernetes v{versions.KUBERNETES}")
    asset = a_program(tmp_path / "assets", "kube-apiserver", f"Kubernetes v{versions.KUBERNETES}")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    assert ensure_go_tool(KUBE_APISERVER, Console(quiet=True)) == asset


def test_a_program_of_another_version_is_passed_over(tmp_path: Path) -> None:
    a_program(tmp_path / "path", "kube-apiserver", "Kubernetes v1.29.0")
    with pytest.raises(CannotRunError, match="fetch Go"):
        ensure_go_tool(KUBE_APISERVER, Console(quiet=True))


def test_a_replaced_program_is_asked_for_its_version_again(tmp_path: Path) -> None:
    a_program(tmp_path / "path", "etcd", "etcd Version: 3.4.0 of old")
    with pytest.raises(CannotRunError):
        ensure_go_tool(ETCD, Console(quiet=True))
    installed = a_program(tmp_path / "path", "etcd", f"etcd Version: {versions.ETCD}")
    assert ensure_go_tool(ETCD, Console(quiet=True)) == installed


def test_a_build_that_fails_shows_the_end_of_its_output_and_leaves_no_program(tmp_path: Path) -> None:
    go = a_program(tmp_path / "path", "go", "unused")
    go.write_text('#!/bin/sh\n[ "$1" = env ] && echo go1.26.8 && exit\necho "go: no such module" >&2\nexit 1\n')
    with pytest.raises(CannotRunError) as raised:
        ensure_go_tool(ETCD, Console(quiet=True))
    assert "exit code 1" in raised.value.what
    assert raised.value.detail == "go: no such module"
    assert not ETCD.built.exists()


@pytest.mark.parametrize(
    ("tool", "found", "fits"),
    [
        pytest.param(KUBE_APISERVER, versions.KUBERNETES, True, id="the pin"),
        pytest.param(KUBE_APISERVER, "1.36.0", True, id="another patch"),
        pytest.param(KUBE_APISERVER, "1.35.9", False, id="an older minor"),
        pytest.param(KUBE_APISERVER, "1.37.0", False, id="a newer minor of the API server"),
        pytest.param(PULUMI, "3.999.0", True, id="a newer minor of the engine"),
        pytest.param(PULUMI, "4.0.0", False, id="another major"),
        pytest.param(PULUMI, None, False, id="a program that names no version"),
    ],
)
def test_a_version_fits_if_it_is_compatible_with_the_pin(tool: toolchain.GoTool, found: str | None, fits: bool) -> None:
    assert version_fits(tool, found) is fits
