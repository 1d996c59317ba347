"""The demo: the local stack, traffic, a deployment, its proof, and what to do next."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition
from rich.console import Console
from rich.markup import escape

from components.naming import checkpoints_topic_name, remote_topic_name
from components.resolved import ResolvedFlow
from infra import deployment, engine
from infra.local import paths, stack
from infra.local.endpoints import Region, load_endpoints
from infra.local.example_traffic import TOPICS, make_example_traffic
from infra.local.memory import MemoryWatch
from infra.local.users import VALIDATOR
from infra.local.waiting import NotYetError, wait_for
from infra.settings import StackSettings, read_settings
from infra.validate import ValidationRun, run_validation

STACK = "local"
_READY_SECONDS = 240
_ARRIVAL_SECONDS = 120
_CALL_SECONDS = 10
_GIB = 1024**3


@dataclass(frozen=True)
class _Timer:
    """Prints a heading for each step and, at its end, how long it took."""

    console: Console

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        self.console.print(f"\n[bold]{escape(title)}[/]")
        began = time.monotonic()
        yield
        self.console.print(f"  [dim]{time.monotonic() - began:.1f} s[/]")


def run_demo(console: Console) -> int:
    """Run the demo; exit code of the validation, which is 0 when everything passed."""
    began = time.monotonic()
    with MemoryWatch() as memory:
        code = _run(console)
    console.print(
        f"\n{time.monotonic() - began:.0f} s in all; peak memory of everything {memory.peak_bytes / _GIB:.1f} GiB"
    )
    _say_what_next(console, code)
    return code


def _run(console: Console) -> int:
    timer = _Timer(console)
    with timer.step("1. The local stack: a Kubernetes API server and two Kafka regions"):
        endpoints = stack.up(console)
    source = endpoints.regions["useast"]
    settings = read_settings(STACK)
    with timer.step("2. Traffic in useast"):
        traffic = make_example_traffic(source, 1000, seed=1)
        console.print(f"  {sum(traffic.produced.values())} records in {len(TOPICS)} topics")
    with timer.step(f"3. Deploy the stack `{STACK}` with {engine.kubernetes_provider(settings)}"):
        changes = deployment.up(settings, lambda _: None)
        console.print("  " + ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items())))
        with console.status("waiting for connectors to be ready"):
            deployment.wait_ready(settings, _READY_SECONDS)
        console.print("  every connector is Ready, which proves nothing yet")
    (flow,) = deployment.resolved_flows(settings)
    with timer.step("4. Wait for the first replicated record and the first checkpoint, then more traffic"):
        _wait_for_arrival(flow, endpoints.regions["uswest"])
        make_example_traffic(source, 1000, seed=1)
    with timer.step("5. The proof, from the data"):
        return _validate(settings, console)


def _wait_for_arrival(flow: ResolvedFlow, target: Region) -> None:
    consumer = Consumer({**target.client_config(VALIDATOR), "group.id": "unused"})
    try:
        for topic in (remote_topic_name(flow.flow, "orders"), checkpoints_topic_name(flow.flow)):
            arrived = partial(_expect_record, consumer, topic)
            wait_for(f"a record in {topic} of {target.alias}", arrived, _ARRIVAL_SECONDS)
    finally:
        consumer.close()


def _expect_record(consumer: Consumer, topic: str) -> None:
    known = consumer.list_topics(topic, timeout=_CALL_SECONDS).topics[topic].partitions
    places = [TopicPartition(topic, number) for number in known]
    try:
        ends = [consumer.get_watermark_offsets(place, timeout=_CALL_SECONDS)[1] for place in places]
    except KafkaException as error:
        # A partition that was created a moment ago has no leader yet.
        raise NotYetError(str(error)) from error
    if not any(ends):
        raise NotYetError(f"{len(places)} partitions, no record" if places else "no such topic")


def _validate(settings: StackSettings, console: Console) -> int:
    kubeconfig = load_endpoints().kubeconfig
    report = paths.LOCAL / "validation" / settings.stack / "report.json"
    document = deployment.outputs(settings)["validation"]
    run = ValidationRun(settings.stack, document, report, kubeconfig, ("--publish", "--catch-up-seconds=60"))
    code = run_validation(run, console)
    console.print(f"  report: {_shown(report)}")
    return code


def _say_what_next(console: Console, code: int) -> None:
    if code:
        console.print("\n[red]The validation did not pass;[/] the table above names what, the report holds samples.")
    console.print(
        "\nWhat to try next:\n"
        f"  .venv/bin/replicate preview {STACK} --diff     after changing stacks/topologies/{STACK}.yaml\n"
        f"  .venv/bin/replicate up {STACK}                 deploy the change\n"
        f"  .venv/bin/replicate local traffic           more records and committed offsets\n"
        f"  .venv/bin/replicate validate {STACK}           prove it again\n"
        "  .venv/bin/replicate local status            what runs here\n"
        "  .venv/bin/replicate local down              stop it; --purge removes its data"
    )


def _shown(path: Path) -> str:
    return str(path.relative_to(paths.ROOT)) if path.is_relative_to(paths.ROOT) else str(path)
