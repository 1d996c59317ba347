"""What is made once a pin. Without these a changed version keeps the old jars, or every command builds anew."""

from pathlib import Path

from infra.local import stamps


def test_an_artifact_is_current_only_for_the_pins_it_was_made_from(tmp_path: Path) -> None:
    pom, jars = tmp_path / "pom.xml", tmp_path / "jars"
    pom.write_text("4.2.0")
    jars.mkdir()
    stamps.record("set", stamps.digest([pom]))
    assert stamps.is_current("set", stamps.digest([pom]), [jars])
    pom.write_text("4.2.1")
    assert not stamps.is_current("set", stamps.digest([pom]), [jars])


def test_an_artifact_whose_output_was_removed_is_not_current(tmp_path: Path) -> None:
    stamps.record("set", "digest")
    assert not stamps.is_current("set", "digest", [tmp_path / "gone"])


def test_an_artifact_that_is_being_made_is_not_current(tmp_path: Path) -> None:
    stamps.record("set", "digest")
    stamps.forget("set")
    assert not stamps.is_current("set", "digest", [tmp_path])


def test_an_artifact_that_was_never_made_is_not_current() -> None:
    assert not stamps.is_current("set", "digest", [])


def test_the_recipe_counts_as_much_as_the_files() -> None:
    assert stamps.digest([], "-s", "-w") != stamps.digest([], "-s")
    assert stamps.digest([], "ab", "c") != stamps.digest([], "a", "bc")
