"""What the tasks of a source connector carry: what fits into a round trip, and the processor time that was measured.

`throughput.json` beside this module is written by `make bench-mirror`: the cells, the machine and what was fitted to
them. Pure.
"""

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

FILE = Path(__file__).with_suffix(".json")
IN_FLIGHT = "max.in.flight.requests.per.connection"
#: The bytes that a connection has in flight if the operating system sizes its buffers. Source: net.ipv4.tcp_wmem.
LARGE_WINDOW = 4 * 1024 * 1024
#: Bytes that a record takes in a batch besides its key and value, at most. Source: DefaultRecord.
_RECORD_OVERHEAD = 21

#: The properties that decide what a consumer and a producer carry.
_CONSUMER = ("max.partition.fetch.bytes", "fetch.max.bytes", "receive.buffer.bytes", "max.poll.records")
_PRODUCER = ("batch.size", IN_FLIGHT, "buffer.memory", "max.request.size", "send.buffer.bytes")

#: Properties of a client as numbers; None for one that is not known here.
Numbers = Mapping[str, int | None]


class Limit(NamedTuple):
    """The most bytes of a partition that the property `name` allows in flight: its value, multiplied by `times`, and
    divided by the round trips that they take.
    """

    name: str
    value: int
    times: int = 1
    round_trips: int = 1

    @property
    def under_way(self) -> int:
        return self.value * self.times // self.round_trips

    @property
    def is_window(self) -> bool:
        """Return whether all partitions that a task copies from or to a broker share it."""
        return self.name in {"receive.buffer.bytes", "send.buffer.bytes"}


def fetch_limits(consumer: Numbers) -> list[Limit]:
    """Return what limits the fetches of a partition. With a window that the operating system sizes, a larger fetch
    takes several round trips; a window that is set is a limit of its own.
    """
    sizes, windows = _limits(consumer, *_CONSUMER[:2]), _limits(consumer, "receive.buffer.bytes")
    if windows or consumer.get("receive.buffer.bytes") is None:
        return [*sizes, *windows]
    return [size._replace(round_trips=_round_trips(size.value, LARGE_WINDOW)) for size in sizes]


def produce_limits(producer: Numbers) -> list[Limit]:
    """Return what limits the batches of a partition."""
    in_flight = producer.get(IN_FLIGHT) or 1
    batches = [Limit(limit.name, limit.value, in_flight) for limit in _limits(producer, "batch.size")]
    return [*batches, *_limits(producer, "buffer.memory", "send.buffer.bytes")]


def _limits(numbers: Numbers, *names: str) -> list[Limit]:
    """Return the limits set by these properties. A buffer of -1 is no limit: the operating system sizes it."""
    known = {name: numbers.get(name) for name in names}
    return [Limit(name, number) for name, number in known.items() if number is not None and number > 0]


@dataclass(frozen=True)
class Case:
    """Something that was or could be measured. `far` is the side of the workers at which the round trip is.

    `settings` are `kafka`, which leaves Kafka's own, or the preset of this name. `pace` is the bytes a second that a
    producer writes while latency is measured; 0 if there were always more records to copy. `link` is the most bytes a
    second between the workers and the far side, in each direction; 0 is no limit.
    """

    settings: Literal["kafka", "throughput", "latency"] = "kafka"
    far: Literal["source", "target"] = "source"
    round_trip_ms: int = 0
    tasks: int = 1
    partitions: int = 8
    record_bytes: int = 1_000
    tls: bool = False
    compression: Literal["none", "lz4", "zstd"] = "none"
    exactly_once: bool = False
    pace: int = 0
    link: int = 0

    @property
    def partitions_of_task(self) -> int:
        """Return the partitions of the busiest task."""
        return math.ceil(self.partitions / min(self.tasks, self.partitions))

    @property
    def text(self) -> str:
        more = [word for word, given in (("TLS", self.tls), ("exactly once", self.exactly_once)) if given]
        way = f" to the {self.far}" if self.round_trip_ms else ""
        way += f" over {self.link / 1e6:g} MB/s" if self.link else ""
        tasks, partitions = f"tasks {self.tasks}", f"partitions {self.partitions}"
        records = f"records of {self.record_bytes:,} B"
        return ", ".join([self.settings, *more, f"{self.round_trip_ms} ms{way}", tasks, partitions, records])


