"""Groups return to exactly the record that they had reached on the remote partition: none skipped, none read twice."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_replication.components.kafka.exact_positions import ExactPosition, NotProvenError, exact_positions
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.components.kafka.record_identity import Identified
from kafka_replication.components.kafka.return_positions import (
    FlowBackStart,
    PartitionBack,
    flow_back_start,
    positions_back,
)


def log(text: str, start: int = 0) -> Iterator[Identified]:
    """A record for each letter; a dot is an offset without one, such as a transaction's marker."""
    return (Identified(at, each.encode()) for at, each in enumerate(text, start) if each != ".")


def back(origin: str, remote: str, *committed: int, start: int = 0, remote_start: int = 0) -> PartitionBack:
    return positions_back(committed, log(remote, remote_start), log(origin, start), start + len(origin))


@pytest.mark.parametrize(
    ("origin", "remote", "committed", "offset"),
    [
        ("abcdef", "abcd", 2, 2),
        ("abcdef", "abcd", 4, 4),
        ("ab.cd.ef", "abcdef", 4, 5),
        ("abcdef", "ab..cd", 5, 3),
        ("abcdef", "abcabcde", 2, 2),
        ("abcdef", "abcabcde", 4, 3),
        ("abcdef", "abcabcde", 7, 4),
        ("abcdef", "cdef", 0, 2),
        ("aaab", "aaab", 2, 2),
    ],
    ids=["middle", "end", "transactions", "markers", "sent again, before", "sent again, within", "sent again, after",
         "oldest copies deleted", "equal records"],
)  # fmt: skip
def test_a_group_continues_after_the_last_record_that_it_consumed(
    origin: str, remote: str, committed: int, offset: int
) -> None:
    assert back(origin, remote, committed).positions[committed].offset == offset


def test_records_that_only_the_old_source_has_are_reported() -> None:
    found = back("abcdefgh", "abdef", 4)
    assert found.only_here == OffsetRange(6, 8)
    assert found.gaps == (OffsetRange(2, 3),)
    assert found.positions[4].offset == 5


def test_copies_of_records_that_the_source_has_deleted_are_passed_over() -> None:
    assert back("cdef", "abcde", 4, start=2).positions[4].offset == 4
    position = back("cdef", "abcde", 1, start=2).positions[1]
    assert (position.offset, position.deleted) == (2, 1)


@pytest.mark.parametrize(
    ("origin", "remote", "message"),
    [("abcd", "abxcd", "record 2 equals no record after 1"), ("abcd", "xyz", "no record in common")],
    ids=["written by somebody else", "other logs"],
)
def test_a_record_that_the_source_never_had_proves_nothing(origin: str, remote: str, message: str) -> None:
    with pytest.raises(NotProvenError, match=message):
        back(origin, remote, 3)


def copied(records: Sequence[int], chance: random.Random) -> list[int]:
    """What MirrorMaker writes of these records if its task is killed now and then and sends some again."""
    remote: list[int] = []
    at = 0
    while at < len(records):
        remote.append(records[at])
        at += 1
        if chance.random() < 0.1:
            at = max(0, at - chance.randrange(5))
    return remote


def test_no_record_is_skipped_or_read_twice_whatever_was_sent_again() -> None:
    for seed in range(500):
        chance = random.Random(seed)
        records = list(range(chance.randrange(1, 40)))
        remote = copied(records, chance)
        origin = [Identified(2 * each, str(each).encode()) for each in records]
        copies = [Identified(at, str(each).encode()) for at, each in enumerate(remote)]
        found = positions_back(range(len(copies) + 1), iter(copies), iter(origin), 2 * len(records))
        for committed, position in found.positions.items():
            consumed = set(remote[:committed])
            left = {each for each in records if 2 * each >= position.offset}
            assert left == set(records) - consumed, (seed, committed)


