"""Problems of topologies and stack files, the errors that commands and jobs raise, and questions without an answer.
Imports nothing of ours.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """Whether a problem stops a deployment."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Place:
    """A place in a file; line and column count from 1.

    `excerpt` is the line without its credentials, with a mark at the column below it; "" if the line is empty.
    """

    file: str
    line: int
    column: int
    excerpt: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def order(self) -> tuple[str, int, int]:
        """Return a key that sorts places by file, line and column."""
        return self.file, self.line, self.column


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a topology or a stack file.

    `where` is the dotted path in the file, `code` a stable kebab-case name, `why` says in Kafka's terms what would
    happen, `remedy` names the key and the value to set. `place` is its place in the file, if a file was read.
    """

    where: str
    code: str
    what: str
    why: str
    remedy: str
    severity: Severity = Severity.ERROR
    place: Place | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Return the problem in words, without its place."""
        return _rendered(self.code, self.what, self.where, self.why, self.remedy)

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


def warning(where: str, code: str, what: str, why: str, remedy: str) -> Problem:
    """Return a problem that stops nothing."""
    return Problem(where, code, what, why, remedy, Severity.WARNING)


class ReplicationError(Exception):
    """All problems that were found, sorted by `where`; raised once, before anything is registered or rendered."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class CannotRunError(Exception):
    """A command or a job could not do its work; exit code 2. Subclasses exist to be caught; they add no text.

    `code` is a stable kebab-case name, `where` names the file, cluster or object, `remedy` says what to do. `detail`
    holds evidence, such as the last lines of a log. A mistake in a file has a `place`. No field may hold a credential:
    they are printed and published.
    """

    def __init__(
        self, code: str, what: str, where: str, why: str, remedy: str, detail: str = "", place: Place | None = None
    ) -> None:
        self.code, self.what, self.where, self.why, self.remedy, self.detail = code, what, where, why, remedy, detail
        self.place = place
        text = _rendered(code, what, where, why, remedy, detail)
        super().__init__(f"{place}: {text}" if place else text)


class RefusedError(CannotRunError):
    """A command checked its task and refused it; nothing was changed; exit code 1."""


@dataclass(frozen=True)
class NoAnswer:
    """Why a question has no answer; `others` are further reasons."""

    reason: str
    others: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        return (self.reason, *self.others)


def raise_errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Raise a ReplicationError if any problem is an error; otherwise return the warnings, sorted by `where`."""
    ordered = tuple(sorted(set(problems)))
    if any(problem.severity is Severity.ERROR for problem in ordered):
        raise ReplicationError(ordered)
    return ordered


def _rendered(code: str, what: str, where: str, why: str, remedy: str, detail: str = "") -> str:
    text = f"{code}: {what}, at {where}. {why} Remedy: {remedy}"
    return f"{text}\n{detail}" if detail else text
