"""Waits for the Jobs, or SparkApplications, that validate a stack in its cluster, and reads how they ended."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.components.contract.report import EXIT_CODES, Verdict
from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.flows.naming import validation_run_name
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.validation_jobs import RUNS_ONCE, longest_seconds
from kafka_replication.components.topology.in_cluster import InCluster, Workload
from kafka_replication.infra.deploy.promotion.rule.rules import FlowState, StackState
from kafka_replication.infra.kubernetes.access import api_client, asking_kubernetes
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from kafka_replication.infra.kubernetes.managed_fields import newest_writer, owners
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.review.comparison import Comparison
from kafka_replication.infra.review.drift import CODE
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.review.object_changes import ChangeKind, ObjectChange
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.validation_job import in_cluster, stack_validation


@dataclass(frozen=True)
class SecretWrite:
    """When a Secret was last written."""

    secret: Reference
    at: datetime


@dataclass(frozen=True)
class JobEnd:
    """How a Job or SparkApplication ended: no `failure` if complete. `secret` is the flow's Secret written last."""

    job: Reference
    started: datetime | None
    failure: str = ""
    secret: SecretWrite | None = None


@dataclass(frozen=True)
class RunFacts:
    """What differs between the kinds of objects that run a validation.

    `end` reads a status and raises NotYetError before the end. `longest_seconds` is the longest time that all tries
    take together, and `unfinished` is why they may take longer. `logged` is the name for `kubectl logs`. `again` says
    how to run the object of a flow and a stack once more. `mutable`: an edit of the object runs it again, as edited.
    """

    end: Callable[[Reference, Mapping[str, Any]], JobEnd]
    longest_seconds: Callable[[InCluster], int]
    unfinished: str
    logged: str
    again: Callable[[Reference, str, str], str]
    mutable: bool


def _end_of_job(job: Reference, status: Mapping[str, Any]) -> JobEnd:
    for condition in status.get("conditions") or ():
        if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
            failure = f"{condition.get('reason', 'Failed')}: {condition.get('message', '')}".rstrip(": ")
            return JobEnd(job, _time(status.get("startTime")), failure if condition["type"] == "Failed" else "")
    active, failed = (int(status.get(field) or 0) for field in ("active", "failed"))
    raise NotYetError(f"{job.name} has {number(active, 'active pod')} and {number(failed, 'failed pod')}")


def _end_of_application(job: Reference, status: Mapping[str, Any]) -> JobEnd:
    """The start is that of the last try. Source: Spark operator, api/v1beta2, SparkApplicationStatus."""
    application: Mapping[str, Any] = status.get("applicationState") or {}
    state = application.get("state") or "NEW"
    # If the submission failed, the message is all that spark-submit printed.
    lines = [line.strip() for line in (application.get("errorMessage") or "").splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith("Exception in thread")), lines[0] if lines else "")
    if state not in ("COMPLETED", "FAILED"):
        raise NotYetError(f"{job.name} is {state}: {said}".rstrip(": "))
    failure = f"{state}: {said}".rstrip(": ") if state == "FAILED" else ""
    return JobEnd(job, _time(status.get("lastSubmissionAttemptTime")), failure)


def _time(written: str | None) -> datetime | None:
    return datetime.fromisoformat(written) if written else None


def _job_again(job: Reference, flow: str, _: str) -> str:
    cron_job = validation_run_name(flow)
    return f"`kubectl create job --namespace {job.namespace} --from=cronjob/{cron_job} {cron_job}-again`"


def _application_again(job: Reference, _: str, stack: str) -> str:
    """A ScheduledSparkApplication cannot be run before its time."""
    delete = f"kubectl delete sparkapplication --namespace {job.namespace} {job.name}"
    return f"`{delete}`, then `replicate up {stack} --refresh`"


RUNS: Mapping[Workload, RunFacts] = {
    Workload.JOB: RunFacts(
        _end_of_job,
        lambda asked: asked.deadline_seconds,
        "So kube-controller-manager is not running, or is late.",
        "job/{}",
        _job_again,
        mutable=False,
    ),
    Workload.SPARK_APPLICATION: RunFacts(
        _end_of_application,
        longest_seconds,
        "So the SparkApplication is suspended, no node accepts the driver's pod, or the Spark operator is not running "
        "or does not watch this namespace (`spark.jobNamespaces` of its chart).",
        "{}-driver",
        _application_again,
        mutable=True,
    ),
}


#: How long a controller may take to notice that a run has exceeded its deadline.
_NOTICED_SECONDS = 60