@pytest.mark.parametrize(
    ("remote", "committed", "before", "at", "at_most"),
    [
        pytest.param("abcdefcdef", 7, 3, 3, 3, id="it began after the first copies"),
        pytest.param("abcdefcdef", 8, 3, 4, 2, id="it began after the first copies and has read one more record"),
        pytest.param("abcdefcdef", 6, 0, 6, 0, id="it began before all records that were sent again"),
        pytest.param("abcdefcdef", 5, 3, 3, 2, id="it may have begun earlier"),
        pytest.param("aba", 2, 1, 2, 0, id="the first record of all was sent again"),
        pytest.param("abcdefcdef", 10, 3, 6, 0, id="it has read the last copies"),
        pytest.param("abcdef", 4, 6, 6, 0, id="it continued where it had left"),
        pytest.param("abcdef", 4, 2, 4, 0, id="nothing was sent again"),
    ],
)
def test_records_that_were_sent_again_do_not_count_as_consumed(
    remote: str, committed: int, before: int, at: int, at_most: int
) -> None:
    """After a failover groups begin after the first copies: these are before a group's offset, although it has not read
    them."""
    found = positions_back([committed], log(remote), log("abcdef"), 6, left_at=[before])
    assert found.continues_at(committed, before) == (at, at_most)


def test_a_record_that_the_remote_deleted_unread_is_read_on_the_origin() -> None:
    found = positions_back([2], log("cdef", 4), log("abcdef"), 6, remote_start=4, left_at=[1])
    assert found.continues_at(2, 1) == (1, 1)


def test_a_walk_that_begins_among_records_sent_again_proves_nothing() -> None:
    with pytest.raises(
        NotProvenError, match="after its record 3, the remote partition holds earlier records that were sent again"
    ):
        back("abcd", "...cdabc", 8)


def old_and_new_log(*names: int) -> list[Identified]:
    return [Identified(offset, b"%016d" % name, name) for offset, name in enumerate(names)]


def test_the_flow_back_begins_after_the_last_copy() -> None:
    found = flow_back_start(old_and_new_log(0, 1, 2, 3), iter(old_and_new_log(0, 1, 2, 10, 11)), 0, whole=True)
    assert found == FlowBackStart(3, 2, 2, 10)


def test_records_that_were_sent_again_do_not_return() -> None:
    assert flow_back_start(
        old_and_new_log(0, 1, 2), iter(old_and_new_log(0, 1, 2, 1, 10)), 0, whole=True
    ) == FlowBackStart(4, 1, 2, 10)


def test_without_a_common_record_everything_goes_back() -> None:
    assert flow_back_start(old_and_new_log(0, 1), iter(old_and_new_log(10, 11)), 0, whole=True) == FlowBackStart(
        0, 2, None, 10
    )
    assert flow_back_start([], iter([]), 7, whole=True) == FlowBackStart(7, 0, None, None)


def test_mixed_origins_prove_nothing() -> None:
    with pytest.raises(
        NotProvenError, match="record 3 of the new origin is a copy of the old origin's record 2, but follows"
    ):
        flow_back_start(old_and_new_log(0, 1, 2), iter(old_and_new_log(0, 1, 10, 2)), 0, whole=True)


