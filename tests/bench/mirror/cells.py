"""What is measured: the cells of the grid, and the flow that each one renders."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.topology.parsing import parse_topology
from tests.bench.mirror.cluster import Broker, client_properties
from tests.bench.mirror.proxy import Link

Settings = Literal["kafka", "throughput"]
#: What a connection has in flight when Kafka's clients fix its buffers, and when the operating system sizes them.
#: Source: the defaults of receive.buffer.bytes of consumers and of send.buffer.bytes of producers; net.ipv4.tcp_wmem.
RECEIVE_WINDOW, SEND_WINDOW, LARGE_WINDOW = 64 * 1024, 128 * 1024, 4 * 1024 * 1024

_MIB = 1024 * 1024
#: The bytes that a task has in flight at most, by its partitions: in one fetch, and in the produce requests. Sources:
#: max.partition.fetch.bytes, fetch.max.bytes; batch.size, max.request.size, max.in.flight.requests.per.connection.
_AT_ONCE: Mapping[str, Mapping[str, Callable[[float], float]]] = {
    "kafka": {
        "source": lambda partitions: min(partitions * _MIB, 50 * _MIB),
        "target": lambda partitions: min(partitions * 16 * 1024, _MIB),
    },
    "throughput": {
        "source": lambda partitions: min(partitions * 8 * _MIB, 64 * _MIB),
        "target": lambda partitions: 5 * min(partitions * 512 * 1024, 4 * _MIB),
    },
}


@dataclass(frozen=True)
class Cell:
    """One measurement. `far` is the side of the workers at which the round trip is."""

    settings: Settings = "kafka"
    far: Literal["source", "target"] = "source"
    round_trip_ms: int = 0
    tasks: int = 1
    partitions: int = 8
    record_bytes: int = 1_000
    tls: bool = False
    compression: Literal["none", "lz4", "zstd"] = "none"
    exactly_once: bool = False

    @property
    def text(self) -> str:
        return ", ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))

    @property
    def ceiling(self) -> float | None:
        """Return the bytes a second that fit into a round trip; None without one, or if another limit is nearer.

        A task has one connection to the source's broker, and one to the target's.
        """
        if not self.round_trip_ms:
            return None
        tasks = min(self.tasks, self.partitions)
        at_once = min(_AT_ONCE[self.settings][self.far](self.partitions / tasks), self._windows[self.far == "target"])
        return tasks * at_once / (self.round_trip_ms / 1000)

    @property
    def _windows(self) -> tuple[int, int]:
        """Return the windows of the consumer's and the producer's connection."""
        return (LARGE_WINDOW, LARGE_WINDOW) if self.settings == "throughput" else (RECEIVE_WINDOW, SEND_WINDOW)

    def links(self, source: Broker, target: Broker) -> list[Link]:
        """Return the proxies of the two brokers."""
        delays = {"source": 0.0, "target": 0.0, self.far: float(self.round_trip_ms)}
        return [
            Link(broker.far, broker.behind, delays[side], *self._windows)
            for side, broker in (("source", source), ("target", target))
        ]

    def objects(self, source: Broker, target: Broker) -> tuple[Mapping[str, Any], dict[str, str]]:
        """Return the rendered KafkaConnect, and the configuration of the rendered source connector."""
        settings = {"producer.override.compression.type": self.compression} if self.settings == "kafka" else {}
        flow = {
            "kind": "flow",
            "source": "source",
            "target": "target",
            "topics": [topic(self)],
            "tuning": {"preset": "default" if self.settings == "kafka" else "throughput"},
            "exactlyOnce": "enabled" if self.exactly_once else "disabled",
            "intervals": {"refreshTopicsSeconds": 1},
            "connect": {"replicas": 1},
            "connectors": {"source": {"tasksMax": self.tasks, "config": settings}},
        }
        clusters = {
            broker.alias: {"region": broker.alias, "bootstrapServers": broker.far_address}
            for broker in (source, target)
        }
        topology = {"strimzi": "1.2", "clusters": clusters, "replications": {"bench": flow}}
        (deployment,) = deployments(resolve_flows(parse_topology(topology), None, {}))
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
        if self.tls:
            for side, broker in (("source", source), ("target", target)):
                config |= {f"{side}.cluster.{key}": value for key, value in client_properties(broker).items()}
        return connect, {**config, "connector.class": spec["class"], "tasks.max": str(spec["tasksMax"])}


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def topic(cell: Cell) -> str:
    """Return the source topic of a cell, which cells with the same records share."""
    return f"records-{cell.partitions}-{cell.record_bytes}"


_USUAL = Cell()


def reduced() -> Iterator[Cell]:
    """Yield the cells that take about a quarter of an hour: each question by itself."""
    for settings in ("kafka", "throughput"):
        here = replace(_USUAL, settings=settings)
        yield from (replace(here, round_trip_ms=ms, partitions=1) for ms in (0, 20, 50, 100, 150))
        yield from (replace(here, round_trip_ms=50, partitions=count, tasks=tasks) for count, tasks in ((8, 1), (8, 4)))
        yield from (replace(here, round_trip_ms=50, partitions=1, far="target"),)
        yield from (replace(here, record_bytes=size) for size in (100, 1_000, 10_000))
    yield replace(_USUAL, settings="throughput", tasks=2)
    yield replace(_USUAL, settings="throughput", tls=True)
    yield replace(_USUAL, settings="throughput", exactly_once=True)


def whole() -> Iterator[Cell]:
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
        yield Cell(settings, far, ms, tasks, partitions, size, tls, "none", once)  # type: ignore[arg-type]
