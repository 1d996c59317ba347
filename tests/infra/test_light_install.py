"""The package as `pip install kafka-replication` leaves it, without extras: only what the core needs is on the path."""

import json
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kafka_replication.infra.machine.paths import link_package
from tests.job_image import needed
from tests.repository import ROOT

pytestmark = pytest.mark.process

STACK = "prod-us-west-2"
MIRROR = ROOT / "tests" / "infra" / "onboard" / "importing" / "cases" / "flow-of-three-connectors.yaml"
_RUN = "import sys; sys.path.append({path!r}); from kafka_replication.infra.commands.app import main; main()"
#: A program with a stranger's modules of the commonest names beside it.
_PROGRAM = """
import components, infra, spark
from kafka_replication import Flow, ReplicationFlow, ReplicationFlowArgs
print(components.OWN, infra.OWN, spark.OWN, ReplicationFlow.__name__)
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to the distributions that the core needs, and to the package."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in needed(tuple(Requirement(each).name for each in project["dependencies"])) | {project["name"]}:
        installed = distribution(name)
        assert isinstance(installed, PathDistribution)
        tops = {file.parts[0] for file in installed.files or ()} - {
            "..",
            "__pycache__",
        }  # Scripts, and what is compiled.
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(installed.locate_file(top))))
    link_package(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    return folder


def python(core: Path, code: str, *words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run Python without its own packages, but with those of `core`."""
    command = [sys.executable, "-S", "-c", code.format(path=str(core)), *words]
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
        assert python(core, _RUN, "render", STACK, "--out", str(out), cwd=project).returncode == 0
    filled = [word.format(out=out, imported=tmp_path / "imported") for word in words]
    answer = python(core, _RUN, *filled, cwd=project)
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
    answer = python(core, _RUN, *words, cwd=project)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    said = " ".join(answer.stderr.split())
    assert f"is not installed, at this installation. `replicate {words[0]}` needs it. " in said
    assert f"run `pip install 'kafka-replication[{extra}]'`" in said
    assert "Traceback" not in said


def test_a_program_may_have_packages_of_its_own_that_are_named_as_our_folders(core: Path, tmp_path: Path) -> None:
    for name in ("components", "infra", "spark"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"OWN = {json.dumps(name)}\n")
    code = "import sys; sys.path[:0] = ['.', {path!r}]\n" + _PROGRAM
    answer = python(core, code, cwd=tmp_path)
    assert answer.stdout == "components infra spark ReplicationFlow\n", answer.stderr
