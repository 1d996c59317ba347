"""A replicated flow, forged on two real clusters without Connect: what MirrorMaker would have written, and faults.

A forged flow holds exactly known records, so that a test can check every number that the job reports.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Producer

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.infra.local.endpoints import Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from tests.commits import commit
from tests.spark import forging
from tests.spark.documents import Json, a_flow_document

RECORDS = 60
PARTITIONS = 2
SYNC_EVERY = 10
CALL_SECONDS = 60
Headers = list[tuple[str, str | bytes | None]]
#: One producer for the addresses of a region, because a scene writes many times, and connecting takes longer.
_PRODUCERS: dict[str, Producer] = {}


@dataclass
class Scene:
    """The flow `name`: topic `name` with its remote topic, offset syncs, checkpoints and the group `name-group`."""

    endpoints: Endpoints
    name: str
    policy: str = "default"
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000) - 600_000)

    @property
    def source(self) -> Region:
        return self.endpoints.regions["useast"]

    @property
    def target(self) -> Region:
        return self.endpoints.regions["uswest"]

    @property
    def syncs_topic(self) -> str:
        return f"{self.name}.offset-syncs.internal"

    @property
    def checkpoints_topic(self) -> str:
        return f"{self.name}.checkpoints.internal"

    def remote(self, topic: str) -> str:
        return topic if self.policy == "identity" else f"useast.{topic}"

    def parameters(self, **changes: Any) -> FlowParameters:
        """The flow's parameters with short intervals; the user's password is in the variable `<ALIAS>_PASSWORD`."""
        document = a_flow_document(
            name=self.name,
            policy=self.policy,
            source=cluster_document(self.source),
            target=cluster_document(self.target),
            topics=[f"{self.name}.*"],
            topicsExclude=[r".*\.internal"],
            groups=[f"{self.name}-.*"],
            heartbeats={"enabled": False, "intervalSeconds": 1, "sourceTopic": "heartbeats", "targetTopic": "none"},
            offsetSyncs={"cluster": "source", "topic": self.syncs_topic, "lagMax": SYNC_EVERY},
            checkpoints={
                "enabled": True,
                "topic": self.checkpoints_topic,
                "intervalSeconds": 0.5,
                "syncGroupOffsets": True,
                "syncIntervalSeconds": 0.5,
            },
            refreshGroupsSeconds=0.5,
        )
        return FlowParameters.model_validate({**document, **changes})

    def replicate(self, topic: str | None = None, records: int = RECORDS, partitions: int = PARTITIONS) -> "Scene":
        """`records` per partition on both sides, and the offset syncs of a flow that lost nothing."""
        topic = topic or self.name
        create_topics(self.source, {topic: partitions, self.syncs_topic: 1})
        create_topics(self.target, {self.remote(topic): partitions, self.checkpoints_topic: 1})
        for partition in range(partitions):
            self.write(self.source, topic, partition, range(records))
            self.write(self.target, self.remote(topic), partition, range(records))
            self.sync(topic, partition, *((offset, offset) for offset in range(0, records, SYNC_EVERY)))
        return self

    def write(
        self, region: Region, topic: str, partition: int, numbers: Iterable[int], producer: Producer | None = None
    ) -> None:
        """Records by number: the same number is the same record on both sides."""
        rows = []
        for number in numbers:
            key = None if number % 7 == 0 else f"k{number}".encode()
            value = None if number % 11 == 0 else f"{partition} {number}".encode()
            headers: Headers = [("h", b"x"), ("null", None), ("empty", b"")] if number % 3 == 0 else []
            rows.append((key, value, self.began_ms + number, headers))
        produce(region, topic, partition, rows, producer)

    def sync(self, topic: str, partition: int, *pairs: tuple[int, int], region: Region | None = None) -> None:
        """Offset syncs (upstream, downstream)."""
        key = forging.offset_sync_key(topic, partition)
        rows = [(key, forging.offset_sync_value(*pair), self.began_ms, Headers()) for pair in pairs]
        produce(region or self.source, self.syncs_topic, 0, rows)

    def translate(
        self,
        group: str,
        committed: int,
        downstream: int,
        partition: int = 0,
        topic: str | None = None,
        at_ms: int | None = None,
    ) -> None:
        """A commit on the source, its checkpoint of this time, and the synced offset on the target."""
        topic = topic or self.name
        self.commit(group, committed, partition, topic)
        self.checkpoint(group, committed, downstream, partition, topic, at_ms)
        self.commit_on_target(group, downstream, partition, topic)

    def commit(self, group: str, offset: int, partition: int = 0, topic: str | None = None) -> None:
        commit(self.source, group, {(topic or self.name, partition): offset})

    def commit_on_target(self, group: str, offset: int, partition: int = 0, topic: str | None = None) -> None:
        commit(self.target, group, {(self.remote(topic or self.name), partition): offset})

    def checkpoint(
        self,
        group: str,
        upstream: int,
        downstream: int,
        partition: int = 0,
        topic: str | None = None,
        at_ms: int | None = None,
    ) -> None:
        key = forging.checkpoint_key(group, self.remote(topic or self.name), partition)
        row = (key, forging.checkpoint_value(upstream, downstream), at_ms or self.began_ms, Headers())
        produce(self.target, self.checkpoints_topic, 0, [row])


def cluster_document(region: Region) -> Json:
    """How the job reaches a region: PLAIN as the user `validator`, trust by file, the password by variable.

    Each login with SCRAM hashes 4,096 times, and a job logs in some sixty times. The tests of deployed flows use it.
    """
    return {
        "alias": region.alias,
        "bootstrapServers": region.bootstrap_servers,
        "securityProtocol": "SASL_SSL",
        "trust": {"format": "PEM", "certificates": {"file": str(region.ca_file)}, "password": None},
        "authentication": {
            "type": "plain",
            "username": "validator",
            "password": {"env": password_variable(region)},
        },
    }


def password_variable(region: Region) -> str:
    return f"{region.alias.upper()}_PASSWORD"


def passwords(endpoints: Endpoints) -> Mapping[str, str]:
    """The variables that `cluster_document` refers to."""
    return {password_variable(region): region.users["validator"].password for region in endpoints.regions.values()}


def produce(
    region: Region,
    topic: str,
    partition: int,
    rows: Iterable[tuple[bytes | None, bytes | None, int, Headers]],
    producer: Producer | None = None,
) -> None:
    """Write (key, value, time in ms, headers), with the region's producer unless one is given, and wait for every
    acknowledgement."""
    failures: list[object] = []
    if producer is None:
        servers = region.bootstrap_servers
        if servers not in _PRODUCERS:
            _PRODUCERS[servers] = new_producer(region)
        producer = _PRODUCERS[servers]
    for key, value, time_ms, headers in rows:
        producer.produce(
            topic, value, key, partition, timestamp=time_ms, headers=headers,
            on_delivery=lambda failure, _: failures.append(failure) if failure else None,
        )  # fmt: skip
        producer.poll(0)
    assert producer.flush(CALL_SECONDS) == 0
    assert not failures


def new_producer(region: Region) -> Producer:
    """A producer that keeps the order of records.

    Without idempotence, a batch that is sent again arrives after later ones, and the job rightly reports the order.
    """
    return Producer({**region.client_config("app"), "enable.idempotence": True, "linger.ms": 5})


@contextmanager
def transaction(
    scene: Scene, region: Region, topic: str, partition: int, numbers: Iterable[int]
) -> Iterator[Callable[[], None]]:
    """Records in a transaction that stays open until the yielded function commits it; otherwise it is aborted."""
    producer = Producer({**region.client_config("admin"), "transactional.id": f"{topic}-open"})
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    scene.write(region, topic, partition, numbers, producer)
    committed = False

    def commit() -> None:
        nonlocal committed
        producer.commit_transaction(CALL_SECONDS)
        committed = True

    try:
        yield commit
    finally:
        if not committed:
            producer.abort_transaction(CALL_SECONDS)
