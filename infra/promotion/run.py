"""`replicate promote`: one stack after the other is held to the rule, deployed, waited for, validated and recorded.

It keeps nothing of its own: what is done is told by Pulumi's state and by the clusters, so that it may be killed at any
point and run again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from components.digest import model_digest
from components.problems import Problem, ReplicationError
from infra import deployment
from infra.errors import CannotRunError
from infra.kubernetes_access import kubernetes_access
from infra.local import paths
from infra.promotion.cluster import StackCluster
from infra.promotion.evidence import Evidence
from infra.promotion.gate import unproven
from infra.promotion.plan import Plan, environment_of, plan_place, stacks_in_environment
from infra.promotion.rules import StackState, reasons_against
from infra.promotion.show import print_evidence
from infra.promotion.state import Seen, evidence_of, seen_by_outputs
from infra.settings import ALLOW_UNPROVEN, STACKS, StackSettings, read_settings
from infra.validate import ValidationRun, run_validation

#: Field managers of Pulumi's Kubernetes provider begin so; whoever else changes a spec did it past Pulumi.
_PULUMI = "pulumi"


@dataclass(frozen=True)
class Request:
    """What the user asked for: up to which stack (the last without), as whom, and why a rule may be broken.

    With `environment`, stacks of that one only: those before them have to be proven already.
    """

    to: str | None
    who: str
    skip: str | None = None
    ready_seconds: float = 300
    catch_up_seconds: float = 30
    stacks: Path = STACKS
    environment: str | None = None


@dataclass(frozen=True)
class Promotion:
    """One run: `confirm` asks before a stack is deployed and does not return if the answer is no."""

    plan: Plan
    request: Request
    console: Console
    confirm: Callable[[str], None]

    def say(self, text: str) -> None:
        self.console.print(escape(text), soft_wrap=True)

    def echo(self, line: str) -> None:
        """Print a line of the engine's."""
        self.console.out(line, highlight=False)


def promote(run: Promotion) -> int:
    """Promote every stack in order; the exit code of the first validation that does not pass, or 0.

    Raises ReplicationError when the rule refuses a stack, CannotRunError when something could not be done.
    """
    chosen = _chosen(run.plan, run.request)
    for stack in chosen:
        settings = read_settings(stack, run.request.stacks)
        run.say(f"\n{stack}: model {model_digest(settings.topology)}")
        if code := _promote(run, settings, followed=stack != chosen[-1]):
            run.say(f"{stack}: not proven; nothing after it was touched")
            run.say(f"next: correct the cause, `replicate validate {stack} --publish`, then `{_again(run)}`")
            return code
    run.say(f"\nevery stack up to {chosen[-1]} runs its model and is proven")
    return 0


def _chosen(plan: Plan, request: Request) -> tuple[str, ...]:
    to, order = request.to, stacks_in_environment(plan, request.environment, request.stacks)
    if to is None:
        return order
    if to not in order:
        raise CannotRunError(
            f"`{to}` is not in the plan of promotion",
            plan_place(request.stacks) + (f": environment {request.environment}" if request.environment else ""),
            f"Stacks in it are: {', '.join(order)}.",
            "name one of these, or deploy it by `replicate up`.",
        )
    return order[: order.index(to) + 1]


def _again(run: Promotion) -> str:
    chosen = {"--environment": run.request.environment, "--to": run.request.to}
    return " ".join(["replicate promote", *(f"{option} {value}" for option, value in chosen.items() if value)])


def _promote(run: Promotion, settings: StackSettings, *, followed: bool) -> int:
    """Bring one stack to its model, proven and recorded; the exit code of its validation."""
    stack, digest = settings.stack, model_digest(settings.topology)
    run.say(f"{stack}: reading what is deployed and proven")
    seen = _see(run, settings)
    against = reasons_against(seen.state, digest)
    preview: list[str] | None = None
    if not against:
        preview, unchanged = _preview(run, settings)
        if unchanged:
            _record_what_is_proven(run, settings, seen)
            return 0
    settings = _held(run, settings)
    if preview is None:
        preview, unchanged = _preview(run, settings)
        if unchanged and followed and (blocking := _blocking(seen.state, against)):
            raise ReplicationError(blocking)
    run.say(f"{stack}: preview")
    for line in preview:
        run.echo(line)
    run.confirm(stack)
    return _deploy(run, settings)


def _see(run: Promotion, settings: StackSettings) -> Seen:
    outputs = deployment.outputs_if_deployed(settings)
    return seen_by_outputs(settings.stack, outputs, StackCluster(settings), run.plan.evidence_namespace)


def _preview(run: Promotion, settings: StackSettings) -> tuple[list[str], bool]:
    """What a deployment would change, as the engine's lines, and whether that is nothing."""
    lines: list[str] = []
    try:
        changes = deployment.preview(settings, lines.append)
    except CannotRunError:
        for line in lines:
            run.echo(line)
        raise
    return lines, set(changes) <= {"same"}


