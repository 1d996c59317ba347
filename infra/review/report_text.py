"""Prints a comparison on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from components.changes.effect import Severity
from infra.review.comparison import Comparison
from infra.review.object_changes import ChangeKind
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
        console.print(
            f"[bold]{escape(head)}[/]: [{_COLORS[severity]}]{severity}[/], {summary(comparison)}", soft_wrap=True
        )
        for drift in comparison.drift:
            where = f"{drift.where}{drift_origin(drift)}"
            console.print(
                f"  [{_COLORS[drift.severity]}]drift[/]   {escape(where)}: {escape(drift.what)} "
                f"[dim]({drift.code})[/]. Remedy: {escape(drift.remedy)}",
                soft_wrap=True,
            )
        for effect in comparison.effects:
            what = f"{effect.flow}: {effect.what}" if effect.flow else effect.what
            console.print(
                f"  [{_COLORS[effect.severity]}]{effect.severity:<7}[/] {escape(what)} "
                f"[dim]({effect.code}, at {escape(effect.where)})[/]",
                soft_wrap=True,
            )
        for change in comparison.objects:
            kind = " replaced, not updated" if change.change is ChangeKind.REPLACED else ""
            console.print(f"  {_MARKS[change.change]} {escape(object_title(change))}{kind}", soft_wrap=True)
            for line in field_lines(change):
                console.print(f"      [dim]{escape(line)}[/]", soft_wrap=True)
