"""Why adoption is refused, and which agreements allow it. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.changes.effect import Effect, Severity
from components.contract.problems import Problem

RELEASED, REPLACED = "released", "replaced"
#: What can be agreed to: an effect of this severity on a flow, a replaced object, or that a tool has released an
#: object.
AGREEMENTS = (*(each.value for each in Severity if each is not Severity.NONE), REPLACED, RELEASED)

_WHY = {
    Severity.RESTART: "Replication would stop for seconds, or for minutes while workers restart.",
    Severity.RE_READ: "Records would be copied twice, or read again after a failover.",
    Severity.DATA: "Records or offsets would be skipped, left behind or orphaned.",
}


@dataclass(frozen=True)
class Refusal:
    """Why adoption is refused; `agreement` is what to pass to `--agree` to do it anyway, "" if nothing helps."""

    problem: Problem
    agreement: str = ""


def not_agreed(effects: Sequence[Effect]) -> Iterator[Refusal]:
    """A refusal for each severity of the effects on a flow."""
    grave: dict[tuple[str, Severity], list[str]] = defaultdict(list)
    for effect in effects:
        if effect.severity is not Severity.NONE:
            grave[effect.flow, effect.severity].append(effect.code)
    for (flow, severity), codes in grave.items():
        agreement = f"{severity}:{flow}"
        problem = Problem(
            f"flow {flow}",
            "not-agreed",
            f"adopting has effects of severity `{severity}`: {', '.join(dict.fromkeys(codes))}",
            _WHY[severity],
            f"correct the topology until it declares what runs, or pass `--agree {agreement}`.",
        )
        yield Refusal(problem, agreement)
