"""The rule of promotion: what a stack still lacks before the next stack may deploy the same model. Pure.

A flow changes when the spec of one of its objects changes, whoever changed it. The soak time begins with the first
validation that passed after the last change; a validation that does not pass starts it again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from kafka_replication.components.contract.evidence import CLOCKS_APART
from kafka_replication.components.contract.problems import Problem

PASS = "pass"


@dataclass(frozen=True)
class CheckResult:
    """One check's verdict, the report's sentence about it, and why findings were accepted, by their codes."""

    verdict: str
    summary: str
    accepted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FlowProof:
    """What the validation job published about a flow, with its checks by name.

    `at` is when the run began. `passing_since` is when the first run of the latest unbroken series of passing
    validations of this digest began; None if not published.
    """

    digest: str
    verdict: str
    at: datetime
    passing_since: datetime | None = None
    checks: Mapping[str, CheckResult] = field(default_factory=dict)

    @property
    def accepted(self) -> frozenset[str]:
        """The codes of the accepted findings without which the verdict would not be a pass."""
        return frozenset(code for check in self.checks.values() for code in check.accepted)


@dataclass(frozen=True)
class FlowState:
    """One deployed flow. `changed_at` is None if the cluster has none of its objects, `proof` if it was not validated.

    `changed_by` is the field manager that made the latest change. Source: Kubernetes managedFields. `accepts` are the
    codes of the findings that the topology accepts now.
    """

    name: str
    namespace: str
    digest: str
    changed_at: datetime | None = None
    proof: FlowProof | None = None
    changed_by: str = ""
    accepts: frozenset[str] = frozenset()

    @property
    def proven_since(self) -> datetime | None:
        """When the flow was first proven after its last change: since the series began, or by the last validation."""
        if self.proof is None:
            return None
        begun = self.proof.passing_since
        return begun if begun is not None and (self.changed_at is None or begun > self.changed_at) else self.proof.at


@dataclass(frozen=True)
class StackState:
    """What is known about a stack, from Pulumi's outputs or, if `recorded`, from its recorded evidence.

    `model_digest` is None if the stack is not deployed, or has no evidence. `recorded_since` is the time since which
    the recorded evidence has called this digest proven, if it does.
    """

    stack: str
    model_digest: str | None
    flows: tuple[FlowState, ...] = ()
    recorded_since: datetime | None = None
    recorded: bool = False

    @property
    def changed_at(self) -> datetime | None:
        """When one of the stack's flows last changed."""
        return max((flow.changed_at for flow in self.flows if flow.changed_at is not None), default=None)

    @property
    def proven_since(self) -> datetime | None:
        """The time since which the stack has been proven, if it is proven."""
        recorded, changed = self.recorded_since, self.changed_at
        proofs = [flow.proof for flow in self.flows if flow.proof is not None]
        begun = max((proof.passing_since for proof in proofs if proof.passing_since is not None), default=None)
        if recorded is not None and (changed is None or recorded > changed) and (begun is None or recorded >= begun):
            return recorded
        return max((flow.proven_since for flow in self.flows if flow.proven_since is not None), default=None)


def reasons_against(
    state: StackState, model_digest: str, soak_minutes: float = 0, now: datetime | None = None
) -> tuple[Problem, ...]:
    """Return what `state` lacks before a stack with this digest may follow; times are judged only if `now` is given."""
    if code := _missing_model(state, model_digest):
        return (_problem(code, state=state, wanted=model_digest),)
    problems = [problem for flow in state.flows for problem in _against_flow(state, flow, now)]
    since, soak = state.proven_since, timedelta(minutes=soak_minutes)
    if not problems and now is not None and since is not None and since + soak > now:
        left, times = _duration(since + soak - now), {"since": _time(since), "until": _time(since + soak)}
        problems.append(_problem("predecessor-soaking", state=state, minutes=soak_minutes, left=left, **times))
    return tuple(sorted(problems))


def _missing_model(state: StackState, model_digest: str) -> str | None:
    """Return the code of the reason why a stack does not run this model; None if it does."""
    if state.model_digest is None:
        return "predecessor-without-evidence" if state.recorded else "predecessor-not-deployed"
    if state.model_digest != model_digest:
        return "predecessor-other-model"
    return None if state.flows else "predecessor-without-flows"


def _against_flow(state: StackState, flow: FlowState, now: datetime | None) -> Iterator[Problem]:
    code, proof = _missing_proof(flow, now), flow.proof
    if code is not None:
        checks = proof.checks if proof is not None else {}
        times = {"changed": flow.changed_at, "validated": proof.at if proof is not None else None, "now": now}
        yield _problem(
            code,
            state=state,
            flow=flow,
            checks=", ".join(name for name, check in checks.items() if check.verdict != PASS) or "the job itself",
            changed_by=flow.changed_by or "an unknown manager",
            no_longer=", ".join(f"`{accept}`" for accept in sorted(proof.accepted - flow.accepts)) if proof else "",
            **{name: _time(at) for name, at in times.items() if at is not None},
        )


