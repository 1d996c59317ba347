"""The archive of Spark's classes: one for each class path, and none if the JVM cannot write it."""

from pathlib import Path

import pytest

from kafka_replication.infra.machine.jdk import Jdk
from kafka_replication.infra.validate.run import CLASS_PATH_VARIABLES, quick_start

JDK = Jdk(Path("/jdk"), 21)


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATE_CACHE", str(tmp_path))
    for each in (*CLASS_PATH_VARIABLES, "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(each, raising=False)


def test_the_options_of_the_user_stay_and_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")
    options = quick_start(JDK, Path("/jars"))["SPARK_SUBMIT_OPTS"]
    assert options.startswith("-Dmine=1 -XX:+AutoCreateSharedArchive ")


@pytest.mark.parametrize("variable", CLASS_PATH_VARIABLES)
def test_no_archive_is_used_if_a_folder_is_on_the_class_path(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JVM that should write an archive would end with `Cannot have non-empty directory in paths`."""
    monkeypatch.setenv(variable, "/etc/spark")
    assert quick_start(JDK, Path("/jars")) == {}
