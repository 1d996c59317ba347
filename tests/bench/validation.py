"""`make bench`: the cost of the validation job on the local stack that runs, as ratios of one run.

1. parity reads both sides of a topic of 1,000,000 records of 100 bytes, and Kafka's own kafka-consumer-perf-test reads
   the same topics over the same listeners: the ratio of their rates;
2. the offsets check of a topic of 10,000 and of one of 1,000,000 records: how many ranges and records it reads.

Nothing is asserted about time: the machine's load is printed beside the ratios.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from rich.console import Console
from rich.table import Table

from components.contract.problems import CannotRunError
from infra.local.build import artifacts
from infra.local.build.artifacts import Artifacts
from infra.local.endpoints import Region, load_endpoints
from tests.spark.scenes import Scene, passwords

LARGE, SMALL = 1_000_000, 10_000
VALUE_BYTES = 100
PARTITIONS = 3
GROUPS = 4
DRIVER_MEMORY = "1g"
CORES = 2
ROOT = Path(__file__).resolve().parents[2]
RUN_SECONDS = 600


@dataclass(frozen=True)
class Cost:
    """What one run of the job reported about itself."""

    read_seconds: float
    records: int
    ranges_read: int
    records_read: int
    positions: int

    @property
    def records_per_second(self) -> float:
        """Records of both sides."""
        return self.records / self.read_seconds


def main() -> int:
    """Run the bench and print its table; 2 when there is no stack to run it on."""
    console = Console()
    try:
        endpoints = load_endpoints()
        built = artifacts.ensure(console)
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    with ExitStack() as stack:
        run_id = f"{int(time.time()) % 100_000}"
        scenes = {
            size: stack.enter_context(filled(Scene(endpoints, f"bench-{run_id}-{name}"), size, console))
            for size, name in ((SMALL, "small"), (LARGE, "large"))
        }
        large, (source_topic, target_topic) = scenes[LARGE], topics(scenes[LARGE])
        costs = {SMALL: validated(scenes[SMALL], built, console)}
        # Kafka's bench before and after the job, so that a machine whose load changes favours neither.
        kafka = [perf_test(large.source, source_topic, built, console)]
        costs[LARGE] = validated(large, built, console)
        kafka.append(perf_test(large.target, target_topic, built, console))
    print_costs(console, kafka, costs)
    return 0


def topics(scene: Scene) -> tuple[str, str]:
    """The scene's topic on the source and on the target."""
    return scene.name, scene.remote(scene.name)


