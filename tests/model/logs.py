"""Both logs of a partition in memory, everything that may go wrong with them, and the findings of the judging code.

`differences` is the comparison of spark/read/pairs.py in plain Python.
"""

import itertools
import pickle
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_replication.components.contract.evidence import Proven
from kafka_replication.components.contract.report import FindingSeverity, Verdict, worst
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.parity.causes import (
    by_newest,
    records_sent_again,
    source_was_recreated,
    with_expired,
    with_late,
    without_time_to_continue,
)
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.excuses import with_surplus
from kafka_replication.spark.checks.parity.findings import parity_findings
from kafka_replication.spark.checks.parity.sums import Sums, same_places
from kafka_replication.spark.checks.retention import Replicated, judge, unequal, with_proven
from kafka_replication.spark.read.digests import PLACED_MODULUS
from tests.model.partition import ORDERS, Partition

#: Between two records, in ms: more than clocks may differ.
APART_MS = 10_000
#: How many keys the records of a compacted partition have.
KEYS = 4
_OF_FILTERED = {"newest-foreign": "newest-unproven"}
Log = list[tuple[int, int]]


@dataclass
class Logs(Partition):
    """A partition whose records have unique numbers, even after a topic is created again.

    If it is `compacted`, each record has one of a few keys, and some are tombstones. `dropped` records never arrive. A
    transform drops the `filtered` records; if `evaluated`, the job can evaluate that transform. `written` are all
    records that were ever on the target. `lost` records were removed after the flow had begun and before they were
    replicated. A transaction is open from the offset `open_at` on: only the connector reads what follows there.
    `copies` are target offsets at which something else wrote a copy of a record.
    """

    number: int = 0
    evaluated: bool = False
    dropped: set[int] = field(default_factory=set)
    filtered: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    times_anew: int = 0
    cleaned: bool = False
    lost: set[int] = field(default_factory=set)
    open_at: int | None = None
    copies: set[int] = field(default_factory=set)

    @property
    def committed_end(self) -> int:
        return len(self.source) if self.open_at is None else self.open_at

    @property
    def source_log(self) -> OffsetRange:
        return OffsetRange(self.source_start, self.committed_end)

    def copy(self, first: int, end: int) -> None:
        """Something else copies the target's records between these offsets to its end."""
        begin = len(self.target)
        self.target += self.target[first:end]
        self.copies.update(range(begin, len(self.target)))

    def produce(self, records: int) -> None:
        self.source += range(self.number, self.number + records)
        self.number += records

    def _write(self, upstream: int) -> None:
        record = self.source[upstream]
        assert record is not None
        if record in self.dropped | self.filtered:
            return
        super()._write(upstream)
        self.target[-1] = record
        self.written.add(record)

    def _send(self, sync: OffsetSync) -> None:
        super()._send(sync._replace(written_ms=self.number * APART_MS))

    def expire_on_source(self, before: int) -> None:
        begun = self.syncs[0].upstream if self.syncs else before
        gone = self.source[max(self.source_start, begun) : before]
        self.lost |= {each for each in gone if each is not None and each not in self.written} - self.filtered
        self.source_start = before

    def make_source_anew(self, records: int) -> None:
        """The connector continues at its offset; if that no longer exists, it starts at the beginning."""
        self.source, self.source_start, self.open_at = [], 0, None
        self.times_anew += 1
        self.produce(records)
        if self.position > records:
            self.position = 0
        self._before = self._last_sync = None

    def make_target_anew(self) -> None:
        self.target, self.target_start, self.written = [], 0, set()
        self.times_anew += 1

    def cut(self, records: int) -> None:
        """An unclean election: the source loses its newest records, and new records get their offsets."""
        kept = max(self.source_start, len(self.source) - records)
        lost = len(self.source) - kept
        self.source = self.source[:kept]
        self.produce(lost)

    def compact(self, side: str, before: int, *, tombstones: bool) -> None:
        """What the log cleaner does before this offset. With `tombstones`, it also removes the tombstones there."""
        self.cleaned = True
        log = self.source if side == "source" else self.target
        newest = {key_of(number): at for at, number in self.held(side) if at < before}
        for at, number in self.held(side):
            if at < before and (at < newest[key_of(number)] or (tombstones and is_tombstone(number))):
                log[at] = None

    def held(self, side: str) -> Log:
        """The records that a side holds, as (offset, number)."""
        log, start = (self.source, self.source_start) if side == "source" else (self.target, self.target_start)
        return [(at, each) for at, each in enumerate(log) if each is not None and at >= start]

    def compared(self, side: str) -> Log:
        """The records of a side that the job compares: all that it can read, except those that a filter drops."""
        end = self.committed_end if side == "source" else len(self.target)
        held = [(at, each) for at, each in self.held(side) if at < end]
        return [(at, each) for at, each in held if not (self.evaluated and each in self.filtered)]


