"""A promotion that takes the verdict of the Job in the cluster: when it is enough, and what
is reported if it is not."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult, FlowState, StackState
from kafka_replication.infra.deploy.promotion.run import jobs_in_cluster
from kafka_replication.infra.deploy.promotion.run import promotion as run
from kafka_replication.infra.deploy.promotion.run.jobs_in_cluster import JobEnd, SecretWrite, await_jobs, exit_code_of
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.deploy.promotion.states import NOON, a_proof
from tests.infra.deploy.promotion.world import World
from tests.infra.stacks import write_stack

JOB = Reference("batch/v1", "Job", "mirror-orders", "orders-validation-0123456789")
IMAGE = f"registry.example.com/validation@sha256:{'0' * 64}"
NOTHING: Mapping[str, Object] = {}
CONFIGURED = a_topology(
    a_flow(),
    clusters={
        "useast": a_cluster(
            authentication={"type": "scram-sha-512", "username": "mirror", "password": {"config": "useastPassword"}}
        ),
        "uswest": a_cluster("us-west-2"),
    },
)
KILLED = JobEnd(JOB, NOON, "DeadlineExceeded: Job was active longer than specified deadline")


def a_job(*conditions: tuple[str, str, str]) -> Object:
    found = [
        {"type": kind, "status": status, "reason": reason, "message": "said"} for kind, status, reason in conditions
    ]
    return {"status": {"startTime": "2026-01-31T12:00:00Z", "active": 1, "failed": 2, "conditions": found}}


class Answers:
    """The API of a cluster that has one Job; `asked` are the names of the Jobs that were asked for."""

    def __init__(self, job: Object | None, secrets: Mapping[str, Object]) -> None:
        self.job, self.secrets, self.asked = job, secrets, list[str]()

    def get(self, target: Reference) -> Object | None:
        if target.kind == "Secret":
            return self.secrets.get(target.name)
        self.asked.append(target.name)
        return self.job


def a_secret(**fields_written: str) -> Object:
    """A Secret whose fields were written at these times of the day."""
    fields = [
        {"manager": f"m-{field}", "time": f"2026-03-04T{each}:00Z", "fieldsV1": {f"f:{field}": {}}}
        for field, each in fields_written.items()
    ]
    return {"metadata": {"creationTimestamp": "2026-03-04T10:00:00Z", "managedFields": fields}}


def waited(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    job: Object | None,
    secrets: Mapping[str, Object] = NOTHING,
    **asked: Any,
) -> tuple[Mapping[str, JobEnd], Answers]:
    """What a promotion learns by asking once."""
    validation = {"inCluster": {"image": IMAGE, **asked}}
    stacks = write_stack(folder, CONFIGURED, useastPassword={"secure": "v1:unread"}, validation=validation)
    settings, answers = read_settings("test", stacks), Answers(job, secrets)

    def once(what: str, probe: Any, deadline_seconds: float, **_: Any) -> None:
        # The deadline of a SparkApplication allows for a second try, which starts after 10 s.
        assert deadline_seconds == (7270 if asked else 3660)
        wait_for(what, probe, 0)

    monkeypatch.setattr(jobs_in_cluster, "api_client", lambda *_: cast(KubernetesApi, answers))
    monkeypatch.setattr(jobs_in_cluster, "wait_for", once)
    return await_jobs(settings, OpenStack(settings).flows, lambda _: None), answers


def test_the_job_of_exactly_this_model_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, answers = waited(tmp_path, monkeypatch, a_job(("SuccessCriteriaMet", "True", ""), ("Complete", "True", "")))
    (end,) = found.values()
    assert (end.failure, end.started is not None) == ("", True)
    assert answers.asked == [end.job.name]
    assert end.job.name.startswith("orders-validation-")


def test_a_failed_job_is_reported_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = waited(tmp_path, monkeypatch, a_job(("Failed", "True", "BackoffLimitExceeded")))
    assert [each.failure for each in found.values()] == ["BackoffLimitExceeded: said"]


@pytest.mark.parametrize(
    ("job", "code", "said"),
    [
        pytest.param(None, "job-missing", "there is no Job mirror-orders/orders-validation-", id="deleted"),
        pytest.param(a_job(), "job-unfinished", "1 active pod and 2 failed pods", id="runs"),
        pytest.param(a_job(("Complete", "False", "")), "job-unfinished", "1 active pod", id="not complete"),
    ],
)
def test_a_missing_or_unfinished_job_is_not_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Object | None, code: str, said: str
) -> None:
    with pytest.raises(CannotRunError, match=said) as refused:
        waited(tmp_path, monkeypatch, job)
    assert refused.value.code == code


def an_application(state: str, said: str = "", **metadata: Any) -> Object:
    found = {"state": state, "errorMessage": said}
    status = {"lastSubmissionAttemptTime": "2026-03-04T12:00:00Z", "applicationState": found}
    return {"metadata": {"generation": 1, **metadata}, "status": status}


def test_the_application_of_exactly_this_model_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, answers = waited(
        tmp_path, monkeypatch, an_application("COMPLETED"), workload="SparkApplication", executors={}
    )
    (end,) = found.values()
    assert (end.failure, end.started, end.job.kind) == ("", NOON, "SparkApplication")
    assert answers.asked == [end.job.name]


def test_a_failed_application_is_reported_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "driver container failed with ExitCode: 1, Reason: Error"
    live = an_application("FAILED", said)
    found, _ = waited(tmp_path, monkeypatch, live, workload="SparkApplication", executors={})
    assert [each.failure for each in found.values()] == [f"FAILED: {said}"]


@pytest.mark.parametrize(
    ("application", "code", "said"),
    [
        pytest.param(None, "job-missing", "there is no SparkApplication mirror-orders/orders-vali", id="deleted"),
        pytest.param({}, "job-unfinished", "orders-validation-[0-9a-f]{10} is NEW", id="not yet seen by the operator"),
        pytest.param(an_application("RUNNING"), "job-unfinished", "is RUNNING", id="runs"),
        pytest.param(an_application("FAILING", "x"), "job-unfinished", "is FAILING: x", id="will be tried again"),
        pytest.param(an_application("SUBMISSION_FAILED"), "job-unfinished", "is SUBMISSION_FAILED", id="not submitted"),
        pytest.param(an_application("SUSPENDED"), "job-unfinished", "is SUSPENDED", id="suspended"),
        pytest.param(
            an_application("COMPLETED", deletionTimestamp="2026-03-04T12:00:00Z"),
            "job-unfinished",
            "is being deleted",
            id="being deleted",
        ),
        # The spec may be as declared again, but the run that ended used the edited spec.
        pytest.param(an_application("COMPLETED", generation=2), "job-edited", "edited the spec of Spark", id="edited"),
    ],
)
def test_a_missing_unfinished_or_edited_application_is_not_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, application: Object | None, code: str, said: str
) -> None:
    with pytest.raises(CannotRunError, match=said) as refused:
        waited(tmp_path, monkeypatch, application, workload="SparkApplication", executors={})
    assert refused.value.code == code


def test_a_failed_submission_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's message is everything that spark-submit printed."""
    said = '26/11/24 WARN Utils: x\n\nException in thread "main" java.lang.Error: no\n\tat org.apache.Spark'
    live = an_application("FAILED", said)
    found, _ = waited(tmp_path, monkeypatch, live, workload="SparkApplication", executors={})
    assert [each.failure for each in found.values()] == ['FAILED: Exception in thread "main" java.lang.Error: no']


