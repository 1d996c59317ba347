"""The jobs of the release workflow that publish. tests/infra/test_light_install.py runs the job that builds."""

import os
from pathlib import Path

import pytest

from tests.release import BILL_OF_MATERIALS
from tests.workflows.workflow import Runner, load

#: Makes an environment whose pip prints its requirements, and whose uv prints its arguments.
_PYTHON = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@"; cat "$5"\\n' > "$3/bin/pip"
printf '#!/bin/sh\\necho "$@"\\n' > "$3/bin/uv"
chmod +x "$3/bin/pip" "$3/bin/uv"
"""
_GH = '#!/bin/sh\nprintf "<%s>" "$@" "$GH_TOKEN" "$GH_REPO"\n'
_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A machine that has downloaded what the build left, with programs that print what they are called with."""
    dist = tmp_path / "workspace" / "dist"
    for folder in (dist, tmp_path / "temporary", tmp_path / "programs"):
        folder.mkdir(parents=True)
    for name in ("a.whl", "a.tar.gz", BILL_OF_MATERIALS):
        (dist / name).touch()
    (dist / "SHA256SUMS").write_text("".join(f"{_EMPTY}  {file.name}\n" for file in dist.iterdir()))
    for name, script in (("python3", _PYTHON), ("gh", _GH)):
        (tmp_path / "programs" / name).write_text(script)
        (tmp_path / "programs" / name).chmod(0o755)
    values = {"github.ref_name": "v1.2.3", "github.token": "a token", "github.repository": "ann/mirrors"}
    path = {"PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}"}
    return Runner(tmp_path / "workspace", tmp_path / "temporary", values, path)


def test_a_release_follows_only_a_tag_whose_tests_and_build_have_passed() -> None:
    workflow = load("release")
    # YAML 1.1 reads the key `on` as true.
    assert workflow[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}  # type: ignore[index]
    assert {name: job.get("needs") for name, job in workflow["jobs"].items()} == {
        "test": None,
        "build": None,
        "publish": ["test", "build"],
        "release": "publish",
    }


def test_the_tests_of_a_release_are_those_of_every_merge() -> None:
    assert load("release")["jobs"]["test"]["uses"] == "./.github/workflows/ci.yaml"
    assert "workflow_call" in load("ci")[True]  # type: ignore[index]


def test_the_archives_are_published_without_a_token_by_a_program_that_is_pinned_by_hash(runner: Runner) -> None:
    answers = runner.run_job(load("release")["jobs"]["publish"])
    assert [answer.returncode for answer in answers.values()] == [0, 0, 0], answers
    assert "--require-hashes" in answers["Install uv"].stdout
    assert "uv==" in answers["Install uv"].stdout
    published = answers["Publish on PyPI"].stdout
    assert published == "publish --trusted-publishing always dist/a.whl dist/a.tar.gz\n"


def test_a_file_that_was_changed_after_the_build_is_not_published(runner: Runner) -> None:
    (runner.workspace / "dist" / "a.whl").write_text("something else")
    answers = runner.run_job(load("release")["jobs"]["publish"])
    assert list(answers) == ["Verify the checksums"]
    assert answers["Verify the checksums"].returncode == 1


def test_what_is_attested_is_what_the_build_writes() -> None:
    given = [step["with"] for step in load("release")["jobs"]["publish"]["steps"] if "attest" in step.get("uses", "")]
    assert given == [
        {"subject-checksums": "dist/SHA256SUMS"},
        {"subject-path": "dist/*.whl", "sbom-path": f"dist/{BILL_OF_MATERIALS}"},
    ]


def test_the_release_on_github_has_every_file_and_the_notes(runner: Runner) -> None:
    answers = runner.run_job(load("release")["jobs"]["release"])
    files = "".join(f"<dist/{name}>" for name in ("SHA256SUMS", "a.tar.gz", "a.whl", BILL_OF_MATERIALS))
    assert answers["Release on GitHub"].stdout == (
        f"<release><create><v1.2.3><--verify-tag><--title><v1.2.3><--notes-file><notes.md>{files}<a token><ann/mirrors>"
    )