def key_of(number: int) -> int:
    return number % KEYS


def is_tombstone(number: int) -> bool:
    return number % 3 == 0


def newest_of(log: Log) -> dict[int, tuple[int, int]]:
    """The newest record of each key, as (offset, number)."""
    return {key_of(number): (at, number) for at, number in log}


def by_key(source: Log, target: Log) -> list[Difference]:
    """What `newest.newest_by_key` finds in two logs."""
    here, there = newest_of(source), newest_of(target)
    found: dict[str, list[int]] = defaultdict(list)
    for key in here.keys() | there.keys():
        kind = _kind_of_key(here.get(key), there.get(key))
        if kind is not None:
            found[kind].append((here.get(key) or there[key])[0])
    return [Difference(ORDERS, kind, len(each), min(each), max(each)) for kind, each in sorted(found.items())]


def _kind_of_key(here: tuple[int, int] | None, there: tuple[int, int] | None) -> str | None:
    deleted = here is None or is_tombstone(here[1])
    if there is None:
        return None if deleted else "newest-missing"
    if (here is not None and here[1] == there[1]) or (deleted and is_tombstone(there[1])):
        return None
    return "newest-foreign" if here is None else "newest-undeleted" if deleted else "newest-outdated"


def digest(number: int) -> int:
    """A digest of 32 bits; Spark adds up each half of its own digest."""
    return hash(("digest", number)) & 0xFFFFFFFF


def sums(log: Log) -> Sums:
    """What the first pass knows of a side."""
    return Sums(
        len(log),
        sum(digest(number) for _, number in log),
        low_placed=sum(at * digest(number) for at, number in log) % PLACED_MODULUS,
        oldest_ms=min((number * APART_MS for _, number in log), default=None),
        first=min((at for at, _ in log), default=None),
    )


def differences(source: Log, target: Log) -> list[Difference]:
    """What `pairs.differing_records`, `pairs.reordered` and `pairs.out_of_turn` find in two logs."""
    places: dict[str, dict[int, list[int]]] = {"source": defaultdict(list), "target": defaultdict(list)}
    for side, log in (("source", source), ("target", target)):
        for at, number in log:
            places[side][number].append(at)
    here, there = places["source"], places["target"]
    both = sorted(pair for number in here for pair in zip(here[number], there.get(number, []), strict=False))
    first_source = both[0][0] if both else None
    first_target = min((at for _, at in both), default=None)
    last_source = both[-1][0] if both else None
    found: dict[str, list[int]] = defaultdict(list)
    for number, offsets in here.items():
        for at in offsets[len(there.get(number, [])) :]:
            found[_missing(at, first_source, last_source)].append(at)
    for number, offsets in there.items():
        for again, at in enumerate(offsets[len(here.get(number, [])) :]):
            head = first_target is not None and at < first_target
            found["duplicated" if number in here or again else "extra-head" if head else "extra"].append(at)
    found["reordered"] = turned(both)
    kinds = [Difference(ORDERS, kind, len(each), min(each), max(each)) for kind, each in sorted(found.items()) if each]
    return kinds + out_of_turn(here, there)


