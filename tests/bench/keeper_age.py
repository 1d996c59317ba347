"""`make keeper`: how old the positions on the target are at any moment, and what it costs to keep them.

A consumer of the keeper's topic notes ten times a second how long ago the newest look began that it has seen. In the
small flow, three groups consume 500 records a second in 6 partitions and commit every 200 ms. The large ones have 2,000
partitions and 500 groups, whose offsets are committed without consumers. The keeper's login is denied the right to read
any of the records, so what it reads is the checkpoints. Rows are printed and kept; `--write` puts the newest of each
size into the page of the drills.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]  # not in its stubs
from rich.console import Console

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.kept_positions import Look, look_record, positions_topic
from kafka_replication.infra.local import stack
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints, Region
from kafka_replication.infra.local.parts.part import java_command
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.stack.settings import read_settings
from tests.bench.drill_commands import Drills
from tests.bench.drill_rows import PAGE
from tests.bench.drill_shapes import PARTITIONS, STACK, Shape, replications
from tests.bench.keeper_process import Keeper, denied, seconds_until_looked
from tests.bench.keeper_rows import FOLDER, append, read
from tests.bench.keeper_traffic import Group, running
from tests.local.flows import Deployed, write_edited
from tests.pages import put_rows

FLOW, RATE, MINUTES = "plain", 500, 2.0
SMALL = Shape("", FLOW, ("plain-orders", "plain-carts"))
GROUPS, LARGE_GROUPS, TOPICS, EACH = 3, 500, 20, 100
SECTION = "keeper age"
HEAD = (
    "watched",
    "time, load of the machine",
    "age of the positions: p50 / p99 / most",
    "of a processor each second, memory",
    "checkpoints read / records produced",
    "written to its topic",
    "first look / after a restart",
)
#: How many groups commit in one second in the large flows.
COMMITTING = 10
_TICK_SECONDS, _CALL_SECONDS, _FIRST_SECONDS, _HEAP_MIB = 0.1, 60.0, 600.0, 1_536


@dataclass
class Seen:
    """What a consumer of the keeper's topic has seen: the age of the newest look at every tick, in seconds."""

    ages: list[float] = field(default_factory=list)
    looks: int = 0
    records: int = 0

    def watch(self, region: Region, over: threading.Event) -> None:
        """Watch until the event is set."""
        topic, look_key = positions_topic(FLOW), look_record(FLOW, Look(at_ms=0, checkpoints=0))[0]
        consumer = Consumer({**region.client_config(ADMIN), "group.id": "unused", "enable.auto.commit": False})
        end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=_CALL_SECONDS)[1]
        consumer.assign([TopicPartition(topic, 0, end)])
        newest_ms = 0
        while not over.wait(_TICK_SECONDS):
            for message in consumer.consume(100_000, 0):
                key, value = message.key() or b"", message.value() or b""
                self.records += 1
                if key == look_key:
                    newest_ms, self.looks = Look.model_validate_json(value).at_ms, self.looks + 1
            if newest_ms:
                self.ages.append(time.time() - newest_ms / 1000)
        consumer.close()

    def age(self, share: float) -> float:
        return sorted(self.ages)[min(int(share * len(self.ages)), len(self.ages) - 1)]


@dataclass(frozen=True)
class Row:
    """A keeper that was watched: ages, seconds, and MiB; `processor` is seconds of it each second.

    `checkpoints` and `produced` count what was written meanwhile, to the checkpoints' topic and to the source. `first`
    and `again` are the seconds to the first look, without positions and after a restart. `load` is the average number
    of threads on the whole machine that ran or waited for one of its processors.
    """

    what: str
    minutes: float
    p50: float
    p99: float
    most: float
    looks: int
    processor: float
    mib: int
    checkpoints: int
    produced: int
    written: float
    first: float
    again: float
    load: float

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.what,
            f"{self.minutes:.0f} min, {self.load:.1f}",
            f"{self.p50:.1f} / {self.p99:.1f} / {self.most:.1f} s",
            f"{self.processor:.2f} s, {self.mib} MiB",
            f"{self.checkpoints:,} / {self.produced:,}",
            f"{self.written:.0f} a second",
            f"{self.first:.1f} / {self.again:.1f} s",
        )


