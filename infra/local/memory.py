"""Measures the peak memory of the local stack, of this command, and of the processes that either started."""

import threading
from collections.abc import Iterable
from types import TracebackType

import psutil

from infra.local.parts import processes
from infra.local.parts.operator import workers
from infra.local.parts.processes import ProcessRecord
from infra.local.state import load_state

SAMPLE_SECONDS = 1.0


class MemoryWatch:
    """Samples the memory of all our processes while its `with` block runs; `peak_bytes` is the highest sum.

    A process counts with its proportional set size, which counts a shared page once. Where the system does not
    provide that, it counts with its resident set size, which is never smaller.
    """

    def __init__(self, sample_seconds: float = SAMPLE_SECONDS) -> None:
        self.peak_bytes = 0
        self.peak_by_process: dict[str, int] = {}
        self._sample_seconds = sample_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory", daemon=True)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            # Read the parts each time: they start and stop while the demo runs.
            self._take(memory_by_process([*load_state().parts.values(), *workers()]))
            if self._ended.wait(self._sample_seconds):
                return

    def _take(self, sample: dict[str, int]) -> None:
        if sum(sample.values()) > self.peak_bytes:
            self.peak_bytes = sum(sample.values())
            self.peak_by_process = sample


def memory_by_process(records: Iterable[ProcessRecord]) -> dict[str, int]:
    """Return the memory in bytes of each recorded process, this process and their children, by name and process id."""
    measured: dict[int, tuple[str, psutil.Process]] = {}
    for record in records:
        for process in processes.family(record):
            measured.setdefault(process.pid, (record.name, process))
    this = psutil.Process()
    for process in [this, *this.children(recursive=True)]:
        measured.setdefault(process.pid, ("command", process))
    return {f"{name}/{pid}": _bytes(process) for pid, (name, process) in measured.items()}


def _bytes(process: psutil.Process) -> int:
    try:
        memory = process.memory_full_info()
    except psutil.NoSuchProcess:
        return 0
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
    return int(getattr(memory, "pss", memory.rss))
