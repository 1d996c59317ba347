"""The demos: start the local stack, make traffic, deploy a stack, prove it, and say what to do next."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from components.flows.naming import replication_policy
from components.flows.resolved import ResolvedFlow
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from infra.deploy.engine import deployment
from infra.local import stack
from infra.local.endpoints import Endpoints, Region
from infra.local.memory import MemoryWatch
from infra.local.traffic import LEDGER, ORDERS, SALES, STOCK, Example, end_offsets, make_example_traffic
from infra.machine.waiting import NotYetError, wait_for
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings, read_settings
from infra.stack.stack_checks import resolved_flows
from infra.stack.yaml_files import shown
from infra.validate.run import ValidationRun, run_validation

_READY_SECONDS = 240
_ARRIVAL_SECONDS = 120
_GIB = 1024**3


@dataclass(frozen=True)
class Demo:
    """An example stack, and the traffic that it replicates, by region."""

    stack: str
    traffic: Mapping[str, Example]


DEMOS = {
    "flow": Demo("local", {"useast": ORDERS}),
    "pair": Demo("local-pair", {"useast": LEDGER, "uswest": LEDGER}),
    "split": Demo("local-split", {"useast": SALES}),
    "mirrormaker2": Demo("local-mirrormaker2", {"useast": STOCK}),
}


@contextmanager
def _step(console: Console, title: str) -> Iterator[None]:
    console.print(f"\n[bold]{escape(title)}[/]", soft_wrap=True)
    began = time.monotonic()
    yield
    console.print(f"  [dim]{time.monotonic() - began:.1f} s[/]")


def run_demo(demo: Demo, stacks: Path, console: Console) -> int:
    """Run a demo; return the exit code of its validation."""
    began = time.monotonic()
    with MemoryWatch() as memory:
        code = _run(demo, stacks, console)
    console.print(
        f"\n{time.monotonic() - began:.0f} s in total; peak memory of all processes {memory.peak_bytes / _GIB:.1f} GiB"
    )
    _say_what_next(demo.stack, console, code)
    return code


def _run(demo: Demo, stacks: Path, console: Console) -> int:
    with _step(console, "1. The local stack: a Kubernetes API server and two Kafka regions"):
        endpoints = stack.up(console)
    settings = read_settings(demo.stack, stacks)
    with _step(console, f"2. Traffic in {' and '.join(demo.traffic)}"):
        _make_traffic(demo, endpoints, console)
    with _step(console, f"3. Deploy the stack `{demo.stack}` with {stack_environment(settings).provider}"):
        changes = deployment.up(settings, lambda _: None)
        console.print("  " + ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items())))
        with console.status("waiting for connectors to be ready"):
            deployment.wait_ready(settings, _READY_SECONDS)
        console.print("  every connector is ready, which proves nothing yet")
    with _step(console, "4. Wait for the first replicated records and checkpoints, then more traffic"):
        for flow in resolved_flows(settings):
            _wait_for_arrival(flow, endpoints.regions[flow.settings.target])
        _make_traffic(demo, endpoints, console)
    with _step(console, "5. The proof, from the data"):
        return _validate(settings, console)


def _make_traffic(demo: Demo, endpoints: Endpoints, console: Console) -> None:
    for seed, (alias, example) in enumerate(demo.traffic.items(), start=1):
        made = make_example_traffic(endpoints.regions[alias], 1000, seed, example)
        console.print(f"  {sum(made.produced.values())} records in {len(example.topics)} topics on {alias}")


def _wait_for_arrival(flow: ResolvedFlow, target: Region) -> None:
    connectors = flow.settings.connectors
    topics = [replication_policy(flow.settings).remote(HEARTBEATS_TOPIC)] if connectors.heartbeat.enabled else []
    topics += [replication_policy(flow.settings).checkpoints_topic] if connectors.checkpoint.enabled else []
    for topic in topics:
        arrived = partial(_expect_record, target, topic)
        wait_for(f"a record in {topic} of {target.alias}", arrived, _ARRIVAL_SECONDS)


def _expect_record(target: Region, topic: str) -> None:
    try:
        ends = end_offsets(target, [topic])
    except KeyError as error:
        raise NotYetError("no such topic") from error
    if not any(ends.values()):
        raise NotYetError(f"{len(ends)} partitions, no record")


def _validate(settings: StackSettings, console: Console) -> int:
    folder = stack_environment(settings).validation_folder
    report, page = folder / "report.json", folder / "report.html"
    code = run_validation(ValidationRun(settings, report, publish=True, catch_up_seconds=60, html=page), console)
    console.print(f"  report: {shown(report)}\n  page: {shown(page)}")
    return code


def _say_what_next(stack_name: str, console: Console, code: int) -> None:
    if code:
        console.print(
            "\n[red]The validation did not pass;[/] the table above shows what failed, and the report holds samples."
        )
    hints = {
        f"preview {stack_name} --diff": f"after changing stacks/topologies/{stack_name}.yaml",
        f"up {stack_name}": "deploy the change",
        f"validate {stack_name}": "prove it again",
        f"destroy {stack_name}": "delete what was deployed",
        "local traffic": "make more records and committed offsets for the stack `local`",
        "local status": "show what runs here",
        "local down": "stop it; --purge deletes its data",
    }
    console.print("\nWhat to try next:")
    width = max(map(len, hints)) + 2
    for command, meaning in hints.items():
        console.print(f"  replicate {command:<{width}}{meaning}", soft_wrap=True, markup=False)
