"""Which stacks a change touches. Without these tests a pull request is reviewed for the wrong stacks, or for none."""

import subprocess
from pathlib import Path, PurePosixPath

import pytest

from kafka_replication.infra.review.bases import changed_paths, read_topologies, touched_stacks, touches_program
from kafka_replication.infra.stack.settings import stack_names
from tests.infra.stacks import write_stack
from tests.repository import STACKS

pytestmark = pytest.mark.process

TOPOLOGIES = {"east": "prod", "west": "prod", "lab": "lab", "odd": None}
ALL = ("east", "lab", "odd", "west")


@pytest.mark.parametrize(
    ("paths", "touched"),
    [
        pytest.param([], ("odd",), id="no path, and a stack of unknown topology"),
        pytest.param(["stacks/Pulumi.lab.yaml"], ("lab", "odd"), id="the file of a stack"),
        pytest.param(["stacks/topologies/prod.yaml"], ("east", "odd", "west"), id="the topology of two stacks"),
        pytest.param(["stacks/topologies/unused.yaml"], ("odd",), id="a topology of no stack"),
        pytest.param(["stacks/Pulumi.gone.yaml"], ("gone", "odd"), id="a removed stack file"),
        pytest.param(["stacks/topologies/deep/prod.yaml"], ("odd",), id="not a topology, because it lies deeper"),
        pytest.param(["components/render/connect.py"], ALL, id="code that renders objects"),
        pytest.param(["requirements.txt"], ALL, id="the libraries"),
        pytest.param(["Pulumi.yaml"], ALL, id="the project"),
        pytest.param(["a_new_folder/of.whatever"], ALL, id="an unknown file"),
        pytest.param(["tests/conftest.py", ".github/workflows/ci.yaml", ".ci/run"], ("odd",), id="tests and CI"),
        pytest.param(["rendered/west/orders/connect.yaml"], ("odd",), id="a rendered file"),
        pytest.param(["README.md", "components/NOTES.md", "Makefile", "LICENSE"], ("odd",), id="documentation"),
        pytest.param(["stacks/promotion.yaml", "stacks/topology.schema.json"], ("odd",), id="the plan and the schemas"),
    ],
)
def test_changed_paths_touch_the_stacks_that_depend_on_them(paths: list[str], touched: tuple[str, ...]) -> None:
    assert touched_stacks(paths, TOPOLOGIES, PurePosixPath("stacks")) == touched


def test_stack_files_and_tests_do_not_count_as_changes_of_the_program() -> None:
    stacks = PurePosixPath("stacks")
    assert not touches_program(["stacks/topologies/prod.yaml", "stacks/Pulumi.prod.yaml", "tests/x.py"], stacks)
    assert touches_program(["stacks/topologies/prod.yaml", "infra/review/render.py"], stacks)


@pytest.mark.parametrize("stacks", [".", "kafka/stacks"])
def test_stack_files_are_found_where_the_project_keeps_them(stacks: str) -> None:
    folder = PurePosixPath(stacks)
    assert touched_stacks([str(folder / "Pulumi.lab.yaml")], TOPOLOGIES, folder) == ("lab", "odd")
    assert touched_stacks([str(folder / "topologies" / "prod.yaml")], TOPOLOGIES, folder) == ("east", "odd", "west")
    assert touches_program(["__main__.py"], folder)


def test_the_topology_of_every_stack_in_this_repository_is_found() -> None:
    found = read_topologies(STACKS)
    assert tuple(found) == stack_names(STACKS)
    assert {f"{name}.yaml" for name in found.values()} == {file.name for file in (STACKS / "topologies").glob("*.yaml")}


@pytest.mark.parametrize("text", ["config: {a: 1, a: 2}", "- x", "config: []", "config: {}", "{"])
def test_a_malformed_stack_file_has_no_known_topology(tmp_path: Path, text: str) -> None:
    """The review continues and reports what is wrong with the file."""
    write_stack(tmp_path)
    (tmp_path / "Pulumi.odd.yaml").write_text(text)
    assert read_topologies(tmp_path) == {"odd": None, "test": "test"}


def test_changed_paths_are_committed_open_and_new_files_and_both_names_of_a_rename(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    for name in ("kept", "moved", "open", "committed"):
        (tmp_path / name).write_text(f"{name}\n" * 9)
    (tmp_path / ".gitignore").write_text("ignored\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", "before")
    since = git("rev-parse", "HEAD")
    git("mv", "moved", "élan")
    (tmp_path / "committed").write_text("other")
    git("commit", "--quiet", "--all", "--message", "after")
    for name in ("open", "new", "ignored"):
        (tmp_path / name).write_text("other")
    assert changed_paths(since, tmp_path) == ("committed", "moved", "new", "open", "élan")
    folder = tmp_path / "replication"
    folder.mkdir()
    (folder / "new").write_text("other")
    assert changed_paths(since, folder) == ("new",), "a project within a repository is touched by its own files"
