"""Writes a comparison as text and JSON, in the words that all reports share."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from kafka_replication.components.changes.effect import Effect, Impact, gravest
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.infra.review.comparison import Comparison, Drift
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, ObjectChange


def merged_effects(effects: Iterable[Effect]) -> list[Effect]:
    """Return the effects in their order; equal effects on several flows become one that names all of them."""
    groups = grouped(((effect.severity, effect.code, effect.what), effect) for effect in effects)
    return [
        replace(members[0], flow=_joined(one.flow for one in members), where=_joined(one.where for one in members))
        for members in groups.values()
    ]


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


_HANG = 2


def print_fact(console: Console, markup: str, indent: int = 0) -> None:
    """Print a fact; if a terminal folds it, the following lines are indented further than the first."""
    text = Text.from_markup(markup)
    if not console.is_terminal:
        console.print(" " * indent, text, sep="", soft_wrap=True)
        return
    for number, line in enumerate(text.wrap(console, max(console.width - indent - _HANG, 20))):
        line.pad_left(indent + (_HANG if number else 0))
        console.print(line)


_LONGEST_VALUE = 120
_CONFIG_MAP = re.compile(r"\$\{[^:}]+:([^:}]+):")


def summary(comparison: Comparison) -> str:
    """Return how many objects are added, changed, replaced and removed."""
    counts = Counter(change.change for change in comparison.objects)
    phrases = [f"{counts[kind]} {kind.value}" for kind in reversed(ChangeKind) if counts[kind]]
    nothing = "no object changes" if comparison.effects else "nothing changes"
    return f"objects: {', '.join(phrases)}" if phrases else nothing


def drift_origin(drift: Drift) -> str:
    """Return by whom and since when, if known."""
    known = [f"{word} {text}" for word, text in (("by", drift.by), ("at", drift.since)) if text]
    return f" ({', '.join(known)})" if known else ""


def object_title(change: ObjectChange) -> str:
    """Return kind, namespace, name and role of an object."""
    place = f"{change.namespace}/{change.name}" if change.namespace else change.name
    return f"{change.kind} {place} ({change.deployment}, {change.key})"


def field_lines(change: ObjectChange) -> Iterator[str]:
    """Yield every field that differs; those that merely read another ConfigMap share one line per ConfigMap."""
    other_maps: Counter[tuple[str, str]] = Counter()
    for field in change.fields:
        if (maps := _other_config_map(field)) is not None:
            other_maps[maps] += 1
        else:
            yield field_text(field)
    for (before, after), count in other_maps.items():
        yield f"{count} {'property' if count == 1 else 'properties'} read from {before} → {after}"


def _other_config_map(field: FieldChange) -> tuple[str, str] | None:
    """Return the two ConfigMaps, if a value differs only in them."""
    sides = [value if isinstance(value, str) else "" for value in (field.before, field.after)]
    same = len({_CONFIG_MAP.sub("", side) for side in sides}) == 1
    pairs = zip(*map(_CONFIG_MAP.findall, sides), strict=True) if same else ()
    return next(((before, after) for before, after in pairs if before != after), None)


def field_text(field: FieldChange) -> str:
    """Return a field with its values before and after, which never look the same."""
    if field.before is None:
        return f"{field.path}: + {value_text(field.after)}"
    if field.after is None:
        return f"{field.path}: - {value_text(field.before)}"
    if field.before == field.after:
        return f"{field.path}: changes, and is not shown"
    sides = [_one_line(value) for value in (field.before, field.after)]
    if sides[0] == sides[1]:
        # A number or a boolean, and the text of it.
        sides = [json.dumps(value, ensure_ascii=False) for value in (field.before, field.after)]
    common = next((n for n, (one, other) in enumerate(zip(*sides, strict=False)) if one != other), min(map(len, sides)))
    if max(map(len, sides)) > _LONGEST_VALUE and common > _LONGEST_VALUE // 2:
        sides = [f"…{side[common - _LONGEST_VALUE // 4 :]}" for side in sides]
    return f"{field.path}: {' → '.join(map(_clipped, sides))}"


def value_text(value: Any) -> str:
    """Return a value on one line; only its beginning if it is long."""
    return _clipped(_one_line(value))


def _one_line(value: Any) -> str:
    return value.replace("\n", "\\n") if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


SEVERITY_COLORS = {Impact.NONE: "green", Impact.RESTART: "cyan", Impact.RE_READ: "yellow", Impact.DATA: "red"}
UNNEEDED = (
    "the stack no longer needs these ACLs; revoke them after the deployment, unless another stack or program logs in "
    "as the same user"
)
_MARKS = {
    ChangeKind.ADDED: "[green]+[/]",
    ChangeKind.CHANGED: "[yellow]~[/]",
    ChangeKind.REPLACED: "[magenta]±[/]",
    ChangeKind.REMOVED: "[red]-[/]",
}


def print_comparisons(comparisons: Sequence[Comparison], console: Console) -> None:
    """Print effects, objects and needs of each stack. Commands are not folded, because people copy them."""
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
        for effect in merged_effects(comparison.effects):
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
        if comparison.unneeded_grants:
            print_fact(console, f"{UNNEEDED}:", 2)
        for line in comparison.unneeded_grants:
            print_fact(console, escape(line), 6)


VERSION = 1


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return all comparisons for machines: effects (most severe first), objects, grants and drift of each stack."""
    return {
        "version": VERSION,
        "severity": gravest(comparison.severity for comparison in comparisons).value,
        "stacks": [
            {
                "stack": comparison.stack,
                "against": comparison.against,
                "severity": comparison.severity.value,
                "notAsked": comparison.not_asked,
                "effects": [{**asdict(effect), "stack": comparison.stack} for effect in comparison.effects],
                "required": list(comparison.required),
                "grants": list(comparison.grants),
                "unneededGrants": list(comparison.unneeded_grants),
                "drift": [asdict(drift) for drift in comparison.drift],
                "objects": [
                    {"role" if name == "key" else name: value for name, value in asdict(change).items()}
                    for change in comparison.objects
                ],
            }
            for comparison in comparisons
        ],
    }
