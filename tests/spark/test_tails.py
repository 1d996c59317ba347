"""The newest records of a source partition are looked up on the target."""

from collections.abc import Sequence

import pytest

from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.offsets.position_proof import RecordDigest
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.quick import NewestRecords, missing_or_reordered

SOURCE = OffsetRange(0, 14)


def records(*numbers: int) -> list[RecordDigest]:
    """Records by number, at offsets from 0 on."""
    return [RecordDigest(offset, number, str(number)) for offset, number in enumerate(numbers)]


def test_a_new_record_without_a_timestamp_is_found_by_its_content() -> None:
    """Connect gives it the time of its arrival. One with a timestamp must have it on the target, too."""
    target = [RecordDigest(0, 7, "A at 7", "A"), RecordDigest(1, 8, "B at 8", "B")]
    source = [RecordDigest(0, -1, "A", "A"), RecordDigest(1, 6, "B at 6", "B")]
    tail = NewestRecords(source, target, SOURCE, SOURCE, SyncHistory(), whole=True, compacted=False)
    assert missing_or_reordered(tail) == {meanings.LAGGING: [source[1]]}


def a_tail(
    target: Sequence[int],
    source: Sequence[int] = (10, 11, 12, 13),
    target_log: OffsetRange = SOURCE,
    history: SyncHistory = SyncHistory(),  # noqa: B008  # it is frozen
    *,
    whole: bool = True,
    compacted: bool = False,
    guarded: bool = False,
) -> NewestRecords:
    return NewestRecords(records(*source), records(*target), SOURCE, target_log, history, whole, compacted, guarded)


EMPTIED = OffsetRange(14, 14)
ARRIVED = SyncHistory((OffsetSync(13, 13),))
#: The copy of the oldest of four records is at offset 10.
FROM_10 = SyncHistory((OffsetSync(0, 10), OffsetSync(3, 13)))


@pytest.mark.parametrize(
    ("tail", "found"),
    [
        pytest.param(a_tail([10, 11, 12, 13]), {}, id="all are there"),
        pytest.param(a_tail([9, 10, 11, 12, 13, 14, 15]), {}, id="older records before them and newer ones after them"),
        pytest.param(a_tail([10, 11, 8, 9, 10, 11, 12, 13]), {}, id="a restart sent some again"),
        pytest.param(
            a_tail([12, 10, 11, 12, 13]), {}, id="the first copies begin in the middle of what was sent again"
        ),
        pytest.param(a_tail([10, 13]), {meanings.MISSING: [11, 12]}, id="a hole"),
        pytest.param(
            a_tail([11, 12, 13]), {meanings.MISSING: [10]}, id="the oldest is missing, and nothing has expired"
        ),
        pytest.param(
            a_tail([11, 12, 13], target_log=OffsetRange(11, 14)),
            {meanings.EXPIRED_ON_TARGET: [10]},
            id="it has expired",
        ),
        pytest.param(
            a_tail([12, 13], target_log=OffsetRange(1, 3)),
            {meanings.EXPIRED_ON_TARGET: [10], meanings.MISSING: [11]},
            id="more are missing than have expired",
        ),
        pytest.param(
            a_tail([12, 13], target_log=OffsetRange(11, 14), history=FROM_10),
            {meanings.EXPIRED_ON_TARGET: [10], meanings.MISSING: [11]},
            id="the other removed offsets held copies of older records",
        ),
        pytest.param(
            a_tail([12, 13], target_log=OffsetRange(11, 14), history=FROM_10, guarded=True),
            {meanings.EXPIRED_OR_LOST: [10, 11]},
            id="the removed offsets may have held the target's own records",
        ),
        pytest.param(
            a_tail([], target_log=OffsetRange(13, 13), history=SyncHistory((OffsetSync(0, 10), OffsetSync(13, 12)))),
            {meanings.EXPIRED_ON_TARGET: [10, 11, 12], meanings.MISSING: [13]},
            id="more than an emptied target has removed",
        ),
        pytest.param(a_tail([10, 11]), {meanings.LAGGING: [12, 13]}, id="late"),
        pytest.param(a_tail([7, 8]), {meanings.LAGGING: [10, 11, 12, 13]}, id="nothing of it has arrived"),
        pytest.param(
            a_tail([], target_log=EMPTIED, history=ARRIVED),
            {meanings.EXPIRED_ON_TARGET: [10, 11, 12, 13]},
            id="it arrived and has expired",
        ),
        pytest.param(
            a_tail([], target_log=EMPTIED), {meanings.LAGGING: [10, 11, 12, 13]}, id="nothing shows that it had arrived"
        ),
        pytest.param(a_tail([10, 12, 11, 13]), {meanings.REORDERED: [12]}, id="two are swapped"),
        pytest.param(
            a_tail([10, 13], whole=False), {meanings.TAIL_NOT_PROVEN: [11, 12]}, id="too many records to read them all"
        ),
        pytest.param(
            a_tail([10, 12, 11, 13], whole=False), {meanings.TAIL_NOT_PROVEN: [12]}, id="another copy may be elsewhere"
        ),
        pytest.param(
            a_tail([10, 13], compacted=True), {meanings.TAIL_NOT_PROVEN: [11, 12]}, id="it may have been compacted"
        ),
        pytest.param(a_tail([5, 5, 6], source=[5, 5, 6]), {}, id="equal records are counted"),
        pytest.param(a_tail([5, 6], source=[5, 5, 6]), {meanings.MISSING: [5]}, id="one of two equal ones is missing"),
        pytest.param(a_tail([1], source=[]), {}, id="the source has no newest record"),
    ],
)
def test_each_source_record_is_found_in_order_on_the_target_or_reported(
    tail: NewestRecords, found: dict[meanings.Meaning, list[int]]
) -> None:
    assert {what: [int(each.digest) for each in every] for what, every in missing_or_reordered(tail).items()} == found