def test_a_part_of_the_log_decides_only_if_its_first_record_crossed() -> None:
    old = old_and_new_log(0, 1, 2, 3)
    assert flow_back_start(old[2:], iter(old_and_new_log(0, 1, 2, 3, 10)), 0, whole=False) == FlowBackStart(4, 1, 3, 10)
    assert flow_back_start(old[2:], iter(old_and_new_log(0, 1, 10)), 0, whole=False) is None
    assert flow_back_start(old[2:], iter(old_and_new_log(0, 1, 2, 3, 1, 3)), 0, whole=False) is None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_copy_returns_and_no_own_record_is_left_behind(data: st.DataObject) -> None:
    """Both logs lost a beginning, a task sent records again, and the old origin's last records never crossed."""
    crossed = data.draw(st.integers(0, 8))
    copies = list(range(crossed))
    if crossed:
        copies += range(data.draw(st.integers(0, crossed - 1)), data.draw(st.integers(0, crossed)))
    own = list(range(100, 100 + data.draw(st.integers(0, 4))))
    old = old_and_new_log(*range(crossed + data.draw(st.integers(0, 3))))
    old = old[data.draw(st.integers(0, len(old))) :]
    new = old_and_new_log(*copies, *own)
    new = new[data.draw(st.integers(0, len(copies))) :]
    start = new[0].offset if new else len(copies)
    kept = {each.identity for each in old}
    try:
        found = flow_back_start(old, iter(new), start, whole=True)
    except NotProvenError:
        # A copy of a record that the old origin has deleted looks like a record of the new origin.
        assert any(each.time_ms < 100 and each.identity not in kept for each in new)
        return
    assert found is not None
    returned = [each for each in new if each.offset >= found.offset]
    assert [each.time_ms for each in returned if each.time_ms >= 100] == own
    assert not [each for each in returned if each.identity in kept]


def test_groups_pass_over_foreign_records_and_records_that_were_sent_twice() -> None:
    """The flow took 10 and 11 back; the target had 3 and 4 of its own, and once sent 1 and 2 twice to the source.

    A group before the second 2 reads it, as it would on the source.
    """
    source, target = old_and_new_log(0, 1, 2, 1, 2, 10, 11), old_and_new_log(0, 1, 2, 3, 4, 10, 11)
    found = exact_positions([1, 4, 6, 7], iter(source), iter(target), 7, shared=True)
    assert {each.committed: each.offset for each in found.positions.values()} == {1: 1, 4: 2, 6: 6, 7: 7}
    assert (found.waiting, found.foreign, found.on_target) == (0, 2, 5)
    with pytest.raises(NotProvenError):
        exact_positions([1], iter(source), iter(target), 7)


def test_a_record_that_has_not_returned_yet_is_counted_as_waiting() -> None:
    found = exact_positions(
        [3], iter(old_and_new_log(0, 1, 2, 1, 10, 11)), iter(old_and_new_log(0, 1, 2, 3, 10)), 5, shared=True
    )
    assert (found.waiting, found.foreign) == (1, 1)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_group_that_returns_skips_nothing(data: st.DataObject) -> None:
    crossed, lost = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 3))
    copies = list(range(crossed))
    if crossed:
        copies += range(data.draw(st.integers(0, crossed - 1)), data.draw(st.integers(0, crossed)))
    own = list(range(100, 100 + data.draw(st.integers(1, 5))))
    here, there = (
        old_and_new_log(*copies, *own),
        old_and_new_log(*range(crossed + lost), *own[: data.draw(st.integers(1, len(own)))]),
    )
    begin = data.draw(st.integers(0, len(copies)))
    committed = data.draw(st.integers(begin, len(here)))
    try:
        found = exact_positions([committed], iter(here[begin:]), iter(there), len(there), shared=True)
    except NotProvenError:
        return
    position = found.positions[committed]
    if position.not_there or found.waiting:
        return
    consumed = {each.time_ms for each in here[:committed]}
    unread = {each.time_ms for each in here[committed:]} - consumed
    assert unread <= {each.time_ms for each in there[position.offset :]}


def test_the_second_of_two_equal_records_beside_a_foreign_one_is_not_passed_over() -> None:
    """Record 1 equals record 0, and the target's record 1 stands before its copy."""
    found = exact_positions([1, 2], iter(old_and_new_log(7, 7, 8)), iter(old_and_new_log(7, 50, 7, 8)), 4, shared=True)
    assert {each.committed: (each.offset, each.not_there) for each in found.positions.values()} == {
        1: (2, 0),
        2: (3, 0),
    }
    assert (found.foreign, found.sent_again, found.on_target) == (1, 0, 3)


def test_the_copy_of_the_last_of_several_equal_records_is_read() -> None:
    """Of records 2 and 4, which equal record 0, one was sent twice and the other is a record of its own."""
    found = exact_positions(
        [4], iter(old_and_new_log(7, 8, 7, 8, 7, 9)), iter(old_and_new_log(7, 8, 50, 7, 9)), 5, shared=True
    )
    assert found.positions[4].offset == 3


