"""A state machine over a partition of a guarded pair, in which users' records may carry a guard's mark.

This file repeats in plain Python what the job computes in Spark (spark/read/digests.py, spark/read/pairs.py).
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafka_replication.components.contract.parameters import GuardParameters
from kafka_replication.components.contract.report import FindingSeverity, Verdict, worst
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.loops import mark_findings
from kafka_replication.spark.checks.parity.causes import with_expired, without_time_to_continue
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.excuses import with_surplus
from kafka_replication.spark.checks.parity.findings import parity_findings
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.sums import Sums
from kafka_replication.spark.checks.retention import Replicated, judge
from kafka_replication.spark.read.digests import ASIDE, COMPARED, LOOPED, SOURCE, TARGET
from kafka_replication.spark.read.pairs import MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND
from tests.model.logs import Log, differences, sums
from tests.model.partition import ORDERS

REGIONS = ("east", "west")
OTHER = dict(zip(REGIONS, reversed(REGIONS), strict=True))
MARKS = {region: f"replicated-from-{region}" for region in REGIONS}
_SEVERITIES = {FindingSeverity.FAIL: Verdict.FAIL, FindingSeverity.ERROR: Verdict.ERROR}


class Record(NamedTuple):
    """A record of a user or, if it is `copied`, of a connector. `marks` are its headers, in order."""

    number: int
    marks: tuple[str, ...] = ()
    copied: bool = False


#: Stands at an offset without a record: that of a transaction marker or an aborted record.
NO_RECORD = Record(-1)


class Seen(NamedTuple):
    """A record as the job sees it in one direction; its digest leaves out the marks of the guards."""

    side: str
    role: str
    offset: int
    digest: int


@dataclass
class Pair:
    """One partition in both regions; each list holds the record at each offset."""

    logs: dict[str, list[Record]] = field(default_factory=lambda: {each: [] for each in REGIONS})
    starts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REGIONS, 0))
    positions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REGIONS, 0))
    numbers: int = 0

    def produce(self, region: str, marks: tuple[str, ...] = ()) -> None:
        self.logs[region].append(Record(self.numbers, marks))
        self.numbers += 1

    def leave_out(self, region: str, offsets: int) -> None:
        self.logs[region] += [NO_RECORD] * offsets

    def replicate(self, source: str, offsets: int | None = None) -> None:
        """The connector reads more records of this region; its guard drops those with the mark of the other region."""
        begin, target = self.positions[source], OTHER[source]
        read = self.logs[source][begin:][:offsets]
        kept = [each for each in read if each is not NO_RECORD and MARKS[target] not in each.marks]
        self.logs[target] += [Record(each.number, (*each.marks, MARKS[source]), copied=True) for each in kept]
        self.positions[source] += len(read)

    def log(self, region: str) -> OffsetRange:
        return OffsetRange(self.starts[region], len(self.logs[region]))

    def held(self, region: str) -> list[tuple[int, Record]]:
        log = list(enumerate(self.logs[region]))[self.starts[region] :]
        return [(at, each) for at, each in log if each is not NO_RECORD]

    def never_crossed(self, source: str) -> set[int]:
        """The records that users wrote in this region and that were never replicated to the other."""
        there = {each.number for each in self.logs[OTHER[source]]}
        return {each.number for _, each in self.held(source) if not each.copied} - there


def guard_of(source: str) -> GuardParameters:
    return GuardParameters(filter=MARKS[OTHER[source]], mark=MARKS[source])


def seen(pair: Pair, source: str) -> list[Seen]:
    """All records of both regions, as the flow from `source` sees them."""
    guard = guard_of(source)
    return [
        Seen(
            side, _role(side, each.marks, guard), at, hash((each.number, _marks(side, each.marks, guard))) & 0xFFFFFFFF
        )
        for side, region in ((SOURCE, source), (TARGET, OTHER[source]))
        for at, each in pair.held(region)
    ]


def _role(side: str, marks: tuple[str, ...], guard: GuardParameters) -> str:
    if side == SOURCE:
        return ASIDE if guard.filter in marks else COMPARED
    return ASIDE if guard.mark not in marks else LOOPED if guard.filter in marks else COMPARED


def _marks(side: str, marks: tuple[str, ...], guard: GuardParameters) -> tuple[str, ...]:
    newest, older = (guard.filter, guard.mark) if side == SOURCE else (guard.mark, guard.filter)
    if newest not in marks:
        return marks
    once = _without_last(marks, newest)
    return _without_last(once, older) if older in marks else once


def _without_last(marks: tuple[str, ...], name: str) -> tuple[str, ...]:
    at = len(marks) - 1 - marks[::-1].index(name)
    return marks[:at] + marks[at + 1 :]


def codes(pair: Pair, source: str) -> dict[str, FindingSeverity]:
    """What parity and retention find in the direction from `source`, by code."""
    records, target = seen(pair, source), OTHER[source]
    logs = {ORDERS: pair.log(source)}, {ORDERS: pair.log(target)}
    by_role = _by_role(records)
    first_pass = FirstPass(*logs, {ORDERS: _sums(by_role, SOURCE)}, {ORDERS: _sums(by_role, TARGET)}, 0)
    found = []
    if first_pass.with_other_marks:
        marked = list(marked_by_others(records, pair.starts[source], pair.starts[target]))
        found += mark_findings(marked, guard_of(source), source, target)
    if first_pass.disagreeing:
        here, there = by_role[SOURCE, COMPARED], by_role[TARGET, COMPARED]
        sides = {ORDERS: Sides(pair.log(source), pair.log(target), len(here), len(there), False, guarded=True)}
        kinds = with_expired(without_time_to_continue(differences(here, there)), sides, {})
        found += parity_findings(with_surplus(kinds, sides, {}), sides, "useast", "uswest")
    hidden = "the flow has a guard"
    replicated = Replicated(ORDERS, SyncHistory(), logs[0][ORDERS], logs[1][ORDERS], True, "delete", hidden)
    found += judge([replicated]).findings
    return {each.code: each.severity for each in found}


def verdict(pair: Pair, source: str) -> Verdict:
    return worst(_SEVERITIES[each] for each in codes(pair, source).values() if each in _SEVERITIES)


def _by_role(records: list[Seen]) -> dict[tuple[str, str], Log]:
    found: dict[tuple[str, str], Log] = defaultdict(list)
    for each in records:
        found[each.side, each.role].append((each.offset, each.digest))
    return found


def _sums(by_role: dict[tuple[str, str], Log], side: str) -> Sums:
    compared, aside = sums(by_role[side, COMPARED]), sums(by_role[side, ASIDE])
    return Sums(
        compared.records,
        compared.low,
        aside=aside.records,
        looped=len(by_role[side, LOOPED]),
        low_placed=compared.low_placed,
        first=compared.first,
        low_aside=aside.low,
    )


def marked_by_others(records: list[Seen], source_start: int, target_start: int) -> Iterator[Difference]:
    """What `marked.marked_elsewhere` finds."""
    came = {each.digest for each in records if (each.side, each.role) == (SOURCE, ASIDE)}
    has = {each.digest for each in records if each.side == TARGET and each.role != LOOPED}
    both = [each.offset for each in records if (each.side, each.role) == (SOURCE, ASIDE) and each.digest in has]
    first = min(both, default=None)
    found: dict[str, list[int]] = {}
    for each in records:
        held = target_start == 0 or (first is not None and each.offset > first)
        if (each.side, each.role) == (SOURCE, ASIDE) and each.digest not in has and held:
            found.setdefault(MARKED_ON_SOURCE, []).append(each.offset)
        elif (each.side, each.role) == (TARGET, LOOPED):
            round_trip = each.digest in came or source_start > 0
            found.setdefault(WENT_ROUND if round_trip else MARKED_ON_TARGET, []).append(each.offset)
    for kind, offsets in found.items():
        yield Difference(ORDERS, kind, len(offsets), min(offsets), max(offsets))


class Marks(RuleBasedStateMachine):
    """What users, both connectors and retention may do."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.marked = False

    @rule(region=st.sampled_from(REGIONS), records=st.integers(1, 6))
    def produce(self, region: str, records: int) -> None:
        for _ in range(records):
            self.pair.produce(region)

    @rule(
        region=st.sampled_from(REGIONS), marks=st.lists(st.sampled_from(list(MARKS.values())), min_size=1, max_size=2)
    )
    def produce_marked(self, region: str, marks: list[str]) -> None:
        """A user produces a record that already carries marks."""
        self.pair.produce(region, tuple(marks))
        self.marked = True

    @rule(region=st.sampled_from(REGIONS), data=st.data())
    def copy_with_headers(self, region: str, data: Any) -> None:
        """A user copies the headers of a record that was consumed in this region."""
        consumed = data.draw(st.sampled_from(self.pair.logs[region] or [Record(0)]))
        self.pair.produce(region, consumed.marks)
        self.marked = self.marked or bool(consumed.marks)

    @rule(region=st.sampled_from(REGIONS), offsets=st.integers(1, 12))
    def replicate(self, region: str, offsets: int) -> None:
        self.pair.replicate(region, offsets)

    @rule(region=st.sampled_from(REGIONS), data=st.data())
    def expire(self, region: str, data: Any) -> None:
        """Only replicated records expire. In a pair a loss cannot be seen, so the job reports an error in any case."""
        pair = self.pair
        low = pair.starts[region]
        pair.starts[region] = data.draw(st.integers(low, max(low, pair.positions[region])))

    @invariant()
    def a_record_that_never_crosses_does_not_pass(self) -> None:
        """If a region has removed records, only the flow out of that region can report that marks prove nothing."""
        passed = [source for source in REGIONS if verdict(self.pair, source) is Verdict.PASS]
        for source in passed:
            marked = {each.number for each in self.pair.logs[source] if MARKS[OTHER[source]] in each.marks}
            excused = marked if len(passed) < len(REGIONS) else set()
            found = self.pair.never_crossed(source) - excused
            assert not found, f"{found} of {source} are missing"

    @invariant()
    def a_working_pair_does_not_fail(self) -> None:
        if self.marked:
            return
        pair = Pair({each: list(log) for each, log in self.pair.logs.items()}, dict(self.pair.starts),
                    dict(self.pair.positions), self.pair.numbers)  # fmt: skip
        for source in REGIONS * 2:
            pair.replicate(source)
        for source in REGIONS:
            failed = [code for code, severity in codes(pair, source).items() if severity is FindingSeverity.FAIL]
            assert not failed, f"{source}: {failed}"