@contextmanager
def filled(scene: Scene, size: int, console: Console) -> Iterator[Scene]:
    """The scene with `size` equal records on both sides and translated groups; its topics are deleted afterwards."""
    console.print(f"writing {size:,} records of {VALUE_BYTES} bytes to both sides")
    scene.replicate(records=0, partitions=PARTITIONS)
    try:
        for region, topic in zip((scene.source, scene.target), topics(scene), strict=True):
            write(region, topic, size, scene.began_ms - LARGE)
        each = size // PARTITIONS
        for partition in range(PARTITIONS):
            every = each // (2 * GROUPS + 2)
            scene.sync(scene.name, partition, *((offset, offset) for offset in range(0, each, every)))
            for number in range(GROUPS):
                translated = every * 2 * (number + 1) + 1
                scene.translate(f"{scene.name}-{number}", translated + every // 2, translated, partition)
        yield scene
    finally:
        for region, names in (
            (scene.source, [scene.name, scene.syncs_topic]),
            (scene.target, [scene.remote(scene.name), scene.checkpoints_topic]),
        ):
            admin = AdminClient(region.client_config("app"))
            for future in admin.delete_topics(names).values():
                future.result(30)


def write(region: Region, topic: str, size: int, first_ms: int) -> None:
    """`size` records in turn over the partitions, the same on every call: random bytes, a millisecond apart."""
    chance = random.Random(topic.rpartition(".")[2])
    pool = chance.randbytes(1 << 20)
    producer = Producer({**region.client_config("app"), "linger.ms": 20})
    for number in range(size):
        begin = chance.randrange(len(pool) - VALUE_BYTES)
        value = pool[begin : begin + VALUE_BYTES]
        while True:
            try:
                producer.produce(topic, value, None, number % PARTITIONS, timestamp=first_ms + number)
                break
            except BufferError:
                producer.poll(0.5)
    left = producer.flush(60)
    if left:
        raise CannotRunError(
            "not-acknowledged",
            f"{left} records were not acknowledged",
            topic,
            "The bench needs them all.",
            "see `replicate local status`",
        )


def perf_test(region: Region, topic: str, built: Artifacts, console: Console) -> float:
    """Records a second that Kafka's own consumer bench reads, its group's rebalance included, as it reports it."""
    console.print(f"kafka-consumer-perf-test in {region.alias}")
    user = region.users["app"]
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as properties:
        properties.write(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={login} username="{user.name}" password="{user.password}";\n'
            f"ssl.truststore.type=PEM\nssl.truststore.location={region.ca_file}\n"
        )
        properties.flush()
        command = [
            str(built.jdk.java), "-Xmx512m", "-cp", f"{built.connect_lib}/*",
            "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", region.bootstrap_servers,
            "--topic", topic, "--num-records", str(LARGE), "--group", f"perf-{topic}",
            "--command-config", properties.name, "--timeout", "60000",
        ]  # fmt: skip
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    figures = [line.split(", ") for line in answer.stdout.splitlines() if line[:2] == "20"]
    if not figures or int(figures[-1][4]) != LARGE:
        raise CannotRunError(
            "not-read",
            "kafka-consumer-perf-test did not read every record",
            topic,
            "Its rate would mean nothing.",
            "see that the region runs",
        )
    return float(figures[-1][5])


def validated(scene: Scene, built: Artifacts, console: Console) -> Cost:
    """Run the job as a process of its own on two cores and take the figures from its report."""
    console.print(f"validating {scene.name} with a driver of {DRIVER_MEMORY}")
    flow = scene.parameters().model_dump(mode="json", by_alias=True, exclude_none=True)
    environment = {**os.environ, **passwords(scene.endpoints), "JAVA_HOME": str(built.jdk.home)}
    with tempfile.TemporaryDirectory() as folder:
        parameters = Path(folder) / "parameters.json"
        parameters.write_text(json.dumps({"schemaVersion": 1, "stack": "bench", "flows": [flow]}))
        command = [
            sys.executable, str(ROOT / "spark" / "validate.py"), "--parameters", str(parameters), "--json",
            "--jars-dir", str(built.spark_lib), "--master", f"local[{CORES}]", "--driver-memory", DRIVER_MEMORY,
        ]  # fmt: skip
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS, env=environment
        )
    if answer.returncode != 0:
        raise CannotRunError(
            "not-validated",
            f"validation ended with {answer.returncode}",
            scene.name,
            "Only the cost of a pass is compared.",
            "see what it found",
            answer.stdout,
        )
    return cost(json.loads(answer.stdout))


def cost(report: Any) -> Cost:
    """The figures of a report of one flow, in the form of spark/report/schema.json."""
    (flow,) = report["flows"]
    counts = {check["name"]: check["counts"] for check in flow["checks"]}
    parity, offsets = counts["parity"], counts["offsets-translate"]
    return Cost(
        parity["readSeconds"],
        parity["sourceRecords"] + parity["targetRecords"],
        offsets["rangesRead"],
        offsets["recordsRead"],
        offsets["committedOffsets"],
    )


def print_costs(console: Console, kafka: list[float], costs: dict[int, Cost]) -> None:
    """The two tables and the machine's load."""
    rate = sum(kafka) / len(kafka)
    both = costs[LARGE].records_per_second
    table = Table(title=f"Reading {LARGE:,} records of {VALUE_BYTES} bytes a side, {CORES} cores", title_justify="left")
    for column in ("what", "records/s", "ratio"):
        table.add_column(column, justify="left" if column == "what" else "right")
    table.add_row("kafka-consumer-perf-test, mean of both sides", f"{rate:,.0f}", "1.00")
    table.add_row("parity, both sides together", f"{both:,.0f}", f"{both / rate:.2f}")
    table.add_row("parity, each side (they are read at the same time)", f"{both / 2:,.0f}", f"{both / 2 / rate:.2f}")
    console.print(table)
    table = Table(title="The offsets check does not grow with the topic", title_justify="left")
    for column in ("records in the topic", "committed offsets", "ranges read", "records read", "at most (x 2)"):
        table.add_column(column, justify="right")
    for size, figures in sorted(costs.items()):
        bound = figures.positions * 2
        numbers = (size, figures.positions, figures.ranges_read, figures.records_read, bound)
        table.add_row(*(f"{number:,}" for number in numbers))
    console.print(table)
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    console.print(f"load average {load} on {os.cpu_count()} cores (this bench included)")


if __name__ == "__main__":
    sys.exit(main())
