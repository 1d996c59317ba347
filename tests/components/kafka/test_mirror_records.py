"""MirrorMaker's own records decode to what was encoded, and nothing else decodes to one of them."""

import json
from collections.abc import Callable

import pytest

from kafka_replication.components.kafka import mirror_records
from kafka_replication.components.kafka.mirror_records import (
    Checkpoint,
    ConnectOffset,
    Heartbeat,
    OffsetSync,
    latest_checkpoints,
    replicated_offsets,
    stored_offsets,
)
from kafka_replication.components.kafka.positions import TopicPartition
from tests.spark import forging
from tests.spark.forging import Written, written

ORDERS = TopicPartition("orders", 3)


def test_a_heartbeat_holds_its_flow_and_when_it_was_emitted() -> None:
    found = mirror_records.heartbeat(Written(forging.heartbeat_key("useast", "uswest"), forging.heartbeat_value(1234)))
    assert found == Heartbeat("useast", "uswest", 1234)


def test_a_checkpoint_holds_both_offsets_of_a_group() -> None:
    key, value = forging.checkpoint_key("billing", "useast.orders", 3), forging.checkpoint_value(40, 38, "müde")
    found = mirror_records.checkpoint(Written(key, value, time_ms=9))
    assert found == ("billing", TopicPartition("useast.orders", 3), Checkpoint(40, 38, 9, "müde"))


def test_an_offset_sync_holds_the_offset_at_which_a_record_was_written() -> None:
    found = mirror_records.offset_sync(Written(forging.offset_sync_key("orders", 3), forging.offset_sync_value(-1, 7)))
    assert found == (ORDERS, OffsetSync(-1, 7))


def test_aliases_and_groups_may_be_any_text() -> None:
    beat = mirror_records.heartbeat(Written(forging.heartbeat_key("", "süd-東"), forging.heartbeat_value(-1)))
    assert beat == Heartbeat("", "süd-東", -1)
    key, value = forging.checkpoint_key("checkout-ä", "useast.orders", 2**31 - 1), forging.checkpoint_value(105, 101)
    found = mirror_records.checkpoint(Written(key, value))
    assert found == ("checkout-ä", TopicPartition("useast.orders", 2**31 - 1), Checkpoint(105, 101))


@pytest.mark.parametrize("offset", [0, 1, -1, -2, 255, 2**31, 2**32 + 7, -(2**31), 2**63 - 1, -(2**63)])
def test_offsets_of_every_sign_and_size_are_decoded(offset: int) -> None:
    """-1 is what MirrorMaker calls an offset that it cannot translate; all of its 64 bits are set."""
    value = forging.offset_sync_value(offset, -offset - 1)
    found = mirror_records.offset_sync(Written(forging.offset_sync_key("orders", 3), value))
    assert found == (ORDERS, OffsetSync(offset, -offset - 1))


def test_a_negative_partition_is_decoded() -> None:
    found = mirror_records.offset_sync(Written(forging.offset_sync_key("orders", -1), forging.offset_sync_value(1, 2)))
    assert found is not None
    assert found[0].partition == -1


@pytest.mark.parametrize(("value", "offset"), [(b'{"offset":41}', 41), (None, None)], ids=["replicated", "reset"])
def test_a_connectors_offset_is_that_of_the_last_replicated_record(value: bytes | None, offset: int | None) -> None:
    key = b'["orders-source",{"cluster":"useast","partition":3,"topic":"orders"}]'
    assert mirror_records.connect_offset(Written(key, value)) == ConnectOffset(
        "orders-source", "useast", ORDERS, offset
    )


@pytest.mark.parametrize(
    "decode",
    [
        mirror_records.heartbeat,
        mirror_records.checkpoint,
        mirror_records.offset_sync,
        mirror_records.connect_offset,
    ],
)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(None, None, id="null"),
        pytest.param(b"", b"", id="empty"),
        pytest.param(b"\xff\xff", b"x", id="a negative length"),
        pytest.param(b"\x00\x09abc", b"x", id="a string that ends after the data"),
        pytest.param(forging.string("a") * 2 + b"more", forging.heartbeat_value(1, version=7), id="a later version"),
        pytest.param(b'["c",{"sourceClusterAlias":"a"}]', b'{"offset":0}', id="an offset of a heartbeat connector"),
        pytest.param(b"[1", b"{", id="no JSON"),
    ],
)
def test_a_record_of_another_format_decodes_to_none(decode: Callable[..., object], key: bytes, value: bytes) -> None:
    assert decode(Written(key, value)) is None


