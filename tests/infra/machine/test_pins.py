"""What is made once a pin. Without these a changed version keeps the old jars, or every command builds anew."""

from pathlib import Path

from infra.machine import paths
from infra.machine.paths import pinned_folder, unfinished


def test_the_same_pins_lie_in_one_folder_and_others_in_another(tmp_path: Path) -> None:
    pom = tmp_path / "pom.xml"
    pom.write_text("4.2.0")
    folder = pinned_folder("jars", [pom])
    assert pinned_folder("jars", [pom]) == folder
    pom.write_text("4.2.1")
    assert pinned_folder("jars", [pom]) != folder


def test_the_recipe_counts_as_much_as_the_files() -> None:
    assert pinned_folder("jars", [], "-s", "-w") != pinned_folder("jars", [], "-s")
    assert pinned_folder("jars", [], "ab", "c") != pinned_folder("jars", [], "a", "bc")


def test_what_is_being_made_is_on_the_same_disk_and_is_not_taken_for_the_whole() -> None:
    folder = pinned_folder("jars", [], "a")
    assert (unfinished(folder).parent, folder.parent) == (paths.cache(), paths.cache())
    assert unfinished(folder) != folder
