"""Prints the report as a table on a terminal, and as text to a pipe or a file."""

from io import StringIO
from itertools import zip_longest

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_replication.components.contract.remedies import MARK
from kafka_replication.components.contract.report import (
    Depth,
    Finding,
    FindingSeverity,
    FlowOutcome,
    ReplicationOutcome,
    Report,
    Verdict,
    replication_outcomes,
)
from kafka_replication.components.contract.wording import numbered

_STYLES = {Verdict.PASS: "green", Verdict.PARTIAL: "cyan", Verdict.FAIL: "red", Verdict.ERROR: "yellow"}
#: This many notes of a check are printed, and the rest are only counted; report.json has all of them.
_NOTES_SHOWN = 3
#: Wider than any line, because a search does not find a name that is wrapped onto two lines.
_UNFOLDED = 1 << 16


def report_text(report: Report) -> str:
    """Return what `print_report` prints, with each finding on one line, however long."""
    text = StringIO()
    print_report(report, Console(file=text, width=_UNFOLDED, force_terminal=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def print_report(report: Report, console: Console) -> None:
    """Print one row per check with its findings below it, and the verdict."""
    for flow in report.flows:
        console.print(_title(flow) if flow.error is not None else _flow_table(flow, ruled=console.is_terminal))
        for name, reason in flow.not_run.items():
            console.print(f"  {name}: not run, {reason}", style="dim")
        if flow.error is not None:
            console.print(f"  error {escape(_line(flow.error))}", style="yellow")
        for sentence in flow.advice:
            console.print(f"  {escape(sentence)}", highlight=False)
    for replication in replication_outcomes(report.flows):
        console.print(escape(_replication_line(replication)), style=_STYLES[replication.verdict], highlight=False)
    if report.error is not None:
        console.print(f"error {escape(_line(report.error))}", style="yellow")
    style = _STYLES[report.verdict]
    console.print(f"[bold {style}]{report.verdict.value}[/] in {report.duration_seconds:.1f} s")


def _flow_table(flow: FlowOutcome, *, ruled: bool) -> Table:
    rule = box.SIMPLE_HEAD if ruled else None
    table = Table(title=_title(flow), title_justify="left", box=rule, expand=False)
    table.add_column("check", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("what was seen")
    for check in flow.checks:
        seen = [escape(check.summary)]
        notes = [finding for finding in check.findings if finding.severity is FindingSeverity.NOTE]
        wrong = [finding for finding in check.findings if finding.severity is not FindingSeverity.NOTE]
        if check.coverage is not None and check.coverage.judged < check.coverage.claimed:
            seen.append(f"[yellow]{escape(str(check.coverage))}[/]")
        if check.left_out:
            seen.append(f"[cyan]{escape(check.left_out)}[/]")
        seen += [f"[red]{escape(line)}[/]" for line in _lines(wrong)]
        seen += [f"[dim]{escape(line)}[/]" for line in _lines(notes[:_NOTES_SHOWN])]
        if len(notes) > _NOTES_SHOWN:
            seen.append(f"[dim]and {numbered(len(notes) - _NOTES_SHOWN, 'more note[|s]')}[/]")
        verdict = check.verdict
        table.add_row(check.name, f"[{_STYLES[verdict]}]{verdict.value}[/]", "\n".join(seen))
    return table


def _title(flow: FlowOutcome) -> str:
    depth = "" if flow.depth is Depth.FULL else f" ({flow.depth.value})"
    return escape(f"{flow.name}: {flow.source} -> {flow.target} ({flow.policy} policy), {flow.verdict.value}{depth}")


def _replication_line(replication: ReplicationOutcome) -> str:
    behind = f"; behind: {', '.join(replication.behind)}" if replication.behind else ""
    counts = (
        numbered(len(replication.flows), "flow[|s]"),
        f"{replication.total('sourceRecords')} source and "
        + numbered(int(replication.total("targetRecords")), "target record[|s]"),
        replication.verdict.value,
    )
    return f"{replication.name}: {', '.join(counts)}{behind}"


def _lines(findings: list[Finding]) -> list[str]:
    """Return a line for each finding; consecutive findings with the same remedy show it once, after the last one."""
    return [
        _line(finding, with_remedy=following is None or _remedy(following) != _remedy(finding))
        for finding, following in zip_longest(findings, findings[1:])
    ]


def _line(finding: Finding, *, with_remedy: bool = True) -> str:
    message = finding.message if with_remedy else finding.message.partition(f" {MARK}")[0]
    accepted = f"{'' if message.endswith('.') else '.'} Accepted: {finding.accepted}" if finding.accepted else ""
    return f"{finding.code}: {message}{accepted}"


def _remedy(finding: Finding) -> str:
    return finding.message.partition(MARK)[2]
