"""The type of a drift: one thing that no longer runs as its stack declares it."""

from dataclasses import dataclass

from components.changes.effect import Severity


@dataclass(frozen=True)
class Drift:
    """One thing that no longer matches the stack; `by` and `since` are empty if they are unknown."""

    severity: Severity
    code: str
    flow: str
    where: str
    what: str
    by: str
    since: str
    remedy: str
