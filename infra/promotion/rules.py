"""The rule of promotion: what a predecessor lacks before a model may follow it, each with its own message. Pure.

A flow changes when a spec of its objects changes, by whomever: Pulumi, the operator's user, or a hand. The soak time
begins with the first of a row of validations that passed since the last change; one that did not pass ends the row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from components.problems import Problem

PASS = "pass"
#: Clocks of a validation and of whoever promotes may differ so much.
_CLOCKS_APART = timedelta(minutes=1)


@dataclass(frozen=True)
class Proof:
    """What the validation job published of a flow: the digest that it saw, its verdict, when, and what did not pass.

    `passing_since` is the first of the validations of this digest that passed, without one in between that did not;
    None where that was not published.
    """

    digest: str
    verdict: str
    at: datetime
    not_passed: tuple[str, ...] = ()
    passing_since: datetime | None = None


@dataclass(frozen=True)
class FlowState:
    """One deployed flow. `changed_at` is None when its objects are not in the cluster, `proof` without validation.

    `changed_by` is the field manager of the newest change. Source: Kubernetes managedFields.
    """

    name: str
    digest: str
    changed_at: datetime | None
    proof: Proof | None
    changed_by: str = ""

    @property
    def passing_since(self) -> datetime | None:
        """When the row of validations began that have passed, the newest included, where that is known."""
        return self.proof.passing_since if self.proof is not None else None

    @property
    def proven_since(self) -> datetime | None:
        """When it was first proven after its last change; the newest validation where the row began before that."""
        if self.proof is None:
            return None
        begun = self.proof.passing_since
        return begun if begun is not None and (self.changed_at is None or begun > self.changed_at) else self.proof.at


@dataclass(frozen=True)
class StackState:
    """What is known of a stack; `model_digest` is None when it is not deployed or, if so `recorded`, has no evidence.

    `recorded_since` is the time of the evidence that was recorded for this digest, if any.
    """

    stack: str
    model_digest: str | None
    flows: tuple[FlowState, ...] = ()
    recorded_since: datetime | None = None
    recorded: bool = False

    @property
    def changed_at(self) -> datetime | None:
        """The newest change of the stack's flows."""
        return max((flow.changed_at for flow in self.flows if flow.changed_at is not None), default=None)

    @property
    def proven_since(self) -> datetime | None:
        """Since when the stack is proven, if nothing is against it."""
        recorded, changed = self.recorded_since, self.changed_at
        begun = max((each for flow in self.flows if (each := flow.passing_since) is not None), default=None)
        if recorded is not None and (changed is None or recorded > changed) and (begun is None or recorded >= begun):
            return recorded
        return max((flow.proven_since for flow in self.flows if flow.proven_since is not None), default=None)


def reasons_against(
    state: StackState, model_digest: str, soak_minutes: float = 0, now: datetime | None = None
) -> tuple[Problem, ...]:
    """Everything that `state` lacks to be followed by a stack with this digest; nothing if it is proven.

    `now` is needed with a soak time, and to refuse a proof whose time is still to come.
    """
    if state.model_digest is None:
        return (_without_evidence(state) if state.recorded else _not_deployed(state),)
    if state.model_digest != model_digest:
        return (_other_model(state, model_digest),)
    if not state.flows:
        return (_without_flows(state),)
    found = [problem for flow in state.flows for problem in _against_flow(state.stack, flow, now)]
    since = state.proven_since
    if not found and now is not None and since is not None:
        left = since + timedelta(minutes=soak_minutes) - now
        if left > timedelta(0):
            found.append(_soaking(state.stack, since, soak_minutes, left))
    return tuple(sorted(found))


