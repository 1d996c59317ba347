"""Temporary states of connectors that somebody announced, kept in an annotation of the connector's resource. Pure.

The annotation is a JSON object: the name of each connector -> its flow, its state, who set it, when, until when, and
the state that was in the spec before. Nothing resumes a connector by itself. May be imported by anything; imports
nothing of ours.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

ANNOTATION = "kafka-replication/temporary-states"


@dataclass(frozen=True)
class TemporaryState:
    """A state of one connector of a flow; `until` is None if no end was announced."""

    flow: str
    state: str
    by: str
    at: datetime
    until: datetime | None = None
    before: str = field(kw_only=True)

    def expired(self, now: datetime) -> bool:
        return self.until is not None and now >= self.until

    def text(self, now: datetime) -> str:
        """Such as "paused by ann at 02:10Z on 2026-01-31 until 03:10Z on 2026-01-31, which has passed"."""
        until = f" until {_time(self.until)}" if self.until is not None else ""
        passed = ", which has passed" if self.expired(now) else ""
        return f"{self.state} by {self.by} at {_time(self.at)}{until}{passed}"


_STATES = TypeAdapter(dict[str, TemporaryState])


def _time(at: datetime) -> str:
    return at.strftime("%H:%MZ on %Y-%m-%d")


def temporary_states(live: Mapping[str, Any]) -> dict[str, TemporaryState]:
    """Return the announced states of a resource's connectors, by the connector's name; none if the annotation is
    unreadable.

    An unreadable annotation announces nothing, so that the state counts as edited by hand.
    """
    text = (live["metadata"].get("annotations") or {}).get(ANNOTATION)
    try:
        return _STATES.validate_json(text or "{}")
    except ValidationError:
        return {}


def annotation_value(states: Mapping[str, TemporaryState]) -> str:
    """Return the annotation's value for these states, by the connector's name."""
    given = {
        name: {key: value for key, value in vars(state).items() if value is not None}
        for name, state in sorted(states.items())
    }
    return json.dumps(given, default=lambda time: time.isoformat(timespec="seconds"))
