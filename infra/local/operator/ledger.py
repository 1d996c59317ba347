"""The lists of the processes that the operator has started. After a restart it finds them again."""

import contextlib
import logging
import time
from pathlib import Path
from typing import Generic, TypeVar

import psutil
from pydantic import TypeAdapter, ValidationError

from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.processes import ProcessRecord
from kafka_replication.infra.local.state import write_private

log = logging.getLogger(__name__)

WORKERS, PODS = "workers.json", "pods.json"


class OperatedProcess(ProcessRecord):
    """One started process. Once it was asked to end, `kill_at` is when it is killed, in epoch seconds."""

    kill_at: float | None = None

    @property
    def key(self) -> str:
        """Return what tells the process apart from all others in its ledger."""
        return self.name


class PodRecord(OperatedProcess):
    """The process of a Pod, called namespace/name."""

    uid: str

    @property
    def key(self) -> str:
        return self.uid


#: After this a worker is killed: one without READ on its offsets topic never ends by itself.
STOP_GRACE_SECONDS = 15.0
#: The same while there is no archive of a worker's classes: the first worker that ends writes it, which takes seconds.
#: If it is killed meanwhile, every later worker starts slowly and tries again.
_WRITING_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 30.0

#: The namespace of a KafkaConnect or KafkaMirrorMaker2, and the name of its workers' component.
Component = tuple[str, str]


class WorkerRecord(OperatedProcess):
    """One started worker, called namespace/component/index; `connect` is the component.

    `failures` counts how often in a row it ended without having served, and `ended` is when that was noticed, in epoch
    seconds. `archive` is the file of its classes that it writes when it ends, unless the file exists.
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
    def component(self) -> Component:
        return self.namespace, self.connect

    @property
    def ports(self) -> tuple[int, ...]:
        """Return the port of its REST interface, and that of its metrics if it reports any."""
        return (self.port,) if self.metrics_port is None else (self.port, self.metrics_port)

    @property
    def grace_seconds(self) -> float:
        """Return how long it may take to end before it is killed."""
        return STOP_GRACE_SECONDS if self.archive is None or self.archive.exists() else _WRITING_SECONDS

    def may_start_again(self, now: float) -> bool:
        return self.ended is None or now >= self.ended + pause_seconds(self.failures)


def pause_seconds(failures: int) -> float:
    """Return the pause before a worker starts again after it ended this often in a row without having served."""
    return min(2.0 ** min(failures, 10), LONGEST_PAUSE_SECONDS) if failures else 0.0


class DamagedLedgerError(Exception):
    """A ledger cannot be read; the message is the path of its file."""


Record = TypeVar("Record", bound=OperatedProcess)


class Ledger(Generic[Record]):
    """The records of a file. Raises DamagedLedgerError: an empty ledger would start every process twice."""

    def __init__(self, file: Path, kind: type[Record]) -> None:
        self._file = file
        self._format = TypeAdapter(list[kind])  # type: ignore[valid-type]
        try:
            records: list[Record] = self._format.validate_json(file.read_bytes()) if file.exists() else []
        except ValidationError:
            # Pydantic's message would quote the file.
            raise DamagedLedgerError(str(file)) from None
        self._records = {record.key: record for record in records}

    def get(self, key: str) -> Record | None:
        return self._records.get(key)

    def all(self) -> list[Record]:
        return list(self._records.values())

    def put(self, record: Record) -> None:
        """Add a record, or replace the one with the same key."""
        self._records[record.key] = record
        self._save()

    def remove(self, *records: Record) -> None:
        for record in records:
            self._records.pop(record.key, None)
        self._save()

    def stop(self, record: Record, grace_seconds: float) -> bool:
        """Ask a process to end, and kill it if it is still there that much later; return whether it has ended."""
        process, now = processes.find(record), time.time()
        if process is None:
            return True
        with contextlib.suppress(psutil.NoSuchProcess):
            if record.kill_at is None:
                self.put(record.model_copy(update={"kill_at": now + grace_seconds}))
                process.terminate()
            elif now > record.kill_at:
                log.warning("%s (pid %d) ignored SIGTERM and is killed", record.name, record.pid)
                process.kill()
        return False

    def _save(self) -> None:
        write_private(self._file, self._format.dump_json(self.all(), indent=2))
