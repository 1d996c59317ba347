"""A standalone Spark master with workers, of the pyspark distribution, on the loopback address."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.processes import ProcessRecord
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

SPARK_HOME = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"
_DEPLOY = "org.apache.spark.deploy"
_SMALL_AND_QUICK = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START_SECONDS = 600
_GRACE_SECONDS = 30


@dataclass(frozen=True)
class Standalone:
    """A running master: its `url` for `--master`, the address of its web pages, and the `folder` of all logs."""

    url: str
    pages: str
    folder: Path

    def logs(self) -> str:
        """All that master, workers and executors have written."""
        found = [*self.folder.rglob("*.log"), *self.folder.rglob("stdout"), *self.folder.rglob("stderr")]
        return "".join(each.read_text(errors="replace") for each in found)

    def executors(self) -> list[Path]:
        """The folder of each executor of any application."""
        return sorted(self.folder.glob("work-*/app-*/*"))


@contextmanager
def standalone(folder: Path, workers: int, memory: str = "1g") -> Iterator[Standalone]:
    """A master and its workers, each of one core and with `memory` for executors; they are stopped at the end."""
    started: list[ProcessRecord] = []
    port, pages = processes.free_port(), processes.free_port()
    running = Standalone(f"spark://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{pages}", folder)
    try:
        arguments = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(pages)]
        started.append(_start(folder, "master", "master.Master", arguments))
        _await(started[-1], "New state: ALIVE")
        for number in range(workers):
            work = folder / f"work-{number}"
            arguments = ["--host", LOOPBACK, "--cores", "1", "--memory", memory, "--work-dir", str(work)]
            page = str(processes.free_port())
            name = f"worker-{number}"
            started.append(_start(folder, name, "worker.Worker", [*arguments, "--webui-port", page, running.url]))
        for each in started[1:]:
            _await(each, "Successfully registered with master")
        yield running
    finally:
        # A worker ends its executors.
        processes.stop_all(reversed(started), _GRACE_SECONDS)


def _start(folder: Path, name: str, program: str, arguments: list[str]) -> ProcessRecord:
    java = find_jdk()
    command = [str(java.java), *_SMALL_AND_QUICK, "-cp", f"{SPARK_HOME}/jars/*", f"{_DEPLOY}.{program}", *arguments]
    return processes.start(name, command, folder / f"{name}.log", _environment(java.home), cwd=folder)


def _environment(java_home: Path) -> Mapping[str, str]:
    """Without PYTHONPATH and passwords: a worker has no access to this repository."""
    (library,) = SPARK_HOME.glob("jars/scala-library-*.jar")
    # Spark's scripts, which are not used here, tell a worker the version of Scala.
    version = ".".join(library.stem.split("-")[2].split(".")[:2])
    spark = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": LOOPBACK, "SPARK_SCALA_VERSION": version}
    return {"PATH": os.environ["PATH"], "JAVA_HOME": str(java_home), **spark}


def _await(record: ProcessRecord, words: str) -> None:
    def said() -> None:
        if not processes.alive(record):
            raise AssertionError(f"{record.name} ended: {processes.last_lines(record.log)}")
        if record.log is None or words not in record.log.read_text(errors="replace"):
            raise NotYetError(processes.last_lines(record.log, 1))

    wait_for(f"{record.name} to say '{words}'", said, _START_SECONDS)
