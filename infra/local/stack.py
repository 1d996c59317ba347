"""Starts and stops the parts of the local stack in order of dependency, and reports their status and memory."""

import contextlib
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Self

import psutil
from rich.console import Console

from kafka_replication.components.contract.parameters import DocumentPart
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.artifacts import Artifacts, ensure
from kafka_replication.infra.local.endpoints import REGIONS, USERS, Endpoints, password_key, with_passwords
from kafka_replication.infra.local.parts import control_plane, processes, prometheus
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.parts.kafka import KAFKA_PARTS, new_cluster_id
from kafka_replication.infra.local.parts.part import StackFacts, StackServer
from kafka_replication.infra.local.parts.processes import ProcessRecord, becomes_free, free_port, holder
from kafka_replication.infra.local.state import PartRecord, State, load_state, save_state
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, exclusive, wait_for


def settle_ports(state: State, part: StackServer, later_parts_run: bool) -> State:
    """Return the state with a port for each of the part's names: the last one, unless another process has taken it.

    Raises CannotRunError if something depends on a port that was taken.
    """
    ports = dict(state.ports)
    for name in part.ports:
        last = ports.get(name)
        if last is not None and becomes_free(last):
            continue
        if last is not None and (name in part.fixed_ports or later_parts_run):
            what = f"{part.name} cannot start: its port {last} was taken by {holder(last)}"
            why = "Running parts or deployed flows use that port."
            remedy = "stop that process, or delete the stack's data with `replicate local down --purge`"
            raise CannotRunError("port-taken", what, part.name, why, remedy)
        ports[name] = free_port(ports.values())
    return state.model_copy(update={"ports": ports})


def start_part(site: StackFacts, state: State, part: StackServer) -> State:
    """Start the part until it is ready, or else stop it; save and return the new state. Raises CannotRunError."""
    launch = part.prepare(site)
    with deferred_interrupt():
        record = processes.start(part.name, launch.command, paths.logs() / f"{part.name}.log", launch.env)
        state = state.with_part(PartRecord(**record.model_dump()))
        save_state(state)
    try:
        return finish_part(site, state, part)
    except BaseException:
        processes.stop(record, grace_seconds=5)
        save_state(state.without_part(part.name))
        raise


def finish_part(site: StackFacts, state: State, part: StackServer) -> State:
    """Wait until a started part answers, configure it, and save that it is ready. Raises CannotRunError if it fails."""
    record = state.parts[part.name]
    began = time.monotonic()

    def probe() -> None:
        if not processes.alive(record):
            raise _failure(record, f"{part.name} ended {time.monotonic() - began:.0f} s after its start")
        part.probe(site)

    try:
        wait_for(f"{part.name} to serve", probe, part.ready_seconds)
        if part.configure is not None:
            part.configure(site)
    except DeadlineError as error:
        raise _failure(record, f"{part.name} did not become ready: {error.what}") from error
    state = state.with_part(record.model_copy(update={"ready": True}))
    save_state(state)
    return state


def serves_now(site: StackFacts, part: StackServer) -> bool:
    """Return whether the part answers."""
    try:
        part.probe(site)
    except NotYetError:
        return False
    return True


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Delay a Ctrl-C until the body ends, so that every started process is also saved."""
    pressed: list[tuple[int, FrameType | None]] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    except ValueError:
        # Only the main thread can set handlers, and KeyboardInterrupt is raised only there.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _failure(record: PartRecord, what: str) -> CannotRunError:
    why = "The last lines of its log are below."
    remedy = (
        f"read {record.log}, then run `replicate local down` and `replicate local up`; "
        "if the part's data is damaged, `replicate local down --purge` deletes it"
    )
    return CannotRunError("part-failed", what, record.name, why, remedy, processes.last_lines(record.log))


CONTROL_PLANE = (control_plane.ETCD, control_plane.KUBE_APISERVER, control_plane.KUBE_CONTROLLER_MANAGER)
#: All parts but those of monitoring, in order of dependency.
PARTS: tuple[StackServer, ...] = (*CONTROL_PLANE, *KAFKA_PARTS, operator_part.OPERATOR)
LOCK_SECONDS = 600.0


class PartStatus(DocumentPart):
    """The status of a part. `memory_bytes` is its resident set size, None if it is not running."""

    name: str
    running: bool
    ready: bool
    pid: int | None
    ports: tuple[int, ...]
    memory_bytes: int | None
    log: Path | None


def up(console: Console, monitoring: bool = False) -> Endpoints:
    """Build what is missing and start the parts that are not running. Prometheus is one of them with `monitoring`, or
    if the stack already has it.

    Raises CannotRunError with the part that failed. The parts before it keep running, and the next `up` continues.
    """
    parts = PARTS
    if monitoring or has_monitoring():
        # Raises an error that says what to install, before anything is built or started.
        prometheus.program()
        parts += prometheus.PARTS
    return Endpoints(start(console, parts))


def has_monitoring() -> bool:
    """Return whether this stack was started with Prometheus, running or not."""
    return prometheus.PROMETHEUS.name in load_state().parts


def prometheus_address() -> str | None:
    """Return the address of the stack's Prometheus; None if it has none."""
    return prometheus.address(load_state().ports) if has_monitoring() else None


