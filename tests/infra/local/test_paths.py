"""Where a local stack keeps its files: tests and users have separate states, but build everything only once."""

from pathlib import Path

import pytest

from kafka_replication.infra.local import paths
from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.machine.toolchain import CONNECT, ETCD
from kafka_replication.infra.stack.project import local_folder

OWN = (paths.state_file, paths.lock_file, paths.logs, paths.data, paths.control_plane, paths.kubeconfig, paths.operator)


def own_paths() -> set[Path]:
    return {path() for path in OWN} | {Authority("useast").pair("ca").key, paths.pulumi(), paths.validation()}


def test_two_stacks_share_only_what_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, built = own_paths(), {ETCD.built, CONNECT.directory}
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path / "second"))
    assert {ETCD.built, CONNECT.directory} == built
    assert own_paths().isdisjoint(first)
    assert all(path.is_relative_to(tmp_path / "second") for path in own_paths())


def test_the_default_folder_of_a_stack_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLICATE_LOCAL")
    monkeypatch.chdir(tmp_path)
    assert local_folder() == tmp_path / ".local"
