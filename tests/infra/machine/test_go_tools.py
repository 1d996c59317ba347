"""Where Go programs come from: no program of a wrong version is used, and a missing Go is a clear error."""

from pathlib import Path

import pytest
from rich.console import Console

from components.contract.problems import CannotRunError
from infra.machine import toolchain, versions
from infra.machine.toolchain import ETCD, KUBE_APISERVER, PULUMI, ensure_go_tool, version_fits

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on PATH but what the test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


def a_program(folder: Path, name: str, says: str) -> Path:
    """A program that prints `says` whatever it is asked."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return program


def test_without_go_the_error_names_the_tool_and_what_to_install() -> None:
    with pytest.raises(CannotRunError) as raised:
        ensure_go_tool(ETCD, Console(quiet=True))
    assert raised.value.what == (
        f"etcd {versions.ETCD} is not on this machine and cannot be built: `go` was not found on PATH"
    )
    assert raised.value.remedy == f"{toolchain.GO_REMEDY}; or put etcd {versions.ETCD} on PATH"


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
    with pytest.raises(CannotRunError, match="cannot be built"):
        ensure_go_tool(KUBE_APISERVER, Console(quiet=True))


def test_a_replaced_program_is_asked_for_its_version_again(tmp_path: Path) -> None:
    a_program(tmp_path / "path", "etcd", "etcd Version: 3.4.0 of old")
    with pytest.raises(CannotRunError):
        ensure_go_tool(ETCD, Console(quiet=True))
    installed = a_program(tmp_path / "path", "etcd", f"etcd Version: {versions.ETCD}")
    assert ensure_go_tool(ETCD, Console(quiet=True)) == installed


def test_a_build_that_fails_shows_the_end_of_its_output_and_leaves_no_program(tmp_path: Path) -> None:
    go = a_program(tmp_path / "path", "go", "unused")
    go.write_text("#!/bin/sh\necho 'go: no such module' >&2\nexit 1\n")
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
