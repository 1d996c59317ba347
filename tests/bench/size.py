"""`make bench`: the cost of the validation job, as ratios within one run, on the bench's own two brokers.

1. `long`: a full validation of a long topic while records arrive, and kafka-consumer-perf-test on the same topics;
2. `depths`: the cost of its `quick` and `incremental` validations compared with `full`;
3. `workers`: two workers of a standalone master compared with one, each with a fifth of a processor;
4. `wide`: thousands of partitions with hundreds of groups;
5. `example`: a small flow, and where the time goes.

Nothing is asserted about time: processor seconds and the machine's load are printed with the ratios. The flows are
forged, so Connect does not run.

Elsewhere, workers have their own machines. Here they share two processors with the brokers, which need most of them.
With a fifth of a processor for each worker, the brokers keep up with two.

The local stack's brokers start quickly because their JVM uses only the first compiler; they then need several times the
processor time for TLS. With `--compiled`, they run as brokers do elsewhere.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kubernetes import client, config
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import artifacts, stack
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.parts.kafka import KAFKA_PARTS
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer
from tests.bench import size_page
from tests.bench.shares import limited
from tests.bench.size_fill import Large, Wide
from tests.bench.size_perf import perf_test
from tests.bench.size_run import NAMESPACE, Bench, Cost
from tests.spark.scenes import Scene
from tests.spark.standalone import standalone

SHOWS = ("long", "depths", "workers", "wide", "example")
#: The share of a processor for each worker, and a text that its executor's command line contains.
WORKER_SHARE, EXECUTOR = 0.2, "CoarseGrainedExecutorBackend"
#: Records that arrive per second while a long topic is validated.
ARRIVING = 1_000
_CALL_SECONDS = 30


def main(argv: list[str] | None = None) -> int:
    """Run the bench and print its tables; 2 if it could not run."""
    arguments = parser().parse_args(argv)
    console = Console()
    try:
        with brokers(console, compiled=arguments.compiled) as endpoints:
            bench = Bench(endpoints, artifacts.ensure(console), console)
            run_id = f"{int(time.time()) % 100_000}"
            if {"long", "depths", "workers"} & set(arguments.shows):
                long(bench, f"long-{run_id}", arguments)
            if "wide" in arguments.shows:
                wide(bench, f"wide-{run_id}", arguments)
            if "example" in arguments.shows:
                example(bench, f"example-{run_id}")
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    console.print(f"load average {load} on {os.cpu_count()} cores (this bench included)")
    return 0


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m tests.bench.size", description=__doc__.splitlines()[0])
    arguments.add_argument("--shows", nargs="+", choices=SHOWS, default=SHOWS, help="what to measure (default: all)")
    arguments.add_argument("--records", type=int, default=10_000_000, help="of a long topic (default: 10,000,000)")
    arguments.add_argument("--bytes", type=int, default=200, help="of each of them (default: 200)")
    arguments.add_argument("--partitions", type=int, default=2_000, help="of a wide flow (default: 2,000)")
    arguments.add_argument("--groups", type=int, default=500, help="of a wide flow (default: 500)")
    arguments.add_argument("--compiled", action="store_true", help="brokers with both compilers of the JVM")
    return arguments


@contextmanager
def brokers(console: Console, *, compiled: bool) -> Iterator[Endpoints]:
    """Run an API server, which keeps published verdicts, and two brokers; all of their data is deleted at the end."""
    parts = [_compiled(each) for each in KAFKA_PARTS] if compiled else KAFKA_PARTS
    try:
        endpoints = Endpoints(stack.start(console, (*stack.CONTROL_PLANE, *parts)))
        core = client.CoreV1Api(config.new_client_from_config(str(endpoints.kubeconfig)))  # type: ignore[no-untyped-call]
        named = client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE))
        core.create_namespace(named, _request_timeout=_CALL_SECONDS)
        yield endpoints
    finally:
        stack.down(Console(quiet=True), purge=True)


def _compiled(part: StackServer) -> StackServer:
    def prepare(site: StackFacts) -> Launch:
        launch = part.prepare(site)
        return replace(launch, command=tuple(each for each in launch.command if each != "-XX:TieredStopAtLevel=1"))

    return replace(part, prepare=prepare)


def long(bench: Bench, name: str, arguments: argparse.Namespace) -> None:
    """Every measurement with a long topic, because writing one takes long: first with a tenth, then with all of it."""
    flow = Large(Scene(bench.endpoints, name), arguments.bytes)
    tenth = arguments.records // 10
    costs: dict[str, Cost] = {}
    rates: list[float] = []
    for size, records in {"small": tenth, "large": arguments.records - tenth}.items():
        bench.console.print(f"writing {records:,} records of {arguments.bytes} bytes to both sides")
        flow.grow(records)
        flow.commit()
        costs[f"{size} quick"] = bench.validated(flow.scene, ["--depth", "quick"])
        if size == "large":
            rates.append(perf_test(flow.scene.source, name, flow.records, bench)[0])
        with flow.growing(ARRIVING):
            costs[f"{size} full"] = bench.validated(flow.scene, ["--publish"])
        if size == "large":
            rates.append(perf_test(flow.scene.target, flow.scene.remote(name), flow.records, bench)[0])
    size_page.print_long(bench.console, rates, costs)
    if "depths" in arguments.shows:
        # It also reads what arrived while the full validation ran.
        bench.validated(flow.scene, ["--depth", "incremental", "--publish"])
        flow.grow(arguments.records // 100)
        costs["incremental"] = bench.validated(flow.scene, ["--depth", "incremental"])
        size_page.print_depths(bench.console, costs)
    if "workers" in arguments.shows:
        for workers in (1, 2):
            with (
                tempfile.TemporaryDirectory() as folder,
                standalone(Path(folder), workers) as master,
                limited(EXECUTOR, WORKER_SHARE),
            ):
                costs[f"{workers} workers"] = bench.validated(flow.scene, master=master.url)
        size_page.print_workers(bench.console, costs["1 workers"], costs["2 workers"])


def wide(bench: Bench, name: str, arguments: argparse.Namespace) -> None:
    """A flow with half of the partitions and groups, and then with all of them."""
    costs: dict[str, Cost] = {}
    for size, share in {"half": 2, "all": 1}.items():
        partitions, groups = arguments.partitions // share, arguments.groups // share
        flow = Wide(Scene(bench.endpoints, f"{name}-{size}"), partitions, groups)
        bench.console.print(f"writing {partitions:,} partitions and {groups:,} groups to both sides")
        flow.fill()
        costs |= {f"{size} {depth}": bench.validated(flow.scene, ["--depth", depth]) for depth in ("full", "quick")}
    size_page.print_wide(bench.console, arguments.partitions, arguments.groups, costs)


def example(bench: Bench, name: str) -> None:
    """A flow like the example after `replicate local traffic`: six partitions of 1,000 records, three groups."""
    scene = Scene(bench.endpoints, name).replicate(records=1_000, partitions=6)
    for group in range(3):
        for partition in range(5):
            scene.translate(f"{name}-{group}", 500 + group, 491, partition)
    bench.validated(scene)  # The JVM writes its class archive in the first run.
    size_page.print_example(bench.console, [bench.validated(scene) for _ in range(3)])


if __name__ == "__main__":
    sys.exit(main())