KEY, VALUE = forging.checkpoint_key("g", "t", 0), forging.checkpoint_value(1, 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(None, VALUE, id="no key"),
        pytest.param(KEY, None, id="no value"),
        pytest.param(KEY[:-1], VALUE, id="a key that ends too early"),
        pytest.param(KEY, VALUE + b"x", id="a value that goes on"),
        pytest.param(b"\x7f\xff" + KEY, VALUE, id="a key that is not as long as it says"),
        pytest.param(KEY, forging.checkpoint_value(1, 2, version=9), id="a later version"),
    ],
)
def test_a_broken_checkpoint_decodes_to_none(key: bytes | None, value: bytes | None) -> None:
    """It must be counted as undecodable, not taken for an offset."""
    decoders = (mirror_records.checkpoint, mirror_records.heartbeat, mirror_records.offset_sync)
    assert [decode(Written(key, value)) for decode in decoders] == [None] * 3


def test_the_newest_checkpoint_counts_even_when_it_goes_back() -> None:
    """A checkpoint follows a group that is reset: the newest record counts, not the highest offset."""
    key = forging.checkpoint_key("g", "useast.orders", 0)
    records = written(
        (key, forging.checkpoint_value(100, 90)), (b"x", None), (key, forging.checkpoint_value(50, 41))
    )  # fmt: skip
    whole = latest_checkpoints(records)
    assert (whole.get("g", TopicPartition("useast.orders", 0)), whole.undecodable) == (Checkpoint(50, 41), 1)
    assert whole.without_value == 1
    for cut in range(4):
        assert latest_checkpoints(records[cut:], latest_checkpoints(records[:cut])) == whole


def test_the_newest_checkpoint_counts_in_whatever_order_partitions_are_read() -> None:
    key = forging.checkpoint_key("g", "useast.orders", 0)
    records = written((key, forging.checkpoint_value(100, 90)), (key, forging.checkpoint_value(50, 41)))
    assert latest_checkpoints(reversed(records)) == latest_checkpoints(records)


def a_stored_offset(
    offset: int | None, connector: str = "orders-source", source: str = "useast", at: int = 0
) -> Written:
    key = json.dumps([connector, {"cluster": source, "partition": 3, "topic": "orders"}]).encode()
    value = None if offset is None else json.dumps({"offset": offset}).encode()
    return Written(key, value, partition=TopicPartition("offsets", at))


@pytest.mark.parametrize(
    ("records", "offset"),
    [
        pytest.param([a_stored_offset(4), a_stored_offset(9)], 9, id="the newest record counts"),
        pytest.param([a_stored_offset(9), a_stored_offset(4)], 4, id="the newest record counts after a rewind"),
        pytest.param([a_stored_offset(9), a_stored_offset(None)], None, id="a reset leaves nothing"),
        pytest.param(
            [a_stored_offset(9), a_stored_offset(5, "orders-source-b")],
            9,
            id="the furthest connector of the flow counts",
        ),
        pytest.param([a_stored_offset(9, "other")], None, id="another flow's connector does not count"),
        pytest.param([a_stored_offset(9, source="east")], None, id="what was stored before the source got this alias"),
        pytest.param(
            [a_stored_offset(9), a_stored_offset(4, at=1)], 9, id="partitions of the offsets topic have no common order"
        ),
    ],
)
def test_the_last_replicated_record_is_read_from_the_connectors_offsets(
    records: list[Written], offset: int | None
) -> None:
    assert replicated_offsets(records, {"orders-source", "orders-source-b"}, "useast").get(ORDERS) == offset


def test_a_reset_offset_is_known_as_none() -> None:
    records = [a_stored_offset(9), a_stored_offset(None), a_stored_offset(7, "b")]
    assert stored_offsets(records, "useast") == {("orders-source", ORDERS): None, ("b", ORDERS): 7}
