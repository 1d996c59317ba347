"""`make faults FAULTS='--clean 30'`: validates a healthy flow under load again and again; every alarm is false.

The conditions take turns, and a second flow runs between the same clusters.
"""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from threading import Event

import psutil
from confluent_kafka import Consumer, Producer

from kafka_replication.components.contract.report import Finding, FindingSeverity, FlowOutcome
from kafka_replication.infra.local.endpoints import APP
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.traffic import FLUSH_SECONDS, create_topics, records
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.fault_places import RECORDS, Place, expect_ends
from tests.bench.fault_stack import World
from tests.commits import commit
from tests.local.flows import READY_SECONDS
from tests.local.observed import Watch
from tests.other_groups import make_share_group, make_streams_group

FLOW = "orders"
#: Another flow between the same clusters, with topics and groups of its own.
BESIDE = "kept"
RATE = 2_000
PARTITIONS = 3
COMMIT_SECONDS = 0.2
#: The most that each group consumes between two commits. The first keeps up, the others fall ever further behind.
GROUPS = {"-live": 10_000, "-half": 200, "-slow": 20}
#: Records of a partition on the target before a run begins: about 8 seconds of traffic.
FIRST = 5_000
#: What happens to the worker before every third run, in turn.
ENDINGS = (("killed", signal.SIGKILL), ("restarted", signal.SIGTERM))


def _other_groups(place: Place) -> None:
    """Make a share group that a pattern of the flow selects, and a streams group that none selects."""
    make_share_group(place.world.east, f"{place.group}-share", place.topic)
    make_streams_group(place.world.east, f"apart-{place.group}", place.topic)


@dataclass(frozen=True)
class Condition:
    """Something unusual that is no fault.

    `clock_ms` is how far the producer's clock is ahead of the real time, and `empty` the number of partitions without
    records. A compacted topic takes no record without a key; with too few `keys`, newer records would replace all that
    a validation compares while it runs.
    """

    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    clock_ms: int = 0
    keys: int = 0
    protocol: str = "classic"
    empty: int = 0
    make: Callable[[Place], None] = lambda _: None


