"""Decides which Connect workers to start and stop, and runs them as processes, each on the jars of its Kafka version.

A ledger lets a restarted operator find them again. The jars of the stack's own Kafka are always on this machine; those
of another version are fetched when workers first ask for it.
"""

import contextlib
import logging
import math
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import psutil
from pydantic import TypeAdapter
from rich.console import Console

from components.contract.problems import CannotRunError
from infra.local.operator.worker_properties import (
    Exported,
    agent,
    as_properties_file,
    in_folder,
    on_one_machine,
    on_this_port,
)
from infra.local.parts import processes
from infra.local.parts.processes import ProcessRecord, free_port, is_free
from infra.local.state import write_private
from infra.machine import paths, toolchain, versions
from infra.machine.jdk import Jdk, archive_file, class_archive
from infra.machine.toolchain import JarSet, ensure_jars
from infra.machine.waiting import exclusive

LONGEST_PAUSE_SECONDS = 30.0


class WorkerState(Enum):
    """READY serves its REST interface, STARTING runs but does not serve yet, ENDED has to be started again."""

    READY = "ready"
    STARTING = "starting"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True)
class Worker:
    """One worker as the plan sees it.

    `digest` identifies what it was started with. `due` says whether an ended one may start again now, and `pod` whether
    its Pod exists.
    """

    index: int
    digest: str
    state: WorkerState
    due: bool = True
    pod: bool = True


@dataclass(frozen=True)
class Start:
    index: int


@dataclass(frozen=True)
class Stop:
    index: int


def next_steps(replicas: int, digest: str, workers: Sequence[Worker]) -> list[Start | Stop]:
    """Return what to do now. Outdated workers that serve are stopped one at a time, and only while all others serve.

    A worker whose Pod was deleted is stopped, as a kubelet would do, and starts again.
    """
    known = {worker.index: worker for worker in workers}
    running = (WorkerState.READY, WorkerState.STARTING)
    steps: list[Start | Stop] = [
        Stop(worker.index)
        for worker in workers
        if worker.state in running and (worker.index >= replicas or not worker.pod)
    ]
    kept = [known[index] for index in range(replicas) if index in known]
    for index in range(replicas):
        worker = known.get(index)
        if worker is None or (worker.state is WorkerState.ENDED and (worker.due or worker.digest != digest)):
            steps.append(Start(index))
    outdated = [worker for worker in kept if worker.digest != digest and worker.state in running and worker.pod]
    not_serving = [worker for worker in outdated if worker.state is WorkerState.STARTING]
    if not_serving:
        # Stopping workers that do not serve loses nothing, and a correction must not wait until they serve.
        return steps + [Stop(worker.index) for worker in not_serving]
    if outdated and len(kept) == replicas and all(worker.state is WorkerState.READY and worker.pod for worker in kept):
        steps.append(Stop(outdated[0].index))
    return steps


def pause_seconds(failures: int) -> float:
    """Return the pause before a worker starts again after it ended this often in a row without having served."""
    return min(2.0 ** min(failures, 10), LONGEST_PAUSE_SECONDS) if failures else 0.0


@dataclass(frozen=True)
class WorkerSpec:
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
        """Return the jars of a worker. The JMX exporter holds other versions of classes that the reporter uses, so the
        class path never holds both.
        """
        by_reporter = exported is not None and exported.rules is None
        jars = sorted(self.metrics_lib.glob("*.jar")) if by_reporter else []
        return (kafka / "*", *(jar for jar in jars if "javaagent" not in jar.name))

    @property
    def ledger(self) -> Path:
        return self.state_dir / "workers.json"

    @property
    def folders(self) -> Path:
        return self.state_dir / "workers"


log = logging.getLogger(__name__)

STOP_GRACE_SECONDS = 15.0
"""After this a worker is killed: one without READ on its offsets topic never ends by itself."""
_WRITING_SECONDS = 60.0
"""The same while there is no archive of a worker's classes: the first worker that ends writes it, which takes seconds.
If it is killed meanwhile, every later worker starts slowly and tries again.
"""

MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

OF_A_POD = "pod"
"""The folder for the files of a component's workers. They share it, because pods of one image have the same paths."""

_PORT = re.compile(r"^rest\.advertised\.port=(\d+)$", re.MULTILINE)

Key = tuple[str, str]
"""The namespace of a KafkaConnect or KafkaMirrorMaker2, and the name of its workers' component."""


class WorkerRecord(ProcessRecord):
    """One started worker. Its process is called namespace/component/index; `connect` is the component.

    `failures` counts how often in a row it ended without having served. `ended` is when its end was noticed, in epoch
    seconds. It serves its metrics at `metrics_port`, if at all. `archive` is the file of its classes that it writes
    when it ends, unless the file exists.
    """

    namespace: str
    connect: str
    index: int
    digest: str
    port: int
    metrics_port: int | None = None
    archive: Path | None = None
    failures: int = 0
    served: bool = False
    ended: float | None = None

    @property
    def key(self) -> Key:
        return self.namespace, self.connect

    def may_start_again(self, now: float) -> bool:
        return self.ended is None or now >= self.ended + pause_seconds(self.failures)

    @property
    def grace_seconds(self) -> float:
        """Return how long it may take to end before it is killed."""
        return STOP_GRACE_SECONDS if self.archive is None or self.archive.exists() else _WRITING_SECONDS


LEDGER = TypeAdapter(list[WorkerRecord])


