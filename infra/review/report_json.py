"""A comparison as JSON, for machines; `version` grows when a key is removed or changes its meaning."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from components.changes.effect import gravest
from infra.review.comparison import Comparison

VERSION = 1


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Every stack with its severity, effects (most severe first), required and changed objects, grants and drift."""
    return {
        "version": VERSION,
        "severity": gravest(each.severity for each in comparisons).value,
        "stacks": [_stack(each) for each in comparisons],
    }


def _stack(comparison: Comparison) -> dict[str, Any]:
    return {
        "stack": comparison.stack,
        "against": comparison.against,
        "severity": comparison.severity.value,
        "notAsked": comparison.not_asked,
        "effects": [{**asdict(effect), "stack": comparison.stack} for effect in comparison.effects],
        "required": list(comparison.required),
        "grants": list(comparison.grants),
        "drift": [asdict(drift) for drift in comparison.drift],
        "objects": [
            {"role" if name == "key" else name: value for name, value in asdict(change).items()}
            for change in comparison.objects
        ],
    }