def out_of_turn(here: Mapping[int, list[int]], there: Mapping[int, list[int]]) -> list[Difference]:
    """The last record of each block that is there again after the last copy of one that follows, and before a record
    that is not the next one of the source, or at the end."""
    copied = sorted((offsets[0], number) for number, offsets in here.items() if len(offsets) == 1 and number in there)
    last = [max(there[number]) for _, number in copied]
    first = [min(there[number]) for _, number in copied]
    by_copy = sorted(range(len(last)), key=last.__getitem__)
    late = [at for at in by_copy if first[at] < last[at] and last[at] > min(last[at + 1 :], default=last[at])]
    between = [last[at] for at, following in itertools.pairwise(by_copy) if at in late and following > at + 1]
    found = [Difference(ORDERS, "copied-out-of-turn", len(between), min(between), max(between))] if between else []
    if late and late[-1] == by_copy[-1]:
        at = late[-1]
        found.append(Difference(ORDERS, "copied-at-end", max(last[at + 1 :]) - first[at], last[at], last[at]))
    return found


def turned(pairs: Log) -> list[int]:
    """The source offsets of reordered records: those that come too early on the target, or those that come too late,
    whichever are fewer."""
    places = [at for _, at in pairs]
    early = [here for each, (here, at) in enumerate(pairs) if at < max(places[:each], default=at)]
    late = [here for each, (here, at) in enumerate(pairs) if at > min(places[each + 1 :], default=at)]
    return late if len(late) < len(early) else early


def _missing(at: int, first: int | None, last: int | None) -> str:
    if first is None or last is None:
        return "missing"
    return "missing-head" if at < first else "missing-tail" if at > last else "missing-hole"


def codes(logs: Logs) -> dict[str, FindingSeverity]:
    """What parity and retention find, by code."""
    comparison = compared(logs)
    unread = {"open-transaction": FindingSeverity.ERROR} if logs.open_at is not None else {}
    return unread | parity_codes(comparison) | retention_codes(logs, comparison)


def compared(logs: Logs) -> RecordComparison | None:
    """What `comparison.compared` returns; None if a transform that the job cannot evaluate makes the sides differ."""
    source, target = logs.compared("source"), logs.compared("target")
    here, there = sums(source), sums(target)
    if here == there and same_places(here, there):
        return RecordComparison([], {})
    if logs.filtered and not logs.evaluated:
        return None
    latest = logs.history.latest
    unread = None if logs.open_at is None else OffsetRange(logs.open_at, len(logs.source))
    side = Sides(
        logs.source_log,
        logs.target_log,
        len(source),
        len(target),
        compacted=logs.compacted,
        written_end=latest.downstream + 1 if latest else 0,
        source_unread=unread,
        source_anew=unread is None and source_was_recreated(logs.history, logs.source_log),
        sent_again=records_sent_again(logs.history),
    )
    keys = by_key(source, target) if logs.compacted else []
    if logs.evaluated:
        # As `comparison.compared` does: a filter may have dropped the newest record of the key.
        keys = [each._replace(kind=_OF_FILTERED.get(each.kind, each.kind)) for each in keys]
    kinds = by_newest([*without_time_to_continue(differences(source, target)), *keys], {ORDERS: side})
    kinds = with_expired(kinds, {ORDERS: side}, {ORDERS: logs.history})
    kinds = with_late(kinds, {ORDERS: side}, {ORDERS: logs.history})
    kinds = with_surplus(kinds, {ORDERS: side}, {ORDERS: logs.history})
    return RecordComparison(kinds, {ORDERS: side})


