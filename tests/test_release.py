"""What `make dist` refuses to release. tests/infra/test_light_install.py builds a release, and installs it."""

import pytest

from tests.release import content_problems, differences, metadata_problems, project

COMMITTED = ("README.md", "components/package/__init__.py", "infra/go/go.sum", "infra/README.md", "infra/PROBLEMS.md")
OURS = {f"kafka_replication/{name}" for name in ("__init__.py", "infra/go/go.sum", "infra/PROBLEMS.md")}
INFO = "kafka_replication-1.dist-info/METADATA"
SOURCE = {f"kafka_replication-1/{name}" for name in (*COMMITTED, "PKG-INFO", "kafka_replication.egg-info/SOURCES.txt")}
README = "# Replication\n\nSay “more”.\n"
METADATA = "\n".join(
    (
        "Metadata-Version: 2.4",
        f"Name: {project()['name']}",
        f"Version: {project()['version']}",
        f"Summary: {project()['description']}",
        f"License-Expression: {project()['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {project()['requires-python']}",
        *(f"Classifier: {each}" for each in project()["classifiers"]),
        "Description-Content-Type: text/markdown",
        "Requires-Dist: pydantic<3,>=2",
        "",
        README,
    )
)


def test_builds_of_the_same_bytes_do_not_differ() -> None:
    assert list(differences({"a.whl": b"1", "a.tar.gz": b"2"}, {"a.tar.gz": b"2", "a.whl": b"1"})) == []


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"a.whl": b"2"}, id="other bytes"),
        pytest.param({}, id="no file"),
        pytest.param({"a.whl": b"1", "b.whl": b"1"}, id="another file"),
    ],
)
def test_two_builds_that_differ_are_refused(second: dict[str, bytes]) -> None:
    (found,) = differences({"a.whl": b"1"}, second)
    assert found.endswith(".whl: two builds of the same commit have different bytes.")


def test_archives_with_all_that_the_packages_need_are_accepted() -> None:
    assert list(content_problems(COMMITTED, {*OURS, INFO}, SOURCE)) == []


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_wheel_without_a_file_of_the_packages_is_refused(name: str) -> None:
    (found,) = content_problems(COMMITTED, OURS - {name}, SOURCE)
    assert found.startswith(f"{name}: the wheel lacks it.")


@pytest.mark.parametrize("name", ["kafka_replication/infra/README.md", "tests/release.py", "components/checks.py"])
def test_a_wheel_with_a_file_that_no_package_needs_is_refused(name: str) -> None:
    (found,) = content_problems(COMMITTED, {*OURS, name}, SOURCE)
    assert found.startswith(f"{name}: the wheel holds it,")


@pytest.mark.parametrize("name", ["tests/test_release.py", ".github/workflows/ci.yaml", "infra/notes.txt"])
def test_a_source_archive_with_a_file_that_is_not_part_of_a_release_is_refused(name: str) -> None:
    (found,) = content_problems(COMMITTED, OURS, {*SOURCE, f"kafka_replication-1/{name}"})
    assert found.startswith(f"{name}: the source archive holds it,")


def test_metadata_that_says_what_the_project_states_is_accepted() -> None:
    assert list(metadata_problems(METADATA.encode(), project(), README)) == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        pytest.param(f"Version: {project()['version']}", "Version: 0.9", "version is ", id="another version"),
        pytest.param(
            "Content-Type: text/markdown", "Content-Type: text/x-rst", "description_content_type is ", id="rst"
        ),
        pytest.param(README, "", "description is ", id="no description"),
        pytest.param("License-File: LICENSE\n", "", "license_files is ", id="no license"),
        pytest.param("Requires-Python: >=", "Requires-Python: ==", "requires_python is ", id="another Python"),
        pytest.param("pydantic<3,>=2", "pydantic @ file:///ours", "names a URL", id="a requirement on this machine"),
        pytest.param("Summary: ", "Summary: two\n  lines of ", "summary", id="what an index refuses"),
    ],
)
def test_metadata_that_differs_or_that_an_index_refuses_is_refused(old: str, new: str, wanted: str) -> None:
    assert old in METADATA
    (found,) = metadata_problems(METADATA.replace(old, new).encode(), project(), README)
    assert found.startswith("METADATA: ")
    assert wanted in found
