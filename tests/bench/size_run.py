"""Runs the validation job as a separate process, and measures its cost."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import psutil
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.local.artifacts import Artifacts
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.machine.paths import link_package
from kafka_replication.infra.validate.run import quick_start
from tests.repository import ROOT
from tests.spark.scenes import Scene, passwords
from tests.spark.submitting import write_document

CORES = 2
DRIVER_MEMORY = "1g"
RUN_SECONDS = 3600
NAMESPACE = "bench"
_EVERY_SECONDS = 0.2
_MIB = 2**20


@dataclass
class Cost:
    """One run: its duration, the processor seconds of the job and of the brokers, its processes' peak memory in MiB,
    the time of each step, and its report on one flow, in the form of spark/report/schema.json. `threads` has the
    processor seconds by the name of the thread, as far as Linux keeps it: 15 characters."""

    seconds: float = 0
    processor: float = 0
    brokers: float = 0
    peak_mib: float = 0
    steps: list[tuple[str, float]] = field(default_factory=list)
    flow: Mapping[str, Any] = field(default_factory=dict)
    threads: dict[str, float] = field(default_factory=dict)

    def counts(self, check: str) -> Mapping[str, float]:
        found: Mapping[str, float] = next(each["counts"] for each in self.flow["checks"] if each["name"] == check)
        return found

    @property
    def reading(self) -> float:
        """Seconds in which parity read both sides; 0 if it looked only at the newest records."""
        return self.counts("parity").get("readSeconds", 0)

    @property
    def read(self) -> float:
        """The records of both sides that parity has compared."""
        parity = self.counts("parity")
        return parity["sourceRecords"] + parity["targetRecords"]


@dataclass(frozen=True)
class Bench:
    """The clusters, and the settings with which the job runs; `tree` is the checkout that it runs from."""

    endpoints: Endpoints
    built: Artifacts
    console: Console
    tree: Path = ROOT

    def environment(self, scene: Scene) -> dict[str, str]:
        """The variables of a job that reads the clusters."""
        environment = {**os.environ, **passwords(scene.endpoints), "JAVA_HOME": str(self.built.jdk.home)}
        environment |= quick_start(self.built.jdk, self.built.spark_lib)
        return environment | {"KUBECONFIG": str(scene.endpoints.kubeconfig), "SPARK_LOCAL_IP": "127.0.0.1"}

    def validated(self, scene: Scene, options: Sequence[str] = (), master: str = f"local[{CORES}]") -> Cost:
        """The cost of one run that finds nothing wrong."""
        self.console.print(f"validating {scene.name} on {master} {' '.join(options)}", highlight=False)
        cost, printed = self.judged(scene, options, master)
        if cost.flow["verdict"] not in (Verdict.PASS, Verdict.PARTIAL):
            raise _not_validated(scene, printed, "Only the cost of runs that find nothing wrong is compared.")
        return cost

    def judged(
        self,
        scene: Scene,
        options: Sequence[str] = (),
        master: str = f"local[{CORES}]",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[Cost, str]:
        """The cost of one run with any verdict, and what it printed."""
        environment = self.environment(scene) | dict(variables)
        with tempfile.TemporaryDirectory() as folder:
            # The path comes before the installed package.
            link_package(self.tree, folder)
            environment["PYTHONPATH"] = folder
            command = [
                sys.executable, str(self.tree / "spark" / "validate.py"),
                "--parameters", str(write_document(Path(folder), scene.parameters(namespace=NAMESPACE))), "--json",
                "--jars-dir", str(self.built.spark_lib), "--master", master, "--driver-memory", DRIVER_MEMORY, *options,
            ]  # fmt: skip
            cost, printed, said = measured(command, environment)
        if not printed.startswith("{"):
            raise _not_validated(scene, printed + "\n".join(said), "It printed no report.")
        (cost.flow,) = json.loads(printed)["flows"]
        return cost, printed


def _not_validated(scene: Scene, printed: str, why: str) -> CannotRunError:
    return CannotRunError(
        "not-validated", "the validation did not pass", scene.name, why, "see what it found", printed[-20_000:]
    )


def measured(command: Sequence[str], variables: Mapping[str, str]) -> tuple[Cost, str, list[str]]:
    """The cost of a command and of all that it starts, its output, and the lines of its log."""
    cost = Cost()
    before, began = broker_seconds(), time.monotonic()
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(variables))
    said: list[str] = []
    watchers = [
        threading.Thread(target=_steps, args=(job.stderr, began, cost, said), daemon=True),
        threading.Thread(target=_watch, args=(job, cost), daemon=True),
    ]
    for each in watchers:
        each.start()
    assert job.stdout is not None
    printed = job.stdout.read()
    job.wait(RUN_SECONDS)
    cost.seconds = time.monotonic() - began
    for each in watchers:
        each.join()
    cost.steps.append(("", cost.seconds))
    cost.brokers = broker_seconds() - before
    return cost, printed, said


def broker_seconds() -> float:
    """Processor seconds of the brokers since they started."""
    brokers = [part.pid for name, part in load_state().parts.items() if name.startswith("kafka-")]
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in brokers)


def _steps(lines: IO[str], began: float, cost: Cost, said: list[str]) -> None:
    """When each step of the job starts, in seconds since the job was started."""
    cost.steps.append(("starting Python", 0.0))
    for line in lines:
        said.append(line.rstrip())
        if line.startswith("  ") and line.rstrip().endswith("…"):
            cost.steps.append((line.strip(" …\n"), time.monotonic() - began))


def _watch(job: "subprocess.Popen[str]", cost: Cost) -> None:
    """Sample memory and processor time. No process waits for Spark's JVM, so the kernel does not add up its time."""
    spent: dict[int, float] = {}
    threads: dict[int, tuple[str, float]] = {}
    while job.poll() is None:
        try:
            one = psutil.Process(job.pid)
            family = [one, *one.children(recursive=True)]
            for each in family:
                spent[each.pid] = sum(each.cpu_times()[:2])
                threads |= {
                    thread.id: (_thread_name(each.pid, thread.id), thread.user_time + thread.system_time)
                    for thread in each.threads()
                }
            cost.peak_mib = max(cost.peak_mib, sum(each.memory_info().rss for each in family) / _MIB)
        except psutil.NoSuchProcess:
            continue
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(_EVERY_SECONDS)
    cost.processor = sum(spent.values())
    for name, seconds in threads.values():
        cost.threads[name] = cost.threads.get(name, 0) + seconds


def _thread_name(process: int, thread: int) -> str:
    try:
        return Path(f"/proc/{process}/task/{thread}/comm").read_text().strip()
    except OSError:
        return ""
