"""Many small ranges in few reads, with one consumer."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.streams import layers
from kafka_replication.components.contract.parameters import ClusterParameters
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.spark.read.credentials import client_options, keystore_to_pem, resolver
from kafka_replication.spark.read.flows import FlowCluster
from kafka_replication.spark.read.sessions import Spark
from tests.spark.scenes import Scene, cluster_document, passwords, produce, transaction
from tests.topics import remove_records

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 1)


def test_ranges_of_different_partitions_are_read_at_once() -> None:
    assert layers([(ORDERS, OffsetRange(0, 5)), (PAYMENTS, OffsetRange(9, 12))]) == [
        {ORDERS: OffsetRange(0, 5), PAYMENTS: OffsetRange(9, 12)}
    ]


def test_overlapping_ranges_are_joined_so_that_no_record_is_read_twice() -> None:
    """A record that is read twice would be counted twice."""
    assert layers([(ORDERS, OffsetRange(10, 20)), (ORDERS, OffsetRange(0, 15))]) == [{ORDERS: OffsetRange(0, 20)}]


def test_a_range_within_another_does_not_shorten_it() -> None:
    assert layers([(ORDERS, OffsetRange(0, 100)), (ORDERS, OffsetRange(5, 10))]) == [{ORDERS: OffsetRange(0, 100)}]


def test_distant_ranges_of_one_partition_take_one_read_each() -> None:
    far = [(ORDERS, OffsetRange(0, 5)), (ORDERS, OffsetRange(1000, 1005)), (PAYMENTS, OffsetRange(1, 2))]
    assert layers(far) == [
        {ORDERS: OffsetRange(0, 5), PAYMENTS: OffsetRange(1, 2)},
        {ORDERS: OffsetRange(1000, 1005)},
    ]


def test_empty_ranges_are_not_read() -> None:
    assert layers([(ORDERS, OffsetRange(5, 5)), (ORDERS, OffsetRange(9, 3))]) == []


@pytest.fixture
def cluster(started: Spark, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlowCluster]:
    """The source, as the job sees it."""
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    parameters = ClusterParameters.model_validate(cluster_document(endpoints.regions["useast"]))
    with closing(FlowCluster(client_options(parameters, resolver(), keystore_to_pem(started)))) as opened:
        yield opened


@pytest.fixture
def scene(endpoints: Endpoints) -> Scene:
    return Scene(endpoints, "small")


def test_a_record_is_read_as_it_was_written(cluster: FlowCluster, scene: Scene) -> None:
    create_topics(scene.source, {"small.any": 1})
    headers = [("h", b"x"), ("null", None), ("empty", b""), ("h", "ü")]
    written = [(b"\x00\xff", None, scene.began_ms, headers), (None, b"", scene.began_ms + 1, [])]
    produce(scene.source, "small.any", 0, written)
    partition = TopicPartition("small.any", 0)
    found = list(cluster.read("records", [(partition, OffsetRange(0, 2))]))
    assert [(each.partition, each.offset, each.time_ms, each.key, each.value) for each in found] == [
        (partition, 0, scene.began_ms, b"\x00\xff", None),
        (partition, 1, scene.began_ms + 1, None, b""),
    ]
    assert [list(each.headers) for each in found] == [
        [("h", b"x"), ("null", None), ("empty", b""), ("h", "ü".encode())],
        [],
    ]


def test_ranges_are_read_to_their_ends_and_can_be_read_again(cluster: FlowCluster, scene: Scene) -> None:
    """Several ranges of a partition, one whose beginning retention removed, and a second read of the same ranges."""
    create_topics(scene.source, {"small.ranges": 2})
    for number in range(2):
        scene.write(scene.source, "small.ranges", number, range(400))
    remove_records(scene.source, "small.ranges", 1, 10)
    first, second = (TopicPartition("small.ranges", number) for number in range(2))
    ranges = [(first, OffsetRange(300, 302)), (first, OffsetRange(5, 8)), (second, OffsetRange(8, 12))]
    for _ in range(2):
        found = {(each.partition.partition, each.offset) for each in cluster.read("records", ranges)}
        assert found == {(0, 5), (0, 6), (0, 7), (0, 300), (0, 301), (1, 10), (1, 11)}


def test_long_ranges_are_read_in_order(cluster: FlowCluster, scene: Scene) -> None:
    """Each record arrives once, although a batch holds records of both partitions."""
    create_topics(scene.source, {"small.long": 2})
    for number in range(2):
        scene.write(scene.source, "small.long", number, range(3_000))
    ranges = [(TopicPartition("small.long", number), OffsetRange(5, 2_995)) for number in range(2)]
    records = list(cluster.read("records", ranges))
    for number in range(2):
        offsets = [record.offset for record in records if record.partition.partition == number]
        assert offsets == list(range(5, 2_995))


def test_a_range_that_ends_with_aborted_records_is_read_to_its_end(cluster: FlowCluster, scene: Scene) -> None:
    """A read_committed consumer gets no aborted records and no markers, but its read must end."""
    create_topics(scene.source, {"small.aborted": 1})
    partition = TopicPartition("small.aborted", 0)
    scene.write(scene.source, "small.aborted", 0, range(3))
    with transaction(scene, scene.source, "small.aborted", 0, range(3, 6)):
        pass
    for isolation, offsets in (("read_committed", range(3)), ("read_uncommitted", range(6))):
        found = cluster.read("records", [(partition, OffsetRange(0, 7))], committed=isolation == "read_committed")
        assert [each.offset for each in found] == list(offsets)


@pytest.mark.parametrize("records", [0, 3], ids=["it delivers nothing", "it delivers less"])
def test_a_range_that_the_cluster_does_not_deliver_raises_an_error(
    cluster: FlowCluster, scene: Scene, records: int
) -> None:
    """What could not be read must not look like a range without records."""
    topic = f"small.short{records}"
    create_topics(scene.source, {topic: 1})
    scene.write(scene.source, topic, 0, range(records))
    reader = KafkaReader("useast", cluster.options.config, 1)
    with pytest.raises(ClusterError) as refused:
        list(reader.read("the ends", [(TopicPartition(topic, 0), OffsetRange(0, 9))]))
    assert refused.value.code == "brokers-busy"
    assert f"no further record of {topic}-0 arrived for 1 s, while the ends were read" in refused.value.what