def measured(drills: Drills, what: str, minutes: float, log: Path, topics: Iterable[str]) -> Row:
    """Run a keeper beside what runs, and return what it cost."""
    keeper, over, seen = Keeper(drills, log), threading.Event(), Seen()

    def written() -> tuple[int, int]:
        return total(drills.target, ["useast.checkpoints.internal"]), total(drills.source, topics)

    began = time.monotonic()
    keeper.start()
    try:
        seconds_until_looked(drills, [FLOW], _FIRST_SECONDS)
        first = time.monotonic() - began
        assert keeper.process is not None
        process, most = psutil.Process(keeper.process.pid), 0
        worked, began = sum(process.cpu_times()[:2]), time.monotonic()
        before = written()
        watching = threading.Thread(target=seen.watch, args=(drills.target, over))
        watching.start()
        loads = []
        while not over.wait(1) and time.monotonic() - began < 60 * minutes:
            most = max(most, process.memory_info().rss)
            loads.append(os.getloadavg()[0])
        seconds, worked = time.monotonic() - began, sum(process.cpu_times()[:2]) - worked
        checkpoints, produced = (now - then for now, then in zip(written(), before, strict=True))
        over.set()
        watching.join()
        keeper.kill()
        began = time.monotonic()
        keeper.start()
        seconds_until_looked(drills, [FLOW], _FIRST_SECONDS)
        again = time.monotonic() - began
    finally:
        keeper.kill()
    return Row(
        what,
        minutes,
        p50=round(seen.age(0.5), 2),
        p99=round(seen.age(0.99), 2),
        most=round(seen.age(1), 2),
        looks=seen.looks,
        processor=round(worked / seconds, 3),
        mib=most >> 20,
        checkpoints=checkpoints,
        produced=produced,
        written=round(seen.records / seconds, 1),
        first=round(first, 1),
        again=round(again, 1),
        load=round(sum(loads) / len(loads), 1),
    )


def total(region: Region, topics: Iterable[str]) -> int:
    """The sum of the ends of all partitions of these topics."""
    reader = KafkaReader("ends", region.client_config(ADMIN))
    return sum(log.end for log in reader.logs(reader.partitions(topics)).values())


@contextmanager
def deployed(endpoints: Endpoints, topics: Mapping[str, int], *, copies: bool) -> Iterator[Deployed]:
    """The flow `plain`, whose connectors are stopped unless it `copies`; its topics are on both sides then."""
    flow: dict[str, Any] = replications()[FLOW]
    if not copies:
        flow["connectors"] = {role: {"state": "stopped"} for role in ("source", "checkpoint")}
    with tempfile.TemporaryDirectory() as folder:
        write_edited(Path(folder), STACK, lambda topology: topology.update(replications={FLOW: flow}))
        create_topics(endpoints.regions["useast"], topics)
        if not copies:
            remote = {f"useast.{name}": count for name, count in topics.items()}
            create_topics(endpoints.regions["uswest"], remote)
            for alias, created in {"useast": topics, "uswest": remote}.items():
                producer = Producer(endpoints.regions[alias].client_config(ADMIN))
                for name, count in created.items():
                    for number in range(count):
                        producer.produce(name, b"value", partition=number)
                producer.flush(_CALL_SECONDS)
        with Deployed(read_settings(STACK, Path(folder)), endpoints).running() as running_flow:
            yield running_flow


def commit(region: Region, groups: Sequence[str], partitions: Sequence[tuple[str, int]], each: int, at: int) -> None:
    """Commit this offset for groups, each in so many partitions."""
    admin = AdminClient(region.client_config(ADMIN))
    for number, group in enumerate(groups):
        first = number * each
        places = [TopicPartition(*partitions[(first + one) % len(partitions)], at) for one in range(each)]
        request = [ConsumerGroupTopicPartitions(group, places)]
        admin.alter_consumer_group_offsets(request)[group].result(_CALL_SECONDS)


