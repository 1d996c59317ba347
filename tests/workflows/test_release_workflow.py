"""The jobs of the release workflow that publish. tests/infra/test_light_install.py runs the job that builds.

`make image-bench` runs an image that `make image` built; here, what builds, signs and pushes it only says so.
"""

import json
import os
from pathlib import Path

import pytest

from tests.oci_archive import an_image
from tests.release import BILL_OF_MATERIALS
from tests.repository import ROOT
from tests.workflows.workflow import Runner, load, set_up

#: Makes an environment whose pip prints its requirements, and whose uv prints its arguments.
_PYTHON = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@"; cat "$5"\\n' > "$3/bin/pip"
printf '#!/bin/sh\\necho "$@"\\n' > "$3/bin/uv"
chmod +x "$3/bin/pip" "$3/bin/uv"
"""
_GH = '#!/bin/sh\nprintf "<%s>" "$@" "$GH_TOKEN" "$GH_REPO"\n'
_SUDO = '#!/bin/sh\n[ "$1" != --preserve-env ] || shift\necho as root: "$@"; [ "$1" = apt-get ] || exec "$@"\n'
_MAKE = '#!/bin/sh\necho "$@" "$BUILDER on $IMAGE_BASE"\n'
_BUILDAH = '#!/bin/sh\ncp "$BUILT" "${3#oci-archive:}"\n'
_DOCKER = '#!/bin/sh\necho "$@"; cat\n'
_SKOPEO = '#!/bin/sh\necho "$@"; printf sha256:5ba > "$4"\n'
_COSIGN = '#!/bin/sh\necho "$@"\n'
_IMAGE = "ghcr.io/ann/mirrors@sha256:5ba"
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
    programs = {
        "python3": _PYTHON,
        "gh": _GH,
        "sudo": _SUDO,
        "make": _MAKE,
        "buildah": _BUILDAH,
        "docker": _DOCKER,
        "skopeo": _SKOPEO,
        "cosign": _COSIGN,
    }
    for name, script in programs.items():
        (tmp_path / "programs" / name).write_text(script)
        (tmp_path / "programs" / name).chmod(0o755)
    values = {
        "github.actor": "ann",
        "github.ref_name": "v1.2.3",
        "github.repository": "Ann/Mirrors",
        "github.token": "a token",
        "needs.publish-image.outputs.image": _IMAGE,
        "vars.IMAGE_BASE": "base@sha256:ba5e",
    }
    path = {"PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}"}
    return Runner(tmp_path / "workspace", tmp_path / "temporary", values, path)


def test_a_release_follows_only_a_tag_whose_tests_and_build_have_passed() -> None:
    workflow = load("release")
    # YAML 1.1 reads the key `on` as true.
    assert workflow[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}  # type: ignore[index]
    assert {name: job.get("needs") for name, job in workflow["jobs"].items()} == {
        "test": None,
        "build": None,
        "image": None,
        "publish": ["test", "build"],
        "publish-image": ["image", "publish"],
        "release": "publish-image",
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


def test_the_image_is_written_as_it_is_pushed_with_a_bill_of_what_it_holds(runner: Runner, tmp_path: Path) -> None:
    digest = an_image(tmp_path / "built.tar", {"var/lib/dpkg/status": "Package: bash\nVersion: 5\n"})
    set_up(runner.workspace)
    runner.variables |= {"BUILT": str(tmp_path / "built.tar"), "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": "/opt/lib"}
    answers = runner.run_job(load("release")["jobs"]["image"])
    assert {answer.returncode for answer in answers.values()} == {0}, answers
    assert answers["Build the image"].stdout.splitlines() == [
        f"as root: env PATH={runner.variables['PATH']} LD_LIBRARY_PATH=/opt/lib BUILDER=buildah make image",
        "image buildah on base@sha256:ba5e",
    ]
    bill = json.loads((runner.workspace / "image.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == digest
    assert [part["purl"] for part in bill["components"]] == ["pkg:deb/debian/bash@5"]
    uploaded = load("release")["jobs"]["image"]["steps"][-1]["with"]
    assert uploaded == {"name": "image", "path": "image.*"}
    assert (runner.workspace / "image.tar").read_bytes() == (tmp_path / "built.tar").read_bytes()


def test_the_image_is_pushed_unchanged_with_the_jobs_own_token_and_its_digest_signed(runner: Runner) -> None:
    answers = runner.run_job(load("release")["jobs"]["publish-image"])
    assert {answer.returncode for answer in answers.values()} == {0}, answers
    assert answers["Push"].stdout.splitlines() == [
        "login ghcr.io --username ann --password-stdin",
        "a token",
        "copy --preserve-digests --digestfile digest.txt oci-archive:image.tar docker://ghcr.io/ann/mirrors:1.2.3",
    ]
    assert answers["Sign the digest as this workflow"].stdout == f"sign --yes {_IMAGE}\n"
    assert runner.outputs == {"name": "ghcr.io/ann/mirrors", "digest": "sha256:5ba", "image": _IMAGE}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yaml").read_text()


def test_of_the_image_it_is_attested_who_built_it_and_what_it_holds() -> None:
    job = load("release")["jobs"]["publish-image"]
    given = [step["with"] for step in job["steps"] if "actions/attest@" in step.get("uses", "")]
    subject = {
        "subject-name": "${{ steps.push.outputs.name }}",
        "subject-digest": "${{ steps.push.outputs.digest }}",
        "push-to-registry": True,
        # It would need one more right.
        "create-storage-record": False,
    }
    assert given == [subject, {**subject, "sbom-path": "image.cdx.json"}]
    assert job["outputs"] == {"image": "${{ steps.push.outputs.image }}"}


def test_the_page_verifies_a_signature_as_that_of_this_workflow() -> None:
    page = (ROOT / ".github" / "SECURITY.md").read_text()
    identity = "https://github.com/OWNER/REPOSITORY/.github/workflows/release.yaml@refs/tags/v1.0.0"
    assert f"--certificate-identity {identity}" in page
    assert "gh attestation verify oci://ghcr.io/OWNER/REPOSITORY@sha256:" in page


def test_the_release_on_github_has_every_file_the_notes_and_the_digest_of_the_image(runner: Runner) -> None:
    answers = runner.run_job(load("release")["jobs"]["release"])
    files = "".join(f"<dist/{name}>" for name in ("SHA256SUMS", "a.tar.gz", "a.whl", BILL_OF_MATERIALS))
    assert answers["Release on GitHub"].stdout == (
        f"<release><create><v1.2.3><--verify-tag><--title><v1.2.3><--notes-file><notes.md>{files}<a token><Ann/Mirrors>"
    )
    assert f"`{_IMAGE}`" in (runner.workspace / "notes.md").read_text()
