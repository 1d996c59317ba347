"""What a report proves about a failover now: what is lost, read again and skipped, or why that is not known. Pure."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.published_verdict import MOST_CODES, PastCheck, PastVerdict
from kafka_replication.components.contract.report import (
    CheckName,
    CheckOutcome,
    FindingSeverity,
    FlowOutcome,
    Report,
    Verdict,
)
from kafka_replication.components.contract.wording import named

#: The checks that each figure needs. A topic that the job may not see is not in any check's counts.
_FOR_LOSS = (CheckName.ACCESS, CheckName.CONNECTORS, CheckName.HEARTBEATS, CheckName.PARITY)
_FOR_SKIPPING = (CheckName.ACCESS, CheckName.OFFSETS, CheckName.PARITY, CheckName.RETENTION)
#: Notes about heartbeats that do not show how long records of the flow take.
_WITHOUT_DELAY = {
    "heartbeats-of-workers": "the heartbeats of {flow} are written on {target}, so they do not show the delay from "
    "{source}",
    "heartbeats-shared": "other flows replicate the same heartbeats as {flow}, so they do not show its delay",
}
_OWN_RECORDS = "own-records-not-judged"
#: Notes about groups that may skip records although nothing is wrong with the flow, and what the page says of them.
_MAY_SKIP = {
    "group-before-the-start": "groups of {flow} have offsets from before the flow's start",
    "group-active": "groups of {flow} already consume on {target}",
    "group-offsets-not-copied": "{flow} does not copy group offsets to {target}",
    _OWN_RECORDS: "groups of {flow} may skip records on {target} that did not come through {flow}",
}
#: The topology excludes these groups by name, which counts like an accepted finding.
_LEFT_OUT = "group-excluded"
#: What the parity of a flow may note although its records agree, and then an exact position may re-read some, or may
#: not be found.
_INEXACT = {"duplicated-records", "duplicated-exactly-once", "aborted-records", "compacted-apart"}
_CODES_NAMED = 3
#: The severity of the findings that decide a verdict.
_DECIDING = {Verdict.FAIL: FindingSeverity.FAIL, Verdict.ERROR: FindingSeverity.ERROR}


@dataclass(frozen=True)
class Figure:
    """A number that a report proves, with its unit; without a number, `why` says what is missing."""

    number: float | None
    unit: str = ""
    why: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "not proven" if self.number is None else f"{self.number:,g}{self.unit}"


@dataclass(frozen=True)
class FailoverCost:
    """A failover from one cluster to another, by all flows of that direction.

    `loses` is in seconds: the longest that a heartbeat took to arrive. `reads_again` is for consumers that just move,
    and begin at the offsets that MirrorMaker has translated. `exact`: moved by `replicate failover`, they read none
    again. `accepted` are the codes of the findings that were not judged because the topology accepts them.
    """

    source: str
    target: str
    loses: Figure
    reads_again: Figure
    skips: Figure
    accepted: tuple[str, ...] = ()
    exact: bool = False

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        again = [("re-reads at most", self.reads_again)]
        if self.exact and self.reads_again.number:
            again = [
                ("re-reads by `replicate failover`", Figure(0)),
                ("if consumers just move, at most", self.reads_again),
            ]
        return ("loses", self.loses), *again, ("skips", self.skips)

    @property
    def why(self) -> tuple[str, ...]:
        """Return why it is not proven; empty if it is."""
        return tuple(dict.fromkeys(reason for _, figure in self.figures for reason in figure.why))


def failovers(report: Report) -> tuple[FailoverCost, ...]:
    """Return one for each pair of clusters with a flow from one to the other, unproven ones first."""
    flows = grouped(((flow.source, flow.target), flow) for flow in report.flows)
    result = [_failover(source, target, every) for (source, target), every in flows.items()]
    return tuple(sorted(result, key=lambda failover: not failover.why))


def failover_of(flow: FlowOutcome) -> FailoverCost:
    """Return a failover by this flow alone."""
    return _failover(flow.source, flow.target, (flow,))


def headline(report: Report) -> str:
    """Return the first line of the page. It gives figures only if everything that it names was checked."""
    every_failover = failovers(report)
    why = [reason for failover in every_failover for reason in failover.why]
    if report.error is not None:
        why = [f"the job could not run ({report.error.code})"]
    elif not every_failover:
        why = ["the report holds no flow"]
    if why:
        return f"Fail over now: not proven, because {why[0]}"
    loses = max((failover.loses for failover in every_failover), key=lambda figure: figure.number or 0)
    again = _combined(sum, (failover.reads_again for failover in every_failover))
    skips = _combined(sum, (failover.skips for failover in every_failover))
    which = f" {named([flow.name for flow in report.flows])}" if report.not_validated else ""
    trusting = ", if the accepted findings are right" if any(failover.accepted for failover in every_failover) else ""
    re_reads = _re_reads(again, exact=all(failover.exact for failover in every_failover))
    return f"Fail over{which} now: loses {loses}, {re_reads}, skips {skips}{trusting}"


def _re_reads(again: Figure, *, exact: bool) -> str:
    if not again.number:
        return "re-reads 0"
    if exact:
        return f"re-reads 0 (`replicate failover`) or at most {again} (consumers that just move)"
    return f"re-reads at most {again}"


def _failover(source: str, target: str, flows: Sequence[FlowOutcome]) -> FailoverCost:
    return FailoverCost(
        source,
        target,
        _combined(max, map(_loses, flows), " s"),
        _combined(sum, map(_reads_again, flows)),
        _combined(sum, map(_skips, flows)),
        tuple(sorted({code for flow in flows for code in _trusted(flow)})),
        all(map(_has_exact_positions, flows)),
    )


def _combined(combine: Callable[[Iterable[float]], float], figures: Iterable[Figure], unit: str = "") -> Figure:
    every = list(figures)
    why = tuple(dict.fromkeys(reason for figure in every for reason in figure.why))
    return Figure(None, why=why) if why else Figure(combine([figure.number or 0 for figure in every]), unit)


def _loses(flow: FlowOutcome) -> Figure:
    if why := tuple(_reasons(flow, _FOR_LOSS, whole=True)):
        return Figure(None, why=why)
    beats = _check(flow, CheckName.HEARTBEATS)
    assert beats is not None
    if notes := [_WITHOUT_DELAY[finding.code] for finding in beats.findings if finding.code in _WITHOUT_DELAY]:
        return Figure(None, why=(notes[0].format(flow=flow.name, source=flow.source, target=flow.target),))
    if not beats.counts.get("observed"):
        return Figure(None, why=(f"no heartbeat of {flow.name} arrived while the job was observing heartbeats",))
    if not any(_count(flow, CheckName.PARITY, count) for count in ("sourceRecords", "provenRecords")):
        return Figure(None, why=(f"{flow.name} had no record to compare",))
    longest_ms = max(0, beats.counts["latencyMaxMs"]) + beats.counts["latencyResolutionMs"]
    return Figure(math.ceil(longest_ms / 100) / 10, " s")


def _reads_again(flow: FlowOutcome) -> Figure:
    if why := (*_reasons(flow, (CheckName.OFFSETS,), whole=False), *_without_offsets(flow)):
        return Figure(None, why=why)
    return Figure(_count(flow, CheckName.OFFSETS, "readAgain"))


def _has_exact_positions(flow: FlowOutcome) -> bool:
    """Return whether nothing is known that would make a group read again from the position that a failover computes."""
    parity = _check(flow, CheckName.PARITY)
    if parity is None or parity.verdict is not Verdict.PASS:
        return False
    codes = {finding.code for finding in parity.findings}
    return bool(_count(flow, CheckName.OFFSETS, "exactPositions")) and not codes & _INEXACT


def _skips(flow: FlowOutcome) -> Figure:
    why = (*_reasons(flow, _FOR_SKIPPING, whole=True), *_without_offsets(flow), *_may_skip(flow))
    return Figure(None, why=why) if why else Figure(0)


def _without_offsets(flow: FlowOutcome) -> Iterator[str]:
    check = _check(flow, CheckName.OFFSETS)
    if check is not None and check.verdict is Verdict.PASS and not check.counts.get("committedOffsets"):
        yield f"no group of {flow.name} has committed an offset yet"


def _may_skip(flow: FlowOutcome) -> Iterator[str]:
    check = _check(flow, CheckName.OFFSETS)
    codes = {finding.code for finding in check.findings} if check is not None else set()
    if (parity := _check(flow, CheckName.PARITY)) is not None and parity.counts.get("setAsideOnTarget") == 0:
        codes.discard(_OWN_RECORDS)
    for code, words in _MAY_SKIP.items():
        if code in codes:
            yield f"{words.format(flow=flow.name, target=flow.target)} ({code})"


def _trusted(flow: FlowOutcome) -> Iterator[str]:
    """Yield the codes of findings that the topology tells the job not to judge."""
    for check in flow.checks:
        yield from check.accepted
        yield from (finding.code for finding in check.findings if finding.code == _LEFT_OUT)


def _reasons(flow: FlowOutcome, names: Sequence[CheckName], *, whole: bool) -> Iterator[str]:
    """Yield why these checks prove nothing; with `whole`, also why any other check did not pass."""
    if flow.error is not None:
        yield f"{flow.name} could not be checked ({flow.error.code})"
        return
    for name in (name for name in names if _check(flow, name) is None):
        yield f"{name} did not run on {flow.name}{': ' * (name in flow.not_run)}{flow.not_run.get(name, '')}"
    concerned = [check for check in flow.checks if whole or check.name in names]
    yield from (
        f"{check.name} of {flow.name}: {check.left_out}" for check in concerned if check.verdict is Verdict.PARTIAL
    )
    for verdict, words in ((Verdict.FAIL, "fails"), (Verdict.ERROR, "could not be judged")):
        for check in (check for check in concerned if check.verdict is verdict):
            yield f"{check.name} {words} on {flow.name} ({', '.join(_codes(check))})"


def _codes(check: CheckOutcome) -> list[str]:
    """Return the codes that decide the verdict, at most three."""
    decisive = (finding.code for finding in check.findings if finding.severity is _DECIDING[check.verdict])
    codes = list(dict.fromkeys(decisive))
    codes = codes or sorted(check.coverage.not_judged if check.coverage else ())
    return codes[:_CODES_NAMED] + (["…"] if len(codes) > _CODES_NAMED else [])


def _check(flow: FlowOutcome, name: CheckName) -> CheckOutcome | None:
    return next((check for check in flow.checks if check.name == name), None)


def _count(flow: FlowOutcome, name: CheckName, count: str) -> float:
    check = _check(flow, name)
    return check.counts.get(count, 0) if check is not None else 0


def past_verdict(flow: FlowOutcome) -> PastVerdict:
    """Return the outcome in few words: its verdict, what a failover would cost, what each check counted, and codes."""
    figures = failover_of(flow)
    return PastVerdict(
        time=flow.checked_at,
        depth=flow.depth,
        digest=flow.digest,
        verdict=flow.verdict,
        loses=figures.loses.number,
        reads_again=figures.reads_again.number,
        skips=figures.skips.number,
        codes=tuple(dict.fromkeys(_finding_codes(flow)))[:MOST_CODES],
        checks={check.name: PastCheck(verdict=check.verdict, counts=dict(check.counts)) for check in flow.checks},
    )


def _finding_codes(flow: FlowOutcome) -> Iterator[str]:
    """Yield the codes of failures if there are any, else of what could not be judged."""
    if flow.error is not None:
        yield flow.error.code
    decisive = _DECIDING.get(flow.verdict)
    yield from (finding.code for check in flow.checks for finding in check.findings if finding.severity is decisive)
