"""Runs Connect workers as processes, and keeps a ledger with which a restarted operator finds them again."""

import contextlib
import logging
import math
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
from pydantic import TypeAdapter

from infra.local.operator.worker_metrics import Exported, agent, on_this_port
from infra.local.operator.worker_plan import pause_seconds
from infra.local.operator.worker_properties import as_properties_file, in_folder, on_one_machine
from infra.local.operator.worker_runtime import Runtime, Wanted
from infra.local.parts import processes
from infra.local.parts.processes import ProcessRecord, free_port, is_free
from infra.local.state import write_private
from infra.machine.class_archives import archive_file, class_archive

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
        """How long it may take to end before it is killed."""
        return STOP_GRACE_SECONDS if self.archive is None or self.archive.exists() else _WRITING_SECONDS


LEDGER = TypeAdapter(list[WorkerRecord])


class Workers:
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
        """Every component that has a worker or files of an earlier one."""
        left = {(folder.parent.name, folder.name) for folder in self._runtime.folders.glob("*/*")}
        return left | {key for key, _ in self._records}

    def of(self, key: Key) -> list[WorkerRecord]:
        """The records of one component in the order of the index, with ended workers."""
        return sorted((each for each in self._records.values() if each.key == key), key=lambda each: each.index)

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

    def start(self, key: Key, index: int, wanted: Wanted, exported: Exported | None = None) -> WorkerRecord:
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
        longest = max((each.grace_seconds for each in self._records.values()), default=0.0)
        processes.stop_all(self._records.values(), longest)
        self._records.clear()
        self._save()

    def folder(self, key: Key) -> Path:
        """The private folder of one component's workers."""
        folder = self._runtime.folders.joinpath(*key)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def files_folder(self, key: Key) -> Path:
        """The folder for the files that each of the component's workers would keep in its pod's /tmp."""
        return self.folder(key) / OF_A_POD

    def keep(self, key: Key, files: Mapping[str, bytes]) -> None:
        """Write these files, given by path in a pod, and remove all others."""
        folder = self.files_folder(key)
        local = {Path(in_folder(path, folder)): content for path, content in files.items()}
        for file, content in local.items():
            text = file.suffix == ".properties"
            write_private(file, in_folder(content.decode(), folder) if text else content)
        for file in (each for each in folder.rglob("*") if each.is_file() and each not in local):
            file.unlink()

    def log_text(self, record: WorkerRecord, which: str = "") -> str:
        """The log of the worker, or with `.previous` that of the process before it; empty if there is none."""
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
    """The port in the worker's last properties, unless it is taken: the worker's id must stay the same, as a pod's
    does. Connect drops the status of a failed connector if another worker has written one of a later generation. The
    generations start again when the brokers remove the group, which they do every ten minutes if it has no member.
    """
    found = _PORT.search(file.read_text(encoding="utf-8")) if file.exists() else None
    last = int(found[1]) if found else None
    return last if last is not None and last not in taken and is_free(last) else free_port(taken)
