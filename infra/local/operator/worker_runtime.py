"""What workers are started with: the shared parts, and what each resource asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.local.operator.worker_metrics import Exported
from infra.machine.jdk import Jdk


@dataclass(frozen=True)
class Wanted:
    """What a resource's workers must be started with; `digest` identifies all of it.

    `jars` is the folder of the Kafka that they run, `jvm` the JVM's options, and `rules` are those of the JMX exporter.
    """

    digest: str
    jars: Path
    properties: Mapping[str, str]
    jvm: Sequence[str]
    rules: str | None = None


@dataclass(frozen=True)
class Runtime:
    """The parts of a worker that are the same for every Kafka version."""

    jdk: Jdk
    config_provider_lib: Path
    metrics_lib: Path
    state_dir: Path

    @property
    def plugin_path(self) -> Path:
        return self.state_dir / "plugins"

    def class_path(self, kafka: Path, exported: Exported | None = None) -> tuple[Path, ...]:
        """The jars of a worker. The JMX exporter holds other versions of classes that the reporter uses, so the class
        path never holds both."""
        by_reporter = exported is not None and exported.rules is None
        jars = sorted(self.metrics_lib.glob("*.jar")) if by_reporter else []
        return (kafka / "*", *(jar for jar in jars if "javaagent" not in jar.name))

    @property
    def ledger(self) -> Path:
        return self.state_dir / "workers.json"

    @property
    def folders(self) -> Path:
        return self.state_dir / "workers"
