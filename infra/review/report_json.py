"""A comparison as JSON, for machines; `version` is raised when a key changes its meaning or goes."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from components.effects.effect import Severity
from infra.review.comparison import Comparison

VERSION = 1


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Every stack with its severity, effects (gravest first) and changed objects."""
    return {
        "version": VERSION,
        "severity": max(
            (each.severity for each in comparisons), key=lambda each: each.rank, default=Severity.NONE
        ).value,
        "stacks": [_stack(each) for each in comparisons],
    }


def _stack(comparison: Comparison) -> dict[str, Any]:
    return {
        "stack": comparison.stack,
        "against": comparison.against,
        "severity": comparison.severity.value,
        "effects": [
            {
                "severity": effect.severity.value,
                "code": effect.code,
                "stack": comparison.stack,
                "flow": effect.flow,
                "where": effect.where,
                "what": effect.what,
            }
            for effect in comparison.effects
        ],
        "drift": [asdict(drift) for drift in comparison.drift],
        "objects": [
            {
                "change": change.change.value,
                "deployment": change.deployment,
                "role": change.key,
                "kind": change.kind,
                "namespace": change.namespace,
                "name": change.name,
                "fields": [{"path": each.path, "before": each.before, "after": each.after} for each in change.fields],
            }
            for change in comparison.objects
        ],
    }
