"""`replicate review --yaml` in a repository: what it compares, writes and ends with. It needs no project."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from infra.commands.app import app
from infra.review.pull_request import MARKER
from tests.infra.importing.resources import MIRROR
from tests.infra.yaml_review.folders import FOLDER
from tests.workflows.workflow import commit, git

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


def said(result: Result) -> str:
    error = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    return " ".join(f"{result.output}{error}".split())


def test_it_says_what_the_working_tree_changes(repository: Path) -> None:
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: other")
    result = review()
    assert result.exit_code == 0
    assert "It changes 1 object in `kafka`. The most severe effect: data." in said(result)
    assert "topics-stop, at mm2.yaml" in said(result)
    written = {each.name: each.read_text() for each in Path("review").iterdir()}
    assert written.keys() == {"comment.md", "effects.json", "review.json"}
    assert written["comment.md"].startswith(MARKER)
    assert json.loads(written["review.json"]) == {"stacks": [], "deployable": [], "comment": written["comment.md"]}
    effects = json.loads(written["effects.json"])
    assert (effects["severity"], effects["judged"], effects["failed"]) == ("data", True, False)
    assert {each["code"] for each in effects["effects"]} == {"topics-stop", "topics-start", "connector-restarts"}


def test_what_was_merged_meanwhile_is_no_part_of_the_change(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "main")
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: other")
    commit(repository)
    git(repository, "checkout", "--quiet", "change")
    assert "It changes no object" in said(review())


def test_a_mistake_of_the_change_ends_with_1_and_an_older_one_does_not(repository: Path) -> None:
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: stock,orders")
    result = review()
    assert result.exit_code == 1
    assert "topics-overlap" in said(result)
    assert "**Mistakes that this change introduces: 1**" in Path("review/comment.md").read_text()
    git(repository, "checkout", "--quiet", "main")
    git(repository, "checkout", "--quiet", "-b", "later")
    commit(repository)
    git(repository, "branch", "--force", "main", "later")
    result = review()
    assert (result.exit_code, "as before: error: topics-overlap" in said(result)) == (0, True)
    assert "Mistakes that were there before: 1" in Path("review/comment.md").read_text()


def test_a_loop_that_the_change_closes_is_a_mistake(repository: Path) -> None:
    """Its two halves have logins of their own, as in two namespaces."""
    back = MIRROR.replace("mm2", "back").replace("namespace: kafka", "namespace: other")
    back = back.replace("east", "south").replace("west", "east").replace("south", "west")
    back = back.replace("    alias: east\n", "    alias: east\n    tls: {}\n")
    policy = "config: {replication.policy.class: org.apache.kafka.connect.mirror.IdentityReplicationPolicy}"
    for name, text in (("mm2.yaml", MIRROR), ("back.yaml", back)):
        write(repository / "kafka", {name: text.replace("sourceConnector: {", f"sourceConnector: {{{policy}, ")})
    result = review()
    assert result.exit_code == 1
    assert "replication-loop" in said(result)


def test_a_file_that_cannot_be_read_ends_with_1_and_is_named(repository: Path) -> None:
    (repository / "kafka" / "mm2.yaml").write_text("{{- if .Values.on }}\nkind: x\n{{- end }}\n")
    result = review()
    assert result.exit_code == 1
    assert "`mm2.yaml`: It cannot be read" in said(result)
    assert "The file is a template" in said(result)


def test_no_value_of_a_secret_is_written_or_printed(repository: Path) -> None:
    write(repository / "kafka", {"login.yaml": SECRET})
    result = review()
    assert "Secret default/login" in said(result)
    assert "hunter2" not in said(result) + "".join(each.read_text() for each in Path("review").iterdir())


def test_files_that_git_ignores_links_and_other_folders_are_left_out(repository: Path) -> None:
    write(repository / "kafka" / "made", FOLDER)
    write(repository / "other", {"mm2.yaml": FOLDER["mm2.yaml"].replace("stock", "more")})
    assert "It changes no object" in said(review())
    (repository / "kafka" / "link.yaml").symlink_to("/etc/hostname")
    assert "`link.yaml`, (the file): It is a link" in said(review())


def test_names_of_files_may_hold_anything(repository: Path) -> None:
    name = 'a "b"\té [bold].yaml'
    write(repository / "kafka", {name: FOLDER["mm2.yaml"].replace("mm2", "mm3").replace("stock", "new")})
    commit(repository)
    git(repository, "branch", "--force", "main", "change")
    edit(repository / "kafka" / name, "topicsPattern: new", "topicsPattern: newer")
    result = review()
    assert result.exit_code == 0
    assert "It changes 1 object in" in said(result)


@pytest.mark.parametrize("folder", [".", "kafka", "kafka/"])
def test_a_folder_is_found_from_wherever_it_is_named(folder: str, repository: Path) -> None:
    edit(repository / "kafka" / "mm2.yaml", "topicsPattern: stock", "topicsPattern: other")
    assert "It changes 1 object in" in said(review(folder=folder))


def test_a_deleted_folder_is_reviewed_and_a_misspelt_one_refused(repository: Path) -> None:
    for each in (repository / "kafka").iterdir():
        each.unlink()
    (repository / "kafka").rmdir()
    assert "replication-removed" in said(review())
    result = review(folder="kafak")
    assert "no-such-folder: the folder exists neither now nor at the base" in said(result)


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
def test_what_cannot_be_reviewed_is_said(arguments: list[str], code: str, repository: Path) -> None:
    assert repository.is_dir()
    assert f"{code}: " in said(CliRunner().invoke(app, ["review", *arguments]))


def test_outside_a_repository_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "kafka", FOLDER)
    assert "no-git-repository" in said(review())


def test_files_that_are_no_yaml_are_named_and_a_submodule_too(repository: Path, tmp_path: Path) -> None:
    write(repository / "kafka", {"connect.conf": "a=b\n", "README.md": "text\n", "_helpers.tpl": "x\n"})
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    write(other, {"mm2.yaml": FOLDER["mm2.yaml"]})
    commit(other)
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "kafka/module")
    found = said(review())
    assert "Changed files that are not YAML, which this command does not read: `connect.conf`" in found
    assert "`README.md`" not in found
    for name in ("_helpers.tpl", "module"):
        assert f"`{name}`, (the file): It is a link, a submodule, a template" in found
