"""The records of the traffic: every run makes the same ones, and some have nulls and repeated headers."""

from collections import Counter
from itertools import islice

from kafka_replication.infra.local.traffic import ORDERS, Record, records


def test_the_same_seed_makes_the_same_records() -> None:
    assert list(records("orders", 200, seed=1)) == list(records("orders", 200, seed=1))


def test_another_seed_and_another_topic_make_other_records() -> None:
    made = [
        list(records("orders", 50, seed=1)),
        list(records("orders", 50, seed=2)),
        list(records("audit", 50, seed=1)),
    ]
    assert made[0] != made[1]
    assert [record.key for record in made[0]] != [record.key for record in made[2]]


def test_a_later_part_of_the_sequence_does_not_need_the_records_before_it() -> None:
    whole = list(records("orders", 100, seed=3))
    assert list(records("orders", 40, seed=3, first=60)) == whole[60:]


def test_some_keys_some_values_and_some_headers_are_null() -> None:
    made = list(records("orders", 2000, seed=1))
    assert 50 < sum(record.key is None for record in made) < 200
    assert 50 < sum(record.value is None for record in made) < 200
    assert any(value is None for record in made for _, value in record.headers)


def test_some_headers_repeat_a_name() -> None:
    names = [Counter(name for name, _ in record.headers) for record in records("orders", 20, seed=1)]
    assert any(count["trace"] == 2 for count in names)


def test_all_values_have_the_same_size() -> None:
    for topic in ("a", "t" * 249):
        assert {len(record.value) for record in records(topic, 50, seed=1) if record.value} == {100}


def test_values_differ_so_that_a_missing_record_cannot_hide_behind_another() -> None:
    values = [record.value for record in records("orders", 2000, seed=1) if record.value is not None]
    assert len(set(values)) == len(values)


def test_a_key_always_goes_to_one_partition_and_null_keys_go_to_all() -> None:
    places: dict[bytes | None, set[int]] = {}
    for number, record in enumerate(records("orders", 2000, seed=1)):
        places.setdefault(record.key, set()).add(record.partition(number, 3))
    assert places.pop(None) == {0, 1, 2}
    assert {len(partitions) for partitions in places.values()} == {1}
    assert {partition for partitions in places.values() for partition in partitions} == {0, 1, 2}


def test_a_keyless_record_is_placed_by_its_number() -> None:
    record = Record(key=None, value=b"v", headers=())
    assert [record.partition(number, 3) for number in range(4)] == [0, 1, 2, 0]


def test_the_example_groups_read_only_topics_that_exist() -> None:
    assert {topic for topics, _ in ORDERS.groups.values() for topic in topics} <= set(ORDERS.topics)
    assert list(islice(records("orders", 0, seed=1), 1)) == []