def _missing_proof(flow: FlowState, now: datetime | None) -> str | None:
    """Return the code of the first thing that a flow lacks; None if it is proven."""
    if flow.changed_at is None:
        return "predecessor-objects-missing"
    if flow.proof is None:
        return "predecessor-not-validated"
    if flow.proof.digest != flow.digest:
        return "predecessor-validated-otherwise"
    if flow.proof.verdict != PASS:
        return "predecessor-failed"
    if not flow.proof.accepted <= flow.accepts:
        return "predecessor-accepted-otherwise"
    if now is not None and flow.proof.at > now + CLOCKS_APART:
        return "predecessor-of-the-future"
    return "predecessor-stale" if flow.proof.at <= flow.changed_at else None


_STACK = "stack {state.stack}"
_FLOW = f"{_STACK}, flow {{flow.name}}"
_VALIDATE = "`replicate validate {state.stack} --publish`."
#: Every problem by its code; its texts are formats.
_PROBLEMS = {
    problem.code: problem
    for problem in (
        Problem(
            _STACK,
            "predecessor-not-deployed",
            "`{state.stack}` is not deployed",
            "No earlier region has run this model.",
            "`replicate promote --to {state.stack}`.",
        ),
        Problem(
            _STACK,
            "predecessor-without-evidence",
            "no evidence of `{state.stack}` is recorded",
            "Without evidence, it is unknown whether this model runs and is proven there.",
            "`replicate promote --to {state.stack}`, which deploys, validates and records it.",
        ),
        Problem(
            _STACK,
            "predecessor-other-model",
            "`{state.stack}` runs the model {state.model_digest}, but this stack would run {wanted}",
            "They replicate different topics, or replicate them differently, so a proof of one does not cover the "
            "other.",
            "`replicate promote --to {state.stack}` first, or give both topologies the same replications.",
        ),
        Problem(
            _STACK,
            "predecessor-without-flows",
            "`{state.stack}` has no flow",
            "Nothing is replicated there, so nothing can be proven.",
            "leave `{state.stack}` out of promotion.yaml, or correct its region.",
        ),
        Problem(
            _FLOW,
            "predecessor-objects-missing",
            "Kubernetes has no objects of `{flow.name}`",
            "They were deleted after the deployment, so nothing is replicated there.",
            f"`replicate up {{state.stack}} --refresh`, or apply them again with GitOps, then {_VALIDATE}",
        ),
        Problem(
            _FLOW,
            "predecessor-not-validated",
            "`{flow.name}` was never validated",
            "Connectors can be Ready and still not replicate.",
            _VALIDATE,
        ),
        Problem(
            _FLOW,
            "predecessor-validated-otherwise",
            "the validation saw {flow.proof.digest}, but {flow.digest} is deployed",
            "The validation proved something that no longer runs.",
            _VALIDATE,
        ),
        Problem(
            _FLOW,
            "predecessor-failed",
            "the verdict of the validation is {flow.proof.verdict}: {checks}",
            "The same model may also fail in the next region.",
            f"read the report, fix the cause there and run {_VALIDATE}",
        ),
        Problem(
            _FLOW,
            "predecessor-accepted-otherwise",
            "`{flow.name}` passed because its topology accepted {no_longer}, which it no longer accepts",
            "Without the acceptance, the verdict would have been an error.",
            _VALIDATE,
        ),
        Problem(
            _FLOW,
            "predecessor-of-the-future",
            "`{flow.name}` was validated at {validated}, but it is only {now}",
            "One of the two clocks is wrong, so a change made after the validation could seem to come before it.",
            f"correct the clock of the machine that validated it, or of this one, and run {_VALIDATE}",
        ),
        Problem(
            _FLOW,
            "predecessor-stale",
            "`{flow.name}` was validated at {validated} and changed at {changed} by {changed_by}",
            "The proof is older than what runs now.",
            _VALIDATE,
        ),
        Problem(
            _STACK,
            "predecessor-soaking",
            "`{state.stack}` has been proven since {since}; its soak time of {minutes:g} min ends in {left}",
            "Slow faults, such as lost checkpoints or a growing lag, show only after a while.",
            "run it again at {until} or later.",
        ),
    )
}


def _problem(code: str, **values: object) -> Problem:
    template = _PROBLEMS[code]
    texts = {name: getattr(template, name).format(**values) for name in ("where", "what", "why", "remedy")}
    return replace(template, **texts)


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _duration(left: timedelta) -> str:
    seconds = max(int(left.total_seconds() + 0.999), 1)
    hours, rest = divmod(seconds, 3600)
    parts = ((hours, "h"), (rest // 60, "min"), (rest % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
