"""Reads the conditions of a live object. Pure."""

from collections.abc import Mapping
from typing import Any


def condition(live: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of this type; empty without one."""
    conditions = (live.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})
