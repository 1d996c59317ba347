"""Positions are computed from the records of two brokers, which librdkafka runs in this process."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters, GuardParameters
from kafka_replication.components.kafka.exact_positions import ExactPosition, NotProvenError, PartitionPositions
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import identity
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.move.positions import read_positions
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster, NumberedRecord, Reader

FLOW = flow_parameters(a_resolved_flow())
MARKS = GuardParameters(filter="replicated-from-uswest", mark="replicated-from-useast")


@dataclass(frozen=True)
class Regions:
    source: Cluster
    target: Cluster

    def positions(
        self, topic: str, committed: Sequence[int], flow: FlowParameters = FLOW
    ) -> PartitionPositions | NotProvenError:
        source, target = Reader("useast", self.source.config), Reader("uswest", self.target.config)
        partition = TopicPartition(topic, 0)
        return read_positions(flow, source, target, {partition: committed}, lambda _: None)[partition]


@pytest.fixture(scope="module")
def regions() -> Regions:
    return Regions(Cluster(), Cluster())


def unmarked(numbers: Sequence[int]) -> list[NumberedRecord]:
    return [(number, "") for number in numbers]


def test_positions_are_read_from_both_logs(regions: Regions) -> None:
    regions.source.hold("orders", unmarked(range(200)))
    regions.target.hold("useast.orders", unmarked([*range(150), *range(100, 190)]))
    found = regions.positions("orders", [0, 120, 200])
    assert isinstance(found, PartitionPositions), found
    assert found.positions == {0: ExactPosition(0, 0), 120: ExactPosition(120, 170), 200: ExactPosition(200, 240)}
    assert (found.waiting, found.sent_again) == (10, 50)


def test_records_sent_again_from_far_back_are_found_by_reading_further_back(regions: Regions) -> None:
    """The first walk begins 1,000 records before the group; the task had started again another 500 before that."""
    regions.source.hold("clicks", unmarked(range(3_000)))
    regions.target.hold("useast.clicks", unmarked([*range(3_000), *range(500, 3_000)]))
    found = regions.positions("clicks", [2_000])
    assert isinstance(found, PartitionPositions), found
    assert found.positions == {2_000: ExactPosition(2_000, 4_500)}


def test_a_foreign_record_on_the_target_is_named(regions: Regions) -> None:
    regions.source.hold("returns", unmarked(range(5)))
    regions.target.hold("useast.returns", unmarked([0, 1, 99, 2]))
    found = regions.positions("returns", [1])
    assert isinstance(found, NotProvenError)
    assert str(found).startswith("the target has record 2 where the source's record 2 was expected")


def test_the_marks_of_a_pair_tell_where_a_record_came_from(regions: Regions) -> None:
    flow = FLOW.model_copy(update={"policy": Policy.IDENTITY, "guard": MARKS})
    regions.source.hold("ledger", [(0, ""), (1, ""), (2, ""), (3, MARKS.filter), (4, MARKS.filter)])
    regions.target.hold("ledger", [(3, ""), (4, ""), (0, MARKS.mark), (1, MARKS.mark), (2, MARKS.mark)])
    found = regions.positions("ledger", [2, 4, 5], flow)
    assert isinstance(found, PartitionPositions), found
    # At 2 the group has read 0 and 1. At 4 it lacks only 4, which the target holds before the records it has read.
    assert found.positions == {2: ExactPosition(2, 0, 2), 4: ExactPosition(4, 1, 3), 5: ExactPosition(5, 5)}


def test_reading_an_expired_range_is_an_error_and_not_an_empty_result(regions: Regions) -> None:
    regions.source.hold("young", unmarked(range(3)))
    reader = KafkaReader("useast", regions.source.config)
    with reader.stream(committed=False) as stream, pytest.raises(NoAnswerError, match="could not be read"):
        list(stream.records(TopicPartition("young", 0), OffsetRange(1_000, 2_000)))


def test_reading_a_log_that_lost_its_end_is_an_error_and_not_a_shorter_result(regions: Regions) -> None:
    regions.source.hold("cut", unmarked(range(3)))
    reader = KafkaReader("useast", regions.source.config)
    with reader.stream(committed=False) as stream, pytest.raises(NoAnswerError) as caught:
        list(stream.records(TopicPartition("cut", 0), OffsetRange(0, 5)))
    assert str(caught.value) == (
        "Kafka cluster useast: cut-0 ends at 3, and ended at 5 before: an unclean leader election lost records, or the "
        "topic was created again"
    )


def test_a_record_that_is_read_back_has_the_identity_that_it_was_written_with(regions: Regions) -> None:
    regions.source.hold("kept", [(3, "")])
    reader = KafkaReader("useast", regions.source.config)
    with reader.stream(committed=False) as stream:
        (read,) = stream.records(TopicPartition("kept", 0), OffsetRange(0, 1))
    assert read.time_ms == 1_003
    assert identity(read.key, read.value, read.headers, 1_003) == identity(b"key", b"value", [("trace", b"3")], 1_003)


def test_offsets_are_committed_with_their_metadata(regions: Regions) -> None:
    regions.target.hold("moved", unmarked(range(3)))
    place = TopicPartition("moved", 0)
    regions.target.commit("checkout-web", {place: 2}, "clock 17")
    consumer = Consumer({**regions.target.config, "group.id": "checkout-web"})
    with closing(consumer):
        (found,) = consumer.committed([Place(place.topic, place.partition)], timeout=10)
    assert (found.offset, found.metadata) == (2, "clock 17")


def test_records_that_only_the_target_of_a_pair_has_are_not_skipped(regions: Regions) -> None:
    """The flow from the target to the source has copied nothing yet, and the target's records are older."""
    flow = FLOW.model_copy(update={"policy": Policy.IDENTITY, "guard": MARKS})
    regions.source.hold("accounts", [(50, "")])
    regions.target.hold("accounts", [(0, ""), (1, ""), (50, MARKS.mark)])
    found = regions.positions("accounts", [1], flow)
    assert isinstance(found, PartitionPositions), found
    assert found.positions == {1: ExactPosition(1, 0, 1)}


