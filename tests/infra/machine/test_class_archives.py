"""Archives of loaded classes: a JVM writes one when it ends, and the next JVM starts with it."""

import subprocess
from pathlib import Path

import pytest

from kafka_replication.infra.machine.jdk import Jdk, archive_file, class_archive, find_jdk

pytestmark = pytest.mark.process

PROGRAM = ["-Xlog:class+load=info", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-version"]


def loaded(jdk: Jdk, *options: str) -> str:
    return subprocess.run([jdk.java, *options, *PROGRAM], capture_output=True, text=True, check=True).stdout


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPLICATE_CACHE", str(tmp_path))
    return tmp_path


def test_a_jvm_uses_the_archive_of_the_previous_one_unless_it_is_damaged(cache: Path) -> None:
    jdk = find_jdk()
    options = class_archive(jdk, "version", ".")
    loaded(jdk, *options)
    (archive,) = (cache / "class-archives").iterdir()
    assert "shared objects file (top)" in loaded(jdk, *options)
    archive.write_bytes(archive.read_bytes()[:-4096])
    assert "shared objects file (top)" not in loaded(jdk, *options)


def test_each_program_and_class_path_has_its_own_archive(tmp_path: Path) -> None:
    jdk = Jdk(tmp_path, 25)
    assert len({class_archive(jdk, *each) for each in (("a", "x"), ("b", "x"), ("a", "y"))}) == 3


def test_the_archive_of_a_source_file_is_in_the_cache(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("sources") / "Hello.java"
    assert archive_file(Jdk(cache, 25), str(source)).parent == cache / "class-archives"


def test_a_jvm_that_may_not_write_an_archive_still_reads_one(cache: Path) -> None:
    """A JVM with an agent does not start if it is told to write one."""
    jdk = find_jdk()
    loaded(jdk, *class_archive(jdk, "version", ".", writes=False))
    assert list((cache / "class-archives").iterdir()) == []
    loaded(jdk, *class_archive(jdk, "version", "."))
    assert "shared objects file (top)" in loaded(jdk, *class_archive(jdk, "version", ".", writes=False))
