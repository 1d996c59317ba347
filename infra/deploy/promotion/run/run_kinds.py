"""How a Job and a SparkApplication report their end, and how to run each once more. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from components.contract.wording import number
from components.flows.naming import validation_run_name
from components.render.validation_jobs import longest_seconds
from components.topology.in_cluster import InCluster, Workload
from infra.kubernetes.api import Reference
from infra.machine.waiting import NotYetError


@dataclass(frozen=True)
class SecretWrite:
    """When a Secret was last written."""

    secret: Reference
    at: datetime


@dataclass(frozen=True)
class JobEnd:
    """How the Job of a flow ended; `failure` is empty if it is complete, `started` None if it never started.

    It may be a SparkApplication. `secret` is the Secret of the flow that was written last.
    """

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
    for each in status.get("conditions") or ():
        if each["status"] == "True" and each["type"] in ("Complete", "Failed"):
            failed = each["type"] == "Failed"
            failure = f"{each.get('reason', 'Failed')}: {each.get('message', '')}".rstrip(": ") if failed else ""
            return JobEnd(job, _time(status.get("startTime")), failure)
    active, failed = (int(status.get(each) or 0) for each in ("active", "failed"))
    raise NotYetError(f"{job.name} has {number(active, 'active pod')} and {number(failed, 'failed pod')}")


def _end_of_application(job: Reference, status: Mapping[str, Any]) -> JobEnd:
    """The start is that of the last try. Source: Spark operator, api/v1beta2, SparkApplicationStatus."""
    found: Mapping[str, Any] = status.get("applicationState") or {}
    state, said = found.get("state") or "NEW", _first_error(found.get("errorMessage") or "")
    if state not in ("COMPLETED", "FAILED"):
        raise NotYetError(f"{job.name} is {state}: {said}".rstrip(": "))
    failure = f"{state}: {said}".rstrip(": ") if state == "FAILED" else ""
    return JobEnd(job, _time(status.get("lastSubmissionAttemptTime")), failure)


def _first_error(said: str) -> str:
    """One line of a message, which is all that spark-submit printed if the submission failed."""
    lines = [each.strip() for each in said.splitlines() if each.strip()]
    return next((each for each in lines if each.startswith("Exception in thread")), lines[0] if lines else "")


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