def test_an_unreplicated_record_before_a_long_run_of_copies_is_counted(regions: Regions) -> None:
    flow = FLOW.model_copy(update={"policy": Policy.IDENTITY, "guard": MARKS})
    copies = range(1_100)
    regions.source.hold("entries", [(5_000, ""), (5_001, ""), *((each, MARKS.filter) for each in copies)])
    regions.target.hold("entries", [*((each, "") for each in copies), (5_000, MARKS.mark)])
    found = regions.positions("entries", [1_102], flow)
    assert isinstance(found, PartitionPositions), found
    assert found.waiting == 1


def test_a_lost_record_dated_in_the_future_does_not_hide_the_records_after_it(regions: Regions) -> None:
    regions.source.hold("dated", unmarked([9_999, 1, 2, 3]))
    regions.target.hold("useast.dated", unmarked([1, 2, 3]))
    found = regions.positions("dated", [1, 4])
    assert isinstance(found, PartitionPositions), found
    assert found.positions == {1: ExactPosition(1, 0), 4: ExactPosition(4, 3)}
    assert found.waiting == 0


def test_a_group_before_the_sources_first_record_gets_the_number_of_expired_records(regions: Regions) -> None:
    regions.source.hold("short", unmarked([5, 6]))
    regions.target.hold("useast.short", unmarked(range(7)))
    source, target = FirstRecordDeleted("useast", regions.source.config), Reader("uswest", regions.target.config)
    partition = TopicPartition("short", 0)
    found = read_positions(FLOW, source, target, {partition: [0, 1, 2]}, lambda _: None)[partition]
    assert isinstance(found, PartitionPositions), found
    assert found.positions == {
        0: ExactPosition(0, 6, expired=6),
        1: ExactPosition(1, 6),
        2: ExactPosition(2, 7),
    }


class FirstRecordDeleted(Reader):
    """A cluster that has deleted the first record of each partition."""

    def logs(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, OffsetRange]:
        found = super().logs(partitions, committed=committed)
        return {each: OffsetRange(log.start + 1, log.end) for each, log in found.items()}
