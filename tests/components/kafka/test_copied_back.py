"""How far a group of a prefixless pair may continue on the target as regards the records that were written there."""

import pytest

from kafka_replication.components.kafka import log_ends
from kafka_replication.components.kafka.log_ends import CopiedBack, Ends
from kafka_replication.components.kafka.mirror_records import OffsetSync


def begun(*own: int, end: int) -> CopiedBack:
    """A partition whose target ends there, and begins at 0, with these records of its own."""
    back = CopiedBack.beginning((), 0)
    back.scan(own, end)
    return back


def test_without_a_sync_a_group_continues_at_the_first_record_that_was_written_on_the_target() -> None:
    assert [begun(*own, end=9).before(100) for own in ((4, 6), ())] == [4, 9]


def test_a_group_past_the_copy_of_a_record_continues_at_the_next_one_that_was_written_on_the_target() -> None:
    back = begun(4, 6, end=9)
    back.add(OffsetSync(4, 50))
    assert (back.before(50), back.before(51)) == (4, 6)
    back.add(OffsetSync(6, 60))
    assert back.before(61) == 9


def test_a_sync_of_a_record_that_was_not_read_yet_says_nothing_of_the_records_after_it() -> None:
    back = begun(end=9)
    back.add(OffsetSync(20, 70))
    assert back.before(71) == 21
    back.scan((), 30)
    assert back.before(71) == 30


def test_a_group_may_wait_for_records_that_are_sent_again() -> None:
    back = begun(4, 6, 8, end=9)
    for sync in (OffsetSync(4, 50), OffsetSync(8, 52), OffsetSync(6, 53)):
        back.add(sync)
    assert [back.before(committed) for committed in (51, 53, 54)] == [6, 6, 7]


def test_positions_that_were_derived_earlier_count_where_no_newer_sync_says_more() -> None:
    back = CopiedBack.beginning([Ends(80, 30), Ends(60, 20)], 0)
    back.add(OffsetSync(10, 40))
    assert [back.before(committed) for committed in (50, 60, 80)] == [0, 20, 30]
    assert back.scanned == 30


def test_reading_pauses_while_too_many_records_have_not_been_copied_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_ends, "OWN", 2)
    back = begun(4, 6, end=9)
    assert back.pauses
    back.add(OffsetSync(4, 50))
    assert not back.pauses