def small(endpoints: Endpoints, minutes: float, log: Path) -> Row:
    with deployed(endpoints, dict.fromkeys(SMALL.topics, PARTITIONS), copies=True) as flow, ExitStack() as inside:
        drills = Drills(flow, log, int(time.time()) % 1_000_000)
        groups = [Group(drills.source, f"{FLOW}-{number}", SMALL.topics) for number in range(GROUPS)]
        inside.enter_context(running({"useast": (drills.source, [SMALL])}, groups, RATE, drills.seed))
        inside.enter_context(denied(drills.source, SMALL.topics, AclOperation.READ))
        inside.enter_context(denied(drills.target, map(SMALL.remote, SMALL.topics), AclOperation.READ))
        what = f"{PARTITIONS * len(SMALL.topics)} partitions, {GROUPS} groups"
        return measured(drills, what, minutes, log, SMALL.topics)


def large(endpoints: Endpoints, minutes: float, log: Path, each: int) -> Row:
    """Let groups commit in turn in `each` partitions while the keeper runs."""
    topics = {f"{FLOW}-{number}": EACH for number in range(TOPICS)}
    partitions = [(topic, number) for topic in topics for number in range(EACH)]
    groups = [f"{FLOW}-{number}" for number in range(LARGE_GROUPS)]
    with deployed(endpoints, topics, copies=False) as flow, ExitStack() as inside:
        drills, over = Drills(flow, log, 0), threading.Event()
        commit(drills.source, groups, partitions, each, 1)

        def keep_committing() -> None:
            turn = 0
            while not over.wait(1):
                begin = turn * COMMITTING % len(groups)
                commit(drills.source, groups[begin : begin + COMMITTING], partitions, each, turn + 1)
                turn += 1

        committing = threading.Thread(target=keep_committing)
        inside.enter_context(denied(drills.source, topics, AclOperation.READ))
        inside.enter_context(denied(drills.target, [f"useast.{name}" for name in topics], AclOperation.READ))
        committing.start()
        try:
            what = f"{len(partitions):,} partitions, {len(groups)} groups in {each:,} each"
            return measured(drills, what, minutes, log, topics)
        finally:
            over.set()
            committing.join()


def _with_larger_heap(*words: Any, heap_mib: int) -> tuple[str | Path, ...]:  # noqa: ARG001
    return java_command(*words, heap_mib=_HEAP_MIB)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long each keeper is watched")
    parser.add_argument("--only", choices=("small", "large", "largest"))
    parser.add_argument("--rows", type=Path, default=FOLDER / "keeper_age.jsonl", help="file that keeps the rows")
    parser.add_argument("--write", action="store_true", help="write the rows of the file into the page, and end")
    given = parser.parse_args()
    if given.write:
        newest = {row.what: row for row in (Row(**fields) for fields in read(given.rows))}
        put_rows(PAGE, SECTION, HEAD, [row.cells for row in newest.values()])
        return 0
    if "REPLICATE_LOCAL" not in os.environ:
        parser.error("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    # A million committed offsets do not fit into the heap of the brokers of the tests.
    larger = patch("kafka_replication.infra.local.parts.kafka.java_command", _with_larger_heap)
    measures: dict[str, Callable[[Endpoints, float, Path], Row]] = {
        "small": small,
        "large": partial(large, each=40),
        "largest": partial(large, each=TOPICS * EACH),
    }
    for name in [given.only] if given.only else measures:
        with larger:
            endpoints = stack.up(Console())
        try:
            with tempfile.TemporaryDirectory() as folder:
                log = Path(folder) / "keeper.log"
                try:
                    append(given.rows, measures[name](endpoints, given.minutes, log))
                finally:
                    print(log.read_text()[-2_000:] if log.exists() else "", flush=True)
        finally:
            stack.down(Console(), purge=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
