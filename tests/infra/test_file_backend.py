"""A backend of files: where it lies, and which attributes beside its files are removed."""

import os
import pwd
from pathlib import Path

import pytest

from infra.file_backend import file_backend, locks_folder, remove_torn_attributes

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
        pytest.param("", None, id="nobody-knows"),
    ],
)
def test_where_a_backend_of_files_lies(url: str, folder: str | None) -> None:
    assert file_backend(url, Path("/project")) == (Path(folder) if folder is not None else None)


def test_attributes_are_removed_where_they_were_not_written_to_their_end(tmp_path: Path) -> None:
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


def test_a_backend_without_the_stack_is_left_alone(tmp_path: Path) -> None:
    remove_torn_attributes(tmp_path, PROJECT, STACK)
    assert list(tmp_path.iterdir()) == []
