"""Groups return to exactly the record that they had reached on the remote partition: none skipped, none read twice."""

import random
from collections.abc import Iterator, Sequence

import pytest

from components.kafka.exact_positions import NotProvenError
from components.kafka.positions import OffsetRange
from components.kafka.positions_back import PartitionBack, positions_back
from components.kafka.record_identity import Identified


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
    assert (found.positions[4].offset, found.positions[4].never_crossed) == (5, 1)


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
    assert found.going_on(committed, before) == (at, at_most)


def test_a_record_that_the_remote_deleted_unread_is_read_on_the_origin() -> None:
    found = positions_back([2], log("cdef", 4), log("abcdef"), 6, remote_start=4, left_at=[1])
    assert found.going_on(2, 1) == (1, 1)


def test_a_walk_that_begins_among_records_sent_again_proves_nothing() -> None:
    with pytest.raises(
        NotProvenError, match="after its record 3, the remote partition holds earlier records that were sent again"
    ):
        back("abcd", "...cdabc", 8)
