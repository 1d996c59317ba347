"""Exactly where consumer groups continue in a remote partition, computed from the records of both sides. Pure. For a
group at offset `c` on the source, the position is the highest target offset from which every record at `c` or later is
still to come. It does not depend on where the walk begins: each of those records is found on the target at or after the
position. If MirrorMaker's tasks sent nothing twice, it is the offset of the first of these records. If a restarted task
sent records again, it is their last copy, so that fewer are read a second time.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from components.kafka.record_identity import Identified
from components.kafka.walked_records import NOWHERE, Copies, ExactPosition, Walked

#: How many source records are remembered, to recognise those that were sent again; 32 bytes each, up to twice this
#: many.
REMEMBERED = 1_000_000


@dataclass(frozen=True)
class PartitionPositions:
    """The positions of a partition by committed offset, and what the walk saw. `returning` has those of a pair's groups
    that have consumed on the target before, by committed offset and the offset at which they left the target. `waiting`
    records of the source are not on the target yet, the first of them at `first_waiting`. `sent_again` counts the
    second copies on the target, `on_target` the source's records that are there, `passed_over` the target's records
    older than these. `source_records` and `target_records` were read. `foreign` records of the target among these are
    not the source's.
    """

    positions: Mapping[int, ExactPosition]
    waiting: int = 0
    first_waiting: Identified | None = None
    sent_again: int = 0
    source_records: int = 0
    target_records: int = 0
    on_target: int = 0
    passed_over: int = 0
    foreign: int = 0
    returning: Mapping[tuple[int, int], ExactPosition] = field(default_factory=dict)


class NotProvenError(Exception):
    """The records of the target are not those of the source; the message says where."""


def exact_positions(
    committed: Iterable[int],
    source: Iterator[Identified],
    target: Iterator[Identified],
    target_end: int,
    remembered: int = REMEMBERED,
    copies: Copies | None = None,
    *,
    shared: bool = False,
) -> PartitionPositions:
    """Walk both logs once, and return the position of each committed offset.

    With `shared`, others also wrote to the target, and their records are counted; without it, one such record makes a
    proof impossible. `source` are the records that cross, in order, from at or before the lowest committed offset on.
    `target` are those of the target up to `target_end`, which was asked for before the source's end. They may begin at
    any record: records before the first common one are passed over. `copies` is filled if given. Raises NotProvenError.
    """
    read_source, read_target = _Counted(source), _Counted(target)
    passed: dict[bytes, int] = {}
    before, source, target = from_first_common(read_source, read_target, remembered, passed)
    wanted = sorted(set(committed))
    walked = Walked(wanted, remembered, copies, shared)
    for record in before:
        walked.remember(record, NOWHERE)
    expected, foreign = next(source, None), 0
    came_again: set[bytes] = set()
    for record in target:
        if copies is not None and record.identity in passed:
            came_again.add(record.identity)
        if walked.goes_on(record):
            continue
        # A record that a task sent to a shared source twice does not return, so no copy of it is expected.
        while shared and expected is not None and expected.identity != record.identity and walked.passes_over(expected):
            expected = next(source, None)
        if expected is not None and expected.identity == record.identity:
            walked.remember(expected, record.offset)
            expected = next(source, None)
        elif not walked.begins_again(record):
            if not shared:
                raise _unknown(record, expected)
            foreign += 1
    # Without a foreign record, an equal record at the end may simply not have crossed yet.
    while foreign and expected is not None and walked.passes_over(expected):
        expected = next(source, None)
    rest = itertools.chain([expected] if expected is not None else [], source)
    waiting = _waiting(rest, passed)
    positions = walked.positions(target_end)
    _refuse_doubt(wanted, walked)
    if copies is not None:
        copies.target_passed.extend(sorted(passed[each] for each in passed.keys() - came_again))
    return PartitionPositions(
        positions,
        waiting,
        expected,
        walked.sent_again,
        read_source.count,
        read_target.count,
        walked.found,
        read_target.count - walked.found - walked.sent_again - foreign,
        foreign,
    )


class _Counted(Iterator[Identified]):
    """Counts the records that pass."""

    def __init__(self, records: Iterator[Identified]) -> None:
        self._records, self.count = records, 0

    def __next__(self) -> Identified:
        record = next(self._records)
        self.count += 1
        return record


def from_first_common(
    source: Iterator[Identified],
    target: Iterator[Identified],
    limit: int,
    passed: dict[bytes, int],
) -> tuple[list[Identified], Iterator[Identified], Iterator[Identified]]:
    """The source's records before the first common one, and both sides from there on.

    `passed` gets the offsets of the target's records before it, by identity.

    Retention may have removed more on either side, and replication may have begun with a later record. If one side has
    no records, there is nothing to compare, and the target's are passed over.
    """
    of_source: list[Identified] = []
    of_target: list[Identified] = []
    at_source: dict[bytes, int] = {}
    at_target: dict[bytes, int] = {}
    for ours, theirs in itertools.islice(itertools.zip_longest(source, target), limit):
        if ours is not None:
            at_source.setdefault(ours.identity, len(of_source))
            of_source.append(ours)
        if theirs is not None:
            at_target.setdefault(theirs.identity, len(of_target))
            of_target.append(theirs)
        for found in (each for each in (theirs, ours) if each is not None):
            here, there = at_source.get(found.identity), at_target.get(found.identity)
            if here is not None and there is not None:
                rest = itertools.chain(of_source[here:], source)
                passed |= {each.identity: each.offset for each in of_target[:there]}
                return of_source[:here], rest, itertools.chain(of_target[there:], target)
    if of_source and of_target:
        sides = f"the source's records from {of_source[0].offset} on and the target's from {of_target[0].offset} on"
        raise NotProvenError(f"{sides} have no record in common")
    return [], itertools.chain(of_source, source), iter(())


def _waiting(rest: Iterator[Identified], passed: Mapping[bytes, int]) -> int:
    """How many of the source's last records are not on the target yet.

    If the target has a copy of one before the first common record, a task has restarted and not caught up yet.
    """
    count = 0
    for count, record in enumerate(rest, start=1):  # noqa: B007
        if record.identity in passed:
            copy = f"the target's record {passed[record.identity]} is a copy of the source's record {record.offset}"
            raise NotProvenError(f"{copy}, and a task is sending earlier records again: wait until it has caught up")
    return count


def _refuse_doubt(wanted: list[int], walked: Walked) -> None:
    if wanted and wanted[0] <= walked.doubtful_until:
        last = walked.doubtful_until
        told = f"some source records up to {last} equal earlier records that are too far back to compare"
        raise NotProvenError(f"{told}: let every group consume past {last} on the source first")


def _unknown(record: Identified, expected: Identified | None) -> NotProvenError:
    place = (
        f"where the source's record {expected.offset} was expected" if expected else "after the source's last record"
    )
    told = f"the target has record {record.offset} {place}"
    return NotProvenError(f"{told}, and record {record.offset} equals no earlier source record")