def _against_flow(stack: str, flow: FlowState, now: datetime | None) -> Iterator[Problem]:
    where = f"stack {stack}, flow {flow.name}"
    again = f"`replicate validate {stack} --publish`"
    if flow.changed_at is None:
        yield Problem(
            where,
            "predecessor-objects-missing",
            f"Kubernetes has no objects of `{flow.name}`",
            "They were deleted after the deployment, so nothing replicates there.",
            f"`replicate up {stack}`, then {again}.",
        )
    elif flow.proof is None:
        yield Problem(
            where,
            "predecessor-not-validated",
            f"`{flow.name}` was never validated",
            "That connectors are Ready does not prove that they replicate.",
            f"{again}.",
        )
    elif flow.proof.digest != flow.digest:
        yield Problem(
            where,
            "predecessor-validated-otherwise",
            f"the validation saw {flow.proof.digest}, deployed is {flow.digest}",
            "What it proved is not what runs.",
            f"{again}.",
        )
    elif flow.proof.verdict != PASS:
        yield _failed(where, flow.proof, again)
    elif now is not None and flow.proof.at > now + _CLOCKS_APART:
        yield _of_the_future(where, flow, flow.proof.at, now, again)
    elif flow.proof.at <= flow.changed_at:
        yield Problem(
            where,
            "predecessor-stale",
            f"`{flow.name}` was validated at {_time(flow.proof.at)} and changed at {_time(flow.changed_at)} by "
            f"{flow.changed_by or 'an unknown manager'}",
            "What was proven is not what runs since the change.",
            f"{again}.",
        )


def _failed(where: str, proof: Proof, again: str) -> Problem:
    checks = ", ".join(proof.not_passed) or "the job itself"
    return Problem(
        where,
        "predecessor-failed",
        f"the verdict of the validation is {proof.verdict}: {checks}",
        "The same model would fail alike in the next region, or it cannot be told.",
        f"read the report, correct the cause there and run {again}.",
    )


def _of_the_future(where: str, flow: FlowState, at: datetime, now: datetime, again: str) -> Problem:
    return Problem(
        where,
        "predecessor-of-the-future",
        f"`{flow.name}` was validated at {_time(at)}, and it is {_time(now)}",
        "One of two clocks is wrong, so that a change after the validation could pass for one before it.",
        f"set the clock of where it was validated, or of here, and run {again}.",
    )


def _not_deployed(state: StackState) -> Problem:
    return Problem(
        f"stack {state.stack}",
        "predecessor-not-deployed",
        f"`{state.stack}` is not deployed",
        "No region before this one has run the model.",
        f"`replicate promote --to {state.stack}`.",
    )


def _without_evidence(state: StackState) -> Problem:
    return Problem(
        f"stack {state.stack}",
        "predecessor-without-evidence",
        f"no evidence of `{state.stack}` is recorded",
        "Whether it runs the same model, and is proven, cannot be told.",
        f"`replicate promote --to {state.stack}`, which deploys what is not deployed, validates it and records it.",
    )


def _other_model(state: StackState, model_digest: str) -> Problem:
    return Problem(
        f"stack {state.stack}",
        "predecessor-other-model",
        f"`{state.stack}` runs the model {state.model_digest}, this stack would run {model_digest}",
        "What is replicated and how differs, so what it proved is not this model.",
        f"`replicate promote --to {state.stack}` first, or give both topologies the same replications.",
    )


def _without_flows(state: StackState) -> Problem:
    return Problem(
        f"stack {state.stack}",
        "predecessor-without-flows",
        f"`{state.stack}` has no flow",
        "Where nothing is replicated, nothing can be proven.",
        f"leave `{state.stack}` out of promotion.yaml, or correct its region.",
    )


def _soaking(stack: str, since: datetime, soak_minutes: float, left: timedelta) -> Problem:
    until = since + timedelta(minutes=soak_minutes)
    return Problem(
        f"stack {stack}",
        "predecessor-soaking",
        f"`{stack}` is proven since {_time(since)}; its soak time of {soak_minutes:g} min is over in {_duration(left)}",
        "Slow faults, such as lost checkpoints or a growing lag, show after a while only.",
        f"run it again at {_time(until)} or later.",
    )


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _duration(left: timedelta) -> str:
    seconds = max(int(left.total_seconds() + 0.999), 1)
    hours, rest = divmod(seconds, 3600)
    parts = ((hours, "h"), (rest // 60, "min"), (rest % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