@dataclass(frozen=True)
class Measured:
    """What one case carried: records in `seconds`, and processor seconds; the latency if a pace was kept."""

    records: int
    seconds: float
    worker_cpu: float
    brokers_cpu: float
    proxy_cpu: float
    worker_mib: float
    p50_ms: float | None = None
    p99_ms: float | None = None

    def rate(self, case: Case) -> float:
        """Return the bytes of values a second."""
        return self.records * case.record_bytes / self.seconds


class Cost(NamedTuple):
    """Seconds of a record, and of each of its bytes."""

    per_record: float
    per_byte: float

    def of_byte(self, record_bytes: int) -> float:
        """Return the seconds of a byte in records of this size."""
        return self.per_record / record_bytes + self.per_byte


class Factors(NamedTuple):
    """How many times as much processor time is needed with TLS, and with exactly once."""

    tls: float = 1.0
    exactly_once: float = 1.0

    def of(self, case: Case) -> float:
        """Return the factor of a case; with both, they are multiplied."""
        return (self.tls if case.tls else 1.0) * (self.exactly_once if case.exactly_once else 1.0)


@dataclass(frozen=True)
class Fitted:
    """What was fitted to the cells: the seconds of a task, and the processor seconds of a worker and of the brokers of
    both sides together, by settings.

    `fetch_ms` and `acknowledge_ms` are the time of a fetch and of an acknowledgement besides the round trip.
    """

    task: Mapping[str, Cost]
    worker: Mapping[str, Cost]
    brokers: Mapping[str, Cost]
    fetch_ms: float
    acknowledge_ms: float
    of_worker: Factors
    of_brokers: Factors


@dataclass(frozen=True)
class Measurements:
    """All that `make bench-mirror` has measured, where, when, with which versions, and what was fitted to it."""

    machine: str
    cores: int
    date: str
    versions: Mapping[str, str]
    fitted: Fitted
    #: Typical relative error of the model for the cells `held_back`; None before any was measured.
    error: float | None
    cells: Mapping[Case, Measured]
    #: Cells that nothing was fitted to.
    held_back: Sequence[Case]


def measurements_of(document: Mapping[str, Any]) -> Measurements:
    """Return the measurements of a document in the form of `throughput.json`."""
    fitted = dict(document["fitted"])
    for name in ("task", "worker", "brokers"):
        fitted[name] = {settings: Cost(*cost) for settings, cost in fitted[name].items()}
    for name in ("of_worker", "of_brokers"):
        fitted[name] = Factors(*fitted[name])
    read = [(Case(**each["cell"]), Measured(**each["measured"]), each["held_back"]) for each in document["cells"]]
    return Measurements(
        document["machine"],
        document["cores"],
        document["date"],
        document["versions"],
        Fitted(**fitted),
        document["error"],
        {case: measured for case, measured, _ in read},
        [case for case, _, held_back in read if held_back],
    )


@functools.cache
def measurements() -> Measurements:
    """Return what is delivered with this version."""
    return measurements_of(json.loads(FILE.read_text(encoding="utf-8")))


def carried_alone(consumer: Numbers, producer: Numbers, round_trip_ms: int, acknowledge_ms: int) -> float | None:
    """Return the most bytes a second of a partition that has a task for itself, and the cheapest records that were
    measured; None if a property that decides it is not known.
    """
    if None in [*map(consumer.get, _CONSUMER), *map(producer.get, _PRODUCER)]:
        return None
    measured = measurements()
    record_bytes = max(case.record_bytes for case in measured.cells)
    ways: list[tuple[Literal["source", "target"], int]] = [("source", round_trip_ms), ("target", acknowledge_ms)]
    cases = [Case("throughput", far, trip, 1, 1, record_bytes) for far, trip in ways]
    return min(carried(case, consumer, producer, measured.fitted).rate for case in cases)


class Carried(NamedTuple):
    """The bytes a second that all tasks of a case carry, and what limits them."""

    rate: float
    limit: Literal["fetch", "produce", "processor", "link"]


