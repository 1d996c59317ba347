"""`make bench`: the cost of exact positions: 1,000 groups in each of 100 partitions, and half of both, on two brokers.
And of a plan after a disaster for as many groups, from what a keeper and MirrorMaker have written.

The brokers are librdkafka's, in other processes, so time and memory are only those of reading and comparing.
Nothing is asserted about time.
"""

import multiprocessing
import random
import resource
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.kept_positions import (
    KeptPosition,
    Look,
    PositionKey,
    look_record,
    position_record,
    positions_topic,
)
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.exact_positions import PartitionPositions
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.move.disaster import consumed_topics, disaster_plan, read_target
from kafka_replication.infra.operate.move.positions import read_positions
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster

GROUPS, PARTITIONS, RECORDS = 1_000, 100, 10_000
SENT_AGAIN = 1_000
FIRST_MS = 1_000


class Reader(KafkaReader):
    """These brokers cannot find offsets by time, so the offsets are computed: records are a millisecond apart."""

    def offset_at(self, partition: TopicPartition, time_ms: int) -> int | None:  # noqa: ARG002
        return time_ms - FIRST_MS


@dataclass(frozen=True)
class Cost:
    """Positions found, records read, processor seconds, and the growth of memory at the peak in MiB."""

    positions: int
    records: int
    processor: float
    peak_mib: float


def main() -> None:
    shapes = ((GROUPS, PARTITIONS), (GROUPS // 2, PARTITIONS), (GROUPS, PARTITIONS // 2))
    costs = [_alone(*shape) for shape in shapes]
    whole = costs[0]
    for (groups, partitions), cost in zip(shapes, costs, strict=True):
        print(
            f"{groups} groups in {partitions} partitions, {cost.positions} positions: {cost.processor:.1f} s of "
            f"processor time, {cost.records} records read, {cost.peak_mib:.0f} MiB more at the peak; beside it, "
            f"{GROUPS} in {PARTITIONS} take {whole.processor / cost.processor:.2f} times the time, "
            f"{whole.records / cost.records:.2f} times the records and {whole.peak_mib / cost.peak_mib:.2f} times the "
            "memory"
        )
    print(f"{GROUPS} groups in {PARTITIONS} partitions after a disaster: {_after_disaster():.1f} s of processor time")


class Lost(KafkaReader):
    """The target of a lost source. Every group stands in every partition."""

    def __init__(self, flow: FlowParameters) -> None:
        self.flow, self.names = flow, [f"checkout-{number}" for number in range(GROUPS)]
        self.remote = [TopicPartition("useast.orders", number) for number in range(PARTITIONS)]
        places = [(group, partition) for group in self.names for partition in self.remote]
        self.held: dict[str, list[KafkaRecord]] = {
            flow.checkpoints.topic: [_record(at, *checkpoint_record(*place)) for at, place in enumerate(places)],
            positions_topic(flow.name): [
                *(_record(at, *kept_record(flow.name, *place)) for at, place in enumerate(places)),
                _record(len(places), *look_record(flow.name, Look(at_ms=1_000, checkpoints=len(places)))),
            ],
        }

    def topics(self) -> dict[str, int]:
        return {"useast.orders": PARTITIONS}

    def logs(
        self,
        partitions: Iterable[TopicPartition],
        *,
        committed: bool = False,  # noqa: ARG002
    ) -> dict[TopicPartition, OffsetRange]:
        return dict.fromkeys(partitions, OffsetRange(0, RECORDS))

    def records(self, topic: str, *, newest: int | None = None) -> list[KafkaRecord]:  # noqa: ARG002
        return self.held.get(topic, [])

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(topics, "id")

    def groups(self) -> list[str]:
        return self.names

    def members(self, groups: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(groups, 0)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        return {group: {} for group in groups}

    def read(self, *_: Any, **__: Any) -> Iterator[KafkaRecord]:
        return iter(())


def _record(at: int, key: bytes, value: bytes | None) -> KafkaRecord:
    return KafkaRecord(TopicPartition("topic", 0), at, FIRST_MS + at, key, value, ())


def checkpoint_record(group: str, remote: TopicPartition) -> tuple[bytes, bytes]:
    key = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, remote.topic))
    return key + struct.pack(">i", remote.partition), struct.pack(">hqqh", 0, RECORDS // 2, RECORDS // 2, 0)


def kept_record(flow: str, group: str, remote: TopicPartition) -> tuple[bytes, bytes | None]:
    at = KeptPosition(RECORDS - 1, RECORDS - 9, "id", RECORDS - 2)
    return position_record(flow, PositionKey(group, TopicPartition("orders", remote.partition)), at)


def _after_disaster() -> float:
    flow = flow_parameters(a_resolved_flow())
    target, worked = Lost(flow), time.process_time()
    facts = read_target(flow, target, (), NoAnswerError("it is lost"), None, 2 * FIRST_MS, "none")
    assert len(disaster_plan(flow, facts).positions) == GROUPS * PARTITIONS
    consumed_topics(flow, facts)
    return time.process_time() - worked


def _alone(groups: int, partitions: int) -> Cost:
    """The cost in a separate process, so that the peak of memory is that of this shape."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_measured, args=(theirs, groups, partitions))
    process.start()
    cost: Cost = ours.recv()
    process.join()
    return cost


def _measured(pipe: Connection, groups: int, partitions: int) -> None:
    topics = [f"orders-{number}" for number in range(partitions)]
    once = list(range(RECORDS))
    twice = [*once[: RECORDS // 2], *once[RECORDS // 2 - SENT_AGAIN :]]
    source = _serving(topics, once)
    target = _serving([f"useast.{topic}" for topic in topics], twice)
    chance = random.Random(1)
    committed = {
        TopicPartition(topic, 0): {chance.randrange(RECORDS) for _ in range(groups)} | {0, RECORDS} for topic in topics
    }
    before, worked = _peak_mib(), time.process_time()
    readers = Reader("useast", source), Reader("uswest", target)
    found = read_positions(flow_parameters(a_resolved_flow()), *readers, committed, lambda _: None)
    walks = [each for each in found.values() if isinstance(each, PartitionPositions)]
    assert len(walks) == partitions
    read = sum(each.source_records + each.target_records for each in walks)
    pipe.send(Cost(sum(map(len, committed.values())), read, time.process_time() - worked, _peak_mib() - before))


def _serving(topics: list[str], numbers: list[int]) -> ClientConfig:
    """How to reach a broker that holds these records in each topic, as long as this process lives."""
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.Process(target=_serve, args=(theirs, topics, numbers), daemon=True).start()
    config: ClientConfig = ours.recv()
    _OPEN.append(ours)
    return config


_OPEN: list[Connection] = []


def _serve(pipe: Connection, topics: list[str], numbers: list[int]) -> None:
    cluster = Cluster()
    for topic in topics:
        cluster.hold(topic, [(number, "") for number in numbers])
    pipe.send(cluster.config)
    pipe.recv()


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
