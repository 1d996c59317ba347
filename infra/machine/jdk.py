"""Finds a JDK that is new enough, and stores the classes that its JVMs load, so that later ones start faster."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine import paths
from kafka_replication.infra.machine.versions import JDK_MINIMUM

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "~/.asdf/installs/java/*",
    "~/.local/share/mise/installs/java/*",
)


@dataclass(frozen=True)
class Jdk:
    """A JDK: its home folder and its feature version (21, 25, …)."""

    home: Path
    version: int

    @property
    def java(self) -> Path:
        """Return the launcher."""
        return self.home / "bin" / "java"


def find_jdk() -> Jdk:
    """Return JAVA_HOME, `java` on PATH, or the oldest JDK that is new enough. Raises CannotRunError if none is."""
    return choose_jdk(preferred_homes(), usual_homes(), JDK_MINIMUM)


def choose_jdk(preferred: Iterable[Path], others: Iterable[Path], minimum: int) -> Jdk:
    """Return the first preferred JDK that is new enough, else the oldest of the others that is."""
    rejected: dict[Path, str] = {}
    usable: list[Jdk] = []
    for home, is_preferred in [*((home, True) for home in preferred), *((home, False) for home in others)]:
        candidate = read_jdk(home)
        if isinstance(candidate, str):
            rejected.setdefault(home, candidate)
        elif candidate.version < minimum:
            rejected.setdefault(home, f"Java {candidate.version}")
        elif is_preferred:
            return candidate
        else:
            usable.append(candidate)
    if usable:
        return min(usable, key=lambda jdk: (jdk.version, str(jdk.home)))
    seen = "\n".join(f"  {home}: {why}" for home, why in rejected.items()) or "  none at all"
    raise CannotRunError(
        "jdk-missing",
        f"no JDK {minimum} or newer was found",
        "JAVA_HOME, PATH and the usual folders",
        "Kafka and Spark run on the JVM.",
        f"install a JDK {minimum} or newer (any vendor), or set JAVA_HOME to one",
        f"JDKs that were found:\n{seen}",
    )


def read_jdk(home: Path) -> Jdk | str:
    """Return the JDK in `home`, or why it cannot be used. Reduced runtimes lack jdk.incubator.vector for Spark."""
    release = home / "release"
    if not (home / "bin" / "java").exists() or not release.is_file():
        return "not a Java home (no bin/java or no release file)"
    text = release.read_text(encoding="utf-8", errors="replace")
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    if version is None:
        return "its release file names no JAVA_VERSION"
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    if modules is not None and "jdk.incubator.vector" not in modules.group(1).split():
        return f"Java {version.group(1)}, but a runtime without the module jdk.incubator.vector"
    return Jdk(home, int(version.group(1)))


def preferred_homes() -> Iterator[Path]:
    """Yield the JDKs that the user chose: JAVA_HOME, and the one whose `java` is first on PATH."""
    if java_home := os.environ.get("JAVA_HOME"):
        yield Path(java_home)
    if java := shutil.which("java"):
        yield Path(java).resolve().parents[1]


def usual_homes() -> Iterator[Path]:
    """Yield every folder where systems and version managers keep JDKs."""
    for pattern in USUAL_PLACES:
        place = Path(pattern).expanduser()
        anchor = Path(place.anchor)
        yield from sorted(path for path in anchor.glob(str(place.relative_to(anchor))) if path.is_dir())


def archive_file(jdk: Jdk, program: str, *class_path: str | Path) -> Path:
    """Return the file of a program's archive; a JVM with this class path writes it when it ends normally."""
    digest = hashlib.sha256("\n".join(map(str, (jdk.home, *class_path))).encode()).hexdigest()[:16]
    return paths.cache() / "class-archives" / f"{Path(program).name}-{digest}.jsa"


def class_archive(jdk: Jdk, program: str, *class_path: str | Path, writes: bool = True) -> tuple[str, ...]:
    """Return the options of a JVM that runs `program`, which writes the archive when it first ends.

    A JVM with an agent must not write it: it would not even start. Source: JDK-8261455, in JDK 19 and later.
    """
    file = archive_file(jdk, program, *class_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    create = ("-XX:+AutoCreateSharedArchive",) if writes else ()
    return (*create, f"-XX:SharedArchiveFile={file}", "-Xlog:cds*=off")
