"""Which JDK is chosen, so that a machine whose default Java is too old does not fail minutes later."""

from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine.jdk import Jdk, choose_jdk, find_jdk


def a_home(folder: Path, version: str, modules: str | None = "java.base jdk.incubator.vector") -> Path:
    """A directory that looks like the home of a JDK of that version."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    lines = [f'JAVA_VERSION="{version}"', *([] if modules is None else [f'MODULES="{modules}"'])]
    (folder / "release").write_text("\n".join(lines))
    return folder


def test_java_home_wins_when_it_is_new_enough(tmp_path: Path) -> None:
    chosen = a_home(tmp_path / "chosen", "25.0.1")
    other = a_home(tmp_path / "other", "21.0.2")
    assert choose_jdk([chosen], [other], 21) == Jdk(chosen, 25)


def test_an_old_java_home_is_passed_over_for_a_newer_jdk_elsewhere(tmp_path: Path) -> None:
    old = a_home(tmp_path / "old", "17.0.15")
    new = a_home(tmp_path / "new", "25.0.3")
    assert choose_jdk([old], [old, new], 21) == Jdk(new, 25)


def test_the_oldest_jdk_that_is_new_enough_is_chosen(tmp_path: Path) -> None:
    homes = [a_home(tmp_path / version, version) for version in ("17.0.1", "26", "21.0.4", "25.0.3")]
    assert choose_jdk([], homes, 21).version == 21


def test_a_version_before_java_9_is_read_by_its_second_number(tmp_path: Path) -> None:
    eight = a_home(tmp_path / "eight", "1.8.0_402", modules=None)
    assert choose_jdk([eight], [], 8) == Jdk(eight, 8)


def test_a_runtime_without_the_module_that_spark_needs_is_refused(tmp_path: Path) -> None:
    cut_down = a_home(tmp_path / "cut-down", "25.0.1", modules="java.base java.sql")
    with pytest.raises(CannotRunError, match=r"jdk\.incubator\.vector"):
        choose_jdk([cut_down], [], 21)


def test_the_error_lists_what_was_found_and_says_what_to_install(tmp_path: Path) -> None:
    old = a_home(tmp_path / "old", "17.0.15")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CannotRunError) as raised:
        choose_jdk([empty], [old], 21)
    assert raised.value.what == "no JDK 21 or newer was found"
    assert f"{old}: Java 17" in raised.value.detail
    assert f"{empty}: not a Java home" in raised.value.detail
    assert "JAVA_HOME" in raised.value.remedy


def test_java_home_is_read_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = a_home(tmp_path / "mine", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_jdk() == Jdk(home, 21)


def test_java_on_path_is_followed_through_its_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = a_home(tmp_path / "jvm", "21.0.2")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(links))
    assert find_jdk() == Jdk(home, 21)
