"""The workers' jars: a stack fetches no Kafka that it does not run, and no resource waits for ever."""

from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.operator import worker_processes
from kafka_replication.infra.local.operator.ledger import STOP_GRACE_SECONDS, WorkerRecord
from kafka_replication.infra.local.operator.worker_processes import KafkaJars
from kafka_replication.infra.machine import toolchain, versions
from kafka_replication.infra.machine.jdk import Jdk

MAVEN = '#!/bin/sh\nfor word; do case "$word" in -DoutputDirectory=*) /bin/mkdir -p "${word#*=}";; esac; done\n'


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KafkaJars:
    """The jars of a machine that has neither jars nor Maven."""
    monkeypatch.setenv("REPLICATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    return KafkaJars(Jdk(tmp_path, 21), tmp_path / "usual")


def install_maven(folder: Path) -> None:
    (folder / "tools").mkdir()
    (folder / "tools" / "mvn").write_text(MAVEN)
    (folder / "tools" / "mvn").chmod(0o755)


@pytest.mark.parametrize("version", [None, versions.KAFKA])
def test_nothing_is_fetched_for_the_stacks_own_kafka(jars: KafkaJars, tmp_path: Path, version: str | None) -> None:
    assert jars.folder(version) == tmp_path / "usual"
    assert not (tmp_path / "cache").exists()


def test_another_kafka_is_fetched_when_it_is_asked_for(jars: KafkaJars, tmp_path: Path) -> None:
    install_maven(tmp_path)
    assert jars.folder(versions.KAFKA_4_3) == toolchain.KAFKA_4_3.directory
    assert toolchain.KAFKA_4_3.directory.is_dir()


def test_a_failed_fetch_is_retried_only_after_a_pause(
    jars: KafkaJars, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_processes, "RETRY_SECONDS", float("inf"))
    with pytest.raises(CannotRunError, match="`mvn`, which fetches them, is not on PATH"):
        jars.folder(versions.KAFKA_4_3)
    install_maven(tmp_path)
    with pytest.raises(CannotRunError, match="`mvn`, which fetches them, is not on PATH"):
        jars.folder(versions.KAFKA_4_3)
    monkeypatch.setattr(worker_processes, "RETRY_SECONDS", 0.0)
    assert jars.folder(versions.KAFKA_4_3).is_dir()


def test_a_version_without_jars_is_an_error_and_gets_no_other_jars(jars: KafkaJars) -> None:
    with pytest.raises(KeyError):
        jars.folder("4.2.1")


def test_a_worker_that_still_writes_its_class_archive_gets_more_time_to_stop(tmp_path: Path) -> None:
    """If it were killed while it writes, every later worker of that Kafka would start slowly."""
    record = WorkerRecord(
        name="mirror/orders/0",
        pid=1,
        created=0,
        log=tmp_path / "log",
        namespace="mirror",
        connect="orders",
        index=0,
        digest="d",
        port=20_000,
        archive=tmp_path / "archive",
    )
    assert record.grace_seconds > STOP_GRACE_SECONDS
    (tmp_path / "archive").touch()
    assert record.grace_seconds == record.model_copy(update={"archive": None}).grace_seconds == STOP_GRACE_SECONDS
