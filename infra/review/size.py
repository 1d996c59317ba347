"""How many tasks and which workers carry a rate, with the reason of each number and the measurement it stands on."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kafka_replication.components.checks.tuning import client_numbers
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.wording import number, numbered
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.kafka.throughput import (
    Carried,
    Case,
    Factors,
    Measurements,
    Numbers,
    carried,
    carried_by_link,
    memory_of_task,
    nearest,
)
from kafka_replication.components.topology.parsing import parse_topology

#: What is planned beyond the rate, so that a flow catches up after a stop.
_SPARE = 1.25
#: The fewest workers, of which one may fail, and the most cores of one.
_WORKERS, _MOST_CORES = 3, 4
_MIB = 2**20
#: Heap of a worker without tasks, and the part of a container's memory that Strimzi gives to the heap.
_WORKER_MIB, _HEAP = 256, 0.75


@dataclass(frozen=True)
class Question:
    """What a flow must carry; `near` is the side that the workers are beside, `tasks` how many are wanted."""

    bytes_per_second: int
    record_bytes: int
    partitions: int
    round_trip_ms: int
    tls: bool = False
    exactly_once: bool = False
    near: Side = "target"
    tasks: int | None = None
    #: The most bytes a second between the regions, in each direction; 0 is no limit.
    link: int = 0


@dataclass(frozen=True)
class Answer:
    """How to size a flow. `reasons` are texts by title; `not_measured` says what is extrapolated."""

    case: Case
    carried: Carried
    workers: int
    worker_cores: float
    worker_mib: int
    #: Cores that the brokers of both sides need together, besides what they need without the flow.
    brokers_cores: float
    reasons: dict[str, str]
    not_measured: list[str]
    settings: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the answer for JSON."""
        return {
            **{"version": 1, "tasks": self.case.tasks, "bytesPerSecond": round(self.carried.rate)},
            **{"limit": self.carried.limit, "workers": self.workers, "coresOfWorker": self.worker_cores},
            **{"mebibytesOfWorker": self.worker_mib, "coresOfBrokers": round(self.brokers_cores, 1)},
            **{"reasons": self.reasons, "notMeasured": self.not_measured, "settings": self.settings},
        }


def answer(question: Question, measured: Measurements) -> Answer:
    """Return the fewest tasks that carry the rate, and workers for them. Raises RefusedError if none do."""
    needed = question.bytes_per_second * _SPARE
    if question.link and (most := carried_by_link(question.link, question.record_bytes)) < needed:
        raise _slow_link(question, most)

    def asked(tasks: int, settings: str = "throughput") -> tuple[Case, Carried]:
        far: Side = "source" if question.near == "target" else "target"
        sizes = question.round_trip_ms, tasks, question.partitions, question.record_bytes, question.tls
        case = Case(settings, far, *sizes, exactly_once=question.exactly_once, link=question.link)  # type: ignore[arg-type]
        return case, carried(case, *_clients(settings), measured.fitted)

    numbers = [question.tasks] if question.tasks else range(1, question.partitions + 1)
    tried = [asked(tasks) for tasks in numbers]
    case, got = next((pair for pair in tried if pair[1].rate >= needed), tried[-1])
    if got.rate < needed:
        enough = (tasks for tasks in range(1, question.partitions + 1) if asked(tasks)[1].rate >= needed)
        raise _refusal(question, case, got, asked(question.partitions)[1].rate, next(enough, None))
    fitted = measured.fitted
    cores = needed * fitted.worker[case.settings].of_byte(case.record_bytes) * fitted.of_worker.of(case)
    brokers = needed * fitted.brokers[case.settings].of_byte(case.record_bytes) * fitted.of_brokers.of(case)

    def of_busiest(left: int) -> float:
        """Return the cores of the worker with the most tasks, each of which may have the most partitions."""
        return cores * min(1, math.ceil(case.tasks / left) * case.partitions_of_task / case.partitions)

    counts = range(min(case.tasks, _WORKERS - 1), case.tasks + 1)
    left = next((count for count in counts if of_busiest(count) <= _MOST_CORES), case.tasks)
    workers, worker_cores = max(_WORKERS, left + 1), max(0.5, math.ceil(of_busiest(left) * 2) / 2)
    tasks_of_worker, task = math.ceil(case.tasks / left), memory_of_task(case, *_clients(case.settings))
    heap = _WORKER_MIB + tasks_of_worker * task / _MIB
    worker_mib = math.ceil(heap / _HEAP / 256) * 256
    stood_on = nearest(case, measured.cells)
    found = measured.cells[stood_on]
    plain = asked(case.tasks, "kafka")[1].rate
    reasons = {
        "tasks": f"{_tasks_carry(case.tasks)} {_mb(got.rate)}, limited by {_LIMITS[got.limit]}; "
        f"{_mb(question.bytes_per_second)} and a quarter more, to catch up after a stop, are {_mb(needed)}",
        "settings": f"`preset: throughput`; with Kafka's own settings, as many tasks carry {_mb(plain)}",
        "cores": f"{cores:.1f} in all: {_seconds(cores / needed)}{_factors(case, fitted.of_worker)}; "
        f"if one of {workers} workers fails, another has {number(tasks_of_worker, 'task')} of {case.tasks}",
        "brokers": f"{brokers:.1f} cores more in all, of both sides: {_seconds(brokers / needed)}"
        f"{_factors(case, fitted.of_brokers)}; followers of the target's partitions come on top",
        "memory": f"{worker_mib} MiB, of which Strimzi gives {_HEAP:.0%} to the heap: "
        f"{number(tasks_of_worker, 'task')} of {task // _MIB} MiB and the worker's own {_WORKER_MIB} MiB are "
        f"{heap:.0f} MiB",
        "measured": f"{stood_on.text}: {_mb(found.rate(stood_on))}, "
        f"{_seconds(found.worker_cpu / found.records / stood_on.record_bytes)}",
        "latency": _latency(case, measured),
        "model": _model(measured),
    }
    settings = _settings(question, case, workers, worker_cores, worker_mib)
    not_measured = list(_not_measured(case, needed, measured))
    return Answer(case, got, workers, worker_cores, worker_mib, brokers, reasons, not_measured, settings)


