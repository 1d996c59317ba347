"""Prints a comparison on a terminal, in the words that the reports for people share."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from components.changes.effect import Severity
from infra.review.comparison import Comparison
from infra.review.drift import Drift
from infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from infra.review.printed_lines import print_fact
from infra.review.what_to_do import told_once

_LONGEST_VALUE = 120
_CONFIG_MAP = re.compile(r"\$\{[^:}]+:([^:}]+):")


def summary(comparison: Comparison) -> str:
    """How many objects are added, changed, replaced and removed."""
    counts = Counter(change.change for change in comparison.objects)
    found = [f"{counts[kind]} {kind.value}" for kind in reversed(ChangeKind) if counts[kind]]
    return f"objects: {', '.join(found)}" if found else "nothing changes"


def drift_origin(drift: Drift) -> str:
    """By whom and since when, if known."""
    known = [
        each for each in (f"by {drift.by}" if drift.by else "", f"at {drift.since}" if drift.since else "") if each
    ]
    return f" ({', '.join(known)})" if known else ""


def object_title(change: ObjectChange) -> str:
    """Kind, namespace, name and role of an object."""
    place = f"{change.namespace}/{change.name}" if change.namespace else change.name
    return f"{change.kind} {place} ({change.deployment}, {change.key})"


def field_lines(change: ObjectChange) -> Iterator[str]:
    """Every field that differs; those that merely read another ConfigMap share one line per ConfigMap."""
    moved: Counter[tuple[str, str]] = Counter()
    for field in change.fields:
        if (maps := _other_config_map(field)) is not None:
            moved[maps] += 1
        else:
            yield field_text(field)
    for (before, after), count in moved.items():
        yield f"{count} {'property' if count == 1 else 'properties'} read from {before} → {after}"


def _other_config_map(field: FieldChange) -> tuple[str, str] | None:
    """The two ConfigMaps, if a value differs only in them."""
    sides = [each if isinstance(each, str) else "" for each in (field.before, field.after)]
    before, after = (_CONFIG_MAP.findall(side) for side in sides)
    same = before and after and len({_CONFIG_MAP.sub("", side) for side in sides}) == 1
    return (before[0], after[0]) if same else None


def field_text(field: FieldChange) -> str:
    """A field with its values before and after."""
    if field.before is None:
        return f"{field.path}: + {value_text(field.after)}"
    if field.after is None:
        return f"{field.path}: - {value_text(field.before)}"
    return f"{field.path}: {value_text(field.before)} → {value_text(field.after)}"


def value_text(value: Any) -> str:
    """A value on one line; only its beginning if it is long."""
    text = value.replace("\n", "\\n") if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


SEVERITY_COLORS = {Severity.NONE: "green", Severity.RESTART: "cyan", Severity.RE_READ: "yellow", Severity.DATA: "red"}
_MARKS = {
    ChangeKind.ADDED: "[green]+[/]",
    ChangeKind.CHANGED: "[yellow]~[/]",
    ChangeKind.REPLACED: "[magenta]±[/]",
    ChangeKind.REMOVED: "[red]-[/]",
}


def print_comparisons(comparisons: Sequence[Comparison], console: Console) -> None:
    """Each stack: its effects, most severe first, each changed object with the fields that differ, then what it needs.

    A command is never folded: it is there to be copied.
    """
    for comparison in comparisons:
        severity = comparison.severity
        head = f"{comparison.stack} against {comparison.against}"
        print_fact(
            console,
            f"[bold]{escape(head)}[/]: [{SEVERITY_COLORS[severity]}]{comparison.verdict}[/], {summary(comparison)}",
        )
        if comparison.not_asked:
            print_fact(console, f"[dim]{escape(comparison.not_asked)}[/]", 2)
        for drift in comparison.drift:
            where = f"{drift.where}{drift_origin(drift)}"
            text = f"{escape(where)}: {escape(drift.what)} [dim]({drift.code})[/]. Remedy: {escape(drift.remedy)}"
            print_fact(console, f"[{SEVERITY_COLORS[drift.severity]}]drift[/]   {text}", 2)
        for effect in told_once(comparison.effects):
            what = f"{effect.flow}: {effect.what}" if effect.flow else effect.what
            text = f"{escape(what)} [dim]({effect.code}, at {escape(effect.where)})[/]"
            print_fact(console, f"[{SEVERITY_COLORS[effect.severity]}]{effect.severity:<7}[/] {text}", 2)
        for change in comparison.objects:
            kind = " replaced, not updated" if change.change is ChangeKind.REPLACED else ""
            print_fact(console, f"{_MARKS[change.change]} {escape(object_title(change))}{kind}", 2)
            for line in field_lines(change):
                print_fact(console, f"[dim]{escape(line)}[/]", 6)
        if comparison.required:
            print_fact(console, "the stack needs these and does not create them:", 2)
        for line in comparison.required:
            print_fact(console, escape(line), 6)
        if comparison.grants:
            print_fact(console, "grant these before you deploy:", 2)
        for command in comparison.grants:
            console.print(f"      {escape(command)}", soft_wrap=True)
