"""How jars are fetched: a folder never mixes two versions, and a missing Maven is a clear error."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine.jdk import Jdk
from kafka_replication.infra.machine.toolchain import MAVEN_REMEDY, JarSet, ensure_jars

pytestmark = pytest.mark.process

FAKE_MAVEN = """#!/bin/sh
for word; do case "$word" in -DoutputDirectory=*) out="${word#-DoutputDirectory=}";; esac; done
mkdir -p "$out" && echo "$JAVA_HOME" > "$out/$(sed -n 's/.*<jar>//p' "$3")" && echo run >> "$COUNT"
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which a fake Maven on PATH adds a line for each run; each run also writes one jar."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "mvn").write_text(FAKE_MAVEN)
    (tools / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COUNT", str(tmp_path / "runs"))
    monkeypatch.setenv("JAVA_HOME", "/a/java/of/another/age")
    return tmp_path / "runs"


def a_set(folder: Path, jar: str = "kafka-4.2.0.jar") -> JarSet:
    """A set whose pom names one jar."""
    pom = folder / "pom.xml"
    pom.write_text(f"<jar>{jar}\n")
    return JarSet("connect", pom, "Kafka")


def test_without_maven_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotRunError) as raised:
        ensure_jars(a_set(tmp_path), Jdk(tmp_path, 21), Console(quiet=True))
    assert (
        raised.value.what == "the jars of Kafka are not on this machine, and `mvn`, which fetches them, is not on PATH"
    )
    assert raised.value.remedy == MAVEN_REMEDY


def test_a_set_is_fetched_once(tmp_path: Path, runs: Path) -> None:
    for _ in range(3):
        ensure_jars(a_set(tmp_path), Jdk(tmp_path, 21), Console(quiet=True))
    assert runs.read_text() == "run\n"


def test_a_changed_pin_replaces_the_jars_of_the_old_one(tmp_path: Path, runs: Path) -> None:
    ensure_jars(a_set(tmp_path), Jdk(tmp_path, 21), Console(quiet=True))
    directory = ensure_jars(a_set(tmp_path, "kafka-4.3.0.jar"), Jdk(tmp_path, 21), Console(quiet=True))
    assert [jar.name for jar in directory.iterdir()] == ["kafka-4.3.0.jar"]
    assert runs.read_text() == "run\nrun\n"


@pytest.mark.usefixtures("runs")
def test_maven_runs_on_our_jdk_whatever_java_home_says(tmp_path: Path) -> None:
    jdk = Jdk(tmp_path / "jdk", 21)
    directory = ensure_jars(a_set(tmp_path), jdk, Console(quiet=True))
    assert (directory / "kafka-4.2.0.jar").read_text().strip() == str(jdk.home)