_LIMITS = {
    "fetch": "what the fetches of a task bring in a round trip",
    "produce": "the batches that a task has in flight until they are acknowledged",
    "processor": "the processor time of a task",
    "link": "the link between the regions, if nothing is compressed",
}


def _settings(question: Question, case: Case, workers: int, cores: float, mib: int) -> dict[str, Any]:
    """Return the keys of a flow to write into its topology."""
    tuning: dict[str, Any] = {"preset": case.settings}
    if case.round_trip_ms:
        tuning["roundTripMilliseconds"] = case.round_trip_ms
        tuning |= {"acknowledgeMilliseconds": 5} if case.far == "source" else {}
    tuning["bytesPerSecondPerPartition"] = math.ceil(question.bytes_per_second / case.partitions)
    resources = {"cpu": f"{cores:g}", "memory": f"{mib}Mi"}
    connect = {"replicas": workers, "resources": {"requests": resources, "limits": dict(resources)}}
    once = {"exactlyOnce": "enabled"} if case.exactly_once else {}
    return {"tuning": tuning, **once, "connect": connect, "connectors": {"source": {"tasksMax": case.tasks}}}


def _clients(settings: str) -> tuple[Numbers, Numbers]:
    """Return the numbers of the consumer and the producer that are rendered with these settings."""
    tuning = {"preset": "default" if settings == "kafka" else settings}
    flow = {"kind": "flow", "source": "source", "target": "target", "topics": ["sized"], "tuning": tuning}
    clusters = {alias: {"region": alias, "bootstrapServers": f"{alias}:9092"} for alias in ("source", "target")}
    topology = {"strimzi": "1.2", "clusters": clusters, "replications": {"sized": flow}}
    (expanded,) = expand(parse_topology(topology))
    return client_numbers(expanded)


def _refusal(question: Question, case: Case, got: Carried, most: float, enough: int | None) -> RefusedError:
    """`most` is what a task for each partition would carry, and `enough` the number of tasks that carry the rate."""
    needed = question.bytes_per_second * _SPARE
    partitions = math.ceil(needed / most * question.partitions)
    remedy = f"spread the records over at least {partitions} partitions."
    if enough is not None:
        remedy = f"leave out `--tasks`: {_tasks_carry(enough)} it."
    return RefusedError(
        "rate-too-high",
        f"{_tasks_carry(case.tasks)} {_mb(got.rate)} of {number(case.partitions, 'partition')}, but {_asked(question)}",
        "--rate",
        f"The limit is {_LIMITS[got.limit]}, and at most one task copies a partition.",
        remedy,
    )


