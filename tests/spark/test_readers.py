"""Many small ranges in few reads."""

from components.kafka.positions import OffsetRange, TopicPartition
from spark.readers import layers

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 1)


def test_ranges_of_different_partitions_are_read_at_once() -> None:
    assert layers([(ORDERS, OffsetRange(0, 5)), (PAYMENTS, OffsetRange(9, 12))]) == [
        {ORDERS: OffsetRange(0, 5), PAYMENTS: OffsetRange(9, 12)}
    ]


def test_ranges_that_overlap_are_joined_so_that_no_record_comes_twice() -> None:
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