def test_the_remedy_for_a_killed_application_says_how_to_run_it_again() -> None:
    application = replace(KILLED, job=Reference("a/v1", "SparkApplication", "mirror-orders", "orders-validation-01"))
    with pytest.raises(CannotRunError) as refused:
        exit_code_of(state(), {"orders": application}, lambda _: None)
    assert refused.value.code == "job-without-verdict"
    assert "read `kubectl describe sparkapplication orders-validation-01`, " in refused.value.remedy
    assert "`kubectl logs orders-validation-01-driver`" in refused.value.remedy
    again = "kubectl delete sparkapplication --namespace mirror-orders orders-validation-01"
    assert f"run it again: `{again}`, then `replicate up one --refresh`, or" in refused.value.remedy


def state(**flow: Any) -> StackState:
    return StackState("one", "sha256:aa", (FlowState("orders", "mirror-orders", "sha256:aa", **flow),))


@pytest.mark.parametrize(
    ("verdict", "code", "said"),
    [
        ("pass", 0, []),
        ("fail", 1, ["one: orders: parity: fail, 3 of 4"]),
        ("error", 2, ["one: orders: parity: error, 3 of 4"]),
    ],
)
def test_the_newest_verdict_counts_and_its_failed_checks_are_printed(verdict: str, code: int, said: list[str]) -> None:
    checks = {"parity": CheckResult(verdict, "3 of 4"), "heartbeats": CheckResult("pass", "arrive")}
    proof, heard = replace(a_proof(verdict=verdict), checks=checks), list[str]()
    end = JobEnd(JOB, proof.at, "BackoffLimitExceeded" if code else "")
    assert exit_code_of(state(proof=proof), {"orders": end}, heard.append) == code
    assert heard == said


def test_a_verdict_older_than_a_killed_job_does_not_count() -> None:
    with pytest.raises(CannotRunError) as refused:
        exit_code_of(state(proof=replace(a_proof(), at=NOON.replace(hour=11))), {"orders": KILLED}, lambda _: None)
    assert refused.value.code == "job-without-verdict"
    assert "published no verdict: DeadlineExceeded" in refused.value.what
    assert "`kubectl create job --namespace mirror-orders --from=cronjob/orders-validation " in refused.value.remedy


