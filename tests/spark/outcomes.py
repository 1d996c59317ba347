"""Finds in an outcome what tests look at."""

from collections.abc import Callable
from typing import Protocol

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import CheckOutcome, FindingSeverity, FlowOutcome

Doing = Callable[[], None]
#: The job for a flow; something is done at the first step whose name contains a text.
CheckWhile = Callable[[FlowParameters, str, Doing], FlowOutcome]


class Check(Protocol):
    """The job for one flow, among others of its document."""

    def __call__(self, flow: FlowParameters, *others: FlowParameters) -> FlowOutcome: ...


def named(outcome: FlowOutcome, check: str) -> CheckOutcome:
    assert outcome.error is None, outcome.error
    return next(each for each in outcome.checks if each.name == check)


def failures(outcome: CheckOutcome) -> dict[str, str]:
    """Code -> message of everything that makes the check fail."""
    return {each.code: each.message for each in outcome.findings if each.severity is FindingSeverity.FAIL}


def codes_of(outcome: CheckOutcome, topic: str) -> dict[str, int]:
    """Code -> count of every finding whose message begins with the topic; the check must have begun."""
    assert outcome.coverage is not None, outcome.findings
    return {each.code: each.count for each in outcome.findings if each.message.startswith(f"{topic}:")}