def test_forgotten_equal_records_prove_nothing_for_a_group_before_them() -> None:
    here, there = old_and_new_log(0, 0, 0, 0, 0, 1), old_and_new_log(0, 0, 0, 0, 1)
    with pytest.raises(NotProvenError, match="let every group consume past 4 on the source first"):
        exact_positions([2], iter(here), iter(there), 5, 3, shared=True)
    assert exact_positions([5], iter(here), iter(there), 5, 3, shared=True).positions[5].offset == 4


def test_a_record_whose_copy_has_not_come_before_it_is_forgotten_is_not_proven() -> None:
    """Record 4 equals record 2. Its copy came after both were forgotten, was taken for another record, and skipped."""
    here, there = old_and_new_log(0, 0, 1, 0, 1, 0, 0, 0), old_and_new_log(0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0)
    with pytest.raises(NotProvenError, match="let every group consume past 4 on the source first"):
        exact_positions([4], iter(here[2:]), iter(there), 11, 3, shared=True)


def test_equal_records_that_may_be_read_again_are_announced() -> None:
    """The group has consumed two of three equal records. The third may be the target's second, or only a repeat."""
    found = exact_positions([2], iter(old_and_new_log(7, 7, 7, 8)), iter(old_and_new_log(7, 7, 50, 8)), 4, shared=True)
    assert found.positions[2] == ExactPosition(2, 1, at_least=True)


@dataclass
class Origins:
    """A partition of two origins; each record is given by its number on the cluster where it was produced.

    The target was the origin until the direction was reversed, and others still write there. The source's own records
    have numbers from 100 on.
    """

    source: list[int]
    target: list[int]


@st.composite
def origins(draw: st.DrawFn) -> Origins:
    first = draw(st.integers(0, 5))
    source = _sent(draw, list(range(first)))
    own = list(range(100, 100 + draw(st.integers(0, 5))))
    target = list(range(first + draw(st.integers(0, 2))))
    for number, each in enumerate(_sent(draw, own[: draw(st.integers(0, len(own)))])):
        target += [50 + number] * draw(st.integers(0, 1)) + [each]
    return Origins(source + own, target)


def _sent(draw: st.DrawFn, records: list[int]) -> list[int]:
    """In order, with tasks that begin again at an earlier record and catch up."""
    found: list[int] = []
    at = 0
    while at < len(records):
        end = draw(st.integers(at + 1, len(records)))
        found += records[at:end]
        at = draw(st.integers(0, end)) if draw(st.booleans()) else end
        if len(found) > 30:
            return found + records[end:]
    return found


@settings(max_examples=500, deadline=None)
@given(origins(), st.data())
def test_equal_records_of_two_origins_are_never_skipped(history: Origins, data: st.DataObject) -> None:
    """A group that continues reads each content as often as there are unconsumed records with it."""
    contents: dict[int, int] = data.draw(
        st.fixed_dictionaries({each: st.integers(0, 2) for each in sorted({*history.source, *history.target})})
    )
    here, there = (
        old_and_new_log(*(contents[each] for each in history.source)),
        old_and_new_log(*(contents[each] for each in history.target)),
    )
    committed = data.draw(st.integers(0, len(here)))
    begin = data.draw(st.integers(0, committed))
    memory = data.draw(st.sampled_from([3, 1_000]))
    try:
        found = exact_positions([committed], iter(here[begin:]), iter(there), len(there), memory, shared=True)
    except NotProvenError:
        return
    if found.waiting:
        return  # A planned failover waits, and with this policy there is no other.
    position = found.positions[committed]
    unread = set(history.source[committed:]) - set(history.source[:committed])
    owed = Counter(contents[each] for each in unread if each in history.target)
    seen = Counter(contents[each] for each in history.target[position.offset :])
    assert (owed - seen).total() <= position.not_there
