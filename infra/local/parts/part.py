"""What a part of the local stack is: its command, its ports, and when it is ready; and the command line of a JVM."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from kafka_replication.infra.local.artifacts import Artifacts
from kafka_replication.infra.machine.jdk import Jdk, class_archive
from kafka_replication.infra.machine.waiting import NotYetError


@dataclass(frozen=True)
class StackFacts:
    """What a part may know about its stack: programs, and ports, passwords and cluster ids by name."""

    artifacts: Artifacts
    ports: Mapping[str, int]
    cluster_ids: Mapping[str, str]
    passwords: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class Launch:
    """A command and its whole environment."""

    command: tuple[str | Path, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class StackServer:
    """A server of the stack.

    `prepare` writes its files and returns its command. `probe` raises NotYetError until the server answers; without one
    it is ready once its process runs. `configure` sets up a server that answers, and can be repeated. A port in
    `fixed_ports` never changes, because clients outside the stack know it.
    """

    name: str
    prepare: Callable[[StackFacts], Launch]
    probe: Callable[[StackFacts], None] = lambda _: None
    configure: Callable[[StackFacts], None] | None = None
    ports: tuple[str, ...] = ()
    fixed_ports: tuple[str, ...] = ()
    ready_seconds: float = 240.0
    grace_seconds: float = 30.0


def plain_environment(**more: str) -> dict[str, str]:
    """Return an environment without the caller's KUBECONFIG, JAVA_TOOL_OPTIONS and the like, which could affect it."""
    # With GOGC, the programs of Kubernetes may trade memory for processor time.
    kept = ("PATH", "HOME", "TMPDIR", "LANG", "TZ", "GOGC")
    return {**{name: os.environ[name] for name in kept if name in os.environ}, **more}


def expect_ok(client: httpx.Client, url: str) -> None:
    """Raise NotYetError with the answer unless a GET of `url` answers 200."""
    try:
        response = client.get(url)
    except httpx.TransportError as error:
        raise NotYetError(f"{type(error).__name__}: {error}") from error
    if response.status_code != httpx.codes.OK:
        raise NotYetError(f"HTTP {response.status_code}: {response.text[:300]}")


LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")


def java_command(
    jdk: Jdk, class_path: Sequence[str | Path], main_class: str, *arguments: str | Path, heap_mib: int
) -> tuple[str | Path, ...]:
    """Return the command line. SerialGC and the first compiler tier halve an idle server's memory and start time."""
    return (
        jdk.java,
        f"-Xmx{heap_mib}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        *class_archive(jdk, main_class, *class_path),
        "-XX:+ExitOnOutOfMemoryError",
        f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}",
        "-cp",
        ":".join(map(str, class_path)),
        main_class,
        *arguments,
    )
