"""`replicate promote` checks, deploys and validates stack by stack; it may be killed at any point and run again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, raise_errors
from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.components.flows.resolved import flow_digest, model_digest
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.promotion.rule.evidence import (
    Evidence,
    StackCluster,
    evidence_of,
    known_state,
    unproven,
)
from kafka_replication.infra.deploy.promotion.rule.plan import (
    PromotionPlan,
    environment_of,
    evidence_name,
    plan_place,
    stacks_in_environment,
)
from kafka_replication.infra.deploy.promotion.rule.rules import PASS, FlowState, StackState, reasons_against
from kafka_replication.infra.deploy.promotion.run.jobs_in_cluster import against_applied, await_jobs, exit_code_of
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import ALLOW_UNPROVEN, StackSettings, read_settings
from kafka_replication.infra.stack.validation_job import in_cluster
from kafka_replication.infra.validate.run import ValidationRun, run_validation


def print_evidence(evidence: Evidence, namespace: str, console: Console) -> None:
    """Print the evidence and where it is recorded."""
    table = Table("flow", "check", "verdict", "finding", title=f"evidence of {escape(evidence.stack)}")
    for name, flow in evidence.flows.items():
        for title, check in flow.proof.checks.items():
            color = "green" if check.verdict == PASS else "red"
            table.add_row(name, title, f"[{color}]{check.verdict}[/]", escape(check.summary))
        if not flow.proof.checks:
            table.add_row(name, "", f"[red]{flow.proof.verdict}[/]", "the job could not run; see the report")
    console.print(table)
    lines = {
        "verdict": evidence.verdict,
        "model": evidence.model_digest,
        "deployed": f"{evidence.deployed_at:%Y-%m-%d %H:%M:%S %Z}",
        "validated": f"{evidence.validated_at:%Y-%m-%d %H:%M:%S %Z}",
        "proven since": f"{evidence.proven_since:%Y-%m-%d %H:%M:%S %Z}" if evidence.proven_since else "not proven",
        "who": evidence.who,
        "kept in": f"configmap {namespace}/{evidence_name(evidence.stack)}",
    }
    if evidence.allow_unproven is not None:
        lines["unproven because"] = evidence.allow_unproven
    for what, value in lines.items():
        console.print(f"  {what:<17}{escape(value)}", soft_wrap=True)


#: The field managers of Pulumi's Kubernetes provider start with this; any other one is a change outside Pulumi.
_PULUMI = "pulumi"


@dataclass(frozen=True)
class PromotionRequest:
    """The user's request: the last stack to promote, as whom, and why to skip the rule. With `environment`, only its
    stacks are promoted; the stacks before them must already be proven. `spark` says where validations run.
    """

    stacks: Path
    to: str | None
    who: str
    skip: str | None = None
    ready_seconds: float = 300
    catch_up_seconds: float = 30
    environment: str | None = None
    spark: SparkSettings = field(default_factory=SparkSettings)


@dataclass(frozen=True)
class Promotion:
    """One run. `confirm` asks before each deployment, and does not return if the answer is no."""

    plan: PromotionPlan
    request: PromotionRequest
    console: Console
    confirm: Callable[[str], None]

    def say(self, text: str) -> None:
        self.console.print(escape(text), soft_wrap=True)

    def echo(self, line: str) -> None:
        """Print a line of the engine's output."""
        self.console.out(line, highlight=False)


def promote(run: Promotion) -> int:
    """Promote every stack in order; return the exit code of the first validation that does not pass, or 0. Raises
    ReplicationError if earlier stacks have not proven the model, and CannotRunError if the plan lacks the
    requested stack or a skip is not allowed.
    """
    chosen = _chosen(run.plan, run.request)
    for stack in chosen:
        settings = read_settings(stack, run.request.stacks)
        run.say(f"\n{stack}: model {model_digest(settings.topology)}")
        if code := _promote(run, settings, followed=stack != chosen[-1]):
            run.say(f"{stack}: not proven; no later stack was touched")
            run.say(f"next: fix the cause, run `replicate validate {stack} --publish`, then `{_again(run)}`")
            return code
    run.say(f"\nevery stack up to {chosen[-1]} runs its model and is proven")
    return 0


