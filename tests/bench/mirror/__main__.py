"""`make bench-mirror`: how many bytes a second MirrorMaker 2 carries, over which round trip, with which settings.

Two brokers and one Connect worker with both compilers of the JVM run on this machine. The worker runs what this project
renders for a flow. It reaches both brokers through a proxy that adds the round trip, and lets as many bytes be in
flight as TCP would.

Each cell writes its result to a file, so a run that was interrupted goes on where it was. Rates on one machine are
lower than on several, because the brokers and the worker share its processors: the processor seconds per gigabyte do
not depend on that.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # not in its stubs
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.throughput import Case, Measured, measurements_of
from kafka_replication.infra.local import artifacts, paths
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.mirror import fit, page
from tests.bench.mirror.cells import HELD_BACK, PACED, asked, links, objects, reduced, topic, whole
from tests.bench.mirror.cluster import Broker, Machines, Worker, not_running
from tests.bench.mirror.looks import ENOUGH, Look, Target, arrivals, paused, rate

#: A cell copies at most so many bytes or records, and is measured for so many seconds at most.
CELL_BYTES, CELL_RECORDS, CELL_SECONDS = 512 * 2**20, 4_000_000, 15.0
#: A cell whose fetches take seconds is measured longer, for some of them.
BURST_SECONDS = 60.0
FIRST_SECONDS, WARM_SECONDS = 60, 5


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the cells, and print a table; 2 if something could not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.mirror", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="the whole grid, which takes days (default: 15 minutes)")
    parser.add_argument("--results", type=Path, default=Path(".local/mirror.jsonl"), help="where results are added")
    parser.add_argument("--seconds", type=float, default=CELL_SECONDS, help="of each cell at most (default: 15)")
    parser.add_argument("--held-back", action="store_true", help="also cells that the model must predict, and sizes")
    parser.add_argument("--latency", action="store_true", help="also cells that measure latency at a steady rate")
    parser.add_argument("--write", action="store_true", help="write the model, and the results into infra/NUMBERS.md")
    arguments = parser.parse_args(argv)
    console = Console()
    cells = [*(whole() if arguments.whole else reduced()), *(PACED if arguments.latency else ())]
    try:
        measure_all(console, [*cells, *(HELD_BACK if arguments.held_back else ())], arguments)
        document = fit.document(results(arguments.results), page.machine(), str(find_jdk().version))
        if arguments.held_back:
            measure_all(console, [case for _, case in asked(measurements_of(document))], arguments)
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    document = fit.document(results(arguments.results), page.machine(), str(find_jdk().version))
    measured = measurements_of(document)
    for text in page.sections(measured).values():
        console.print(text, soft_wrap=True, markup=False)
    console.print(f"load average {os.getloadavg()[0]:.2f}, this bench included")
    if arguments.write:
        fit.write(document)
        page.write(measured)
    return 0


def results(file: Path) -> dict[Case, Measured]:
    """Return what was measured so far."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    read = [json.loads(line) for line in lines]
    return {Case(**entry["cell"]): Measured(**entry["measured"]) for entry in read}


def measure_all(console: Console, cells: Sequence[Case], arguments: argparse.Namespace) -> None:
    """Measure the cells that are not known, and add each result to the file. Raises CannotRunError."""
    known = results(arguments.results)
    left = [cell for cell in dict.fromkeys(cells) if cell not in known]
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    built = artifacts.ensure(console)
    for tls in (False, True):
        of_kind = [cell for cell in left if cell.tls == tls]
        if not of_kind:
            continue
        with Machines(built, paths.data() / f"mirror-{int(time.time())}") as machines:
            source, target = (machines.broker(alias, tls=tls) for alias in ("source", "target"))
            for number, cell in enumerate(of_kind, 1):
                console.print(f"{number} of {len(of_kind)}: {cell.text}")
                measured = measure(machines, source, target, cell, arguments.seconds)
                entry = {"cell": asdict(cell), "measured": asdict(measured)}
                with arguments.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry) + "\n")


