"""Folders that are built once for each pin: a changed pin is built again, and an unchanged one is not."""

from pathlib import Path

from infra.machine import paths
from infra.machine.paths import pinned_folder, unfinished


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


def test_an_unfinished_folder_is_in_the_cache_beside_the_finished_one() -> None:
    folder = pinned_folder("jars", [], "a")
    assert (unfinished(folder).parent, folder.parent) == (paths.cache(), paths.cache())
    assert unfinished(folder) != folder