def _blocking(state: StackState, against: tuple[Problem, ...]) -> list[Problem]:
    """What of `against` no deployment mends: a proof that failed since the last change, or a change past Pulumi.

    A missing or older proof may be what an interrupted run left to do.
    """
    failed = {
        f"stack {state.stack}, flow {flow.name}"
        for flow in state.flows
        if flow.proof is not None and flow.changed_at is not None and flow.proof.at > flow.changed_at
    }
    past_pulumi = {
        f"stack {state.stack}, flow {flow.name}" for flow in state.flows if not flow.changed_by.startswith(_PULUMI)
    }
    places = {"predecessor-failed": failed, "predecessor-stale": past_pulumi}
    return [problem for problem in against if problem.where in places.get(problem.code, set())]


def _held(run: Promotion, settings: StackSettings) -> StackSettings:
    """The settings to deploy with, if the rule allows it or may be skipped. Raises ReplicationError otherwise."""
    run.say(f"{settings.stack}: asking what the stacks before it have proven")
    against = unproven(settings)
    if settings.allow_unproven is not None:
        run.say(f"{settings.stack}: deployed unproven: {settings.allow_unproven}")
    if not against:
        return settings
    if run.request.skip is None:
        raise ReplicationError(against)
    environment = environment_of(run.plan, settings.stack)
    allowed = environment.may_skip if environment is not None else ()
    if run.request.who not in allowed:
        raise CannotRunError(
            f"`{run.request.who}` may not skip what is not proven",
            f"{plan_place(run.request.stacks)}: environment of {settings.stack}",
            f"`maySkip` names: {', '.join(allowed) or 'nobody'}.",
            "let one of these run it, name yourself by `--as`, or wait for the proof.",
        )
    for problem in against:
        run.say(f"{settings.stack}: skipped by {run.request.who}: {problem}")
    return replace(settings, values={**settings.values, ALLOW_UNPROVEN: run.request.skip})


def _deploy(run: Promotion, settings: StackSettings) -> int:
    stack = settings.stack
    run.say(f"{stack}: deploying")
    deployment.up(settings, run.echo)
    deployed_at = datetime.now(UTC)
    run.say(f"{stack}: waiting until connectors and tasks run")
    deployment.wait_ready(settings, run.request.ready_seconds)
    run.say(f"{stack}: validating")
    code = _validate(run, settings)
    run.say(f"{stack}: recording the evidence")
    seen = _see(run, settings)
    if missing := [name for name in seen.flows if name not in seen.validations]:
        raise CannotRunError(
            f"no verdict of {', '.join(missing) or 'any flow'} was published",
            f"stack {stack}",
            "The job could not write beside the flow, or did not get that far.",
            f"see its lines above, correct the cause and run `{_again(run)}` again.",
        )
    evidence = evidence_of(seen, run.request.who, deployed_at, settings.allow_unproven)
    _record(run, settings, evidence)
    if not code and (against := reasons_against(seen.state, model_digest(settings.topology))):
        raise ReplicationError(against)
    return code


def _validate(run: Promotion, settings: StackSettings) -> int:
    report = paths.VALIDATION / settings.stack / "report.json"
    document = deployment.outputs(settings)["validation"]
    kubeconfig, context = kubernetes_access(settings)
    options = ("--publish", f"--catch-up-seconds={run.request.catch_up_seconds:g}")
    job = ValidationRun(settings.stack, document, report, Path(kubeconfig) if kubeconfig else None, options, context)
    return run_validation(job, run.console)


def _record_what_is_proven(run: Promotion, settings: StackSettings, seen: Seen) -> None:
    """Say that nothing is to be done, and make the evidence tell of the newest validation."""
    earlier = seen.evidence
    known = earlier is not None and earlier.model_digest == seen.state.model_digest
    deployed_at = earlier.deployed_at if earlier is not None and known else seen.state.changed_at
    reason = settings.allow_unproven or (earlier.allow_unproven if earlier is not None and known else None)
    evidence = evidence_of(seen, run.request.who, deployed_at or datetime.now(UTC), reason)
    since = evidence.proven_since
    run.say(f"{settings.stack}: runs this model already, proven since {since:%Y-%m-%d %H:%M:%S %Z}; nothing to do")
    if earlier is None or replace(earlier, who=evidence.who) != evidence:
        run.say(f"{settings.stack}: recording the evidence")
        _record(run, settings, evidence)


def _record(run: Promotion, settings: StackSettings, evidence: Evidence) -> None:
    StackCluster(settings).record(evidence, run.plan.evidence_namespace)
    print_evidence(evidence, run.plan.evidence_namespace, run.console)
