"""Records without a timestamp get the time of their arrival from Connect: moves compare them by their content."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import pytest

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.kafka.exact_positions import NotProvenError, PartitionPositions
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.return_positions import FlowBackStart, PartitionBack
from kafka_replication.infra.operate.move.failback import read_positions_back
from kafka_replication.infra.operate.move.flow_back import walk_return
from kafka_replication.infra.operate.move.positions import read_positions
from kafka_replication.infra.operate.partition_logs import walk_partitions
from tests.model.night_logs import Broker, Written
from tests.model.partition import ORDERS
from tests.spark.documents import a_flow


class Cluster(Broker):
    """A cluster with one partition, under whatever name it is asked for."""

    def logs(self, partitions: Sequence[TopicPartition], *, committed: bool) -> Mapping[TopicPartition, OffsetRange]:
        assert not committed
        return dict.fromkeys(partitions, OffsetRange(0, len(self.held)))

    @contextmanager
    def stream(self, *, committed: bool) -> Iterator["Cluster"]:
        assert not committed
        yield self


def cluster(*times_ms: int, numbers: Sequence[int] = ()) -> KafkaReader:
    held = [Written(at, number, times_ms[at]) for at, number in enumerate(numbers or range(len(times_ms)))]
    return cast(KafkaReader, Cluster(held))


UNTIMED = cluster(100, 200, -1, 400, -1, 600)
ARRIVED = cluster(100, 200, 7_000, 400, 7_001)
FLOW = a_flow()
IDENTITY = a_flow(policy="identity")


@pytest.mark.parametrize("flow", [FLOW, IDENTITY], ids=["default policy", "identity policy"])
@pytest.mark.parametrize("committed", range(6))
def test_a_failover_finds_records_without_a_timestamp(flow: object, committed: int) -> None:
    """It was refused, or in a topic of the same name it counted them as missing."""
    parameters = IDENTITY if flow is IDENTITY else FLOW
    (found,) = read_positions(parameters, UNTIMED, ARRIVED, {ORDERS: [committed]}, print).values()
    assert isinstance(found, PartitionPositions), found
    position = found.positions[committed]
    assert (position.offset, position.read_again, position.not_there, found.waiting) == (committed, 0, 0, 1)


def test_another_record_is_still_not_taken_for_one_without_a_timestamp() -> None:
    other = cluster(100, 200, 7_000, 400, 7_001, numbers=[0, 1, 9, 3, 4])
    (found,) = read_positions(FLOW, UNTIMED, other, {ORDERS: [2]}, print).values()
    assert isinstance(found, NotProvenError)


@pytest.mark.parametrize("committed", range(6))
def test_a_failback_finds_records_without_a_timestamp(committed: int) -> None:
    (found,) = read_positions_back(
        FLOW, UNTIMED, cluster(100, 200, 7_000, 400, 7_001, 600), {ORDERS: [committed]}, {ORDERS: [0]}, print
    ).values()
    assert isinstance(found, PartitionBack), found
    assert found.continues_at(committed, 0) == (committed, 0)


def test_a_return_of_the_flow_finds_records_without_a_timestamp() -> None:
    """The old origin's records, the last of them without a timestamp, are copies; record 5 is new."""
    (start,) = walk_partitions(
        FLOW,
        cluster(100, 200, 7_000, 400, 7_001, 7_002),
        cluster(100, 200, -1, 400, -1),
        {ORDERS: ()},
        print,
        walk_return,
    ).values()
    assert isinstance(start, FlowBackStart), start
    assert start.offset == 5
