"""Bounds from offsets: how far a flow has replicated, and how much a group would read again."""

import pytest

from components.kafka.mirror_records import ConnectOffset, OffsetSync
from components.kafka.positions import OffsetRange, TopicPartition
from infra.operate.status.positions import GroupPosition, latest_offsets, read_again, replicated_up_to

P = TopicPartition("orders", 0)


def a_sync(upstream: int, downstream: int) -> OffsetSync:
    return OffsetSync(P, upstream, downstream)


def an_offset(offset: int | None, connector: str = "orders-source") -> ConnectOffset:
    return ConnectOffset(connector, "useast", P, offset)


@pytest.mark.parametrize(
    ("records", "offset"),
    [
        pytest.param([an_offset(4), an_offset(9)], 9, id="the newest record counts"),
        pytest.param([an_offset(9), an_offset(4)], 4, id="the newest record counts after a rewind"),
        pytest.param([an_offset(9), an_offset(None)], None, id="a reset leaves nothing"),
        pytest.param(
            [an_offset(9), an_offset(5, "orders-source-b")], 9, id="the furthest connector of the flow counts"
        ),
        pytest.param([an_offset(9, "other")], None, id="another flow's connector does not count"),
    ],
)
def test_the_last_replicated_record_is_read_from_the_connectors_offsets(
    records: list[ConnectOffset], offset: int | None
) -> None:
    found = latest_offsets(records, frozenset({"orders-source", "orders-source-b"}))
    assert found.get(P) == offset


@pytest.mark.parametrize(
    ("offset", "syncs", "expected"),
    [
        pytest.param(50, (a_sync(40, 40),), 51, id="the connector's offset is newer"),
        pytest.param(50, (a_sync(60, 60),), 61, id="the sync is newer"),
        pytest.param(None, (a_sync(40, 40),), 41, id="without a connector's offset"),
        pytest.param(None, (), 10, id="without either, the log's start"),
        pytest.param(5, (), 10, id="retention has deleted up to a later record"),
        pytest.param(500, (), 100, id="a topic that was created again"),
    ],
)
def test_replication_has_reached_the_newer_of_connector_offset_and_offset_sync(
    offset: int | None, syncs: tuple[OffsetSync, ...], expected: int
) -> None:
    offsets = {} if offset is None else {P: offset}
    assert replicated_up_to({P: OffsetRange(10, 100)}, offsets, {P: syncs}) == {P: expected}


@pytest.mark.parametrize(
    ("committed", "start", "target_end", "syncs", "again"),
    [
        pytest.param(50, 41, 100, (a_sync(40, 40),), 9, id="after the record of a sync"),
        pytest.param(50, 40, 100, (a_sync(40, 40),), 10, id="at the record of a sync"),
        pytest.param(50, 30, 100, (a_sync(10, 5), a_sync(60, 55)), 39, id="the newest sync before the start counts"),
        pytest.param(50, 30, 100, (a_sync(60, 55),), 70, id="all that the target holds, without a sync before it"),
        pytest.param(5000, 90, 100, (a_sync(60, 55),), 10, id="never more than the target holds"),
        pytest.param(41, 41, 100, (a_sync(40, 40),), 0, id="nothing"),
        pytest.param(41, 60, 100, (a_sync(40, 40),), 0, id="nothing, for a group that is ahead on the target"),
        pytest.param(50, None, 100, (a_sync(40, 40),), None, id="no position on the target"),
        pytest.param(50, 41, None, (a_sync(40, 40),), None, id="no remote partition"),
    ],
)
def test_offset_syncs_bound_how_many_records_a_group_would_read_again(
    committed: int, start: int | None, target_end: int | None, syncs: tuple[OffsetSync, ...], again: int | None
) -> None:
    assert read_again(GroupPosition(committed, start, target_end), syncs) == again
