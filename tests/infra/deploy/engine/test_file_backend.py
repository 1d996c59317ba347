"""The file backend: where its folder is, and which attribute files are removed from it."""

import os
import pwd
from pathlib import Path

import pytest

from infra.deploy.engine.file_backend import file_backend, locks_folder, remove_torn_attributes

PROJECT, STACK = "replication", "prod"


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        pytest.param("file:///srv/state", "/srv/state", id="absolute"),
        pytest.param("file:///srv/state?no_tmp_dir=true", "/srv/state", id="with-options"),
        pytest.param("file://~", pwd.getpwuid(os.getuid()).pw_dir, id="login-local"),
        pytest.param("file://~/state", f"{pwd.getpwuid(os.getuid()).pw_dir}/state", id="below-home"),
        pytest.param("file://./state", "/project/state", id="relative-to-the-project"),
        pytest.param("https://app.pulumi.com/somebody", None, id="pulumi-cloud"),
        pytest.param("s3://bucket", None, id="a-bucket"),
        pytest.param("", None, id="unknown"),
    ],
)
def test_the_folder_of_a_file_backend_is_read_from_its_url(url: str, folder: str | None) -> None:
    assert file_backend(url, Path("/project")) == (Path(folder) if folder is not None else None)


def test_only_half_written_attribute_files_of_the_stack_are_removed(tmp_path: Path) -> None:
    stacks, locks = tmp_path / ".pulumi" / "stacks" / PROJECT, locks_folder(tmp_path, PROJECT, STACK)
    for folder in (stacks, locks):
        folder.mkdir(parents=True)
    torn = {stacks / f"{STACK}.json.attrs": "", locks / "1.json.attrs": '{"md5": '}
    kept = {
        stacks / f"{STACK}.json": "",
        stacks / f"{STACK}.json.bak.attrs": "{}",
        stacks / "other.json.attrs": "",
        locks / "2.json.attrs": "{}",
    }
    for file, text in (torn | kept).items():
        file.write_text(text)
    remove_torn_attributes(tmp_path, PROJECT, STACK)
    assert {file for file in torn | kept if file.exists()} == set(kept)


def test_a_backend_without_the_stack_stays_as_it_is(tmp_path: Path) -> None:
    remove_torn_attributes(tmp_path, PROJECT, STACK)
    assert list(tmp_path.iterdir()) == []