CONDITIONS = (
    Condition("nothing unusual"),
    Condition(
        "a compacted topic",
        {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"},
        keys=200_000,
    ),
    Condition("a clock 5 minutes ahead", clock_ms=300_000),
    Condition("groups of the consumer protocol", protocol="consumer"),
    Condition("a clock 5 minutes behind", clock_ms=-300_000),
    Condition("an empty partition", empty=1),
    Condition("a share group and a streams group", make=_other_groups),
)


@dataclass(frozen=True)
class Run:
    """One validation: how long it took, what happened before it, and what was written and committed meanwhile."""

    number: int
    condition: Condition
    outcome: FlowOutcome
    seconds: float
    before: str
    records: int
    commits: int

    @property
    def alarms(self) -> list[Finding]:
        """The findings that are more than a note."""
        found = [each for check in self.outcome.checks for each in check.findings]
        return [each for each in (*found, self.outcome.error) if each and each.severity != FindingSeverity.NOTE]

    @property
    def lines(self) -> str:
        """The run on one line, and each alarm word for word on its own line."""
        found = chain.from_iterable(check.findings for check in self.outcome.checks)
        notes = ", ".join(dict.fromkeys(each.code for each in found if each.severity == FindingSeverity.NOTE)) or "none"
        head = (
            f"{self.number}: {self.outcome.verdict}, {self.seconds:.0f} s, with {self.condition.name}, "
            f"before: {self.before}; "
            f"{self.records / self.seconds:.0f} records and {self.commits / self.seconds:.1f} commits a second; "
            f"notes: {notes}"
        )
        return "\n".join([head, *(f"   {each.severity} {each.code}: {each.message}" for each in self.alarms)])


@dataclass
class Load:
    """The producer and the consumers of one topic, which count records and commits by group."""

    place: Place
    condition: Condition
    done: dict[str, int] = field(default_factory=dict)
    ended: Event = field(default_factory=Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write and consume until the body ends. Raises the error that stopped any of them earlier."""
        partitions = {self.place.topic: PARTITIONS + self.condition.empty}
        create_topics(self.place.world.east, partitions, self.condition.config)
        works: list[Callable[[], None]] = [self._produce, *(partial(self._consume, *each) for each in GROUPS.items())]
        with ThreadPoolExecutor(len(works)) as pool:
            futures = [pool.submit(work) for work in works]
            try:
                yield
            finally:
                self.ended.set()
        for future in futures:
            future.result()

    @property
    def commits(self) -> int:
        return sum(self.done.get(group, 0) for group in GROUPS)

    def _produce(self) -> None:
        """Produce as many records as are due by now."""
        topic = self.place.topic
        producer = Producer({**self.place.world.east.client_config(APP), "enable.idempotence": True, "linger.ms": 20})
        endless = records(topic, 2**40, seed=1)
        began, sent = time.monotonic(), 0
        while not self.ended.wait(0.05):
            due = int((time.monotonic() - began) * RATE)
            for number, each in enumerate(islice(endless, due - sent), start=sent):
                partition = each.partition(number, PARTITIONS)
                key = f"key-{number % self.condition.keys}".encode() if self.condition.keys else each.key
                stamp = int(time.time() * 1000) + self.condition.clock_ms
                producer.produce(topic, each.value, key, partition, headers=list(each.headers), timestamp=stamp)
            self.done["records"] = sent = due
            producer.poll(0)
        producer.flush(FLUSH_SECONDS)

    def _consume(self, ending: str, most: int) -> None:
        config = {"group.id": f"{self.place.group}{ending}", "group.protocol": self.condition.protocol}
        config |= {"auto.offset.reset": "earliest"}
        consumer = Consumer({**self.place.world.east.client_config(APP), **config, "enable.auto.commit": False})
        consumer.subscribe([self.place.topic])
        while not self.ended.wait(COMMIT_SECONDS):
            if any(each.error() is None for each in consumer.consume(most, timeout=0)):
                consumer.commit(asynchronous=False)
                self.done[ending] = self.done.get(ending, 0) + 1
        consumer.close()


def clean_runs(world: World, runs: int) -> Iterator[Run]:
    """Validate the flow so many times in a row while it runs; each run has its own topic and groups.

    The job reads whole topics, so with one topic for all runs each run would take longer than the previous one.
    """
    for number in range(1, runs + 1):
        place, beside = Place(world, f"clean-{number}"), Place(world, f"clean-{number}", "filtered")
        condition = CONDITIONS[number % len(CONDITIONS)]
        load = Load(place, condition)
        create_topics(world.east, {beside.topic: 1})
        with load.running():
            beside.write(world.east, range(RECORDS))
            beside.commit(RECORDS)
            expect_ends(world.west, {place.remote: FIRST})
            condition.make(place)
            commit(world.east, f"{place.group}-still", {(place.topic, each): 100 for each in range(PARTITIONS)})
            before = _end_worker(world, number // 3) if number % 3 == 0 else "nothing"
            yield _run(load, number, before)
        place.remove()
        beside.remove()


def _run(load: Load, number: int, before: str) -> Run:
    began, written, commits = time.monotonic(), load.done["records"], load.commits
    outcome = load.place.world.validate(FLOW, 30, load.place.only)
    seconds = time.monotonic() - began
    return Run(number, load.condition, outcome, seconds, before, load.done["records"] - written, load.commits - commits)


def _end_worker(world: World, turn: int) -> str:
    """End the flow's worker, wait until the tasks of the new worker run, and return what happened."""
    what, how = ENDINGS[turn % len(ENDINGS)]
    watch, began = Watch(FLOW), time.monotonic()
    for worker in operator_part.workers():
        if f"/{FLOW}-" in worker.name and processes.alive(worker):
            psutil.Process(worker.pid).send_signal(how)
    wait_for("the worker to come back", partial(_expect_back, watch, world.connectors(FLOW)), READY_SECONDS, 0.5)
    return f"worker {what}, back after {time.monotonic() - began:.0f} s"


def _expect_back(watch: Watch, connectors: tuple[str, ...]) -> None:
    if not watch.happened().began:
        raise NotYetError("no worker has begun")
    states = {name: [task["state"] for task in each.status["tasks"]] for name, each in watch.running().items()}
    if not all(states.get(name) and set(states[name]) == {"RUNNING"} for name in connectors):
        raise NotYetError(str(states))
