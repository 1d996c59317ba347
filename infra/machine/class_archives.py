"""Stores the classes that a JVM has loaded, so that the next one with the same class path starts in half the time."""

import hashlib
from pathlib import Path

from infra.machine import paths
from infra.machine.jdk import Jdk


def archive_file(jdk: Jdk, program: str, *class_path: str | Path) -> Path:
    """Where the archive of `program`, a class or a file, is once a JVM with this class path has ended normally."""
    digest = hashlib.sha256("\n".join(map(str, (jdk.home, *class_path))).encode()).hexdigest()[:16]
    return paths.cache() / "class-archives" / f"{Path(program).name}-{digest}.jsa"


def class_archive(jdk: Jdk, program: str, *class_path: str | Path, writes: bool = True) -> tuple[str, ...]:
    """Options of a JVM that runs `program`, which names the archive.

    The JVM writes the archive when it first ends, and starts without it if it cannot read it. A JVM with an agent must
    not write it: it would not even start. Source: JDK-8261455, in JDK 19 and later.
    """
    file = archive_file(jdk, program, *class_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    create = ("-XX:+AutoCreateSharedArchive",) if writes else ()
    return (*create, f"-XX:SharedArchiveFile={file}", "-Xlog:cds*=off")
