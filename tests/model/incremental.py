"""An incremental validation of a partition in memory, and a state machine that compares it with a full one."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from kafka_replication.components.contract.evidence import Proven
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.parity import evidence
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.sums import same_places
from tests.model.logs import (
    Log,
    Logs,
    codes,
    compared,
    differences,
    parity_codes,
    retention_codes,
    sums,
    verdict,
    verdict_of,
)
from tests.model.parity_machine import Parity, only_if

#: What was proven of a partition, and how often its topic had been created again by then; a topic's id shows that.
Evidence = tuple[Proven, int] | None


def validated(logs: Logs, before: Evidence) -> tuple[Verdict, Evidence]:
    """The verdict, and the evidence from which the next validation may continue."""
    proven = usable(logs, before)
    if proven is not None and (found := going_on(logs, proven)) is not None:
        equal = RecordComparison([], {})
        return verdict_of(retention_codes(logs, equal, proven)), (found, logs.times_anew)
    comparison = compared(logs)
    parity = parity_codes(comparison)
    passed = verdict_of(parity) is Verdict.PASS
    whole = compared_whole(logs) if passed and not (logs.filtered or logs.evaluated) else None
    return verdict_of(parity | retention_codes(logs, comparison)), (whole, logs.times_anew) if whole else None


def usable(logs: Logs, before: Evidence) -> Proven | None:
    if before is None or _is_anew(before[1], logs) or logs.filtered or logs.evaluated:
        return None
    return before[0] if not evidence.why_not(before[0], logs.source_log, logs.target_log) else None


def _is_anew(times: int, logs: Logs) -> bool:
    return times != logs.times_anew


def going_on(logs: Logs, proven: Proven) -> Proven | None:
    """What is proven now, if the records after the earlier evidence are equal."""
    return by_sums(
        logs,
        proven,
        (logs.source_log.after(proven.source), logs.target_log.after(proven.target)),
    )


def by_sums(logs: Logs, before: Proven | None, read: tuple[OffsetRange, OffsetRange]) -> Proven | None:
    source, target = (within(logs.held(side), at) for side, at in zip(("source", "target"), read, strict=True))
    here, there = sums(source), sums(target)
    if here != there or not same_places(here, there):
        return None
    if before is not None and not here.records and not evidence.still_hold([(before, logs.source_log)]):
        return None
    both = (logs.source_log, logs.target_log)
    return evidence.by_sums(before, both, read, (here, there), 0, compacted=logs.compacted)


def compared_whole(logs: Logs) -> Proven | None:
    """What a full comparison proves of a partition that passes."""
    both = (logs.source_log, logs.target_log)
    source, target = logs.held("source"), logs.held("target")
    here, there = sums(source), sums(target)
    if here == there and same_places(here, there):
        return by_sums(logs, None, both)
    end = logs.source_log.end - evidence.OVERLAP
    places: dict[int, list[int]] = {}
    for at, number in target:
        places.setdefault(number, []).append(at)
    reached = [places[number][0] for at, number in source if at < end and number in places]
    if not reached:
        return None
    kinds = {each.kind: each.records for each in differences(source, target)}
    position = (end, max(reached) + 1, len(reached))
    return evidence.by_records(both, position, kinds, 0, compacted=logs.compacted)


def within(log: Log, offsets: OffsetRange) -> Log:
    return [(at, number) for at, number in log if offsets.start <= at < offsets.end]


class Incremental(Parity):
    """What may happen to a partition between validations. Each validation continues from the one before."""

    kinds = (*(kind for kind in Parity.kinds if kind not in ("open", "copied", "repeated")), "cut")

    def __init__(self) -> None:
        super().__init__()
        self.proven: Evidence = None

    @rule()
    def validate(self) -> None:
        self.logs.replicate(len(self.logs.source))
        _, self.proven = validated(self.logs, self.proven)

    @only_if("swapped")
    @precondition(lambda self: len(self.logs.target) - self.unproven > 1)
    @rule(data=st.data())
    def swap(self, data: Any) -> None:
        """The proven part of a log no longer changes."""
        target = self.logs.target
        at = data.draw(st.integers(self.unproven, len(target) - 2))
        target[at], target[at + 1] = target[at + 1], target[at]
        self.wrong = True

    @property
    def unproven(self) -> int:
        """The first offset of the target that may not have been compared yet."""
        return max(self.logs.target_start, self.proven[0].target + evidence.OVERLAP if self.proven else 0)

    @only_if("cut")
    @precondition(lambda self: self.proven is None or self.proven[0].dense)
    @rule(records=st.integers(1, 3))
    def cut_and_write_anew(self, records: int) -> None:
        """Only if every offset holds a record does the comparison of the overlap show this."""
        self.logs.cut(records)
        self.wrong = self.anew = True

    @invariant()
    def passes_only_what_a_full_validation_passes(self) -> None:
        found, _ = validated(self.logs, self.proven)
        logs = self.logs
        seen = f"{self.proven} of {logs.source_log} {logs.source} and {logs.target_log} {logs.target}"
        assert found is not Verdict.PASS or verdict(logs) is Verdict.PASS, f"{codes(logs)}: {seen}"


def wrong(value: object) -> Any:
    """A replacement for any function, which always returns this value."""
    return lambda *_, **__: value
