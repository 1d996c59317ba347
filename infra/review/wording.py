"""The wording that the reports for people share."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from infra.review.comparison import Comparison
from infra.review.drift import Drift
from infra.review.object_changes import ChangeKind, FieldChange, ObjectChange

_LONGEST_VALUE = 120
_CONFIG_MAP = re.compile(r"\$\{[^:}]+:([^:}]+):")


def summary(comparison: Comparison) -> str:
    """How many objects are added, changed, replaced and removed."""
    counts = Counter(change.change for change in comparison.objects)
    found = [f"{counts[kind]} {kind.value}" for kind in reversed(ChangeKind) if counts[kind]]
    return f"objects: {', '.join(found)}" if found else "nothing changes"


def drift_origin(drift: Drift) -> str:
    """By whom and since when, if that is known."""
    known = [
        each for each in (f"by {drift.by}" if drift.by else "", f"at {drift.since}" if drift.since else "") if each
    ]
    return f" ({', '.join(known)})" if known else ""


def object_title(change: ObjectChange) -> str:
    """Kind, namespace, name and role of an object."""
    place = f"{change.namespace}/{change.name}" if change.namespace else change.name
    return f"{change.kind} {place} ({change.deployment}, {change.key})"


def field_lines(change: ObjectChange) -> Iterator[str]:
    """Every field that differs; those that only read another ConfigMap share a line for each ConfigMap."""
    moved: Counter[tuple[str, str]] = Counter()
    for field in change.fields:
        if (maps := _other_config_map(field)) is not None:
            moved[maps] += 1
        else:
            yield field_text(field)
    for (before, after), count in moved.items():
        yield f"{count} {'property' if count == 1 else 'properties'} read from {before} → {after}"


def _other_config_map(field: FieldChange) -> tuple[str, str] | None:
    """The two ConfigMaps, if a value differs in nothing else."""
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
