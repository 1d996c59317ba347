"""The stack on which monitoring is tested: every shape with metrics, Prometheus, the exporter and steady traffic."""

import copy
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import yaml
from confluent_kafka import KafkaException
from kubernetes import client
from rich.console import Console

from kafka_replication.components.contract.exported_series import ADDRESS
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import LABELS, config_map_name, verdict_data
from kafka_replication.components.contract.report import CheckOutcome, FlowOutcome
from kafka_replication.components.flows.resolved import flow_digest
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.parts import processes, prometheus
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.local.traffic import LEDGER, ORDERS, SALES, STOCK, Example, create_topics, end_offsets
from kafka_replication.infra.machine import versions
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings, stack_file
from tests.bench.fault_stack import STACK, Variant, World, traffic
from tests.commits import commit
from tests.local.flows import Deployed, grant_mirror
from tests.repository import ROOT, STACKS
from tests.spark.scenes import Headers, produce

#: Seconds between two looks of the exporter, and between two rounds of traffic.
LOOK_SECONDS, TRAFFIC_SECONDS = 20, 3
EXPORTER_SECONDS = 120
_COMMIT_ROUNDS = 10
RECORDS = 4
#: Objectives that only the faults about them miss.
_OBJECTIVES = {"lagSeconds": 1800, "readAgain": 1_000_000}
_RULES = ("monitoring.coreos.com", "v1", "monitoring", "prometheusrules")


@dataclass(frozen=True)
class Form:
    """How the workers report: the type of `connect.metrics`, the form of Kafka's names, and the Kafka version."""

    metrics: str
    names: str = "legacy"
    kafka: str = versions.KAFKA


_JMX, _REPORTER = "jmxPrometheusExporter", "strimziMetricsReporter"
FORMS = {
    "jmx": Form(_JMX),
    "jmx-new": Form(_JMX, "new", versions.KAFKA_4_3),
    "reporter-new": Form(_REPORTER, "new", versions.KAFKA_4_3),
    "reporter": Form(_REPORTER),
}


def topology(form: Form) -> dict[str, Any]:
    """Every shape with this form of metrics."""
    found = Variant().topology()
    found["monitoring"] = {"namespace": "monitoring", "exporter": True}
    found["replications"].pop("kept")
    for replication in found["replications"].values():
        replication["objectives"] = _OBJECTIVES
        for workers in replication.get("parts", {"": replication}).values():
            workers.setdefault("connect", {}).update(metrics={"type": form.metrics}, version=form.kafka)
            if form.names != "legacy":
                roles = ("source",) if replication["kind"] == "prefixlessPair" else ("source", "checkpoint")
                workers["connectors"] = {role: {"config": {"metric.names.formats": form.names}} for role in roles}
    return found


def _by_certificate(found: dict[str, Any], endpoints: Endpoints) -> None:
    found["clusters"]["useast-tls"] = {
        **found["clusters"]["useast"],
        "bootstrapServers": endpoints.regions["useast"].tls_bootstrap_servers,
        "authentication": {"type": "tls", "secret": "useast-client", "principal": "mirror"},
        "validation": {"authentication": {"type": "tls", "secret": "useast-validator"}},
    }
    found["replications"]["orders"] |= {"source": "useast-tls", "namespace": {"create": False}}


def _give_certificates(world: World) -> None:
    core, users = client.CoreV1Api(world.deployed.api), world.east.users
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="mirror-orders")))
    for name, user in (("useast-client", users["mirror"]), ("useast-validator", users["validator"])):
        pair = user.certificate
        data = {"user.crt": pair.certificate.read_text(), "user.key": pair.key.read_text()}
        secret = client.V1Secret(metadata=client.V1ObjectMeta(name=name), string_data=data)
        core.create_namespaced_secret("mirror-orders", secret)
    grant_mirror(world.deployed.endpoints, world.deployed.flow("orders"), "useast")


def _write(folder: Path, form: Form, endpoints: Endpoints) -> None:
    (folder / "topologies").mkdir(parents=True, exist_ok=True)
    found = topology(form)
    _by_certificate(found, endpoints)
    (folder / "topologies" / f"{STACK}.yaml").write_text(yaml.safe_dump(found, sort_keys=False))
    stack_file(STACK, folder).write_text(stack_file(STACK, STACKS).read_text())


@contextmanager
def running(local: Path, console: Console, *, keep: bool) -> Iterator[Endpoints]:
    """Run the local stack with Prometheus until the body ends; with `keep` it stays up."""
    quiet = Console(quiet=True)
    if not keep:
        stack.down(quiet, purge=True)
        shutil.rmtree(local / "stacks", ignore_errors=True)
    try:
        yield stack.up(console, monitoring=True)
    finally:
        if not keep:
            stack.down(quiet, purge=True)


def deploy(local: Path, form: Form, endpoints: Endpoints) -> World:
    """Deploy every shape with this form of metrics, replacing what is deployed."""
    folder = local / "stacks"
    first = not folder.exists()
    _write(folder, form, endpoints)
    world = World(Deployed(read_settings(STACK, folder), endpoints), Variant(), f"{int(time.time()) % 10_000:04}")
    if first:
        _give_certificates(world)
        traffic(world)
    world.deployed.up()
    traffic(world)
    return world


