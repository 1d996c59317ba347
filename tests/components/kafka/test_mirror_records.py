"""MirrorMaker's own records decode to what was encoded, and nothing else decodes to one of them."""

from collections.abc import Callable

import pytest

from components.kafka import mirror_records
from components.kafka.mirror_records import Checkpoint, ConnectOffset, Heartbeat, OffsetSync
from components.kafka.positions import TopicPartition
from tests.spark import forging

ORDERS = TopicPartition("orders", 3)


def test_a_heartbeat_tells_its_flow_and_when_it_was_emitted() -> None:
    found = mirror_records.heartbeat(forging.heartbeat_key("useast", "uswest"), forging.heartbeat_value(1234))
    assert found == Heartbeat("useast", "uswest", 1234)


def test_a_checkpoint_tells_both_offsets_of_a_group() -> None:
    key, value = forging.checkpoint_key("billing", "useast.orders", 3), forging.checkpoint_value(40, 38, "müde")
    assert mirror_records.checkpoint(key, value) == Checkpoint("billing", TopicPartition("useast.orders", 3), 40, 38)


def test_an_offset_sync_tells_where_a_record_was_written() -> None:
    found = mirror_records.offset_sync(forging.offset_sync_key("orders", 3), forging.offset_sync_value(-1, 7))
    assert found == OffsetSync(ORDERS, -1, 7)


@pytest.mark.parametrize(("value", "offset"), [(b'{"offset":41}', 41), (None, None)], ids=["replicated", "reset"])
def test_a_connectors_offset_is_that_of_the_last_replicated_record(value: bytes | None, offset: int | None) -> None:
    key = b'["orders-source",{"cluster":"useast","partition":3,"topic":"orders"}]'
    assert mirror_records.connect_offset(key, value) == ConnectOffset("orders-source", "useast", ORDERS, offset)


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
        pytest.param(b'["c",{"sourceClusterAlias":"a"}]', b'{"offset":0}', id="of a heartbeat connector"),
        pytest.param(b"[1", b"{", id="no JSON"),
    ],
)
def test_a_record_of_another_format_is_none(decode: Callable[..., object], key: bytes, value: bytes) -> None:
    assert decode(key, value) is None
