"""Connect worker processes, and the ledger by which an operator that was restarted finds them again."""

import contextlib
import logging
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import TypeAdapter

from infra.local import processes
from infra.local.operator.worker_plan import pause_seconds
from infra.local.operator.worker_properties import as_properties_file, in_folder, on_one_machine
from infra.local.ports import free_port
from infra.local.processes import ProcessRecord
from infra.local.state import write_private

log = logging.getLogger(__name__)

STOP_GRACE_SECONDS = 15.0
"""A worker without READ on its offsets topic never ends by itself: then it is killed."""

MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

OF_A_POD = "pod"
"""Folder of a component for its workers' files; they share it, as pods of one image have the same paths."""

Key = tuple[str, str]
"""Namespace of a KafkaConnect or KafkaMirrorMaker2, and the name of the workers' component."""


class WorkerRecord(ProcessRecord):
    """One started worker; its process's name is namespace/component/index, and `connect` is the component.

    `failures` counts its ends in a row without having served; `ended` is when it was seen gone, in seconds since the
    epoch.
    """

    namespace: str
    connect: str
    index: int
    digest: str
    port: int
    failures: int = 0
    served: bool = False
    ended: float | None = None

    @property
    def key(self) -> Key:
        return self.namespace, self.connect

    def may_start_again(self, now: float) -> bool:
        return self.ended is None or now >= self.ended + pause_seconds(self.failures)


LEDGER = TypeAdapter(list[WorkerRecord])


@dataclass(frozen=True)
class Runtime:
    """Where the parts of a worker lie."""

    java: Path
    connect_lib: Path
    config_provider_lib: Path
    state_dir: Path

    @property
    def plugin_path(self) -> Path:
        return self.state_dir / "plugins"

    @property
    def ledger(self) -> Path:
        return self.state_dir / "workers.json"

    @property
    def folders(self) -> Path:
        return self.state_dir / "workers"


class Workers:
    """All workers of all resources. For one thread; it waits for nothing but the end of all of them.

    Raises ValueError if the ledger is damaged: to start anew would start every worker twice.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._file = runtime.ledger
        self._kill_at: dict[tuple[Key, int], float] = {}
        records = LEDGER.validate_json(self._file.read_bytes()) if self._file.exists() else []
        self._records = {(record.key, record.index): record for record in records}
        for record in records:
            adopted = "adopted" if processes.alive(record) else "ended while no operator ran"
            log.info("worker %s (pid %d): %s", record.name, record.pid, adopted)
        self._link_plugins()

    def keys(self) -> set[Key]:
        """Every component that has a worker, or files that a worker left."""
        left = {(folder.parent.name, folder.name) for folder in self._runtime.folders.glob("*/*")}
        return left | {key for key, _ in self._records}

    def of(self, key: Key) -> list[WorkerRecord]:
        """Records of one component by index, ended ones included."""
        return sorted((each for each in self._records.values() if each.key == key), key=lambda each: each.index)

    def is_stopping(self, record: WorkerRecord) -> bool:
        return (record.key, record.index) in self._kill_at

    def refresh(self, now: float) -> None:
        """Take note of workers that ended, forget those that were told to, and kill those that do not obey.

        `now` is in seconds since the epoch.
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

    def start(
        self, key: Key, index: int, digest: str, properties: Mapping[str, str], jvm: Sequence[str]
    ) -> WorkerRecord:
        """Start a worker on a free port; its log begins anew, the one before is kept beside it."""
        previous = self._records.get((key, index))
        port = free_port(each.port for each in self._records.values())
        folder, stem = self.folder(key), f"worker-{index}"
        file, worker_log = folder / f"{stem}.properties", folder / f"{stem}.log"
        local = on_one_machine(properties, port, self._runtime.plugin_path, self.files_folder(key))
        write_private(file, as_properties_file(local))
        if worker_log.exists():
            worker_log.replace(folder / f"{stem}.previous.log")
        command: list[str | Path] = [
            self._runtime.java,
            *jvm,
            f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}",
            "-cp",
            f"{self._runtime.connect_lib}/*",
            MAIN_CLASS,
            file,
        ]
        process = processes.start("/".join((*key, str(index))), command, worker_log, self._environment(folder), folder)
        record = WorkerRecord(
            **process.model_dump(),
            namespace=key[0],
            connect=key[1],
            index=index,
            digest=digest,
            port=port,
            failures=previous.failures if previous and previous.digest == digest else 0,
        )
        self._records[key, index] = record
        self._save()
        log.info("worker %s started: pid %d, port %d", record.name, record.pid, port)
        return record

    def stop(self, record: WorkerRecord) -> None:
        """Begin to stop a worker; refresh() sees it through."""
        if self.is_stopping(record):
            return
        log.info("worker %s (pid %d) is being stopped", record.name, record.pid)
        self._kill_at[record.key, record.index] = time.time() + STOP_GRACE_SECONDS
        process = processes.find(record)
        if process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()

    def stop_all(self) -> None:
        """Stop every worker and wait for the last."""
        processes.stop_all(self._records.values(), STOP_GRACE_SECONDS)
        self._records.clear()
        self._save()

    def folder(self, key: Key) -> Path:
        """Private directory of one component's workers."""
        folder = self._runtime.folders.joinpath(*key)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def files_folder(self, key: Key) -> Path:
        """Where lies what each of the component's workers would keep in its own pod's /tmp."""
        return self.folder(key) / OF_A_POD

    def keep(self, key: Key, files: Mapping[str, bytes]) -> None:
        """Write the files, by path in a pod, and remove those of before that are not among them."""
        folder = self.files_folder(key)
        local = {Path(in_folder(path, folder)): content for path, content in files.items()}
        for file, content in local.items():
            text = file.suffix == ".properties"
            write_private(file, in_folder(content.decode(), folder) if text else content)
        for file in (each for each in folder.rglob("*") if each.is_file() and each not in local):
            file.unlink()

    def log_text(self, record: WorkerRecord, which: str = "") -> str:
        """Log of the worker, or with `.previous` that of the process before it; empty if there is none."""
        file = self.folder(record.key) / f"worker-{record.index}{which}.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def forget(self, key: Key) -> None:
        """Remove what is left of a component that is gone, once its workers are."""
        if not self.of(key):
            folder = self._runtime.folders.joinpath(*key)
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                folder.parent.rmdir()

    def _environment(self, folder: Path) -> dict[str, str]:
        # Nothing of ours but a path: a proxy, a KUBECONFIG or KAFKA_ variable of the user's would reach the worker.
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "KUBECONFIG": str(folder / "kubeconfig"),
            "ADVERTISED_HOSTNAME": "127.0.0.1",
        }

    def _link_plugins(self) -> None:
        """The one plugin directory: a link, because the provider's jars must not meet the worker's own class path."""
        link = self._runtime.plugin_path / "config-provider"
        link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        link.unlink(missing_ok=True)
        link.symlink_to(self._runtime.config_provider_lib)

    def _save(self) -> None:
        text = LEDGER.dump_json(list(self._records.values()), indent=2).decode()
        if not self._file.exists() or self._file.read_text(encoding="utf-8") != text:
            write_private(self._file, text)
