"""What MirrorMaker's own records show: the newest checkpoints, the offset syncs and the heartbeats of a flow."""

import pytest

from components.kafka.positions import TopicPartition
from spark.checks import own_records
from spark.checks.offsets.translation import Checkpoint, Sync, SyncHistory
from spark.checks.own_records import Heartbeat, heartbeats_seen, latest_checkpoints, sync_histories
from spark.small_reads import KafkaRecord
from tests.spark import forging

OWN, ORDERS = TopicPartition("internal", 0), TopicPartition("orders", 0)
REMOTE = TopicPartition("useast.orders", 0)


def written(*pairs: tuple[bytes | None, bytes | None]) -> list[KafkaRecord]:
    return [KafkaRecord(OWN, offset, 0, key, value, ()) for offset, (key, value) in enumerate(pairs)]


def test_the_newest_checkpoint_counts_even_when_it_goes_back() -> None:
    """A checkpoint follows a group that is reset: the newest record counts, not the highest offset."""
    key = forging.checkpoint_key("g", "useast.orders", 0)
    records = written(
        (key, forging.checkpoint_value(100, 90)), (b"x", None), (key, forging.checkpoint_value(50, 41))
    )  # fmt: skip
    whole = latest_checkpoints(records)
    assert (whole.get("g", REMOTE), whole.undecodable) == (Checkpoint(50, 41), 1)
    for cut in range(4):
        assert latest_checkpoints(records[cut:], latest_checkpoints(records[:cut])) == whole


def segments(*syncs: tuple[int, int]) -> list[tuple[int, int]]:
    key = forging.offset_sync_key("orders", 0)
    histories = sync_histories(written(*((key, forging.offset_sync_value(*each)) for each in syncs)))
    return [(each.upstream, each.downstream) for each in histories[ORDERS].syncs]


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
    monkeypatch.setattr(own_records, "SEGMENTS", 2)
    assert segments((0, 0), (2, 1), (4, 2), (6, 3), (8, 4)) == [(0, 0), (6, 3), (8, 4)]


def test_each_partition_has_its_own_syncs_and_undecodable_records_are_ignored() -> None:
    bills = TopicPartition("bills", 2)
    records = written(
        (forging.offset_sync_key(*ORDERS), forging.offset_sync_value(1, 1)),
        (forging.offset_sync_key(*bills), forging.offset_sync_value(7, 9)),
        (b"?", b"?"),
    )
    assert sync_histories(records) == {ORDERS: SyncHistory((Sync(1, 1),)), bills: SyncHistory((Sync(7, 9),))}


def test_only_this_flows_heartbeats_are_returned_and_the_others_counted() -> None:
    ours, eu = forging.heartbeat_key("useast", "uswest"), forging.heartbeat_key("useast", "eu")
    records = written(
        (ours, forging.heartbeat_value(20)),
        (ours, forging.heartbeat_value(10)),
        (eu, forging.heartbeat_value(5)),
        (None, None),
    )
    seen = heartbeats_seen(records, "useast", "uswest")
    assert seen.ours == [Heartbeat(10, 0, 1), Heartbeat(20, 0, 0)]
    assert (seen.others, seen.undecodable) == (1, 1)
