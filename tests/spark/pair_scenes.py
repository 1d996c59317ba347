"""A prefixless pair, forged on two real clusters without Connect: both directions, guarded or looping, and faults."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import cast

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from tests.spark.documents import Json, a_pair
from tests.spark.scenes import CALL_SECONDS, Headers, cluster_document, produce

Row = tuple[bytes | None, bytes | None, int, Headers]
RECORDS = 40


@dataclass
class PairScene:
    """Topics that begin with `name`, one partition each, written and replicated on both sides."""

    endpoints: Endpoints
    name: str
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000) - 600_000)

    @property
    def east(self) -> Region:
        return self.endpoints.regions["useast"]

    @property
    def west(self) -> Region:
        return self.endpoints.regions["uswest"]

    def flows(self, guarded: bool = True) -> tuple[FlowParameters, FlowParameters]:
        """The parameters of both directions, useast -> uswest first."""
        heartbeats = {"enabled": False, "intervalSeconds": 1, "sourceTopic": "heartbeats", "targetTopic": "none"}
        there, back = a_pair(guarded, topics=[f"{self.name}.*"], heartbeats=heartbeats)
        clusters = {region.alias: cluster_document(region) for region in (self.east, self.west)}
        return self._reached(there, clusters), self._reached(back, clusters)

    def _reached(self, flow: FlowParameters, clusters: dict[str, Json]) -> FlowParameters:
        document = flow.model_dump(by_alias=True)
        ends = {"source": clusters[flow.source.alias], "target": clusters[flow.target.alias]}
        return FlowParameters.model_validate({**document, **ends})

    def rows(self, written_in: Region, numbers: Iterable[int]) -> list[Row]:
        """Records by number, as a producer of a region writes them: with null keys, null values, and headers. Some
        headers look like marks."""
        alias = written_in.alias
        found = []
        for number in numbers:
            headers: Headers = [("h", b"x"), ("null", None), ("h", b"")] if number % 3 == 0 else []
            if number % 5 == 0:
                headers.append(("replicated-from-eu", None))
            if number % 8 == 0:
                headers.append((mark(written_in), b"mine" if number % 16 else None))
            key = None if number % 7 == 0 else f"k{number}".encode()
            value = None if number % 11 == 0 else f"{alias} {number}".encode()
            found.append((key, value, self.began_ms + number, headers))
        return found

    def write(self, topic: str, region: Region, rows: Iterable[Row], *passed: Region) -> None:
        """Write records to a region, with the marks of the guards on the flows from the regions `passed`."""
        produce(region, topic, 0, [(*row[:3], [*row[3], *((mark(each), None) for each in passed)]) for row in rows])

    def replicate(self, topic: str, arrived_in_west: Iterable[int] = range(RECORDS)) -> None:
        """Both regions write RECORDS and receive each other's; uswest receives only those in `arrived_in_west`."""
        create_topics(self.east, {topic: 1})
        create_topics(self.west, {topic: 1})
        half = RECORDS // 2
        for region, other, arrived in (
            (self.east, self.west, range(RECORDS)),
            (self.west, self.east, arrived_in_west),
        ):
            self.write(topic, region, self.rows(region, range(half)))
            self.write(topic, region, self.rows(other, arrived), other)
            self.write(topic, region, self.rows(region, range(half, RECORDS)))


def mark(region: Region) -> str:
    return f"replicated-from-{region.alias}"


@contextmanager
def copying(source: Region, target: Region, topic: str, times: int = 1) -> Iterator[None]:
    """Replicate as a flow with the identity policy and no guard does, until the context ends. A worker that sends
    records again has `times` above 1."""
    stop = Event()

    def copy() -> None:
        consumer = Consumer({**source.client_config("app"), "group.id": "copying", "enable.auto.commit": False})
        consumer.assign([KafkaPartition(topic, 0, 0)])
        while not stop.is_set():
            rows: list[Row] = []
            for message in consumer.consume(200, 0.1):
                assert message.error() is None, message.error()
                _, time_ms = message.timestamp()
                headers = cast(Headers, message.headers() or [])
                rows += [(message.key(), message.value(), time_ms, headers)] * times
            produce(target, topic, 0, rows)
        consumer.close()

    worker = Thread(target=copy, name=f"{source.alias} to {target.alias}")
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join(CALL_SECONDS)
