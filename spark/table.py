"""The report as a table for the terminal, and as text for a pipe or a file."""

from io import StringIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spark.report import Finding, FlowOutcome, Report, Severity, Union, Verdict, unions

_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "red", Verdict.ERROR: "yellow"}
#: Notes of one check beyond this many are counted, not printed; report.json has them all.
_NOTES_SHOWN = 3
#: More columns than any line has: what is folded in a file is a name that no search finds.
_UNFOLDED = 1 << 16


def report_text(report: Report) -> str:
    """What `print_report` prints, each finding on one line, however long."""
    text = StringIO()
    print_report(report, Console(file=text, width=_UNFOLDED, force_terminal=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def print_report(report: Report, console: Console) -> None:
    """Print one row a check, what was found below it, and the verdict."""
    for flow in report.flows:
        console.print(_title(flow) if flow.error is not None else _flow_table(flow, ruled=console.is_terminal))
        for name, reason in flow.not_run.items():
            console.print(f"  {name}: not run, {reason}", style="dim")
        if flow.error is not None:
            console.print(f"  error {escape(_line(flow.error))}", style="yellow")
        for sentence in flow.advice:
            console.print(f"  {escape(sentence)}", highlight=False)
    for union in unions(report.flows):
        console.print(escape(_union_line(union)), style=_STYLES[union.verdict], highlight=False)
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
        notes = [each for each in check.findings if each.severity is Severity.NOTE]
        wrong = [each for each in check.findings if each.severity is not Severity.NOTE]
        seen += [f"[red]{escape(_line(each))}[/]" for each in wrong]
        seen += [f"[dim]{escape(_line(each))}[/]" for each in notes[:_NOTES_SHOWN]]
        if len(notes) > _NOTES_SHOWN:
            seen.append(f"[dim]and {len(notes) - _NOTES_SHOWN} more notes[/]")
        verdict = check.verdict
        table.add_row(check.name, f"[{_STYLES[verdict]}]{verdict.value}[/]", "\n".join(seen))
    return table


def _title(flow: FlowOutcome) -> str:
    return escape(f"{flow.name}: {flow.source} -> {flow.target} ({flow.policy} policy), {flow.verdict.value}")


def _union_line(union: Union) -> str:
    behind = f"; behind: {', '.join(union.behind)}" if union.behind else ""
    records = f"{union.total('sourceRecords')} source and {union.total('targetRecords')} target records"
    return f"{union.name}: {len(union.flows)} flows, {records}, {union.verdict.value}{behind}"


def _line(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"
