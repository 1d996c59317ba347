"""Problems: what is wrong with a topology, where, why it fails and what to set instead. Imports nothing of ours."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a problem stops a deployment."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a topology or a stack file.

    `where` is the dotted path in the file, `code` a stable kebab-case name, `why` says in Kafka's terms what would
    happen, `remedy` names the key and the value to set.
    """

    where: str
    code: str
    what: str
    why: str
    remedy: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.code}: {self.what}, at {self.where}. {self.why} Remedy: {self.remedy}"


class ReplicationError(Exception):
    """Every problem that was found, sorted by where; raised once, before anything is registered or rendered."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def raise_errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Raise a ReplicationError if any problem is an error; otherwise return the warnings, sorted by where."""
    found = tuple(sorted(set(problems)))
    if any(problem.severity is Severity.ERROR for problem in found):
        raise ReplicationError(found)
    return found
