"""The processes of Pods, in a ledger with which a restarted operator finds them again."""

import contextlib
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from pydantic import TypeAdapter

from infra.local.parts import processes
from infra.local.parts.processes import ProcessRecord
from infra.local.state import write_private

PODS = "pods.json"
KILL_AFTER_SECONDS = 10.0
#: What a kubelet writes for a container whose end it has not seen.
UNKNOWN_EXIT_CODE = 137


class PodRecord(ProcessRecord):
    """One started process. `asked` is when it was asked to end, in epoch seconds."""

    namespace: str
    pod: str
    uid: str
    started: float
    asked: float | None = None


LEDGER = TypeAdapter(list[PodRecord])


class PodProcesses:
    """All processes of Pods, by the Pod's uid, for use by one thread. Raises ValueError if the ledger is damaged."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / PODS
        records = LEDGER.validate_json(self._file.read_bytes()) if self._file.exists() else []
        self._records = {each.uid: each for each in records}

    def of(self, uid: str) -> PodRecord | None:
        return self._records.get(uid)

    def uids(self) -> set[str]:
        return set(self._records)

    def folder(self, namespace: str, pod: str) -> Path:
        """The folder with a Pod's log, and with its files while it runs."""
        return self._folder / "pods" / namespace / pod

    def start(
        self,
        place: tuple[str, str, str],
        command: Sequence[str],
        environment: Mapping[str, str],
        files: Mapping[str, bytes],
    ) -> None:
        """Start a Pod's process; `place` is its namespace, name and uid, `files` what is mounted, by path."""
        namespace, pod, uid = place
        folder = self.folder(namespace, pod)
        for path, content in files.items():
            write_private(Path(f"{folder}{path}"), content)
        name = f"{namespace}/{pod}"
        process = processes.start(name, command, folder / "log", environment, folder)
        self._records[uid] = PodRecord(
            **process.model_dump(), namespace=namespace, pod=pod, uid=uid, started=time.time()
        )
        self._save()

    def exit_code(self, record: PodRecord) -> int | None:
        """The exit code of a process that has ended; None while it runs."""
        if processes.alive(record) or processes.is_ending(record):
            return None
        code = processes.exit_code(record)
        return UNKNOWN_EXIT_CODE if code is None else code if code >= 0 else 128 - code

    def stop(self, record: PodRecord) -> bool:
        """Ask a process to end, and kill it if it has not ended in time; whether it has ended."""
        process, now = processes.find(record), time.time()
        if process is None:
            return True
        with contextlib.suppress(psutil.NoSuchProcess):
            if record.asked is None:
                self._records[record.uid] = record.model_copy(update={"asked": now})
                self._save()
                process.send_signal(signal.SIGTERM)
            elif now > record.asked + KILL_AFTER_SECONDS:
                process.kill()
        return False

    def clean(self, record: PodRecord) -> None:
        """Remove the files of a process that has ended, including credentials but not its log."""
        for path in self.folder(record.namespace, record.pod).glob("*"):
            if path.name != "log":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def forget(self, record: PodRecord) -> None:
        """Remove every trace of a Pod that no longer exists."""
        shutil.rmtree(self.folder(record.namespace, record.pod), ignore_errors=True)
        self._records.pop(record.uid, None)
        self._save()

    def stop_all(self) -> None:
        """Stop every process and wait for the last."""
        processes.stop_all(self._records.values(), KILL_AFTER_SECONDS)
        for record in self._records.values():
            self.clean(record)

    def _save(self) -> None:
        write_private(self._file, LEDGER.dump_json(list(self._records.values()), indent=2).decode())
