"""`make bench`: the cost of exact positions: 1,000 groups in each of 100 partitions, and half of both, on two brokers.

The brokers are librdkafka's, in other processes, so time and memory are only those of reading and comparing.
Nothing is asserted about time.
"""

import multiprocessing
import random
import resource
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.kafka.exact_positions import PartitionPositions
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.render.job_parameters import flow_parameters
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
