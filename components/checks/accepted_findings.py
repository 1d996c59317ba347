"""The findings that a topology accepts: each exists, may be accepted, is named once and has a reason."""

import difflib
from collections.abc import Iterator

from components.contract.acceptance import ACCEPTABLE, NOT_ACCEPTABLE
from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow

_LIST = "validation.accept"


def check_accepted_findings(flow: ExpandedFlow) -> Iterator[Problem]:
    """What the validation job is told to take on trust is something that it can report."""
    seen: set[str] = set()
    for index, accepted in enumerate(flow.settings.validation.accept):
        where = flow.where(f"{_LIST}.{index}.finding")
        if accepted.finding in NOT_ACCEPTABLE:
            yield _not_acceptable(where, accepted.finding)
        elif accepted.finding not in ACCEPTABLE:
            yield _unknown(where, accepted.finding)
        elif accepted.finding in seen:
            yield _twice(where, accepted.finding)
        if not accepted.reason.strip():
            yield _without_reason(flow.where(f"{_LIST}.{index}.reason"), accepted.finding)
        seen.add(accepted.finding)


def _not_acceptable(where: str, finding: str) -> Problem:
    return Problem(
        where,
        "finding-not-acceptable",
        f"`{finding}` cannot be accepted",
        "It says that something is wrong, or changes no verdict. Only what the job cannot judge can be accepted.",
        f"remove it, and do what the finding says. These can be accepted: {', '.join(ACCEPTABLE)}.",
    )


def _unknown(where: str, finding: str) -> Problem:
    near = difflib.get_close_matches(finding, ACCEPTABLE, n=1)
    return Problem(
        where,
        "unknown-finding",
        f"the validation job has no finding `{finding}`",
        "It would accept nothing.",
        f"did you mean `{near[0]}`?" if near else f"name one of these: {', '.join(ACCEPTABLE)}.",
    )


def _twice(where: str, finding: str) -> Problem:
    return Problem(
        where,
        "finding-accepted-twice",
        f"`{finding}` is listed twice",
        "A report shows one reason for each finding.",
        "remove one of them.",
    )


def _without_reason(where: str, finding: str) -> Problem:
    return Problem(
        where,
        "accepted-without-reason",
        f"`{finding}` is accepted without a reason",
        "The report and the evidence of a promotion show the reason to whoever relies on the verdict.",
        "write the `reason` as a sentence.",
    )