def carried(case: Case, consumer: Numbers, producer: Numbers, fitted: Fitted) -> Carried:
    """Return what a case carries if each task has one connection to each side and processors of its own."""
    of_byte = fitted.task[case.settings].of_byte(case.record_bytes) * fitted.of_worker.of(case)
    fetch_ms, acknowledge_ms = fitted.fetch_ms, fitted.acknowledge_ms
    if case.far == "source":
        fetch_ms += case.round_trip_ms
    else:
        acknowledge_ms += case.round_trip_ms
    produced = _produced(case, producer, acknowledge_ms / 1000)
    fetched = _fetched(case, consumer, fetch_ms / 1000, max(of_byte, 1 / produced))
    rate, limit = min((1 / of_byte, "processor"), (produced, "produce"), (fetched, "fetch"))
    shared = carried_by_link(case.link, case.record_bytes) if case.link else math.inf
    busy = case.partitions / case.partitions_of_task
    return min(Carried(rate * busy, limit), Carried(shared, "link"))  # type: ignore[arg-type]


def carried_by_link(link: int, record_bytes: int) -> float:
    """Return the bytes of records a second that a link carries, if they are not compressed."""
    return link * record_bytes / (record_bytes + _RECORD_OVERHEAD)


def nearest(case: Case, cells: Iterable[Case]) -> Case:
    """Return the measured case that a case resembles most, of those whose link was no limit."""

    def distance(other: Case) -> tuple[bool, bool, bool, float]:
        sizes = (
            math.log(case.record_bytes / other.record_bytes),
            math.log(case.partitions_of_task / other.partitions_of_task),
        )
        ways = bool(case.round_trip_ms) and bool(other.round_trip_ms) and case.far != other.far
        extra = (case.tls, case.exactly_once) != (other.tls, other.exactly_once)
        trips = (case.round_trip_ms - other.round_trip_ms) / 50
        return case.settings != other.settings, ways, extra and not case.round_trip_ms, math.hypot(*sizes, trips)

    alike = (other for other in cells if bool(other.pace) == bool(case.pace) and not other.link)
    return min(alike, key=distance)


def memory_of_task(case: Case, consumer: Numbers, producer: Numbers) -> int:
    """Return the heap that a task may fill, in bytes: two fetches, a poll, and the producer's buffer."""
    partition, fetch, records = (consumer.get(name) or 0 for name in (*_CONSUMER[:2], "max.poll.records"))
    fetched = min(case.partitions_of_task * partition, fetch)
    return 2 * fetched + min(records * case.record_bytes, fetched) + (producer.get("buffer.memory") or 0)


def _fetched(case: Case, consumer: Numbers, round_trip: float, of_byte: float) -> float:
    """Return a task's bytes a second. A task with one partition asks for more only when it processes the last
    poll.
    """
    fetch = min(limit.value for limit in _limits(consumer, *_CONSUMER[:2]))
    window = min([limit.value for limit in _limits(consumer, "receive.buffer.bytes")], default=LARGE_WINDOW)
    polled = (consumer.get("max.poll.records") or 1) * case.record_bytes
    waited = max(0, fetch - polled) * of_byte if case.partitions_of_task == 1 else 0
    return fetch / (_round_trips(fetch, window) * round_trip + waited)


def _round_trips(fetch: int, window: int) -> int:
    """Return those of a fetch. Its answer has a header, so it begins one more window than the records fill."""
    return fetch // window + 1


def _produced(case: Case, producer: Numbers, acknowledged: float) -> float:
    """Return a task's bytes a second; a batch holds at least one record, and a request a batch of each partition."""
    in_flight = producer.get(IN_FLIGHT) or 1
    batch, request = (producer.get(name) or 0 for name in ("batch.size", "max.request.size"))
    records = max(1, batch // (case.record_bytes + _RECORD_OVERHEAD))
    at_once = min(case.partitions_of_task * records * case.record_bytes, max(request, case.record_bytes)) * in_flight
    shared = [limit.under_way for limit in produce_limits(producer) if limit.name != "batch.size"]
    return float(min(at_once, LARGE_WINDOW, *shared) / acknowledged)