def _chosen(plan: PromotionPlan, request: PromotionRequest) -> tuple[str, ...]:
    to, order = request.to, stacks_in_environment(plan, request.environment, request.stacks)
    if to is None:
        return order
    if to not in order:
        raise CannotRunError(
            "stack-not-in-plan",
            f"`{to}` is not in the promotion plan",
            plan_place(request.stacks) + (f": environment {request.environment}" if request.environment else ""),
            f"The stacks there are: {', '.join(order)}.",
            "name one of these, or deploy the stack with `replicate up`.",
        )
    return order[: order.index(to) + 1]


def _again(run: Promotion) -> str:
    chosen = {"--environment": run.request.environment, "--to": run.request.to}
    return " ".join(["replicate promote", *(f"{option} {value}" for option, value in chosen.items() if value)])


def _promote(run: Promotion, settings: StackSettings, *, followed: bool) -> int:
    """Deploy, validate and record one stack, except for what is done already; returns the validation's exit code."""
    stack = settings.stack
    run.say(f"{stack}: reading what is deployed and proven")
    if settings.by_gitops:
        return _promote_applied(run, settings, followed=followed)
    state, evidence = _read(run, settings)
    unproven_because = reasons_against(state, model_digest(settings.topology))
    if not unproven_because:
        lines, changes = _preview(run, settings)
        if not changes:
            _record_what_is_proven(run, settings, state, evidence)
            return 0
    settings = _allowed(run, settings)
    if unproven_because:
        lines, changes = _preview(run, settings)
        if followed and not changes:
            raise_errors(_not_fixed_by_deploying(state, unproven_because))
    run.say(f"{stack}: preview")
    for line in lines:
        run.echo(line)
    run.confirm(stack)
    run.say(f"{stack}: deploying")
    deployment.up(settings, run.echo)
    return _prove(run, settings, datetime.now(UTC))


def _promote_applied(run: Promotion, settings: StackSettings, *, followed: bool) -> int:
    """The same for a stack whose objects GitOps applies: what is not applied is refused instead of deployed."""
    if missing := against_applied(settings):
        _allowed(run, settings)
        raise ReplicationError(missing)
    state, evidence = _read(run, settings)
    unproven_because = reasons_against(state, model_digest(settings.topology))
    if not unproven_because:
        _record_what_is_proven(run, settings, state, evidence)
        return 0
    settings = _allowed(run, settings)
    if followed:
        raise_errors(_failed_since_the_change(state, unproven_because))
    return _prove(run, settings, state.changed_at or datetime.now(UTC))


def _read(run: Promotion, settings: StackSettings) -> tuple[StackState, Evidence | None]:
    """Return what is known about a stack, and its recorded evidence. What GitOps applies is known to match the render
    of the files; otherwise Pulumi's outputs say what is deployed, and a stack without outputs is not deployed."""
    cluster = StackCluster(settings)
    if settings.by_gitops:
        digest: str | None = model_digest(settings.topology)
        flows = [FlowState(flow.name, flow.namespace, flow_digest(flow)) for flow in OpenStack(settings).flows]
    else:
        outputs = deployment.outputs_if_deployed(settings)
        digest, deployed = outputs.get("modelDigest"), outputs.get("replications", {})
        flows = [FlowState(name, flow["namespace"], flow["digest"]) for name, flow in deployed.items()]
    state = StackState(settings.stack, digest, tuple(flows))
    evidence = cluster.evidence(run.plan.evidence_namespace)
    return known_state(settings, state, evidence, cluster), evidence


def _preview(run: Promotion, settings: StackSettings) -> tuple[list[str], bool]:
    """Return the engine's output about a deployment, and whether it would change anything."""
    lines: list[str] = []
    try:
        return lines, not set(deployment.preview(settings, lines.append)) <= {"same"}
    except CannotRunError:
        for line in lines:
            run.echo(line)
        raise


def _not_fixed_by_deploying(state: StackState, problems: tuple[Problem, ...]) -> list[Problem]:
    """Return the problems that a deployment leaves: a validation that failed since the change, or a change by hand."""
    by_hand = {
        f"stack {state.stack}, flow {flow.name}" for flow in state.flows if not flow.changed_by.startswith(_PULUMI)
    }
    stale = [problem for problem in problems if problem.code == "predecessor-stale" and problem.where in by_hand]
    return sorted([*_failed_since_the_change(state, problems), *stale])


def _failed_since_the_change(state: StackState, problems: Sequence[Problem]) -> list[Problem]:
    since = {
        f"stack {state.stack}, flow {flow.name}"
        for flow in state.flows
        if flow.proof is not None and flow.changed_at is not None and flow.proof.at > flow.changed_at
    }
    return [problem for problem in problems if problem.code == "predecessor-failed" and problem.where in since]


