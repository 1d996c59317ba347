"""`make bench`: what exact positions cost: 1,000 groups in each of 100 partitions, read from two brokers.

The brokers are those of librdkafka, in processes of their own, so time and memory are those of reading and comparing.
Nothing is asserted about time.
"""

import multiprocessing
import random
import resource
import time
from multiprocessing.connection import Connection

from components.kafka.exact_positions import PartitionPositions
from components.kafka.positions import TopicPartition
from components.render.job_parameters import flow_parameters
from infra.kafka_login import ClientConfig
from infra.operations.exact_reading import read_positions
from infra.operations.kafka_reader import KafkaReader
from tests.builders import a_resolved_flow
from tests.infra.operations.brokers import Cluster

GROUPS, PARTITIONS, RECORDS = 1_000, 100, 10_000
SENT_AGAIN = 1_000
FIRST_MS = 1_000


class Reader(KafkaReader):
    """These brokers do not find offsets by time, so they are computed: the records are a millisecond apart."""

    def offset_at(self, partition: TopicPartition, time_ms: int) -> int | None:  # noqa: ARG002
        return time_ms - FIRST_MS


def main() -> None:
    topics = [f"orders-{number}" for number in range(PARTITIONS)]
    once = list(range(RECORDS))
    twice = [*once[: RECORDS // 2], *once[RECORDS // 2 - SENT_AGAIN :]]
    source = _serving(topics, once)
    target = _serving([f"useast.{topic}" for topic in topics], twice)
    chance = random.Random(1)
    committed = {
        TopicPartition(topic, 0): {chance.randrange(RECORDS) for _ in range(GROUPS)} | {0, RECORDS} for topic in topics
    }
    before, began, worked = _peak_mib(), time.monotonic(), time.process_time()
    readers = Reader("useast", source), Reader("uswest", target)
    found = read_positions(flow_parameters(a_resolved_flow()), *readers, committed, lambda _: None)
    seconds, processor = time.monotonic() - began, time.process_time() - worked
    walks = [each for each in found.values() if isinstance(each, PartitionPositions)]
    assert len(walks) == PARTITIONS
    positions, read = (
        sum(map(len, committed.values())),
        sum(each.source_records + each.target_records for each in walks),
    )
    print(
        f"{positions} positions of {GROUPS} groups in {PARTITIONS} partitions: {seconds:.0f} s, {processor:.0f} s of "
        f"processor time, {read} records read, {_peak_mib() - before:.0f} MiB more at the peak"
    )


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
