"""What `make image` says where it cannot build. `make image-bench` runs what it builds."""

import os
from pathlib import Path

import pytest

from tests import image

pytestmark = pytest.mark.process


def test_where_no_program_builds_images_all_that_were_tried_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert image.main({}) == 1
    assert "none of docker, podman, buildah is on PATH and answers `info`. Remedy: " in capsys.readouterr().err


def test_a_program_that_cannot_reach_its_daemon_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, code in (("docker", 1), ("podman", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert image.builder() == "podman"


def test_without_a_base_docker_is_told_which_image_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert image.main({"BUILDER": "docker"}) == 1
    assert "Remedy: set IMAGE_BASE=NAME@sha256:… to an image with Python 3.11" in capsys.readouterr().err