def forget_series() -> None:
    """Restart Prometheus without data, so that no answer comes from the form that was deployed before."""
    processes.stop(load_state().parts[prometheus.PROMETHEUS.name])
    shutil.rmtree(paths.data() / prometheus.PROMETHEUS.name)
    stack.up(Console(quiet=True), monitoring=True)


def shorten(world: World, factor: int) -> None:
    """Divide the `for` of every deployed alert; the windows in expressions stay."""
    custom = client.CustomObjectsApi(world.deployed.api)
    for planned in monitoring_objects(world.deployed.settings.topology, STACK, None):
        if planned.kind == "PrometheusRule":
            spec = copy.deepcopy(planned.manifest["spec"])
            for rule in spec["groups"][0]["rules"]:
                rule["for"] = f"{60 * int(rule['for'].removesuffix('m')) // factor}s"
            custom.patch_namespaced_custom_object(*_RULES, planned.name, {"spec": spec})


def _replicate(world: World, *words: str) -> list[str]:
    code = "from kafka_replication.infra.commands.app import main; main()"
    return [sys.executable, "-c", code, *words, "--stacks", str(world.deployed.settings.stacks)]


@contextmanager
def exporter(world: World, log: Path) -> Iterator[None]:
    """`replicate exporter` at its usual address, which Prometheus scrapes."""
    command = _replicate(world, "exporter", STACK, "--every", str(LOOK_SECONDS))
    with log.open("w") as out, subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT) as process:

        def look() -> None:
            if process.poll() is not None:
                raise CannotRunError("exporter-ended", log.read_text(), ADDRESS, "It serves series.", f"read {log}.")
            with suppress(httpx.HTTPError):
                if "mirror_" in httpx.get(f"http://{ADDRESS}/metrics", trust_env=False).text:
                    return
            raise NotYetError("no look has ended")

        try:
            wait_for("the exporter's first look", look, EXPORTER_SECONDS)
            yield
        finally:
            process.kill()


def publish(world: World) -> None:
    """Publish a passed verdict for every flow, as the job does: the validation is not tested here."""
    core, at = client.CoreV1Api(world.deployed.api), datetime.now(UTC).isoformat(timespec="microseconds")
    for flow in OpenStack(world.deployed.settings).flows:
        ends = (flow.settings.source, flow.settings.target)
        checks = (CheckOutcome("parity", "3 of 3", {}),)
        outcome = FlowOutcome(flow.name, flow.namespace, flow_digest(flow), *ends, "default", at, checks)
        metadata = client.V1ObjectMeta(name=config_map_name(flow.name), labels=dict(LABELS))
        body = client.V1ConfigMap(metadata=metadata, data=verdict_data(outcome, at))
        with suppress(client.ApiException):
            core.delete_namespaced_config_map(config_map_name(flow.name), flow.namespace)
        core.create_namespaced_config_map(flow.namespace, body)


#: The regions with the examples whose topics get records.
_WRITTEN: Mapping[str, tuple[Example, ...]] = {"useast": (ORDERS, SALES, STOCK, LEDGER), "uswest": (LEDGER,)}


@contextmanager
def steady_traffic(world: World) -> Iterator[None]:
    """A few records to each partition every few seconds, and groups that keep up, until the body ends."""
    ended = threading.Event()
    thread = threading.Thread(target=_write_until, args=(world, ended))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _write_until(world: World, ended: threading.Event) -> None:
    for number in count():
        for alias, examples in _WRITTEN.items():
            region = world.deployed.endpoints.regions[alias]
            for example in examples:
                # A busy broker is not a fault of the flows.
                with suppress(KafkaException, AssertionError):
                    _write_once(region, example, number)
        if ended.wait(TRAFFIC_SECONDS):
            return


def _write_once(region: Region, example: Example, number: int) -> None:
    for topic, partitions in example.topics.items():
        for partition in range(partitions):
            write(region, topic, partition, RECORDS, number)
    if number % _COMMIT_ROUNDS == 0 and example.groups:
        ends = end_offsets(region, example.topics)
        for group, (topics, _) in example.groups.items():
            commit(region, group, {place: end for place, end in ends.items() if place[0] in topics})


def write(region: Region, topic: str, partition: int, records: int, number: int = 0) -> None:
    """Write distinct records with the present time."""
    now, no_headers = int(time.time() * 1000), Headers()
    rows = [
        (f"k{each}".encode(), f"{topic} {partition} {number} {each} {now}".encode(), now, no_headers)
        for each in range(records)
    ]
    produce(region, topic, partition, rows)


def a_topic(region: Region, name: str) -> None:
    """A topic of one partition with a few records."""
    create_topics(region, {name: 1})
    write(region, name, 0, RECORDS)


@contextmanager
def everything(world: World, local: Path) -> Iterator[None]:
    """Run traffic and the exporter while the body runs."""
    with ExitStack() as running_now:
        running_now.enter_context(steady_traffic(world))
        running_now.enter_context(exporter(world, local / "exporter.log"))
        yield
