"""Which project a command works on. Otherwise `check` in another repository could pass on the stacks of this one."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.stack.project import Project, find_project, read_project
from tests.infra.stacks import write_stack


def a_project(folder: Path, text: str = "name: mine\nstackConfigDir: stacks\n") -> Path:
    """A project with a stack `test`."""
    (folder / "stacks").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text(text)
    write_stack(folder / "stacks")
    return folder


def test_the_nearest_folder_above_with_a_project_file_is_the_project(tmp_path: Path) -> None:
    outer = a_project(tmp_path / "outer")
    inner = a_project(outer / "inner", "name: inner\nstackConfigDir: stacks\n")
    deep = inner / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep) == Project(inner, inner / "stacks", "inner")
    assert find_project(outer / "stacks").name == "mine"


def test_stack_files_are_beside_the_project_file_by_default(tmp_path: Path) -> None:
    assert read_project(a_project(tmp_path, "name: mine\n")).stacks == tmp_path
    (tmp_path / "Pulumi.yaml").write_text("name: mine\nstackConfigDir:\n")
    assert read_project(tmp_path).stacks == tmp_path


def test_without_a_project_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match=r"no Pulumi\.yaml.*any folder above.*`replicate init DIR`"):
        find_project(tmp_path)


def test_a_named_folder_has_to_be_a_project_itself(tmp_path: Path) -> None:
    """Otherwise a typo in `--project` would make a command work on the project in a folder above."""
    a_project(tmp_path)
    with pytest.raises(CannotRunError, match=r"no Pulumi\.yaml"):
        read_project(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: {a", r"Pulumi\.yaml:1:7: invalid-yaml: a mapping in `{` is not closed"),
        ("name: x\n\truntime: python", r"Pulumi\.yaml:2:1: invalid-yaml: the line is indented with a tab"),
        ("a: 1", "no name"),
        ("", "has no keys"),
        ("- a", "has no keys"),
        ("name: 3", "no name"),
    ],
)
def test_an_invalid_project_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CannotRunError, match=said):
        read_project(a_project(tmp_path, text))


def test_a_command_works_on_the_project_that_it_is_called_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(a_project(tmp_path) / "stacks")
    assert CliRunner().invoke(app, ["check"]).output == "✓ test: 0 errors, 0 warnings\n"


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_command_works_on_the_project_that_an_option_or_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    folder = a_project(tmp_path / "project")
    monkeypatch.chdir(tmp_path)
    if by_variable:
        monkeypatch.setenv("REPLICATE_PROJECT", str(folder))
    answer = CliRunner().invoke(app, ["check"] if by_variable else ["--project", str(folder), "check"])
    assert answer.output == "✓ test: 0 errors, 0 warnings\n"


def test_check_reads_the_folder_that_the_stacks_option_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_project(tmp_path / "project")
    other = write_stack(tmp_path)
    (other / "Pulumi.test.yaml").rename(other / "Pulumi.other.yaml")
    monkeypatch.chdir(folder)
    assert CliRunner().invoke(app, ["check", "--stacks", str(other)]).output == "✓ other: 0 errors, 0 warnings\n"
    answer = CliRunner().invoke(app, ["check", "--stacks", str(tmp_path / "nowhere")])
    assert isinstance(answer.exception, CannotRunError)
    assert answer.exception.what == "there is no such folder"


def test_the_local_stack_is_in_the_folder_of_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATE_LOCAL", "remembered, so that it is restored")
    monkeypatch.delenv("REPLICATE_LOCAL")
    folder = a_project(tmp_path)
    CliRunner().invoke(app, ["--project", str(folder), "local", "status"])
    assert os.environ["REPLICATE_LOCAL"] == str(folder / ".local")