def _allowed(run: Promotion, settings: StackSettings) -> StackSettings:
    """Return the settings to deploy with. Raises ReplicationError for an unproven stack that nobody asked to skip, and
    CannotRunError if that person may not.
    """
    run.say(f"{settings.stack}: checking what the stacks before it have proven")
    problems = unproven(settings)
    if settings.allow_unproven is not None:
        run.say(f"{settings.stack}: deployed unproven: {settings.allow_unproven}")
    if not problems:
        return settings
    if run.request.skip is None:
        raise ReplicationError(problems)
    environment = environment_of(run.plan, settings.stack)
    may_skip = environment.may_skip if environment is not None else ()
    if run.request.who not in may_skip:
        raise CannotRunError(
            "may-not-skip",
            f"`{run.request.who}` may not skip the proof",
            f"{plan_place(run.request.stacks)}: environment of {settings.stack}",
            f"`maySkip` names: {', '.join(may_skip) or 'nobody'}.",
            "ask one of these to run it, give your own name with `--as`, or wait for the proof.",
        )
    for problem in problems:
        run.say(f"{settings.stack}: skipped by {run.request.who}: {problem}")
    return replace(settings, values={**settings.values, ALLOW_UNPROVEN: run.request.skip})


def _prove(run: Promotion, settings: StackSettings, deployed_at: datetime) -> int:
    """Validate what is deployed and record the evidence; returns the validation's exit code."""
    stack = settings.stack
    run.say(f"{stack}: waiting until connectors and tasks run")
    deployment.wait_ready(settings, run.request.ready_seconds)
    # With options about Spark, the validation runs on this machine.
    if in_cluster(settings.validation) is not None and run.request.spark == SparkSettings():
        ends = await_jobs(settings, OpenStack(settings).flows, run.say)
        code = exit_code_of(_read(run, settings)[0], ends, run.say)
    else:
        code = _validate(run, settings)
    # The tool that applies the objects does not wait for the validation.
    if settings.by_gitops and (changed := against_applied(settings)):
        raise ReplicationError(changed)
    run.say(f"{stack}: recording the evidence")
    state, _ = _read(run, settings)
    if missing := [flow.name for flow in state.flows if flow.proof is None]:
        what = f"no verdict was published for {', '.join(missing) or 'any flow'}"
        why = "The job ended early, or could not write its ConfigMap in the flow's namespace."
        remedy = f"read its output above, fix the cause and run `{_again(run)}` again."
        raise CannotRunError("no-verdict", what, f"stack {stack}", why, remedy)
    evidence = evidence_of(state, run.request.who, deployed_at, settings.allow_unproven)
    _record(run, settings, evidence)
    if not code and (problems := reasons_against(state, model_digest(settings.topology))):
        raise ReplicationError(problems)
    return code


def _validate(run: Promotion, settings: StackSettings) -> int:
    """Run the job on this machine; returns its exit code."""
    run.say(f"{settings.stack}: validating")
    folder = stack_environment(settings).validation_folder
    job = ValidationRun(
        settings,
        folder / "report.json",
        publish=True,
        declared=settings.by_gitops,
        catch_up_seconds=run.request.catch_up_seconds,
        html=folder / "report.html",
        spark=run.request.spark,
    )
    return run_validation(job, run.console)


def _record_what_is_proven(
    run: Promotion, settings: StackSettings, state: StackState, earlier: Evidence | None
) -> None:
    """Report that there is nothing to do, and update the recorded evidence to the newest validation."""
    same = earlier is not None and earlier.model_digest == state.model_digest
    deployed_at = earlier.deployed_at if earlier is not None and same else state.changed_at
    reason = settings.allow_unproven or (earlier.allow_unproven if earlier is not None and same else None)
    evidence = evidence_of(state, run.request.who, deployed_at or datetime.now(UTC), reason)
    since = evidence.proven_since
    run.say(f"{settings.stack}: already runs this model, proven since {since:%Y-%m-%d %H:%M:%S %Z}; nothing to do")
    if earlier is None or replace(earlier, who=evidence.who) != evidence:
        run.say(f"{settings.stack}: recording the evidence")
        _record(run, settings, evidence)


def _record(run: Promotion, settings: StackSettings, evidence: Evidence) -> None:
    StackCluster(settings).record(evidence, run.plan.evidence_namespace)
    print_evidence(evidence, run.plan.evidence_namespace, run.console)