class WorkerProcesses:
    """All workers of all resources, for use by one thread. Only stop_all() waits.

    Raises ValueError if the ledger is damaged: an empty one would start every worker twice.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._file = runtime.ledger
        self._kill_at: dict[tuple[Key, int], float] = {}
        records = LEDGER.validate_json(self._file.read_bytes()) if self._file.exists() else []
        self._records = {(record.key, record.index): record for record in records}
        for record in records:
            adopted = "adopted" if processes.alive(record) else "ended while the operator was not running"
            log.info("worker %s (pid %d): %s", record.name, record.pid, adopted)
        self._link_plugins()

    def keys(self) -> set[Key]:
        """Return every component that has a worker or files of an earlier one."""
        left = {(folder.parent.name, folder.name) for folder in self._runtime.folders.glob("*/*")}
        return left | {key for key, _ in self._records}

    def of(self, key: Key) -> list[WorkerRecord]:
        """Return the records of one component in the order of the index, with ended workers."""
        return sorted(
            (record for record in self._records.values() if record.key == key), key=lambda record: record.index
        )

    def is_stopping(self, record: WorkerRecord) -> bool:
        return (record.key, record.index) in self._kill_at

    def refresh(self, now: float) -> None:
        """Record workers that ended, forget those that were asked to end, and kill those that ignored the request.

        `now` is in epoch seconds.
        """
        for place, record in list(self._records.items()):
            process = processes.find(record)
            if process is not None:
                if now >= self._kill_at.get(place, math.inf):
                    log.warning("worker %s (pid %d) ignored SIGTERM and is killed", record.name, record.pid)
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
            elif place in self._kill_at:
                del self._kill_at[place], self._records[place]
            elif record.ended is None:
                log.warning("worker %s (pid %d) ended by itself", record.name, record.pid)
                failures = 0 if record.served else record.failures + 1
                self._records[place] = record.model_copy(update={"ended": now, "failures": failures})
        self._save()

    def mark_served(self, record: WorkerRecord) -> None:
        if not record.served:
            update = {"served": True, "failures": 0}
            self._records[record.key, record.index] = record.model_copy(update=update)
            self._save()

    def start(self, key: Key, index: int, wanted: WorkerSpec, exported: Exported | None = None) -> WorkerRecord:
        """Start a worker with a new log; the previous log is kept beside it."""
        previous = self._records.get((key, index))
        folder, stem = self.folder(key), f"worker-{index}"
        file, worker_log = folder / f"{stem}.properties", folder / f"{stem}.log"
        others = {record.port for place, record in self._records.items() if place != (key, index)}
        port = _port(file, others | ({exported.port} if exported else set()))
        rules = folder / f"{stem}.metrics.yaml"
        local = on_one_machine(wanted.properties, port, self._runtime.plugin_path, self.files_folder(key))
        write_private(file, as_properties_file(on_this_port(local, exported)))
        if exported is not None and exported.rules is not None:
            write_private(rules, exported.rules)
        if worker_log.exists():
            worker_log.replace(folder / f"{stem}.previous.log")
        exporter = agent(self._runtime.metrics_lib, exported, rules)
        class_path = self._runtime.class_path(wanted.jars, exported)
        command: list[str | Path] = [
            self._runtime.jdk.java,
            *wanted.jvm,
            *exporter,
            *class_archive(self._runtime.jdk, MAIN_CLASS, *class_path, writes=not exporter),
            f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}",
            "-cp",
            ":".join(map(str, class_path)),
            MAIN_CLASS,
            file,
        ]
        process = processes.start("/".join((*key, str(index))), command, worker_log, self._environment(folder), folder)
        record = WorkerRecord(
            **process.model_dump(),
            namespace=key[0],
            connect=key[1],
            index=index,
            digest=wanted.digest,
            port=port,
            metrics_port=None if exported is None else exported.port,
            archive=None if exporter else archive_file(self._runtime.jdk, MAIN_CLASS, *class_path),
            failures=previous.failures if previous and previous.digest == wanted.digest else 0,
        )
        self._records[key, index] = record
        self._save()
        log.info("worker %s started: pid %d, port %d", record.name, record.pid, port)
        return record

    def stop(self, record: WorkerRecord) -> None:
        """Ask a worker to stop; refresh() completes it."""
        if self.is_stopping(record):
            return
        log.info("worker %s (pid %d) is being stopped", record.name, record.pid)
        self._kill_at[record.key, record.index] = time.time() + record.grace_seconds
        process = processes.find(record)
        if process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()

    def stop_all(self) -> None:
        """Stop every worker and wait for the last."""
        longest = max((record.grace_seconds for record in self._records.values()), default=0.0)
        processes.stop_all(self._records.values(), longest)
        self._records.clear()
        self._save()

    def folder(self, key: Key) -> Path:
        """Return the private folder of one component's workers."""
        folder = self._runtime.folders.joinpath(*key)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def files_folder(self, key: Key) -> Path:
        """Return the folder for the files that each of the component's workers would keep in its pod's /tmp."""
        return self.folder(key) / OF_A_POD

    def keep(self, key: Key, files: Mapping[str, bytes]) -> None:
        """Write these files, given by path in a pod, and remove all others."""
        folder = self.files_folder(key)
        local = {Path(in_folder(path, folder)): content for path, content in files.items()}
        for file, content in local.items():
            text = file.suffix == ".properties"
            write_private(file, in_folder(content.decode(), folder) if text else content)
        for file in (path for path in folder.rglob("*") if path.is_file() and path not in local):
            file.unlink()

    def log_text(self, record: WorkerRecord, which: str = "") -> str:
        """Return the log of the worker, or with `.previous` that of the process before it; empty if there is none."""
        file = self.folder(record.key) / f"worker-{record.index}{which}.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def forget(self, key: Key) -> None:
        """Remove the files of a deleted component when its workers have ended."""
        if not self.of(key):
            folder = self._runtime.folders.joinpath(*key)
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

    def _link_plugins(self) -> None:
        """Link the one plugin directory, because the provider's jars must stay out of the worker's own class path."""
        link = self._runtime.plugin_path / "config-provider"
        link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        link.unlink(missing_ok=True)
        link.symlink_to(self._runtime.config_provider_lib)

    def _save(self) -> None:
        text = LEDGER.dump_json(list(self._records.values()), indent=2).decode()
        if not self._file.exists() or self._file.read_text(encoding="utf-8") != text:
            write_private(self._file, text)


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
        """Return the jars of one of VERSIONS, or of the stack's own Kafka, and fetch them if need be.

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
