"""What offset syncs show: their histories, how far a flow has replicated, and how much a group would read again."""

import pytest

from kafka_replication.components.kafka import offset_syncs
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import (
    SyncHistory,
    most_read_again,
    replicated_up_to,
    sync_histories,
)
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from tests.spark import forging
from tests.spark.forging import written

P = TopicPartition("orders", 0)


def segments(*syncs: tuple[int, int]) -> list[tuple[int, int]]:
    key = forging.offset_sync_key("orders", 0)
    histories = sync_histories(written(*((key, forging.offset_sync_value(*each)) for each in syncs)))
    return [(each.upstream, each.downstream) for each in histories[P].syncs]


@pytest.mark.parametrize(
    ("syncs", "kept"),
    [
        pytest.param(
            [(0, 0), (5, 5), (9, 9)], [(0, 0), (9, 9)], id="a constant difference keeps the first and the last sync"
        ),
        pytest.param([(0, 0), (5, 5), (7, 7), (9, 9)], [(0, 0), (9, 9)], id="however many syncs are between them"),
        pytest.param([(0, 0), (5, 5), (9, 8), (12, 11)], [(0, 0), (5, 5), (9, 8), (12, 11)], id="both sides of a jump"),
        pytest.param([(7, 0)], [(7, 0)], id="one sync"),
        pytest.param([(0, 0), (8, 8), (2, 2), (9, 9)], [(0, 0), (8, 8), (2, 2), (9, 9)], id="syncs that go back"),
    ],
)
def test_offset_syncs_are_reduced_to_where_the_difference_changes(
    syncs: list[tuple[int, int]], kept: list[tuple[int, int]]
) -> None:
    assert segments(*syncs) == kept


def test_only_the_first_sync_and_the_newest_changes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With transactions, the difference changes at nearly every sync: the driver must not keep all syncs."""
    monkeypatch.setattr(offset_syncs, "SEGMENTS", 2)
    assert segments((0, 0), (2, 1), (4, 2), (6, 3), (8, 4)) == [(0, 0), (6, 3), (8, 4)]


def test_each_partition_has_its_own_syncs_and_undecodable_records_are_ignored() -> None:
    bills = TopicPartition("bills", 2)
    records = written(
        (forging.offset_sync_key(*P), forging.offset_sync_value(1, 1)),
        (forging.offset_sync_key(*bills), forging.offset_sync_value(7, 9)),
        (b"?", b"?"),
    )
    assert sync_histories(records) == {
        P: SyncHistory((OffsetSync(1, 1),)),
        bills: SyncHistory((OffsetSync(7, 9),)),
    }


@pytest.mark.parametrize(
    ("offset", "syncs", "expected"),
    [
        pytest.param(50, (OffsetSync(40, 40),), 51, id="the connector's offset is newer"),
        pytest.param(50, (OffsetSync(60, 60),), 61, id="the sync is newer"),
        pytest.param(None, (OffsetSync(40, 40),), 41, id="without a connector's offset"),
        pytest.param(None, (), 10, id="without either, the log's start"),
        pytest.param(5, (), 10, id="retention has deleted up to a later record"),
        pytest.param(500, (), 100, id="a topic that was created again"),
    ],
)
def test_replication_has_reached_the_newer_of_connector_offset_and_offset_sync(
    offset: int | None, syncs: tuple[OffsetSync, ...], expected: int
) -> None:
    offsets = {} if offset is None else {P: offset}
    assert replicated_up_to({P: OffsetRange(10, 100)}, offsets, {P: SyncHistory(syncs)}) == {P: expected}


@pytest.mark.parametrize(
    ("committed", "start", "target_end", "syncs", "again"),
    [
        pytest.param(50, 41, 100, (OffsetSync(40, 40),), 9, id="after the record of a sync"),
        pytest.param(50, 40, 100, (OffsetSync(40, 40),), 10, id="at the record of a sync"),
        pytest.param(50, 30, 100, (OffsetSync(10, 5), OffsetSync(60, 55)), 15, id="between equal differences"),
        pytest.param(50, 30, 100, (OffsetSync(10, 5), OffsetSync(60, 50)), 39, id="between syncs that skip offsets"),
        pytest.param(50, 30, 100, (OffsetSync(10, 5), OffsetSync(40, 55)), 39, id="between syncs with markers"),
        pytest.param(90, 80, 100, (OffsetSync(10, 5), OffsetSync(60, 55)), 20, id="after the newest sync"),
        pytest.param(
            520,
            550,
            900,
            (OffsetSync(500, 500), OffsetSync(0, 0), OffsetSync(100, 100)),
            350,
            id="a sync from before the remote topic was created again belongs to other records",
        ),
        pytest.param(50, 101, 100, (OffsetSync(40, 40),), None, id="a position past the end of the remote partition"),
        pytest.param(50, 30, 100, (OffsetSync(60, 55),), 70, id="all that the target holds, without a sync before it"),
        pytest.param(5000, 90, 100, (OffsetSync(60, 55),), 10, id="never more than the target holds"),
        pytest.param(41, 41, 100, (OffsetSync(40, 40),), 0, id="nothing"),
        pytest.param(41, 60, 100, (OffsetSync(40, 40),), 0, id="nothing, for a group that is ahead on the target"),
        pytest.param(50, None, 100, (OffsetSync(40, 40),), None, id="no position on the target"),
        pytest.param(50, 41, None, (OffsetSync(40, 40),), None, id="no remote partition"),
    ],
)
def test_offset_syncs_bound_how_many_records_a_group_would_read_again(
    committed: int, start: int | None, target_end: int | None, syncs: tuple[OffsetSync, ...], again: int | None
) -> None:
    assert most_read_again(committed, start, target_end, SyncHistory(syncs)) == again
