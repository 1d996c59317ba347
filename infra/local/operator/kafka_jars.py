"""The versions of Kafka that workers can run here, and the jars of each.

The jars of the stack's own Kafka are always on this machine. The jars of another version are fetched when workers first
ask for it.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from components.contract.problems import CannotRunError
from infra.machine import jars as maven
from infra.machine import paths, versions
from infra.machine.jars import JarSet, ensure_jars
from infra.machine.jdk import Jdk
from infra.machine.locks import exclusive

_OTHERS = {versions.KAFKA_4_3: maven.KAFKA_4_3}
VERSIONS = (versions.KAFKA, *_OTHERS)

_LOCK_SECONDS = 60.0
RETRY_SECONDS = 60.0
"""How long to wait before fetching jars again after a failure: during a fetch no other resource is handled."""


@dataclass
class KafkaJars:
    """The folders of jars; `usual` is that of the stack's own Kafka."""

    jdk: Jdk
    usual: Path
    _failed: dict[str, tuple[float, CannotRunError]] = field(default_factory=dict, init=False)

    def folder(self, version: str | None) -> Path:
        """The jars of one of VERSIONS; without a version, those of the stack's own Kafka. Fetches them if need be.

        Raises CannotRunError.
        """
        return self.usual if version in {None, versions.KAFKA} else self._other(version, _OTHERS[version])

    def _other(self, version: str, jars: JarSet) -> Path:
        if jars.directory.is_dir():
            return jars.directory
        when, error = self._failed.get(version, (0.0, None))
        if error is not None and time.monotonic() < when + RETRY_SECONDS:
            raise error
        console = Console()
        try:
            with exclusive(paths.build_lock(), console, "building or fetching programs and jars", _LOCK_SECONDS):
                return ensure_jars(jars, self.jdk, console)
        except CannotRunError as failure:
            self._failed[version] = time.monotonic(), failure
            raise
