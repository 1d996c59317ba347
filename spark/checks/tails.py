"""What the newest records of a partition show: whether the target holds them, in the same order. Pure. A target that
lost nothing holds a copy of each, and the last copies are in the source's order: a task that restarts begins at an
earlier record, and sends all that follow it again.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.kafka.positions import OffsetRange
from spark.checks import words
from spark.checks.translation import Record, SyncHistory


@dataclass(frozen=True)
class Tail:
    """The newest records of a source log, and the target's records among which their copies should be. `whole`: every
    copy that the target holds is among them. `compacted`: the topic is compacted.
    """

    source: Sequence[Record]
    target: Sequence[Record]
    source_log: OffsetRange
    target_log: OffsetRange
    history: SyncHistory
    whole: bool
    compacted: bool

    @property
    def arrived(self) -> bool:
        """Whether the offset syncs show that the whole source log was once on the target."""
        latest = self.history.latest
        if latest is None:
            return False
        return latest.upstream + self.target_log.end - latest.downstream >= self.source_log.end

    @property
    def certain(self) -> bool:
        """Whether a record that was not found is certainly not on the target."""
        return self.whole and not self.compacted


def unfound(tail: Tail) -> Mapping[words.Meaning, Sequence[Record]]:
    """The source records that the target lacks or holds in another order, by what that means."""
    places: dict[str, list[int]] = {}
    for index, record in enumerate(tail.target):
        places.setdefault(record.digest, []).append(index)
    turned: list[int] = []
    absent: list[int] = []
    wanted: Counter[str] = Counter()
    last = -1
    for index, record in enumerate(tail.source):
        at = places.get(record.digest, [])
        wanted[record.digest] += 1
        later = bisect_right(at, last)
        if later < len(at):
            last = at[later]
        else:
            (turned if wanted[record.digest] <= len(at) else absent).append(index)
    found: dict[words.Meaning, list[Record]] = {}
    for index in turned:
        found.setdefault(words.REORDERED if tail.certain else words.TAIL_NOT_PROVEN, []).append(tail.source[index])
    for what, indexes in _absent(tail, absent).items():
        found.setdefault(what, []).extend(tail.source[index] for index in indexes)
    return found


def _absent(tail: Tail, absent: Sequence[int]) -> Mapping[words.Meaning, Sequence[int]]:
    """What it means that these records are not on the target, by their index among the newest ones."""
    if not absent:
        return {}
    if not tail.certain:
        return {words.TAIL_NOT_PROVEN: absent}
    held = sorted(set(range(len(tail.source))) - set(absent))
    if not held:
        emptied = tail.target_log.start > 0 and not tail.target_log.size
        return {words.EXPIRED_ON_TARGET if emptied and tail.arrived else words.LAGGING: absent}
    head = [each for each in absent if each < held[0]]
    expired = head if len(head) <= tail.target_log.start else []
    late = [each for each in absent if each > held[-1]]
    missing = [each for each in absent if each not in {*expired, *late}]
    every = ((words.EXPIRED_ON_TARGET, expired), (words.LAGGING, late), (words.MISSING, missing))
    return {what: indexes for what, indexes in every if indexes}
