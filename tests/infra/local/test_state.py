"""The state file: a kill -9 at any moment loses no server, and only its owner can read the passwords."""

from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.state import PartRecord, State, load_state, save_state

SECRET = "a-password-that-nobody-may-see"


def a_state() -> State:
    part = PartRecord(name="etcd", pid=42, created=1.5, log=Path("/logs/etcd.log"), ready=True)
    return State(ports={"etcd": 20001}, cluster_ids={"useast": "id"}, passwords={"a": SECRET}).with_part(part)


def test_a_saved_state_is_loaded_unchanged(tmp_path: Path) -> None:
    save_state(a_state(), tmp_path / "state.json")
    assert load_state(tmp_path / "state.json") == a_state()


def test_before_the_first_start_the_state_is_empty(tmp_path: Path) -> None:
    assert load_state(tmp_path / "state.json") == State()


def test_only_the_owner_can_read_the_file_even_if_it_replaces_a_readable_one(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.touch(mode=0o644)
    save_state(a_state(), file)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_old_state_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.json"
    save_state(a_state(), file)

    def full_disk(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        save_state(State(), file)
    assert load_state(file) == a_state()
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_damaged_file_is_an_error_that_shows_no_password(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(f'{{"ports": {{"etcd": "{SECRET}"}}}}')
    with pytest.raises(CannotRunError) as raised:
        load_state(file)
    assert "ports.etcd" in str(raised.value)
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None


def test_the_text_form_of_a_state_shows_no_password() -> None:
    assert SECRET not in repr(a_state())
    assert SECRET not in str(a_state())


def test_forgetting_a_part_leaves_the_others() -> None:
    both = a_state().with_part(PartRecord(name="kafka-useast", pid=43, created=2.5))
    assert list(both.without_part("etcd").parts) == ["kafka-useast"]
