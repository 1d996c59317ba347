"""`replicate review --yaml` in a repository: what it compares and writes, and its exit code. It needs no project."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.review.pull_request import MARKER
from tests.infra.onboard.importing.resources import MIRROR
from tests.infra.review.yaml.folders import FOLDER
from tests.workflows.workflow import commit, git

pytestmark = pytest.mark.process

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: hunter2}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with YAML and no project, on a branch that began at `main`."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    write(folder / "kafka", FOLDER)
    (folder / ".gitignore").write_text("made/\n")
    commit(folder)
    git(folder, "checkout", "--quiet", "-b", "change")
    monkeypatch.chdir(folder)
    return folder


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def review(*options: str, folder: str = "kafka") -> Result:
    return CliRunner().invoke(app, ["review", "--yaml", folder, "--out", "review", "--against", "main", *options])


def printed(result: Result) -> str:
    error = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    return " ".join(f"{result.output}{error}".split())


def test_the_effects_of_the_working_tree_are_printed_and_written(repository: Path) -> None:
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: other")
    result = review()
    assert result.exit_code == 0
    assert "It changes 1 object in `kafka`. The most severe effect: data." in printed(result)
    assert "topics-stop, at mm2.yaml" in printed(result)
    written = {each.name: each.read_text() for each in Path("review").iterdir()}
    assert written.keys() == {"comment.md", "effects.json", "review.json"}
    assert written["comment.md"].startswith(MARKER)
    assert json.loads(written["review.json"]) == {"stacks": [], "deployable": [], "comment": written["comment.md"]}
    effects = json.loads(written["effects.json"])
    assert (effects["severity"], effects["judged"], effects["failed"]) == ("data", True, False)
    assert {effect["code"] for effect in effects["effects"]} == {"topics-stop", "topics-start", "connector-restarts"}


def test_a_commit_made_on_main_meanwhile_is_not_part_of_the_change(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "main")
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: other")
    commit(repository)
    git(repository, "checkout", "--quiet", "change")
    assert "It changes no object" in printed(review())


def test_a_new_mistake_exits_with_1_and_an_older_mistake_exits_with_0(repository: Path) -> None:
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: stock,orders")
    result = review()
    assert result.exit_code == 1
    assert "topics-overlap" in printed(result)
    assert "**Mistakes that this change introduces: 1**" in Path("review/comment.md").read_text()
    git(repository, "checkout", "--quiet", "main")
    git(repository, "checkout", "--quiet", "-b", "later")
    commit(repository)
    git(repository, "branch", "--force", "main", "later")
    result = review()
    assert (result.exit_code, "as before: error: topics-overlap" in printed(result)) == (0, True)
    assert "Mistakes that were there before: 1" in Path("review/comment.md").read_text()


def test_a_change_that_closes_a_replication_loop_is_a_mistake(repository: Path) -> None:
    """The two halves of the loop have separate logins, as in two namespaces."""
    back = MIRROR.replace("mm2", "back").replace("namespace: kafka", "namespace: other")
    back = back.replace("east", "south").replace("west", "east").replace("south", "west")
    back = back.replace("    alias: east\n", "    alias: east\n    tls: {}\n")
    policy = "config: {replication.policy.class: org.apache.kafka.connect.mirror.IdentityReplicationPolicy}"
    for name, text in (("mm2.yaml", MIRROR), ("back.yaml", back)):
        write(repository / "kafka", {name: text.replace("sourceConnector: {", f"sourceConnector: {{{policy}, ")})
    result = review()
    assert result.exit_code == 1
    assert "replication-loop" in printed(result)


def test_an_unreadable_file_exits_with_1_and_is_named(repository: Path) -> None:
    (repository / "kafka" / "mm2.yaml").write_text("{{- if .Values.on }}\nkind: x\n{{- end }}\n")
    result = review()
    assert result.exit_code == 1
    assert "`mm2.yaml`: It cannot be read" in printed(result)
    assert "The file is a template" in printed(result)


def test_no_value_of_a_secret_is_written_or_printed(repository: Path) -> None:
    write(repository / "kafka", {"login.yaml": SECRET})
    result = review()
    assert "Secret default/login" in printed(result)
    assert "hunter2" not in printed(result) + "".join(each.read_text() for each in Path("review").iterdir())


def test_ignored_files_and_other_folders_are_left_out_and_a_link_is_named(repository: Path) -> None:
    write(repository / "kafka" / "made", FOLDER)
    write(repository / "other", {"mm2.yaml": FOLDER["mm2.yaml"].replace("stock", "more")})
    assert "It changes no object" in printed(review())
    (repository / "kafka" / "link.yaml").symlink_to("/etc/hostname")
    assert "`link.yaml`, (the file): It is a link" in printed(review())


def test_a_file_with_special_characters_in_its_name_is_reviewed(repository: Path) -> None:
    name = 'a "b"\té [bold].yaml'
    write(repository / "kafka", {name: FOLDER["mm2.yaml"].replace("mm2", "mm3").replace("stock", "new")})
    commit(repository)
    git(repository, "branch", "--force", "main", "change")
    edit(repository / "kafka" / name, "topicsPattern: new", "topicsPattern: newer")
    result = review()
    assert result.exit_code == 0
    assert "It changes 1 object in" in printed(result)


@pytest.mark.parametrize("folder", [".", "kafka", "kafka/"])
def test_every_way_of_writing_the_path_of_the_folder_is_accepted(folder: str, repository: Path) -> None:
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: other")
    assert "It changes 1 object in" in printed(review(folder=folder))


def test_a_deleted_folder_is_reviewed_and_a_misspelt_one_is_refused(repository: Path) -> None:
    for each in (repository / "kafka").iterdir():
        each.unlink()
    (repository / "kafka").rmdir()
    assert "replication-removed" in printed(review())
    result = review(folder="kafak")
    assert "no-such-folder: the folder exists neither now nor at the base" in printed(result)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--yaml", "kafka/mm2.yaml", "--out", "review", "--against", "main"], "not-a-folder"),
        (["--yaml", "kafka", "--out", "review", "--against", "nothing"], "unknown-git-ref"),
        (["--yaml", "kafka", "--out", "kafka", "--against", "main"], "folder-not-empty"),
        (["--namespace", "kafka", "--out", "review"], "option-without-yaml"),
        (["--out", "review"], "no-project"),
    ],
)
def test_a_call_that_cannot_be_reviewed_is_refused_with_a_problem_code(
    arguments: list[str], code: str, repository: Path
) -> None:
    assert repository.is_dir()
    assert f"{code}: " in printed(CliRunner().invoke(app, ["review", *arguments]))


def test_a_folder_outside_a_git_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "kafka", FOLDER)
    assert "no-git-repository" in printed(review())


def test_changed_files_that_are_not_yaml_and_submodules_are_named(repository: Path, tmp_path: Path) -> None:
    write(repository / "kafka", {"connect.conf": "a=b\n", "README.md": "text\n", "_helpers.tpl": "x\n"})
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    write(other, {"mm2.yaml": FOLDER["mm2.yaml"]})
    commit(other)
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "kafka/module")
    found = printed(review())
    assert "Changed files that are not YAML, which this command does not read: `connect.conf`" in found
    assert "`README.md`" not in found
    for name in ("_helpers.tpl", "module"):
        assert f"`{name}`, (the file): It is a link, a submodule, a template" in found
