"""Decides which Connect workers to start and stop, and runs them as processes on the jars of their Kafka version."""

import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.operator.ledger import WORKERS, Component, Ledger, WorkerRecord
from kafka_replication.infra.local.operator.worker_properties import (
    agent,
    as_properties_file,
    in_folder,
    on_one_machine,
    on_this_port,
)
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.processes import free_port, is_free
from kafka_replication.infra.local.state import write_private
from kafka_replication.infra.machine import paths, toolchain, versions
from kafka_replication.infra.machine.jdk import Jdk, archive_file, class_archive
from kafka_replication.infra.machine.toolchain import ensure_jars
from kafka_replication.infra.machine.waiting import exclusive


class WorkerState(Enum):
    """READY serves its REST interface, STARTING runs but does not serve yet, STOPPING was asked to end, and ENDED has
    to be started again.
    """

    READY = "ready"
    STARTING = "starting"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True)
class Worker:
    """What `next_steps` knows of a worker. `due`: if it has ended, it may start again now. `pod`: its Pod exists."""

    index: int
    digest: str
    state: WorkerState
    due: bool = True
    pod: bool = True


def next_steps(replicas: int, digest: str, workers: Sequence[Worker]) -> tuple[list[int], list[int]]:
    """Return the indexes of the workers to start and to stop now. Outdated workers that serve are stopped one at a
    time, and only while all others serve.

    A worker whose Pod was deleted is stopped, as a kubelet would do, and starts again.
    """
    known = {worker.index: worker for worker in workers}
    running = (WorkerState.READY, WorkerState.STARTING)
    stop = [
        worker.index for worker in workers if worker.state in running and (worker.index >= replicas or not worker.pod)
    ]
    start = [
        index
        for index in range(replicas)
        if (worker := known.get(index)) is None
        or (worker.state is WorkerState.ENDED and (worker.due or worker.digest != digest))
    ]
    kept = [known[index] for index in range(replicas) if index in known]
    outdated = [worker for worker in kept if worker.digest != digest and worker.state in running and worker.pod]
    not_serving = [worker.index for worker in outdated if worker.state is WorkerState.STARTING]
    if not_serving:
        # Stopping workers that do not serve loses nothing, and a correction must not wait until they serve.
        return start, stop + not_serving
    if outdated and len(kept) == replicas and all(worker.state is WorkerState.READY and worker.pod for worker in kept):
        stop.append(outdated[0].index)
    return start, stop


@dataclass(frozen=True)
class WorkerSpec:
    """What a resource's workers must be started with; `digest` identifies all of it.

    `jars` is the folder of their Kafka version, `jvm` has the JVM's options, and `rules` the JMX exporter's rules.
    """

    digest: str
    jars: Path
    properties: Mapping[str, str]
    jvm: Sequence[str]
    rules: str | None = None


def worker_class_path(kafka: Path, reporter_lib: Path | None) -> tuple[Path, ...]:
    """Return the jars of a worker. With the JMX exporter, the reporter's jars stay out, because they hold other
    versions of the same libraries.
    """
    jars = sorted(reporter_lib.glob("*.jar")) if reporter_lib is not None else []
    return (kafka / "*", *(jar for jar in jars if "javaagent" not in jar.name))


log = logging.getLogger(__name__)

MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_PORT = re.compile(r"^rest\.advertised\.port=(\d+)$", re.MULTILINE)