def await_jobs(
    settings: StackSettings, flows: Sequence[ResolvedFlow], say: Callable[[str], object]
) -> Mapping[str, JobEnd]:
    """Return how the Jobs for exactly these flows ended, by flow. Raises CannotRunError if one is missing or still
    runs.

    The name of a Job cannot depend on the contents of a Secret. So a deployment that changes nothing else keeps the
    earlier Job, which proves nothing about the new credentials.
    """
    asked = in_cluster(settings.validation)
    assert asked is not None, "the stack validates in its cluster"
    runs = RUNS[asked.workload]
    planned = stack_validation(settings, flows)
    wanted = {run.part: reference(run.manifest) for run in planned if run.kind in RUNS_ONCE}
    secrets = {
        flow.name: [reference(planned.manifest) for planned in deployment.objects if planned.kind == "Secret"]
        for deployment in deployments(flows)
        for flow in deployment.flows
    }
    ends: dict[str, JobEnd] = {}
    stack = settings.stack
    with asking_kubernetes(
        f"stack {stack}",
        f"Its {asked.workload}s show whether its flows are validated; one that started before a flow's Secrets were "
        "written does not count.",
        f"let your user get {asked.workload}s and Secrets of these namespaces.",
    ):
        api = api_client(settings, stack_environment(settings).kubernetes_access())

        def probe() -> None:
            for flow, job in wanted.items():
                if flow not in ends:
                    ends[flow] = _end(api, job, flow, stack)
                    say(f"{stack}: {job.name} {'failed' if ends[flow].failure else 'is complete'}")

        for job in wanted.values():
            say(f"{stack}: waiting for {asked.workload} {job.identifier}")
        try:
            wait_for(f"the {asked.workload}s to end", probe, runs.longest_seconds(asked) + _NOTICED_SECONDS)
        except DeadlineError as error:
            why = f"Each try must end by its deadline. {runs.unfinished}"
            remedy = (
                f"look at it with `kubectl describe {asked.workload.lower()}`, and run `replicate promote --to "
                f"{stack}` again."
            )
            raise CannotRunError("job-unfinished", error.what, f"stack {stack}", why, remedy) from error
        for flow, end in ends.items():
            bodies = ((secret, api.get(secret)) for secret in secrets[flow])
            writes = (SecretWrite(secret, _written(body)) for secret, body in bodies if body is not None)
            ends[flow] = replace(end, secret=max(writes, key=lambda write: write.at, default=None))
        return ends


def _written(body: Object) -> datetime:
    """Return when somebody last wrote the values of a Secret; a label of a backup tool does not count."""
    writers = [writer for field in ("data", "stringData") if (writer := newest_writer(body, field)) is not None]
    times = [writer.since for writer in writers or owners(body) if writer.since]
    return datetime.fromisoformat(max(times, default=body["metadata"]["creationTimestamp"]))


def _end(api: KubernetesApi, job: Reference, flow: str, stack: str) -> JobEnd:
    live = api.get(job)
    if live is None:
        what = f"there is no {job}"
        why = "Every deployment that changes the flow creates it, so somebody deleted it."
        remedy = f"`replicate up {stack} --refresh`, which creates it again, or let GitOps apply it again."
        raise CannotRunError("job-missing", what, f"stack {stack}", why, remedy)
    runs, metadata = RUNS[Workload(job.kind)], live.get("metadata") or {}
    if runs.mutable and metadata.get("generation", 1) > 1:
        # A deployment changes the name with the spec.
        what = f"somebody has edited the spec of {job} since it was created"
        why = "The operator runs the edited spec, so the verdict may not be about this deployment."
        remedy = f"run {runs.again(job, flow, stack)}, and `replicate promote --to {stack}` again."
        raise CannotRunError("job-edited", what, f"stack {stack}", why, remedy)
    if metadata.get("deletionTimestamp"):
        raise NotYetError(f"{job.name} is being deleted")
    return runs.end(job, live.get("status") or {})


def exit_code_of(state: StackState, ends: Mapping[str, JobEnd], say: Callable[[str], object]) -> int:
    """Return the exit code of a validation with these verdicts; says which checks did not pass.

    The verdicts are the newest: one that somebody published after the Job counts. Raises CannotRunError for a Job that
    published no verdict, or that started before a Secret was written if no validation has run since.
    """
    worst = 0
    for flow in state.flows:
        end, proof = ends.get(flow.name), flow.proof
        if end is not None and (proof is None or (end.failure and (end.started is None or proof.at < end.started))):
            raise _without_verdict(state.stack, flow, end)
        if end is not None and proof is not None and end.started is not None and end.secret is not None:
            write = end.secret
            if end.started < write.at and proof.at < write.at:
                raise _before_secret(state.stack, flow, end.job, write)
        if proof is None:
            continue
        for name, check in proof.checks.items():
            if check.verdict != Verdict.PASS:
                say(f"{state.stack}: {flow.name}: {name}: {check.verdict}, {check.summary}")
        worst = max(worst, EXIT_CODES[Verdict(proof.verdict)])
    return worst


def _without_verdict(stack: str, flow: FlowState, end: JobEnd) -> CannotRunError:
    job, runs = end.job, RUNS[Workload(end.job.kind)]
    return CannotRunError(
        "job-without-verdict",
        f"{job} published no verdict: {end.failure or 'there is no ConfigMap'}",
        f"stack {stack}, flow {flow.name}",
        "Its pod was not created, did not start, was killed, or is not allowed to write the ConfigMap.",
        f"read `kubectl describe {job.kind.lower()} {job.name}`, `kubectl describe pod` and `kubectl logs "
        f"{runs.logged.format(job.name)}` in namespace {flow.namespace}, fix the cause and run it again: "
        f"{runs.again(job, flow.name, stack)}, or `replicate validate {stack} --publish`.",
    )


