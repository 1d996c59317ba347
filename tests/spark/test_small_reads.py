"""Many small ranges in few reads, with one consumer."""

from collections.abc import Iterator
from functools import partial

import pytest

from components.contract.parameters import ClusterParameters
from components.kafka.positions import OffsetRange, TopicPartition
from infra.local.endpoints import Endpoints
from infra.local.traffic import create_topics
from spark.java_json import JavaJson
from spark.read.clusters import Cluster
from spark.read.credentials import client_options, keystore_to_pem, resolver
from spark.read.kafka_errors import ClusterError, JavaObject
from spark.read.sessions import Spark
from spark.read.small_reads import SilentError, SmallReads, layers
from tests.spark.scenes import Scene, cluster_document, passwords, produce, remove_records, transaction

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
def cluster(started: Spark, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The source, as the job sees it."""
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    parameters = ClusterParameters.model_validate(cluster_document(endpoints.regions["useast"]))
    with Cluster(started.jvm, client_options(parameters, resolver(), keystore_to_pem(started))) as opened:
        yield opened


@pytest.fixture
def scene(endpoints: Endpoints) -> Scene:
    return Scene(endpoints, "small")


def test_a_record_is_read_as_it_was_written(cluster: Cluster, scene: Scene) -> None:
    create_topics(scene.source, {"small.any": 1})
    headers = [("h", b"x"), ("null", None), ("empty", b""), ("h", "ü")]
    written = [(b"\x00\xff", None, scene.began_ms, headers), (None, b"", scene.began_ms + 1, [])]
    produce(scene.source, "small.any", 0, written)
    partition = TopicPartition("small.any", 0)
    found = list(cluster.records([(partition, OffsetRange(0, 2))], "reading"))
    assert [(each.partition, each.offset, each.time_ms, each.key, each.value) for each in found] == [
        (partition, 0, scene.began_ms, b"\x00\xff", None),
        (partition, 1, scene.began_ms + 1, None, b""),
    ]
    assert [list(each.headers) for each in found] == [
        [("h", b"x"), ("null", None), ("empty", b""), ("h", "ü".encode())],
        [],
    ]


def test_ranges_are_read_to_their_ends_and_can_be_read_again(cluster: Cluster, scene: Scene) -> None:
    """Several ranges of a partition, one whose beginning retention removed, and a second read of the same ranges."""
    create_topics(scene.source, {"small.ranges": 2})
    for number in range(2):
        scene.write(scene.source, "small.ranges", number, range(400))
    remove_records(scene.source, "small.ranges", 1, 10)
    first, second = (TopicPartition("small.ranges", number) for number in range(2))
    ranges = [(first, OffsetRange(300, 302)), (first, OffsetRange(5, 8)), (second, OffsetRange(8, 12))]
    for _ in range(2):
        found = {(each.partition.partition, each.offset) for each in cluster.records(ranges, "reading")}
        assert found == {(0, 5), (0, 6), (0, 7), (0, 300), (0, 301), (1, 10), (1, 11)}


def test_long_ranges_pass_from_the_jvm_to_python_in_few_answers(
    cluster: Cluster, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record arrives once and in order, although the records of many polls cross together."""
    create_topics(scene.source, {"small.long": 2})
    for number in range(2):
        scene.write(scene.source, "small.long", number, range(3_000))
    answers: list[JavaObject] = []
    read = JavaJson.read

    def counted(self: JavaJson, value: JavaObject) -> object:
        answers.append(value)
        return read(self, value)

    monkeypatch.setattr(JavaJson, "read", counted)
    ranges = [(TopicPartition("small.long", number), OffsetRange(5, 2_995)) for number in range(2)]
    found = list(cluster.records(ranges, "reading"))
    for number in range(2):
        assert [each.offset for each in found if each.partition.partition == number] == list(range(5, 2_995))
    assert len(answers) <= 5_980 // 200 // 2


def test_a_range_that_ends_with_aborted_records_is_read_to_its_end(cluster: Cluster, scene: Scene) -> None:
    """A read_committed consumer gets no aborted records and no markers, but its read must end."""
    create_topics(scene.source, {"small.aborted": 1})
    partition = TopicPartition("small.aborted", 0)
    scene.write(scene.source, "small.aborted", 0, range(3))
    with transaction(scene, scene.source, "small.aborted", 0, range(3, 6)):
        pass
    for isolation, offsets in (("read_committed", range(3)), ("read_uncommitted", range(6))):
        found = cluster.records([(partition, OffsetRange(0, 7))], "reading", isolation)
        assert [each.offset for each in found] == list(offsets)


def test_a_range_that_the_cluster_does_not_deliver_raises_an_error(
    cluster: Cluster, scene: Scene, started: Spark
) -> None:
    """What could not be read must not look like a range without records."""
    create_topics(scene.source, {"small.short": 1})
    scene.write(scene.source, "small.short", 0, range(3))
    reads = SmallReads(partial(getattr, started.jvm), cluster.options, "read_committed", timeout_seconds=0.1)
    with pytest.raises(SilentError, match=r"small\.short-0"):
        list(reads.records([(TopicPartition("small.short", 0), OffsetRange(0, 9))]))
    reads.close()


def test_a_cluster_that_delivers_nothing_is_reported_as_busy(
    cluster: Cluster, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topics(scene.source, {"small.silent": 1})
    monkeypatch.setattr("spark.read.clusters.TIMEOUT_SECONDS", 1)
    with pytest.raises(ClusterError) as refused:
        list(cluster.records([(TopicPartition("small.silent", 0), OffsetRange(0, 9))], "reading the end"))
    assert refused.value.code == "brokers-busy"
    assert "no further record of small.silent-0 arrived for 1 s, while reading the end" in refused.value.what
