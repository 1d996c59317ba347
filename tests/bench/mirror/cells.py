"""What is measured: the cells of the grid, and the flow that each one renders."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_replication.components.checks.tuning import client_numbers
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.kafka.throughput import (
    LARGE_WINDOW,
    Carried,
    Case,
    Fitted,
    Measurements,
    Numbers,
    carried,
)
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.review.size import Question, answer
from tests.bench.mirror.cluster import Broker, client_properties
from tests.bench.mirror.proxy import Link


def links(case: Case, source: Broker, target: Broker) -> list[Link]:
    """Return the proxies of the two brokers, with the windows that the buffers of the clients give."""
    delays = {"source": 0.0, "target": 0.0, case.far: float(case.round_trip_ms)}
    limits = {"source": 0, "target": 0, case.far: case.link}
    windows = [_window(client, f"{way}.buffer.bytes") for client, way in zip(numbers(case), _WAYS, strict=True)]
    return [
        Link(broker.far, broker.behind, delays[side], windows[0], windows[1], limits[side])
        for side, broker in (("source", source), ("target", target))
    ]


_WAYS = ("receive", "send")


def _window(client: Numbers, name: str) -> int:
    size = client[name] or 0
    return size if size > 0 else LARGE_WINDOW


@functools.cache
def numbers(case: Case) -> tuple[Numbers, Numbers]:
    """Return the properties of the consumer and of the producer that are numbers."""
    (flow,) = expand(_topology(case, "127.0.0.1:9092", "127.0.0.1:9093"))
    return client_numbers(flow)


def prediction(case: Case, fitted: Fitted) -> Carried:
    """Return what the model says about a cell."""
    return carried(case, *numbers(case), fitted)


def _topology(case: Case, source: str, target: str) -> Topology:
    own = {"producer.override.compression.type": case.compression} if case.settings == "kafka" else {}
    flow = {
        "kind": "flow",
        "source": "source",
        "target": "target",
        "topics": [topic(case)],
        "tuning": {"preset": "default" if case.settings == "kafka" else case.settings},
        "exactlyOnce": "enabled" if case.exactly_once else "disabled",
        "intervals": {"refreshTopicsSeconds": 1},
        "connect": {"replicas": 1},
        "connectors": {"source": {"tasksMax": case.tasks, "config": own}},
    }
    clusters = {
        alias: {"region": alias, "bootstrapServers": address}
        for alias, address in (("source", source), ("target", target))
    }
    return parse_topology({"strimzi": "1.2", "clusters": clusters, "replications": {"bench": flow}})


def objects(case: Case, source: Broker, target: Broker) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Return the rendered KafkaConnect, and the configuration of the rendered source connector."""
    topology = _topology(case, source.far_address, target.far_address)
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    found = [dict(planned.manifest) for planned in deployment.objects]
    (connect,) = [body for body in found if body["kind"] == "KafkaConnect"]
    (source_connector,) = [
        body
        for body in found
        if body["kind"] == "KafkaConnector" and body["spec"]["class"].endswith("MirrorSourceConnector")
    ]
    shared = {
        f"${{cfmap:{body['metadata']['namespace']}/{body['metadata']['name']}:{key}}}": value
        for body in found
        if body["kind"] == "ConfigMap"
        for key, value in body["data"].items()
    }
    spec = source_connector["spec"]
    config = {key: _plain(shared.get(str(value), value)) for key, value in spec["config"].items()}
    if case.tls:
        for side, broker in (("source", source), ("target", target)):
            config |= {f"{side}.cluster.{key}": value for key, value in client_properties(broker).items()}
    return connect, {**config, "connector.class": spec["class"], "tasks.max": str(spec["tasksMax"])}


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def topic(case: Case) -> str:
    """Return the source topic of a cell, which unpaced cells with the same records share."""
    kind = f"paced-{case.settings}-{case.round_trip_ms}" if case.pace else "records"
    return f"{kind}-{case.partitions}-{case.record_bytes}"


_USUAL = Case()


def reduced() -> Iterator[Case]:
    """Yield the cells that take about a quarter of an hour: each question by itself."""
    for settings in ("kafka", "throughput"):
        here = replace(_USUAL, settings=settings)
        yield from (replace(here, round_trip_ms=ms, partitions=1) for ms in (0, 20, 50, 100, 150))
        yield from (replace(here, round_trip_ms=50, partitions=count, tasks=tasks) for count, tasks in ((8, 1), (8, 4)))
        yield replace(here, round_trip_ms=50, partitions=1, far="target")
        yield replace(here, round_trip_ms=50, partitions=64, tasks=8)
        yield from (replace(here, round_trip_ms=50, record_bytes=size) for size in (100, 10_000))
        yield from (replace(here, record_bytes=size) for size in (100, 1_000, 10_000))
    yield replace(_USUAL, settings="throughput", tasks=2)
    yield replace(_USUAL, settings="throughput", tls=True)
    yield replace(_USUAL, settings="throughput", exactly_once=True)
    yield replace(_USUAL, settings="throughput", tls=True, round_trip_ms=50)
    yield replace(_USUAL, settings="throughput", exactly_once=True, round_trip_ms=50)


def whole() -> Iterator[Case]:
    """Yield every cell of the grid."""
    for settings, far, ms, tasks, partitions, size, tls, once in itertools.product(
        ("kafka", "throughput"),
        ("source", "target"),
        (0, 20, 50, 100, 150),
        (1, 2, 4, 8),
        (1, 4, 16, 64),
        (100, 1_000, 10_000),
        (False, True),
        (False, True),
    ):
        yield Case(settings, far, ms, tasks, partitions, size, tls, "none", once)  # type: ignore[arg-type]


#: Cells that nothing is fitted to: the model has to predict them.
HELD_BACK: Sequence[Case] = (
    Case("throughput", "source", 80, 1, 1, 1_000),
    Case("throughput", "source", 80, 2, 4, 1_000),
    Case("throughput", "target", 100, 1, 1, 1_000),
    Case("throughput", "source", 0, 1, 8, 300),
    Case("kafka", "source", 80, 1, 1, 1_000),
    Case("kafka", "target", 20, 1, 4, 1_000),
    Case("throughput", "source", 50, 2, 8, 1_000, link=20_000_000),
    Case("throughput", "source", 20, 1, 8, 100, link=10_000_000),
    Case("throughput", "target", 50, 2, 8, 1_000, link=20_000_000),
)
#: Latency at half a megabyte a second, which all of these settings carry.
PACED: Sequence[Case] = tuple(
    Case(settings, "source", ms, 1, 1, 1_000, pace=500_000)
    for settings in ("kafka", "throughput", "latency")
    for ms in (0, 50)
)
#: What is asked of `replicate size` and then measured; no cell above has as many partitions.
QUESTIONS: Sequence[Question] = (
    Question(20_000_000, 1_000, 6, 80),
    Question(5_000_000, 100, 6, 20, near="source"),
    Question(40_000_000, 10_000, 12, 100),
)


def asked(measured: Measurements) -> list[tuple[Question, Case]]:
    """Return the cells that `replicate size` answers to the questions."""
    return [(question, answer(question, measured).case) for question in QUESTIONS]