def fill(source: Broker, cell: Case) -> int:
    """Write the records of a cell, unless they are there, and return how many there are."""
    name, records = topic(cell), min(CELL_RECORDS, CELL_BYTES // cell.record_bytes)
    admin = AdminClient({"bootstrap.servers": source.address})
    if name in admin.list_topics(timeout=10).topics:
        return records
    create(source, name, cell.partitions)
    producer = Producer({"bootstrap.servers": source.address, "linger.ms": 20, "batch.size": 500_000})
    for number in range(records):
        # Equal values would be compressed to almost nothing.
        value = os.urandom(cell.record_bytes - 8)
        while True:
            try:
                producer.produce(name, value, number.to_bytes(8, "big"), number % cell.partitions)
                break
            except BufferError:
                producer.poll(1)
    if producer.flush(120):
        raise not_running("records were not written", name, "")
    return records


def create(broker: Broker, name: str, partitions: int, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    topic = NewTopic(name, partitions, 1, config={key.replace("_", "."): value for key, value in config.items()})
    admin.create_topics([topic])[name].result(30)


@contextmanager
def running(machines: Machines, source: Broker, target: Broker, cell: Case, name: str) -> Iterator[Worker]:
    """Run the proxy, a worker and the rendered source connector of a cell."""
    proxy = machines.proxy(links(cell, source, target))
    connect, config = objects(cell, source, target)
    worker = machines.worker(connect, target, name)
    try:
        worker.run(name, {**config, "name": name})
        yield worker
    finally:
        worker.server.stop()
        proxy.stop()


def measure(machines: Machines, source: Broker, target: Broker, cell: Case, seconds: float) -> Measured:
    """Copy the records of a cell into a new topic of the target. Raises CannotRunError."""
    if cell.pace:
        return measure_latency(machines, source, target, cell, seconds)
    records, name = fill(source, cell), f"cell-{int(time.time() * 1000)}"
    remote = f"source.{topic(cell)}"
    admin = AdminClient({"bootstrap.servers": target.address})
    for old in [known for known in admin.list_topics(timeout=10).topics if not known.startswith("__")]:
        admin.delete_topics([old])[old].result(30)
    with running(machines, source, target, cell, name) as worker:
        place = Target(target, remote, cell.partitions)
        wait_for("the first records", lambda: _first(worker, name, place), FIRST_SECONDS, 0.1)
        servers = (worker.server, source.server, target.server, machines.proxies[-1])
        cpu = [server.cpu_seconds for server in servers]
        looks = [Look(time.monotonic(), place.copied())]

        def enough() -> None:
            looks.append(Look(time.monotonic(), place.copied()))
            # The last records are not counted: they come when only some partitions have any left.
            if looks[-1].copied >= records * 0.9:
                return
            passed = looks[-1].at - looks[0].at
            if passed < seconds or (paused(looks) and len(arrivals(looks)) < ENOUGH and passed < BURST_SECONDS):
                raise NotYetError("it copies")

        wait_for("the copies", enough, max(seconds, BURST_SECONDS) + FIRST_SECONDS, 0.1)
        took = looks[-1].at - looks[0].at
        used = [server.cpu_seconds - at for server, at in zip(servers, cpu, strict=True)]
        copied = round(rate(looks) * took)
        return Measured(copied, took, used[0], used[1] + used[2], used[3], worker.server.resident_mib)


def measure_latency(machines: Machines, source: Broker, target: Broker, cell: Case, seconds: float) -> Measured:
    """Write records at the pace of a cell, and compare when the target appended each with its key: when it was written.

    Both clocks are this machine's. Raises CannotRunError.
    """
    name, remote = f"cell-{int(time.time() * 1000)}", f"source.{topic(cell)}"
    create(source, topic(cell), cell.partitions)
    create(target, remote, cell.partitions, message_timestamp_type="LogAppendTime")
    with running(machines, source, target, cell, name) as worker:
        place = Target(target, remote, cell.partitions)
        written = write_paced(source, cell, 1 / 50)
        wait_for("the first records", lambda: _first(worker, name, place), FIRST_SECONDS, 0.1)
        written += write_paced(source, cell, WARM_SECONDS)
        servers = (worker.server, source.server, target.server, machines.proxies[-1])
        begun, cpu = time.time(), [server.cpu_seconds for server in servers]
        measured = write_paced(source, cell, seconds)
        took, used = time.time() - begun, [server.cpu_seconds - at for server, at in zip(servers, cpu, strict=True)]

        def all_copied() -> None:
            if place.copied() < written + measured:
                raise NotYetError("it copies")

        wait_for("the copies", all_copied, FIRST_SECONDS, 0.2)
        after = sorted(arrived - sent for sent, arrived in place.times(written + measured) if sent >= begun * 1000)
        p50, p99 = (after[int(len(after) * share)] for share in (0.5, 0.99))
        memory = worker.server.resident_mib
        return Measured(measured, took, used[0], used[1] + used[2], used[3], memory, p50, p99)


def write_paced(source: Broker, cell: Case, seconds: float) -> int:
    """Write records at a cell's pace for so long, each with the milliseconds of its writing as its key."""
    producer = Producer({"bootstrap.servers": source.address, "linger.ms": 0})
    value, begun, written = os.urandom(cell.record_bytes - 8), time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        while written < passed * cell.pace / cell.record_bytes:
            now = int(time.time() * 1000)
            producer.produce(topic(cell), value, now.to_bytes(8, "big"), written % cell.partitions)
            written += 1
        producer.poll(0.005)
    if producer.flush(30):
        raise not_running("records were not written", topic(cell), "")
    return written


def _first(worker: Worker, name: str, place: Target) -> int:
    """Return how many records were copied. Raises NotYetError and CannotRunError."""
    if failed := worker.failed(name):
        raise not_running("a task failed", name, failed)
    if not (copied := place.copied()):
        raise NotYetError("nothing was copied")
    return copied


if __name__ == "__main__":
    sys.exit(main())
