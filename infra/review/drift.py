"""One thing of a stack that no longer runs as the stack declares it."""

from dataclasses import dataclass

from components.effects.effect import Severity


@dataclass(frozen=True)
class Drift:
    """One thing that no longer matches the stack; `by` and `since` are empty where nobody can say."""

    severity: Severity
    code: str
    flow: str
    where: str
    what: str
    by: str
    since: str
    remedy: str
