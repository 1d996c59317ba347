"""The findings that a topology accepts: each exists, may be accepted, is named once and has a reason."""

from collections.abc import Iterator

from components.contract.acceptance import ACCEPTABLE, NOT_ACCEPTABLE
from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow
from components.properties.definitions import nearest

_LIST = "validation.accept"


def check_accepted_findings(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every finding that the job is told to accept is one that it can report."""
    seen: set[str] = set()
    for index, accepted in enumerate(flow.settings.validation.accept):
        finding, where = accepted.finding, flow.where(f"{_LIST}.{index}.finding")
        if finding in NOT_ACCEPTABLE:
            yield Problem(
                where,
                "finding-not-acceptable",
                f"`{finding}` cannot be accepted",
                "This finding reports a fault, or does not affect the verdict. You can accept only findings about "
                "something that the job could not judge.",
                f"remove it, and do what the finding says. Findings that can be accepted: {', '.join(ACCEPTABLE)}.",
            )
        elif finding not in ACCEPTABLE:
            near = nearest(finding, ACCEPTABLE)
            remedy = f"did you mean `{near}`?" if near else f"name one of these: {', '.join(ACCEPTABLE)}."
            what = f"the validation job has no finding `{finding}`"
            yield Problem(where, "unknown-finding", what, "It would accept nothing.", remedy)
        elif finding in seen:
            what, why = f"`{finding}` is listed twice", "A report shows one reason for each finding."
            yield Problem(where, "finding-accepted-twice", what, why, "remove one of them.")
        if not accepted.reason.strip():
            where = flow.where(f"{_LIST}.{index}.reason")
            what = f"`{finding}` is accepted without a reason"
            why = "The report and the evidence of a promotion show the reason to whoever relies on the verdict."
            yield Problem(where, "accepted-without-reason", what, why, "write the `reason` as a sentence.")
        seen.add(finding)
