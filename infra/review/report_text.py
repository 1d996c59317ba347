"""Prints a comparison on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from components.changes.effect import Severity
from infra.review.comparison import Comparison
from infra.review.object_changes import ChangeKind
from infra.review.printed_lines import print_fact
from infra.review.wording import drift_origin, field_lines, object_title, summary

_COLORS = {Severity.NONE: "green", Severity.RESTART: "cyan", Severity.RE_READ: "yellow", Severity.DATA: "red"}
_MARKS = {
    ChangeKind.ADDED: "[green]+[/]",
    ChangeKind.CHANGED: "[yellow]~[/]",
    ChangeKind.REPLACED: "[magenta]±[/]",
    ChangeKind.REMOVED: "[red]-[/]",
}


def print_comparisons(comparisons: Sequence[Comparison], console: Console) -> None:
    """Each stack: its effects, most severe first, then each changed object with the fields that differ."""
    for comparison in comparisons:
        severity = comparison.severity
        head = f"{comparison.stack} against {comparison.against}"
        print_fact(console, f"[bold]{escape(head)}[/]: [{_COLORS[severity]}]{severity}[/], {summary(comparison)}")
        for drift in comparison.drift:
            where = f"{drift.where}{drift_origin(drift)}"
            text = f"{escape(where)}: {escape(drift.what)} [dim]({drift.code})[/]. Remedy: {escape(drift.remedy)}"
            print_fact(console, f"[{_COLORS[drift.severity]}]drift[/]   {text}", 2)
        for effect in comparison.effects:
            what = f"{effect.flow}: {effect.what}" if effect.flow else effect.what
            text = f"{escape(what)} [dim]({effect.code}, at {escape(effect.where)})[/]"
            print_fact(console, f"[{_COLORS[effect.severity]}]{effect.severity:<7}[/] {text}", 2)
        for change in comparison.objects:
            kind = " replaced, not updated" if change.change is ChangeKind.REPLACED else ""
            print_fact(console, f"{_MARKS[change.change]} {escape(object_title(change))}{kind}", 2)
            for line in field_lines(change):
                print_fact(console, f"[dim]{escape(line)}[/]", 6)
