"""Reads the status of a live object: whether it is current, and its conditions. Pure."""

from collections.abc import Mapping
from typing import Any


def condition(live: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of this type; empty without one."""
    conditions = (live.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def is_observed(live: Mapping[str, Any]) -> bool:
    """Whether the status is about the newest generation of the spec."""
    return bool((live.get("status") or {}).get("observedGeneration") == live["metadata"].get("generation"))