def _before_secret(stack: str, flow: FlowState, job: Reference, write: SecretWrite) -> CannotRunError:
    return CannotRunError(
        "job-before-secret",
        f"{job} began before {write.secret} was written at "
        f"{write.at.isoformat(timespec='seconds')}, and nothing has validated the flow since",
        f"stack {stack}, flow {flow.name}",
        "A new credential changes no other object, so the deployment did not start a new run. It is unknown whether "
        "the flow can log in with it.",
        f"run {RUNS[Workload(job.kind)].again(job, flow.name, stack)}, or `replicate validate {stack} --publish`, then "
        f"`replicate promote --to {stack}` again.",
    )


#: Drift that is no difference between what was rendered and what is applied.
_NO_DIFFERENCE = frozenset(
    {
        # The validation judges whether the flow works.
        *("connector-failed", "connector-state", "connector-without-task", "not-ready"),
        *("validation-failed", "validation-unproven", "foreign-topic", "foreign-partitions"),
        # The missing objects are reported one by one.
        "deployment-incomplete",
        # Secrets are written by whatever manages the credentials, not by `replicate render`.
        "secret-written",
    }
)
#: Fields of a Secret that the topology names; its creator decides the rest.
_KEYS_OF_SECRET = "values"
_SHOWN = 3


def against_applied(settings: StackSettings) -> tuple[Problem, ...]:
    """Return every difference of the cluster from what is rendered; raises CannotRunError if it does not answer."""
    with OpenStack(settings) as opened:
        return tuple(sorted(differences(compare_with_cluster(opened))))


def differences(compared: Comparison) -> Iterator[Problem]:
    """Which differences from the cluster prevent a validation from proving this revision. Pure."""
    drift = [change for change in compared.drift if change.code not in _NO_DIFFERENCE]
    explained = {change.where for change in drift}
    undeleted = {change.flow for change in drift if change.code == CODE}
    remaining = (change for change in compared.objects if change.deployment not in undeleted)
    changes = [change for change in remaining if not _has_every_key(change)]
    unexplained = [change for change in changes if _named(change) not in explained]
    missing = [change for change in unexplained if change.change is ChangeKind.ADDED]
    again = f"wait until it is applied, and run `replicate promote --to {compared.stack}` again."
    where = f"stack {compared.stack}"
    if any(change.kind != "Secret" for change in missing) and len(missing) == len(changes) and not drift:
        what = f"the cluster lacks {_list(missing)}"
        why = "Nothing replicates without them, so nothing can be proven."
        remedy = f"commit what `replicate render {compared.stack} --out DIR` writes, {again}"
        yield Problem(where, "not-applied", what, why, remedy)
    elif unexplained and all(
        change.kind == "Secret" and change.change is not ChangeKind.REMOVED for change in unexplained
    ):
        yield Problem(
            where,
            "secret-not-applied",
            f"the cluster lacks Secrets, or keys in them: {_list(unexplained)}",
            "Connectors cannot log in without them, and `replicate render` does not write Secrets.",
            "create them with whatever manages your credentials: `required-secrets.yaml` of "
            f"`replicate render {compared.stack} --out DIR` lists their keys.",
        )
    elif unexplained:
        yield Problem(
            where,
            "other-revision-applied",
            f"the cluster differs from what this revision renders: {_list(unexplained)}",
            "A validation would prove what runs, but this revision declares something else.",
            f"commit what `replicate render {compared.stack} --out DIR` writes, {again} If the cluster is right, "
            "check out the revision that was applied.",
        )
    for edit in drift:
        by = f" (by {' at '.join(filter(None, (edit.by, edit.since)))})" if edit.by else ""
        place = f"{where}, {edit.where}"
        if edit.code == CODE:
            why = (
                "A validation of this revision does not check this replication, so it could pass although the "
                "replication still runs."
            )
            yield Problem(place, "not-deleted", edit.what, why, edit.remedy)
        else:
            why = "A validation would prove something that no revision declares."
            yield Problem(place, "applied-and-edited", f"{edit.code}: {edit.what}{by}", why, edit.remedy)


def _has_every_key(change: ObjectChange) -> bool:
    """Return whether it concerns a Secret that has every key, whatever else differs."""
    is_changed = change.kind == "Secret" and change.change is ChangeKind.CHANGED
    return is_changed and not any(field.path.startswith(_KEYS_OF_SECRET) for field in change.fields)


def _named(change: ObjectChange) -> str:
    return f"{change.kind} {'/'.join(filter(None, (change.namespace, change.name)))}"


def _list(changes: list[ObjectChange]) -> str:
    texts = []
    for change in changes:
        paths = ", ".join(f"`{field.path}`" for field in change.fields[:_SHOWN])
        more = " …" if len(change.fields) > _SHOWN else ""
        texts.append(f"{_named(change)} ({change.change}{': ' if paths else ''}{paths}{more})")
    return named(texts, _SHOWN)