class WorkerProcesses:
    """All workers of all resources. Only stop_all() waits. Raises DamagedLedgerError if the ledger cannot be read."""

    def __init__(self, jdk: Jdk, config_provider_lib: Path, metrics_lib: Path, state_dir: Path) -> None:
        self._jdk, self._metrics_lib = jdk, metrics_lib
        self._folders, self._plugins = state_dir / "workers", state_dir / "plugins"
        self._ledger = Ledger(state_dir / WORKERS, WorkerRecord)
        for record in self._ledger.all():
            adopted = "adopted" if processes.alive(record) else "ended while the operator was not running"
            log.info("worker %s (pid %d): %s", record.name, record.pid, adopted)
        # One plugin directory with a link, because the provider's jars must stay out of the worker's own class path.
        link = self._plugins / "config-provider"
        link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        link.unlink(missing_ok=True)
        link.symlink_to(config_provider_lib)

    def components(self) -> set[Component]:
        """Return every component that has a worker or files of an earlier one."""
        left = {(folder.parent.name, folder.name) for folder in self._folders.glob("*/*")}
        return left | {record.component for record in self._ledger.all()}

    def of(self, component: Component) -> list[WorkerRecord]:
        """Return the records of one component in the order of the index, with ended workers."""
        records = (record for record in self._ledger.all() if record.component == component)
        return sorted(records, key=lambda record: record.index)

    def refresh(self, now: float) -> None:
        """Record workers that ended, forget those that were asked to, and kill those that ignored the request."""
        for record in self._ledger.all():
            if record.kill_at is not None:
                if self._ledger.stop(record, record.grace_seconds):
                    self._ledger.remove(record)
            elif record.ended is None and not processes.alive(record):
                log.warning("worker %s (pid %d) ended by itself", record.name, record.pid)
                failures = 0 if record.served else record.failures + 1
                self._ledger.put(record.model_copy(update={"ended": now, "failures": failures}))

    def mark_served(self, record: WorkerRecord) -> None:
        if not record.served:
            self._ledger.put(record.model_copy(update={"served": True, "failures": 0}))

    def start(self, component: Component, index: int, wanted: WorkerSpec, metrics_port: int | None) -> None:
        """Start a worker with a new log; the previous log is kept beside it.

        It serves metrics at `metrics_port`: by the JMX exporter if there are rules for it, else by Strimzi's reporter.
        """
        name = "/".join((*component, str(index)))
        previous = self._ledger.get(name)
        folder, stem = self.folder(component), f"worker-{index}"
        file, worker_log = folder / f"{stem}.properties", folder / f"{stem}.log"
        others = {record.port for record in self._ledger.all() if record.name != name}
        port = _port(file, others | ({metrics_port} if metrics_port else set()))
        rules = folder / f"{stem}.metrics.yaml"
        local = on_one_machine(wanted.properties, port, self._plugins, self.files_folder(component))
        write_private(file, as_properties_file(on_this_port(local, metrics_port)))
        if wanted.rules is not None:
            write_private(rules, wanted.rules)
        exporter = agent(self._metrics_lib, metrics_port, None if wanted.rules is None else rules)
        if worker_log.exists():
            worker_log.replace(folder / f"{stem}.previous.log")
        class_path = worker_class_path(
            wanted.jars, self._metrics_lib if metrics_port is not None and not exporter else None
        )
        command: list[str | Path] = [
            self._jdk.java,
            *wanted.jvm,
            *exporter,
            *class_archive(self._jdk, MAIN_CLASS, *class_path, writes=not exporter),
            f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}",
            "-cp",
            ":".join(map(str, class_path)),
            MAIN_CLASS,
            file,
        ]
        process = processes.start(name, command, worker_log, self._environment(folder), folder)
        record = WorkerRecord(
            **process.model_dump(),
            namespace=component[0],
            connect=component[1],
            index=index,
            digest=wanted.digest,
            port=port,
            metrics_port=metrics_port,
            archive=None if exporter else archive_file(self._jdk, MAIN_CLASS, *class_path),
            failures=previous.failures if previous and previous.digest == wanted.digest else 0,
        )
        self._ledger.put(record)
        log.info("worker %s started: pid %d, port %d", name, record.pid, port)

    def stop(self, record: WorkerRecord) -> None:
        """Ask a worker to stop; refresh() completes it."""
        if record.kill_at is None:
            log.info("worker %s (pid %d) is being stopped", record.name, record.pid)
            if self._ledger.stop(record, record.grace_seconds):
                self._ledger.remove(record)

    def stop_all(self) -> None:
        """Stop every worker and wait for the last."""
        records = self._ledger.all()
        processes.stop_all(records, max((record.grace_seconds for record in records), default=0.0))
        self._ledger.remove(*records)

    def folder(self, component: Component) -> Path:
        """Return the private folder of one component's workers."""
        folder = self._folders.joinpath(*component)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def files_folder(self, component: Component) -> Path:
        """Return the folder for what a pod has in /tmp. Workers of a component share it: their paths are the same."""
        return self.folder(component) / "pod"

    def keep(self, component: Component, files: Mapping[str, bytes]) -> None:
        """Write these files, given by path in a pod, and remove all others."""
        folder = self.files_folder(component)
        local = {Path(in_folder(path, folder)): content for path, content in files.items()}
        for file, content in local.items():
            text = file.suffix == ".properties"
            write_private(file, in_folder(content.decode(), folder) if text else content)
        for file in (path for path in folder.rglob("*") if path.is_file() and path not in local):
            file.unlink()

    def log_text(self, record: WorkerRecord, which: str = "") -> str:
        """Return the log of the worker, or with `.previous` that of the process before it; empty if there is none."""
        file = self.folder(record.component) / f"worker-{record.index}{which}.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def forget(self, component: Component) -> None:
        """Remove the files of a deleted component when its workers have ended."""
        if not self.of(component):
            folder = self._folders.joinpath(*component)
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                folder.parent.rmdir()

    def _environment(self, folder: Path) -> dict[str, str]:
        # Only PATH is inherited: the user's proxy, KUBECONFIG or KAFKA_ variables must not reach the worker.
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "KUBECONFIG": str(folder / "kubeconfig"),
            "ADVERTISED_HOSTNAME": "127.0.0.1",
        }


def _port(file: Path, taken: set[int]) -> int:
    """Return the port in the worker's last properties, unless it is taken: the worker's id must stay the same, as a
    pod's does. Connect drops the status of a failed connector if another worker has written one of a later generation.
    The generations start again when the brokers remove the group, which they do every ten minutes if it has no member.
    """
    match = _PORT.search(file.read_text(encoding="utf-8")) if file.exists() else None
    last = int(match[1]) if match else None
    return last if last is not None and last not in taken and is_free(last) else free_port(taken)


_OTHERS = {versions.KAFKA_4_3: toolchain.KAFKA_4_3}
VERSIONS = (versions.KAFKA, *_OTHERS)

#: How long to wait before fetching jars again after a failure: during a fetch no other resource is handled.
RETRY_SECONDS = 60.0


@dataclass
class KafkaJars:
    """The folders of jars by Kafka version; `usual` is the folder for the stack's own version."""

    jdk: Jdk
    usual: Path
    _failed: dict[str, tuple[float, CannotRunError]] = field(default_factory=dict, init=False)

    def folder(self, version: str | None) -> Path:
        """Return the jars of one of VERSIONS, or the stack's own, and fetch them the first time. Raises CannotRunError
        if that fails, and for RETRY_SECONDS afterwards without another attempt.
        """
        if version is None or version == versions.KAFKA:
            return self.usual
        jars = _OTHERS[version]
        if jars.directory.is_dir():
            return jars.directory
        when, error = self._failed.get(version, (0.0, None))
        if error is not None and time.monotonic() < when + RETRY_SECONDS:
            raise error
        console = Console()
        try:
            with exclusive(paths.build_lock(), console, "building or fetching programs and jars", 60.0):
                return ensure_jars(jars, self.jdk, console)
        except CannotRunError as failure:
            self._failed[version] = time.monotonic(), failure
            raise