def test_a_verdict_newer_than_a_killed_job_counts() -> None:
    """Somebody fixed the cause, and the CronJob has validated the flow since."""
    later = replace(a_proof(), at=NOON.replace(hour=13))
    assert exit_code_of(state(proof=later), {"orders": KILLED}, lambda _: None) == 0


def test_a_job_that_published_no_verdict_is_not_evidence() -> None:
    with pytest.raises(CannotRunError, match=r"job-without-verdict: .*there is no ConfigMap"):
        exit_code_of(state(), {"orders": JobEnd(JOB, NOON)}, lambda _: None)


def test_the_secret_that_was_written_last_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, names = a_job(("Complete", "True", "")), ["orders-source-credentials", "orders-other"]
    secrets = {names[0]: a_secret(data="11:00", stringData="12:30"), names[1]: a_secret(data="13:00")}
    (end,) = waited(tmp_path, monkeypatch, job, secrets)[0].values()
    assert end.secret == SecretWrite(Reference("v1", "Secret", "mirror-orders", names[0]), NOON.replace(minute=30))


@pytest.mark.parametrize(
    ("secret", "hour"),
    [
        pytest.param(a_secret(data="11:00", metadata="13:00"), 11, id="a label is no credential"),
        pytest.param(a_secret(metadata="13:00"), 13, id="no writer of the values is recorded"),
        pytest.param(a_secret(), 10, id="no writer is recorded at all"),
    ],
)
def test_a_secret_is_dated_by_the_last_write_of_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: Object, hour: int
) -> None:
    job, secrets = a_job(("Complete", "True", "")), {"orders-source-credentials": secret}
    (end,) = waited(tmp_path, monkeypatch, job, secrets)[0].values()
    assert end.secret is not None
    assert end.secret.at == NOON.replace(hour=hour)


def test_a_job_from_before_a_new_credential_proves_nothing() -> None:
    """A rotated password makes no new Job, because nothing else changes."""
    write = SecretWrite(Reference("v1", "Secret", "mirror-orders", "orders-source-credentials"), NOON.replace(hour=13))
    end, proof = JobEnd(JOB, NOON, secret=write), a_proof()
    with pytest.raises(CannotRunError) as refused:
        exit_code_of(state(proof=replace(proof, at=NOON.replace(minute=1))), {"orders": end}, lambda _: None)
    assert refused.value.code == "job-before-secret"
    assert "began before Secret mirror-orders/orders-source-credentials was written at" in refused.value.what
    since = state(proof=replace(proof, at=write.at))
    assert exit_code_of(since, {"orders": end}, lambda _: None) == 0, "somebody has validated it since"
    earlier = replace(end, secret=replace(write, at=NOON))
    assert exit_code_of(state(proof=replace(proof, at=NOON)), {"orders": earlier}, lambda _: None) == 0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose first stack validates in its cluster, with a Job that passes a minute after the deployment."""
    world = World(tmp_path, monkeypatch)
    world.configure("one", validation=cast(str, {"inCluster": {"image": IMAGE}}))

    def jobs(settings: StackSettings, *_: Any) -> Mapping[str, JobEnd]:
        world.log.append(f"await {settings.stack}")
        world.publish(settings.stack, "fail" if world.exit_code else "pass")
        return {"orders": JobEnd(JOB, world.now, "BackoffLimitExceeded" if world.exit_code else "")}

    monkeypatch.setattr(run, "await_jobs", jobs)
    return world


def test_a_promotion_takes_the_verdict_of_the_job(world: World) -> None:
    assert world.promote() == 0
    assert world.log[:4] == ["ask one", "up one", "wait one", "await one"]
    assert world.log[-1] == "validate two", "the second stack does not validate in its cluster"
    evidence = world.stacks["one"].evidence
    assert evidence is not None
    assert evidence.verdict == "pass"


def test_a_job_that_does_not_pass_stops_the_promotion(world: World) -> None:
    world.exit_code = 1
    assert world.promote() == 1
    assert world.log[-1] == "await one"
    assert "one: orders: parity: fail, 3 of 3" in world.printed.getvalue()


def test_a_job_from_before_a_manual_edit_proves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """No deployment has made a new Job since."""

    def jobs(*_: Any) -> Mapping[str, JobEnd]:
        world.publish("one")
        world.edit_by_hand("one")
        return {"orders": JobEnd(JOB, NOON)}

    monkeypatch.setattr(run, "await_jobs", jobs)
    with pytest.raises(ReplicationError, match="predecessor-stale"):
        world.promote("one")


def test_a_spark_option_makes_promote_validate_from_this_machine(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PromotionRequest", partial(run.PromotionRequest, spark=SparkSettings(master="local[2]")))
    assert world.promote("one") == 0
    assert world.log[-1] == "validate one"
