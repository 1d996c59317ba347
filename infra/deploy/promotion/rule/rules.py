"""The rule of promotion: what a stack still lacks before the next stack may deploy the same model. Pure.

A flow changes when the spec of one of its objects changes, whoever changed it. The soak time begins with the first
validation that passed after the last change; a validation that does not pass starts it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    if lacking := _missing_model(state, model_digest):
        return (lacking,)
    problems = [lacking for flow in state.flows if (lacking := _missing_proof(state.stack, flow, now)) is not None]
    since, soak = state.proven_since, timedelta(minutes=soak_minutes)
    if not problems and now is not None and since is not None and since + soak > now:
        ends = f"its soak time of {soak_minutes:g} min ends in {_duration(since + soak - now)}"
        what = f"`{state.stack}` has been proven since {time_text(since)}; {ends}"
        why = "Slow faults, such as lost checkpoints or a growing lag, show only after a while."
        remedy = f"run it again at {time_text(since + soak)} or later."
        problems.append(Problem(f"stack {state.stack}", "predecessor-soaking", what, why, remedy))
    return tuple(sorted(problems))


def _missing_model(state: StackState, model_digest: str) -> Problem | None:
    """Return why a stack does not run this model; None if it does."""
    stack, where = state.stack, f"stack {state.stack}"
    if state.model_digest is None and state.recorded:
        what = f"no evidence of `{stack}` is recorded"
        why = "Without evidence, it is unknown whether this model runs and is proven there."
        remedy = f"`replicate promote --to {stack}`, which deploys, validates and records it."
        return Problem(where, "predecessor-without-evidence", what, why, remedy)
    if state.model_digest is None:
        what, why = f"`{stack}` is not deployed", "No earlier region has run this model."
        return Problem(where, "predecessor-not-deployed", what, why, f"`replicate promote --to {stack}`.")
    if state.model_digest != model_digest:
        what = f"`{stack}` runs the model {state.model_digest}, but this stack would run {model_digest}"
        why = (
            "They replicate different topics, or replicate them differently, so a proof of one does not cover the "
            "other."
        )
        remedy = f"`replicate promote --to {stack}` first, or give both topologies the same replications."
        return Problem(where, "predecessor-other-model", what, why, remedy)
    if not state.flows:
        what, why = f"`{stack}` has no flow", "Nothing is replicated there, so nothing can be proven."
        remedy = f"leave `{stack}` out of promotion.yaml, or correct its region."
        return Problem(where, "predecessor-without-flows", what, why, remedy)
    return None


def _missing_proof(stack: str, flow: FlowState, now: datetime | None) -> Problem | None:
    """Return the first thing that a flow lacks; None if it is proven."""
    name, proof, changed = flow.name, flow.proof, flow.changed_at
    where, validate = f"stack {stack}, flow {name}", f"`replicate validate {stack} --publish`."
    if changed is None:
        what = f"Kubernetes has no objects of `{name}`"
        why = "They were deleted after the deployment, so nothing is replicated there."
        remedy = f"`replicate up {stack} --refresh`, or apply them again with GitOps, then {validate}"
        return Problem(where, "predecessor-objects-missing", what, why, remedy)
    if proof is None:
        what, why = f"`{name}` was never validated", "Connectors can be Ready and still not replicate."
        return Problem(where, "predecessor-not-validated", what, why, validate)
    if proof.digest != flow.digest:
        what = f"the validation saw {proof.digest}, but {flow.digest} is deployed"
        why = "The validation proved something that no longer runs."
        return Problem(where, "predecessor-validated-otherwise", what, why, validate)
    if proof.verdict != PASS:
        checks = ", ".join(name for name, check in proof.checks.items() if check.verdict != PASS) or "the job itself"
        what = f"the verdict of the validation is {proof.verdict}: {checks}"
        why = "The same model may also fail in the next region."
        return Problem(
            where, "predecessor-failed", what, why, f"read the report, fix the cause there and run {validate}"
        )
    if no_longer := sorted(proof.accepted - flow.accepts):
        accepted = ", ".join(f"`{code}`" for code in no_longer)
        what = f"`{name}` passed because its topology accepted {accepted}, which it no longer accepts"
        why = "Without the acceptance, the verdict would have been an error."
        return Problem(where, "predecessor-accepted-otherwise", what, why, validate)
    validated = f"`{name}` was validated at {time_text(proof.at)}"
    if now is not None and proof.at > now + CLOCKS_APART:
        what = f"{validated}, but it is only {time_text(now)}"
        why = "One of the two clocks is wrong, so a change made after the validation could seem to come before it."
        remedy = f"correct the clock of the machine that validated it, or of this one, and run {validate}"
        return Problem(where, "predecessor-of-the-future", what, why, remedy)
    if proof.at <= changed:
        what = f"{validated} and changed at {time_text(changed)} by {flow.changed_by or 'an unknown manager'}"
        return Problem(where, "predecessor-stale", what, "The proof is older than what runs now.", validate)
    return None


def time_text(at: datetime) -> str:
    """Return a time as it is recorded and shown."""
    return at.isoformat(timespec="seconds")


def _duration(left: timedelta) -> str:
    seconds = max(int(left.total_seconds() + 0.999), 1)
    hours, rest = divmod(seconds, 3600)
    parts = ((hours, "h"), (rest // 60, "min"), (rest % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
