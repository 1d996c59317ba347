"""Folders that are built once for each pin: a changed pin is built again, and an unchanged one is not."""

from pathlib import Path

import pytest

from kafka_replication.infra.machine import paths
from kafka_replication.infra.machine.paths import building, pinned_folder


def test_equal_pins_share_a_folder_and_changed_pins_get_another(tmp_path: Path) -> None:
    pom = tmp_path / "pom.xml"
    pom.write_text("4.2.0")
    folder = pinned_folder("jars", [pom])
    assert pinned_folder("jars", [pom]) == folder
    pom.write_text("4.2.1")
    assert pinned_folder("jars", [pom]) != folder


def test_the_folder_depends_on_the_build_options_too() -> None:
    assert pinned_folder("jars", [], "-s", "-w") != pinned_folder("jars", [], "-s")
    assert pinned_folder("jars", [], "ab", "c") != pinned_folder("jars", [], "a", "bc")


def test_a_folder_exists_only_once_its_contents_are_complete() -> None:
    folder = pinned_folder("jars", [], "a")

    def build(fails: bool) -> None:
        with building(folder) as unfinished:
            assert list(unfinished.iterdir()) == []
            (unfinished / "a.jar").touch()
            assert (unfinished.parent, folder.parent) == (paths.cache(), paths.cache())
            assert not folder.exists()
            if fails:
                raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        build(fails=True)
    build(fails=False)
    assert [file.name for file in folder.iterdir()] == ["a.jar"]
