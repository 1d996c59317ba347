"""What `make dist` builds, installed without extras and outside the checkout: only what the core needs is there."""

import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import release
from tests.job_image import needed
from tests.repository import ROOT
from tests.workflows.workflow import Runner, a_repository, load, set_up

pytestmark = pytest.mark.process

STACK = "prod-us-west-2"
MIRROR = ROOT / "tests" / "infra" / "onboard" / "importing" / "cases" / "flow-of-three-connectors.yaml"
#: A program with a stranger's modules of the commonest names beside it.
_BESIDE = """
import sys; sys.path.insert(0, '.')
import components, infra, spark
from kafka_replication import Flow, ReplicationFlow, ReplicationFlowArgs
print(components.OWN, infra.OWN, spark.OWN, ReplicationFlow.__name__)
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the workflow of a release builds in a copy of this repository."""
    copy = tmp_path_factory.mktemp("copy") / "repository"
    a_repository(copy)
    (copy / "tests").mkdir()
    for file in (ROOT / "tests").glob("*.py"):
        shutil.copy(file, copy / "tests")
    set_up(copy, python=f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (copy / ".github").mkdir()
    changelog = release.CHANGELOG.read_text().replace(" - Unreleased\n", " - 2026-12-01\n")
    (copy / ".github" / "CHANGELOG.md").write_text(changelog)
    version = release.project()["version"]
    runner = Runner(copy, tmp_path_factory.mktemp("temporary"), {"github.ref_name": f"v{version}"})
    answers = runner.run_job(load("release")["jobs"]["build"])
    assert [answer.returncode for answer in answers.values()] == [0, 0, 0], answers
    assert answers["Build"].stdout == (copy / "dist" / "SHA256SUMS").read_text()
    assert (copy / "notes.md").read_text() == release.notes(f"v{version}", version, changelog)
    status = subprocess.run(["git", "status", "--short"], cwd=copy, capture_output=True, text=True, check=True)
    assert status.stdout.split() == ["??", ".github/", "??", "notes.md", "??", "tests/"], "dist/ is ignored"
    return copy / "dist"


@pytest.fixture(scope="module")
def core(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the released wheel, and links to the distributions that the core needs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in needed(tuple(Requirement(each).name for each in release.project()["dependencies"])):
        installed = distribution(name)
        assert isinstance(installed, PathDistribution)
        # The first is for scripts, the second for what is compiled.
        for top in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(installed.locate_file(top))))
    (wheel,) = released.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True, capture_output=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    return folder


def run(program: Path, *words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a program of `core` where nothing of the checkout is on the path."""
    command = [str(program), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={"HOME": str(cwd)})


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "--json"],
        ["environments"],
        ["explain", STACK, "orders"],
        ["acls", STACK],
        ["render", STACK, "--out", "{out}"],
        ["import", str(MIRROR), "--out", "{imported}"],
        ["diff", STACK, "--against", "{out}"],
        ["schema"],
        ["init", "{out}/new", "--source", "a", "--target", "b", "--topics", "c", "--groups", "d", "--yes"],
        ["review", "--help"],
    ],
    ids=lambda words: " ".join(words[:1] + [word for word in words[1:] if word.startswith("--")]),
)
def test_a_command_that_reads_files_needs_no_extra(words: list[str], core: Path, project: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if "{out}" in words and words[0] != "render":
        assert run(core / "replicate", "render", STACK, "--out", str(out), cwd=project).returncode == 0
    filled = [word.format(out=out, imported=tmp_path / "imported") for word in words]
    answer = run(core / "replicate", *filled, cwd=project)
    # An import exits with 1 if it leaves something out.
    assert answer.returncode in {0, 1}, answer.stderr
    assert answer.stdout
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["status", STACK], "operate"),
        (["up", STACK], "operate"),
        (["failover", STACK, "orders"], "operate"),
        (["validate", STACK], "prove"),
        (["local", "up"], "all"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    words: list[str], extra: str, core: Path, project: Path
) -> None:
    answer = run(core / "replicate", *words, cwd=project)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    said = " ".join(answer.stderr.split())
    assert f"is not installed, at this installation. `replicate {words[0]}` needs it. " in said
    assert f"run `pip install 'kafka-replication[{extra}]'`" in said
    assert "Traceback" not in said


def test_a_program_may_have_packages_of_its_own_that_are_named_as_our_folders(core: Path, tmp_path: Path) -> None:
    for name in ("components", "infra", "spark"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"OWN = {json.dumps(name)}\n")
    answer = run(core / "python", "-c", _BESIDE, cwd=tmp_path)
    assert answer.stdout == "components infra spark ReplicationFlow\n", answer.stderr


def test_the_command_prints_the_released_version(core: Path, tmp_path: Path) -> None:
    assert run(core / "replicate", "--version", cwd=tmp_path).stdout == f"replicate {release.project()['version']}\n"