def parity_codes(comparison: RecordComparison | None) -> dict[str, FindingSeverity]:
    if comparison is None:
        return {"records-not-compared": FindingSeverity.ERROR}
    return {
        each.code: each.severity
        for each in parity_findings(comparison.differences, comparison.sides, "useast", "uswest")
    }


def retention_codes(
    logs: Logs, comparison: RecordComparison | None, proven: Proven | None = None
) -> dict[str, FindingSeverity]:
    """What retention finds; `proven` is where an earlier validation found both sides equal."""
    source = logs.compared("source")
    dense = len(source) == logs.source_log.size and not logs.filtered and not logs.evaluated
    policy = "compact" if logs.compacted else "delete"
    found = unequal(comparison, ORDERS) if comparison is not None else None
    replicated = Replicated(
        ORDERS, with_proven(logs.history, proven), logs.source_log, logs.target_log, dense, policy, unequal=found
    )
    return {each.code: each.severity for each in judge([replicated]).findings}


def verdict(logs: Logs) -> Verdict:
    return verdict_of(codes(logs))


def verdict_of(found: Mapping[str, FindingSeverity]) -> Verdict:
    severities = {FindingSeverity.FAIL: Verdict.FAIL, FindingSeverity.ERROR: Verdict.ERROR}
    return worst(severities[each] for each in found.values() if each in severities)


def missing(logs: Logs) -> set[int]:
    """The source's records that were never on the target, whatever either side has removed since.

    If a topic was created again, which its id would show, they may seem to have expired on the target. So may as many
    records as somebody else wrote and the target has removed.
    """
    if logs.target_start and logs.times_anew:
        return set()
    never = {number for _, number in logs.held("source") if number not in logs.written | logs.filtered}
    removed = enumerate(logs.target[: logs.target_start])
    foreign = sum(number is not None and (number < 0 or at in logs.copies) for at, number in removed)
    return never if len(never) > foreign else set()


def out_of_order(logs: Logs) -> bool:
    """Whether the last copies of records are in another order on the target than on the source.

    If records were sent again, their last copies are in order once the task has caught up. In a compacted topic, the
    newest record of each key is judged instead, unless the first copies are out of order as well.
    """
    place = {number: at for at, number in logs.held("source")}
    met = [place[number] for _, number in logs.held("target") if number in place]
    first, last = list(dict.fromkeys(met)), list(dict.fromkeys(reversed(met)))[::-1]
    return last != sorted(last) and (not logs.compacted or first != sorted(first))


def strays(logs: Logs) -> set[int]:
    """Records on the target that the source never had; they have negative numbers.

    Each may stand for an offset that the source has removed, or may have compacted, and whose record never came, or
    came again after a restart.
    """
    held = {number for _, number in logs.held("target") if number < 0}
    end = len(logs.source) if logs.compacted else logs.source_start
    never_came = [number for number in logs.source[:end] if number not in logs.written]
    return held if len(held) > len(never_came) + min(logs.resent, end) else set()


def keys_that_differ(logs: Logs) -> set[int]:
    """The keys of a compacted topic whose values differ between source and target, or exist on one side only.

    The target need not hold the values of records that are known to be filtered.
    """
    here, there = (
        {key: number for key, (_, number) in newest_of(logs.compared(side)).items() if not is_tombstone(number)}
        for side in ("source", "target")
    )
    return {key for key in here.keys() | there.keys() if here.get(key) != there.get(key)}


def keys_only_on(side: str, logs: Logs) -> int:
    """How many keys have a value on one side, and no record at all on the other."""
    here, there = (newest_of(logs.compared(each)) for each in (side, "target" if side == "source" else "source"))
    return sum(key not in there and not is_tombstone(number) for key, (_, number) in here.items())


def healthy(logs: Logs) -> Logs:
    """The same logs once everything is replicated."""
    # Ten times as fast as `copy.deepcopy`.
    done: Logs = pickle.loads(pickle.dumps(logs))
    done.replicate(len(done.source))
    done.clear_congestion()
    return done
