"""Problems of a topology, and the error of whatever could not run. Both render alike. Imports nothing of ours."""

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
        return _rendered(self.code, self.what, self.where, self.why, self.remedy)


class ReplicationError(Exception):
    """Every problem that was found, sorted by where; raised once, before anything is registered or rendered."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CannotRunError(Exception):
    """A command or a job could not do its work; exit code 2. Its subclasses are types to catch and add no text.

    `code` is a stable kebab-case name, `where` names the file, cluster or object, `remedy` says what to do. `detail`
    holds evidence, such as the last lines of a log. No field may hold a credential: they are printed and published.
    """

    def __init__(self, code: str, what: str, where: str, why: str, remedy: str, detail: str = "") -> None:
        self.code, self.what, self.where, self.why, self.remedy, self.detail = code, what, where, why, remedy, detail
        super().__init__(_rendered(code, what, where, why, remedy, detail))


def raise_errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Raise a ReplicationError if any problem is an error; otherwise return the warnings, sorted by where."""
    found = tuple(sorted(set(problems)))
    if any(problem.severity is Severity.ERROR for problem in found):
        raise ReplicationError(found)
    return found


def _rendered(code: str, what: str, where: str, why: str, remedy: str, detail: str = "") -> str:
    text = f"{code}: {what}, at {where}. {why} Remedy: {remedy}"
    return f"{text}\n{detail}" if detail else text