def start(console: Console, parts: Sequence[StackServer]) -> State:
    """Do what `up` does for some of the parts, given in order of dependency together with their dependencies."""
    artifacts = ensure(console)
    with exclusive(paths.lock_file(), console, "starting or stopping the local stack", LOCK_SECONDS):
        state = load_state()
        wanted = (control_plane.ADMIN, *(password_key(region, user) for region in REGIONS for user in USERS))
        cluster_ids = {alias: state.cluster_ids.get(alias) or new_cluster_id() for alias in REGIONS}
        known = {"passwords": with_passwords(state.passwords, wanted), "cluster_ids": cluster_ids}
        state = state.model_copy(update=known)
        save_state(state)
        for position, part in enumerate(parts):
            state = _bring_up(console, artifacts, state, part, parts[position + 1 :])
        return state


def _bring_up(
    console: Console, artifacts: Artifacts, state: State, part: StackServer, later: Sequence[StackServer]
) -> State:
    began = time.monotonic()
    record = state.parts.get(part.name)
    if record is not None and processes.alive(record):
        site = _site(artifacts, state)
        if record.ready and serves_now(site, part):
            _line(console, part, f"already running (process {record.pid})")
            return state
        state = finish_part(site, state, part)
        _line(console, part, f"ready after {time.monotonic() - began:.1f} s (process {record.pid})")
        return state
    later_parts_run = any(processes.alive(state.parts[part.name]) for part in later if part.name in state.parts)
    state = settle_ports(state, part, later_parts_run)
    save_state(state)
    with console.status(f"starting {part.name}"):
        state = start_part(_site(artifacts, state), state, part)
    _line(console, part, f"ready after {time.monotonic() - began:.1f} s (process {state.parts[part.name].pid})")
    return state


def down(console: Console, purge: bool = False) -> None:
    """Stop every recorded process, the last started first; with `purge` also delete the stack's data and secrets."""
    with exclusive(paths.lock_file(), console, "starting or stopping the local stack", LOCK_SECONDS):
        state = load_state()
        for part in reversed((*PARTS, *prometheus.PARTS)):
            state = _take_down(console, state, part)
            if part is operator_part.OPERATOR:
                # After the operator, which would start them again, and even if only workers are left.
                began = time.monotonic()
                with console.status("stopping Connect workers"):
                    stopped = processes.stop_all(operator_part.workers(), grace_seconds=15)
                    processes.stop_all(operator_part.pods(), grace_seconds=15)
                if stopped:
                    took = f"{time.monotonic() - began:.1f} s"
                    console.print(f"  [green]✓[/] {stopped} Connect workers stopped in {took}")
        if purge:
            _purge()
            console.print("  data, logs, certificates and passwords removed", highlight=False)


def _take_down(console: Console, state: State, part: StackServer) -> State:
    record = state.parts.get(part.name)
    if record is None:
        return state
    began = time.monotonic()
    with console.status(f"stopping {part.name}"):
        ran = processes.stop(record, part.grace_seconds)
    _line(console, part, f"stopped in {time.monotonic() - began:.1f} s" if ran else "was not running")
    state = state.without_part(part.name)
    save_state(state)
    return state


def status() -> list[PartStatus]:
    """Return the status of every part, started or not, and of the operator's workers and running pods."""
    state = load_state()
    parts = []
    for part in (*PARTS, *(part for part in prometheus.PARTS if part.name in state.parts)):
        ports = tuple(state.ports[name] for name in part.ports if name in state.ports)
        record = state.parts.get(part.name)
        parts.append(_status(part.name, record, ports, ready=record is not None and record.ready))
    for worker in operator_part.workers():
        parts.append(_status(f"worker {worker.name}", worker, worker.ports, ready=worker.served))
    for pod in operator_part.pods():
        if processes.alive(pod):
            parts.append(_status(f"pod {pod.name}", pod, (), ready=True))
    return parts


def _status(name: str, record: ProcessRecord | None, ports: tuple[int, ...], *, ready: bool) -> PartStatus:
    process = None if record is None else processes.find(record)
    memory_bytes = None
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            memory_bytes = int(process.memory_info().rss)
    running = memory_bytes is not None
    pid = None if process is None else process.pid
    log = None if record is None else record.log
    return PartStatus(
        name=name, running=running, ready=running and ready, pid=pid, ports=ports, memory_bytes=memory_bytes, log=log
    )


def _site(artifacts: Artifacts, state: State) -> StackFacts:
    return StackFacts(artifacts=artifacts, ports=state.ports, cluster_ids=state.cluster_ids, passwords=state.passwords)


def _purge() -> None:
    servers = (paths.data, paths.logs, paths.certificates, paths.control_plane, paths.operator, paths.prometheus)
    # Pulumi's state describes objects in the API server's data; without that data it would be wrong.
    for folder in (*servers, paths.pulumi, paths.validation):
        shutil.rmtree(folder(), ignore_errors=True)
    paths.state_file().unlink(missing_ok=True)


def _line(console: Console, part: StackServer, what: str) -> None:
    console.print(f"  [green]✓[/] {part.name:<24} {what}", highlight=False)


class MemoryWatch:
    """Samples the memory of all our processes while its `with` block runs; `peak_bytes` is the highest sum."""

    def __init__(self, sample_seconds: float = 1.0) -> None:
        self.peak_bytes = 0
        self.peak_by_process: dict[str, int] = {}
        self._sample_seconds = sample_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            # Read the parts each time: they start and stop while the demo runs.
            sample = memory_by_process([*load_state().parts.values(), *operator_part.workers()])
            if sum(sample.values()) > self.peak_bytes:
                self.peak_bytes, self.peak_by_process = sum(sample.values()), sample
            if self._ended.wait(self._sample_seconds):
                return


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
    """Return the proportional set size, which counts a shared page once, or else the resident set size."""
    try:
        memory = process.memory_full_info()
    except psutil.NoSuchProcess:
        return 0
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
    return int(getattr(memory, "pss", memory.rss))
