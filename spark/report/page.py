"""The report as one HTML page that loads nothing. The names in it come from clusters: the template escapes all of them.

Needs Jinja2, which no other part of the job needs.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.published_verdict import History, PastVerdict
from kafka_replication.components.contract.remedies import MARK
from kafka_replication.components.contract.report import (
    ROWS,
    CheckName,
    CheckOutcome,
    Finding,
    FindingSeverity,
    FlowOutcome,
    Report,
    Scalar,
)
from kafka_replication.components.contract.wording import numbered
from kafka_replication.spark.report.charts import Chart, charts, flow_map
from kafka_replication.spark.report.failover import failovers, headline, past_verdict

SYMBOLS = {"pass": "✓", "partial": "◐", "fail": "✕", "error": "?", "accepted": "≈", "note": "i"}
_WRONG = (FindingSeverity.FAIL, FindingSeverity.ERROR)
#: Control characters, marks that change the direction of the text, and unpaired surrogates.
_INVISIBLE = {"Cc", "Cf", "Cs"}


@dataclass(frozen=True)
class Block:
    """The findings of one check with the same code and remedy: all their evidence, and the remedy once."""

    flow: FlowOutcome
    check: str
    code: str
    severity: FindingSeverity
    evidence: tuple[str, ...]
    remedy: str
    accepted: str | None

    @property
    def shown(self) -> tuple[str, ...]:
        return self.evidence[:ROWS]

    @property
    def left_out(self) -> int:
        return len(self.evidence) - len(self.shown)


@dataclass(frozen=True)
class Course:
    """A flow over time: the verdicts of its published validations and of this one, newest first, and charts.

    `older` verdicts are kept but not listed, `dropped` ones are no longer kept.
    """

    flow: FlowOutcome
    verdicts: tuple[PastVerdict, ...]
    older: int
    dropped: int
    losses: tuple[str, ...]
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Table:
    """Rows of all flows, worst first, each with its flow; `left_out` is how many more there are."""

    rows: tuple[tuple[FlowOutcome, dict[str, Scalar]], ...]
    left_out: int


def page(report: Report, histories: Mapping[str, History] = MappingProxyType({})) -> str:
    """Return the whole page as HTML. `histories` are the earlier verdicts by flow."""
    blocks = [block for flow in report.flows for block in _blocks(flow)]
    of = partial(_checks_named, report.flows)
    html: str = _template().render(
        report=report,
        headline=headline(report),
        failovers=failovers(report),
        courses=[_course(flow, histories.get(flow.name, History())) for flow in report.flows[:ROWS]],
        map=flow_map(report.flows),
        symbols=SYMBOLS,
        groups=_table(of(CheckName.OFFSETS), lambda row: (-_of(row, "wrong"), -_of(row, "readAgain"))),
        topics=_table(of(CheckName.PARITY), lambda row: (_of(row, "agreeingPartitions") - _of(row, "partitions"),)),
        heartbeats=of(CheckName.HEARTBEATS),
        movements=of(CheckName.CONNECTORS),
        slowest_ms=max((check.counts.get("latencyMaxMs", 0) for _, check in of(CheckName.HEARTBEATS)), default=0),
        problems=sorted(
            (block for block in blocks if block.severity in _WRONG), key=lambda block: block.severity != "fail"
        ),
        accepted=[block for block in blocks if block.severity is FindingSeverity.ACCEPTED],
        notes=[block for block in blocks if block.severity is FindingSeverity.NOTE],
        errors=[_sentences(error) for error in (report.error,) if error is not None],
    )
    return html


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("kafka_replication.spark", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"commands": commands, "number": number, "numbered": numbered, "time": _time}
    return environment.get_template("page.html")


def _course(flow: FlowOutcome, history: History) -> Course:
    this = past_verdict(flow)
    # A run that was published before its page is written is in the history already.
    every = (*(verdict for verdict in history.verdicts if verdict != this), this)
    beats = [beat for _, check in _checks_named((flow,), CheckName.HEARTBEATS) for beat in check.beats]
    shown = every[: -ROWS - 1 : -1]
    older = len(every) - len(shown)
    return Course(flow, shown, older, history.dropped, history.losses, charts(every, beats))


def _checks_named(flows: Iterable[FlowOutcome], name: CheckName) -> list[tuple[FlowOutcome, CheckOutcome]]:
    return [(flow, check) for flow in flows for check in flow.checks if check.name == name]


def _table(
    checks: Iterable[tuple[FlowOutcome, CheckOutcome]], order: Callable[[dict[str, Scalar]], tuple[float, ...]]
) -> Table:
    rows = [(flow, dict(row)) for flow, check in checks for row in check.rows]
    return Table(tuple(sorted(rows, key=lambda item: order(item[1]))[:ROWS]), max(0, len(rows) - ROWS))


def _of(row: dict[str, Scalar], name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float)
    return value


def _blocks(flow: FlowOutcome) -> Iterator[Block]:
    named = [("", (flow.error,))] if flow.error is not None else []
    for name, findings in (*named, *((check.name, check.findings) for check in flow.checks)):
        told = [(finding, *_sentences(finding)) for finding in findings]
        alike = grouped(((one.code, one.severity, remedy, one.accepted), evidence) for one, evidence, remedy in told)
        for (code, severity, remedy, accepted), evidences in alike.items():
            yield Block(flow, name, code, severity, tuple(evidences), remedy, accepted)


def _sentences(finding: Finding) -> tuple[str, str]:
    """Return what was seen, and what to do about it."""
    evidence, _, remedy = finding.message.partition(MARK)
    return evidence.strip(), remedy.strip()


def visible(value: object) -> object:
    """Return `value` with invisible characters spelled out: a name must not change the text beside it."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(
        ascii(character)[1:-1] if unicodedata.category(character) in _INVISIBLE else character
        for character in str(value)
    )


def commands(text: str) -> Markup:
    """Return `text` with the parts between backquotes as code."""
    parts: Sequence[str] = str(visible(text)).split("`")
    if len(parts) % 2 == 0:
        return escape(visible(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


def _time(iso: str) -> str:
    return iso.replace("T", " ").replace("+00:00", " UTC")


def number(value: float) -> str:
    """Return `value` with a separator between thousands."""
    return f"{value:,g}" if value < 1e6 and value != int(value) else f"{int(value):,}"