def _slow_link(question: Question, most: float) -> RefusedError:
    # Workers beside the target fetch batches as the producers on the source compressed them.
    who = "producers on the source" if question.near == "target" else "the connector's producer"
    what = f"the link carries {_mb(most)} of records that are not compressed, but {_asked(question)}"
    remedy = f"let {who} compress, and give the rate after compression, or get a faster link."
    return RefusedError("link-too-slow", what, "--link", "All tasks share it.", remedy)


def _asked(question: Question) -> str:
    rate = question.bytes_per_second
    return f"{_mb(rate)} and a quarter more to catch up are {_mb(rate * _SPARE)}"


def _tasks_carry(tasks: int) -> str:
    return numbered(tasks, "[task carries|tasks carry]")


def _not_measured(case: Case, needed: float, measured: Measurements) -> Iterator[str]:
    cells = [cell for cell in measured.cells if cell.settings == case.settings and not cell.pace]
    same_side = [cell for cell in cells if not cell.round_trip_ms or cell.far == case.far]
    for title, unit, comparable in (
        ("record_bytes", "B a record", cells),
        ("round_trip_ms", "ms of round trip", same_side),
        ("tasks", "tasks", cells),
        ("partitions_of_task", "partitions of a task", cells),
    ):
        known = [getattr(cell, title) for cell in comparable]
        asked = getattr(case, title)
        if not min(known) <= asked <= max(known):
            yield f"{asked:,} {unit}; {min(known):,} to {max(known):,} were"
    cores = number(measured.cores, "core")
    yield f"memory; the measured worker had a heap of 2 GiB, and shared {cores} with both brokers"
    if case.link and not any(cell.link for cell in measured.cells):
        yield "a link that limits"
    if case.tls and case.round_trip_ms and not any(cell.tls and cell.round_trip_ms for cell in cells):
        yield "TLS over a round trip"
    if case.tls and case.exactly_once:
        yield "TLS and exactly once together; their factors are multiplied"
    for name, word in (("tls", "TLS"), ("exactly_once", "exactly once")):
        with_it = [measured.cells[cell].rate(cell) for cell in cells if getattr(cell, name)]
        if getattr(case, name) and needed > (most := max(with_it, default=0)):
            yield f"{word} with more than {_mb(most)}; its factor is of processor time"
    rates = [measured.cells[cell].rate(cell) for cell in cells]
    if case.tasks > 1:
        yield (
            f"more than {_mb(max(rates))} in all: brokers and worker shared {number(measured.cores, 'core')}, and the "
            "network, the disks and the brokers' processors are assumed to be no limit"
        )


def _latency(case: Case, measured: Measurements) -> str:
    paced = [cell for cell, got in measured.cells.items() if cell.settings == case.settings and got.p50_ms is not None]
    if not paced:
        return "not measured"
    cell = nearest(Case(**{**asdict(case), "pace": 1}), paced)
    got = measured.cells[cell]
    return f"p50 {got.p50_ms:.0f} ms, p99 {got.p99_ms:.0f} ms at {_mb(cell.pace)}: {cell.text}"


def _model(measured: Measurements) -> str:
    error = (
        "its error was not measured"
        if measured.error is None
        else f"typical error {measured.error:.0%} for measurements that it was not fitted to"
    )
    versions = ", ".join(f"{name} {version}" for name, version in measured.versions.items())
    return f"{error}; measured {measured.date} on {measured.machine}, {versions}"


def _mb(rate: float) -> str:
    return f"{rate / 1e6:,.1f} MB/s"


def _seconds(of_byte: float) -> str:
    return f"{of_byte * 1e9:.1f} processor seconds for a gigabyte"


def _factors(case: Case, factors: Factors) -> str:
    named = (("TLS", case.tls, factors.tls), ("exactly once", case.exactly_once, factors.exactly_once))
    return "".join(f", with a factor of {factor:.2f} for {name}" for name, asked, factor in named if asked)
