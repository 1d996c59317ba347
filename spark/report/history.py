"""What the history keeps of this run's verdict. Pure."""

from collections.abc import Iterator

from components.contract.published_verdict import MOST_CODES, PastCheck, PastVerdict
from components.contract.report import FlowOutcome, Severity, Verdict
from spark.report.failover import Figure, failover_of

_DECIDING = {Verdict.FAIL: {Severity.FAIL}, Verdict.ERROR: {Severity.ERROR}}


def past_verdict(flow: FlowOutcome) -> PastVerdict:
    """The outcome in few words: its verdict, what a failover would cost, what each check counted, and codes."""
    figures = failover_of(flow)
    return PastVerdict(
        time=flow.checked_at,
        depth=flow.depth,
        digest=flow.digest,
        verdict=flow.verdict,
        loses=_number(figures.loses),
        reads_again=_number(figures.reads_again),
        skips=_number(figures.skips),
        codes=tuple(dict.fromkeys(_codes(flow)))[:MOST_CODES],
        checks={each.name: PastCheck(verdict=each.verdict, counts=dict(each.counts)) for each in flow.checks},
    )


def _codes(flow: FlowOutcome) -> Iterator[str]:
    """The codes of failures if there are any, else of what could not be judged."""
    if flow.error is not None:
        yield flow.error.code
    deciding = _DECIDING.get(flow.verdict, set())
    yield from (each.code for check in flow.checks for each in check.findings if each.severity in deciding)


def _number(figure: Figure) -> float | None:
    return figure.number
