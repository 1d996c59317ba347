"""What `make dist` refuses to release. tests/infra/test_light_install.py builds a release, and installs it."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.bill_of_materials import bill_of_materials, image_bill_of_materials
from tests.oci_archive import an_image
from tests.release import (
    CHANGELOG,
    content_problems,
    differences,
    git,
    main,
    metadata_problems,
    notes,
    packaged,
    project,
)
from tests.repository import ROOT

COMMITTED = (
    "README.md",
    "components/package/__init__.py",
    "infra/go/go.sum",
    "infra/README.md",
    "infra/PROBLEMS.md",
    "infra/operate/ALERTS.md",
    "infra/images/plot.svg",
)
READ = ("infra/go/go.sum", "infra/PROBLEMS.md", "infra/operate/ALERTS.md")
OURS = {f"kafka_replication/{name}" for name in ("__init__.py", *READ)}
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


@pytest.mark.process
def test_every_committed_file_that_a_package_needs_is_listed_as_package_data() -> None:
    files = packaged(git("ls-files").decode().splitlines())
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    patterns = [
        f"{'kafka_replication*' if package == '*' else package.replace('.', '/')}/{pattern}"
        for package, listed in table.items()
        for pattern in listed
    ]
    data = [name for name in sorted(files) if not name.endswith(".py")]
    assert [name for name in data if not any(fnmatch(name, pattern) for pattern in patterns)] == []


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


_CHANGES = "# Changelog\n\n## [1.1.0] - Unreleased\n\nNew.\n\n## [1.0.0] - 2026-12-01\n\n### Added\n\n- All.\n"


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes("v1.0.0", "1.0.0", _CHANGES) == "### Added\n\n- All.\n"


@pytest.mark.parametrize(
    ("tag", "version", "wanted"),
    [
        pytest.param("v1.0.0", "1.0.1", "the tag is v1.0.0, but pyproject.toml states 1.0.1", id="another version"),
        pytest.param("1.0.0", "1.0.0", "the tag is 1.0.0, but", id="no v"),
        pytest.param("v1.1.0", "1.1.0", "lacks a dated section", id="no date yet"),
        pytest.param("v1.2.0", "1.2.0", r"begin one with `## \[1.2.0\] - YYYY-MM-DD`", id="no section"),
    ],
)
def test_a_tag_that_is_not_ready_is_refused(tag: str, version: str, wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        notes(tag, version, _CHANGES)


def test_a_tag_without_a_name_builds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workflow may pass a variable that is empty."""
    monkeypatch.setattr("sys.argv", ["release", "--notes", ""])
    monkeypatch.setattr("tests.release._build_all", lambda: 0)
    assert main() == 1


def test_the_changelog_has_a_section_of_the_version() -> None:
    assert f"\n## [{project()['version']}] - " in CHANGELOG.read_text()


def test_the_bill_of_materials_names_what_a_release_needs_and_nothing_that_only_tests_need() -> None:
    document = bill_of_materials(1_795_827_600)
    assert document["metadata"]["timestamp"] == "2026-11-28T01:00:00+00:00"
    assert document["metadata"]["component"]["purl"] == f"pkg:pypi/kafka-replication@{project()['version']}"
    parts = {part["purl"].partition("@")[0]: part for part in document["components"]}
    assert len(parts) == len(document["components"])
    # A direct requirement, one of an extra, one that only another package needs, and a jar.
    for name in ("pypi/pydantic", "pypi/pyspark", "pypi/pydantic-core", "maven/org.apache.kafka/kafka-clients"):
        assert f"pkg:{name}" in parts
    assert not {"pkg:pypi/pytest", "pkg:pypi/ruff", "pkg:pypi/kafka-replication"} & parts.keys()
    assert all(part["version"] for part in parts.values())
    assert [len(part["hashes"]) for name, part in parts.items() if name.startswith("pkg:maven/")] == [1, 1, 1, 1]


def test_the_bill_of_materials_of_an_image_names_what_its_layers_hold(tmp_path: Path) -> None:
    jar = "kafka-clients-3.9.2.jar"
    base = {"var/lib/dpkg/status": "Package: bash\nVersion: 1:5+b1\n\nPackage: zstd\nVersion: 2\n", "bin/sh": ""}
    site = "usr/lib/python3/site-packages"
    ours = {
        f"{site}/PyYAML-6.dist-info/METADATA": "Metadata-Version: 2.4\nName: PyYAML\nVersion: 6\n",
        f"opt/replication/jars/{jar}": "",
    }
    digest = an_image(tmp_path / "image.tar", base, ours)
    document = image_bill_of_materials(tmp_path / "image.tar", 1_795_827_600)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["timestamp"] == "2026-11-28T01:00:00+00:00"
    assert document["metadata"]["component"]["version"] == digest
    assert [(part["name"], part["version"], part["purl"]) for part in document["components"]] == [
        ("bash", "1:5+b1", "pkg:deb/debian/bash@1%3A5%2Bb1"),
        ("zstd", "2", "pkg:deb/debian/zstd@2"),
        ("pyyaml", "6", "pkg:pypi/pyyaml@6"),
        ("kafka-clients", "3.9.2", "pkg:maven/org.apache.kafka/kafka-clients@3.9.2"),
    ]
    assert [len(part.get("hashes", ())) for part in document["components"]] == [0, 0, 0, 1]
