"""Transaction markers on the target, which an exactly-once flow writes, and equal records among them."""

from collections.abc import Iterable

from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.spark.checks.offsets.check import check_offsets
from kafka_replication.spark.checks.offsets.readings import read_syncs
from tests.spark.memory import ORDERS, MemoryFlow


def delivered(numbers: Iterable[int]) -> MemoryFlow:
    """Each record reached the target in a transaction of its own: that at source offset 10 is at 20."""
    flow = MemoryFlow(exactlyOnce=True)
    for number in numbers:
        flow.source.produce(ORDERS, [number])
        flow.target.produce(flow.remote, [number])
        flow.target.mark(flow.remote)
    return flow


def result(flow: MemoryFlow) -> tuple[list[str], int | float]:
    opened = flow.opened
    outcome = check_offsets(opened, read_syncs(opened), 0)
    return [finding.code for finding in outcome.findings], outcome.counts["proven"]


def test_a_record_is_found_although_many_markers_are_before_it() -> None:
    """It was looked for 45 offsets too far, and called another record."""
    flow = delivered(range(200))
    flow.sync((0, 0), (50, 100))
    flow.translate(150, 190)
    assert result(flow) == ([], 1)


def test_a_record_that_the_source_has_removed_is_not_called_another_one() -> None:
    """Record 11 is at 22 of the target. With a marker in between, the offset syncs seem to say that it is record 12."""
    flow = delivered(range(60))
    flow.sync((0, 0), (10, 20))
    flow.translate(13, 21)
    flow.source.log(ORDERS).start = 12
    assert result(flow) == ([], 1)
    del flow.target.log(flow.remote).records[26:]
    assert result(flow) == (["source-expired"], 0)


def test_equal_records_with_markers_between_them_may_be_either_one() -> None:
    """Records 11 and 12 are equal, and the group is at 11: it skips nothing at record 11, but one record at 12."""
    flow = delivered([*range(11), 500, 500, *range(600, 650)])
    flow.source.produce(ORDERS, range(900, 970), aborted=True)
    flow.sync((0, 0), (10, 20))
    flow.translate(11, 21)
    assert result(flow) == (["source-record-not-found"], 0)


def test_as_many_markers_may_be_before_a_record_as_there_are_offsets_since_the_sync() -> None:
    history = SyncHistory((OffsetSync(10, 20), OffsetSync(40, 80)))
    found = [history.guess(offset, markers=True) for offset in (20, 21, 25, 85)]
    assert [(guess.offset, guess.exact, guess.markers) for guess in found if guess] == [
        (10, True, 0),
        (11, False, 0),
        (15, False, 4),
        (45, True, 4),
    ]
