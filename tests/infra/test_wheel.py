"""The package as users install it: otherwise a file could exist in every checkout and be missing from the package."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kafka_replication.infra.machine.paths import TOP
from tests.repository import ROOT

pytestmark = pytest.mark.process

FOLDERS = ("components", "infra", "spark")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from a copy, because setuptools leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, folder / "source")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(folder / "source")], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_packages_except_texts_and_pictures(wheel: Path) -> None:
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = {name for name in listed if not name.endswith((".md", ".png")) and (ROOT / name).exists()}
    names = {"kafka_replication/__init__.py" if name == str(TOP) else f"kafka_replication/{name}" for name in wanted}
    assert names - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_installed_command_works_on_the_project_that_it_is_called_in(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    shutil.copytree(ROOT / "stacks", tmp_path / "project" / "stacks")
    for path in (tmp_path / "project" / "stacks").glob("Pulumi.local*.yaml"):
        path.unlink()
    (tmp_path / "project" / "stacks" / "promotion.yaml").unlink()
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path / "project")
    code = "from kafka_replication.infra.commands import app; print(app.__file__); app.main()"
    answer = subprocess.run(
        [sys.executable, "-c", code, "check"],
        cwd=tmp_path / "project",
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    where, *checked = answer.stdout.splitlines()
    assert Path(where).is_relative_to(installed)
    assert [line.split(":")[0] for line in checked] == [
        "✓ prod-mirrormaker2-us-east-1",
        "✓ prod-mirrormaker2-us-west-2",
        "✓ prod-us-west-2",
    ]
