"""The validation job in the cluster, for real: the Job after a deployment, its rights, and its verdict.

kube-controller-manager makes the Pods of Job and CronJob; the stand-in for a kubelet runs them.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import FlowOutcome, Verdict
from kafka_replication.components.render.validation_jobs import API_VERSION
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.promotion.rule.plan import required_plan
from kafka_replication.infra.deploy.promotion.run import promotion
from kafka_replication.infra.deploy.promotion.run.jobs_in_cluster import await_jobs
from kafka_replication.infra.deploy.promotion.run.promotion import Promotion, PromotionRequest
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Reference
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.operator.worker_objects import cluster_entry
from kafka_replication.infra.local.parts.control_plane import kubeconfig
from kafka_replication.infra.local.parts.operator import pods
from kafka_replication.infra.local.parts.processes import alive
from kafka_replication.infra.local.traffic import create_topics, end_offsets, produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import read_settings
from tests.commits import commit
from tests.local.cluster_validation import (
    CRON_JOB,
    EVIDENCE,
    FILTER,
    FLOW,
    JOB_SECONDS,
    NAMESPACE,
    STACK,
    VERDICT,
    Promoted,
    configure,
    expect_no_executor,
    expect_no_process,
    expect_same_verdict,
    log,
)
from tests.local.flows import outcome_text, write_edited
from tests.local.spark_operator import SparkOperator
from tests.repository import STACKS

pytestmark = pytest.mark.usefixtures("stopped_programs")

RECORDS = 2000


def promote(stacks: Path) -> tuple[int, str]:
    out = io.StringIO()
    request = PromotionRequest(stacks, STACK, "tester")
    console = Console(file=out, highlight=False, width=200)
    return promotion.promote(Promotion(required_plan(stacks), request, console, lambda _: None)), out.getvalue()


@pytest.fixture(scope="module")
def promoted(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Promoted]:
    """A promoted flow with records and a group; the promotion fails if it runs Spark in this process."""
    stacks = tmp_path_factory.mktemp("stacks")
    example = yaml.safe_load((STACKS / "topologies" / "local.yaml").read_text())["replications"]["orders"]
    given = {**example, "topics": [FLOW], "groups": [f"{FLOW}-.*"]}
    write_edited(stacks, STACK, lambda topology: topology.update(replications={FLOW: given}))
    configure(stacks)
    plan = {"evidenceNamespace": EVIDENCE, "environments": [{"name": "local", "waves": [{"stacks": [STACK]}]}]}
    (stacks / "promotion.yaml").write_text(yaml.safe_dump(plan))
    source = endpoints.regions["useast"]
    create_topics(source, {FLOW: 2})
    produce(source, FLOW, RECORDS, seed=1)
    commit(source, f"{FLOW}-web", end_offsets(source, [FLOW]))
    with KubernetesApi(endpoints.kubeconfig, field_manager="tests") as api, pytest.MonkeyPatch.context() as patch:
        patch.setattr(promotion, "run_validation", lambda *_: pytest.fail("the promotion ran Spark itself"))
        try:
            code, printed = promote(stacks)
            yield Promoted(stacks, endpoints, api, code, printed)
        finally:
            deployment.destroy(read_settings(STACK, stacks), lambda _: None)


def test_a_promotion_takes_the_verdict_that_the_job_published(promoted: Promoted) -> None:
    job, verdict = promoted.job(), promoted.verdict()
    assert promoted.code == 0, promoted.printed
    assert f"{STACK}: {job['metadata']['name']} is complete" in promoted.printed, promoted.printed
    assert (verdict["verdict"], verdict["depth"]) == ("pass", "full")
    assert verdict["digest"] == job["metadata"]["annotations"]["kafka-replication/model-digest"]
    evidence = promoted.api.get(Reference("v1", "ConfigMap", EVIDENCE, f"promotion-{STACK}"))
    assert evidence is not None
    assert evidence["data"]["verdict"] == "pass"


def test_the_job_has_the_same_document_and_verdict_as_a_validation_in_this_process(
    promoted: Promoted, spark: SparkSession
) -> None:
    """In this process, Spark runs on local[2] and reads Secrets through the API; in the pod, they are files."""
    assert spark.sparkContext.master == "local[2]"
    names = [each["configMap"]["name"] for each in volumes(promoted) if "configMap" in each]
    (mounted,) = [promoted.api.get(Reference("v1", "ConfigMap", NAMESPACE, name)) for name in names]
    assert mounted is not None
    here = promoted.deployed.validate(FLOW, catch_up_seconds=300)
    published = promoted.report()
    assert json.loads(mounted["data"]["parameters.json"]) == promoted.deployed.document
    assert here.verdict is Verdict.PASS, outcome_text(here)
    expect_same_verdict(published, here, RECORDS)


def volumes(promoted: Promoted) -> list[Mapping[str, Any]]:
    return list(promoted.job()["spec"]["template"]["spec"]["volumes"])


def test_no_credential_stays_in_an_object_a_log_or_a_file(promoted: Promoted) -> None:
    folder = paths.operator() / "pods" / NAMESPACE
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert {each.name for each in files} == {"log"}
    shown = "".join(each.read_text() for each in files)
    shown += json.dumps([promoted.of_kind("batch/v1", "Job"), promoted.of_kind("v1", "Pod")])
    assert f"published configmap {NAMESPACE}/{FLOW}-validation" in shown
    assert [value for value in promoted.passwords() if value in shown] == []


@pytest.fixture
def job_account(promoted: Promoted, tmp_path: Path) -> Iterator[KubernetesApi]:
    """The API as the job's account."""
    token = promoted.api.service_account_token(NAMESPACE, f"{FLOW}-validation", 600)
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig(cluster_entry(promoted.endpoints.kubeconfig), "worker", token, namespace=NAMESPACE))
    with KubernetesApi(file, field_manager="job") as api:
        yield api


def test_the_job_may_read_its_connectors_and_its_verdict(job_account: KubernetesApi) -> None:
    assert job_account.get(VERDICT) is not None
    for role in ("source", "checkpoint", "heartbeat"):
        assert job_account.get(Reference("kafka.strimzi.io/v1", "KafkaConnector", NAMESPACE, f"{FLOW}-{role}"))


@pytest.mark.parametrize(
    ("kind", "namespace", "name"),
    [
        pytest.param("Secret", NAMESPACE, f"{FLOW}-source-validation", id="its own Secret, which it has as a file"),
        pytest.param("ConfigMap", NAMESPACE, f"{FLOW}-other", id="another ConfigMap"),
        pytest.param("ConfigMap", "default", f"{FLOW}-validation", id="another namespace"),
        pytest.param("Pod", NAMESPACE, f"{FLOW}-connect-0", id="a worker"),
    ],
)
def test_the_api_server_refuses_the_job_what_its_role_does_not_allow(
    job_account: KubernetesApi, kind: str, namespace: str, name: str
) -> None:
    with pytest.raises(ApiError, match="forbidden"):
        job_account.get(Reference("v1", kind, namespace, name))


def test_the_job_can_neither_write_nor_delete_anything_else(job_account: KubernetesApi, promoted: Promoted) -> None:
    """Not even under another name, although it may create its own verdict."""
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{FLOW}-other", "namespace": NAMESPACE}}
    for write in (job_account.apply, job_account.create):
        with pytest.raises(ApiError, match="forbidden"):
            write(other)
    for target in (VERDICT, Reference("kafka.strimzi.io/v1", "KafkaConnector", NAMESPACE, f"{FLOW}-source")):
        with pytest.raises(ApiError, match="forbidden"):
            job_account.delete(target)
    assert promoted.verdict()["verdict"] == "pass"


def test_a_promoted_stack_has_no_drift_and_nothing_left_to_deploy(promoted: Promoted) -> None:
    wait_for("no drift", promoted.deployed.expect_no_drift, JOB_SECONDS)
    assert set(deployment.preview(promoted.settings, lambda _: None)) == {"same"}
    code, printed = promote(promoted.stacks)
    assert code == 0
    assert "already runs this model" in printed


def test_the_cron_job_validates_incrementally_from_where_the_job_stopped(promoted: Promoted) -> None:
    """`kubectl create job --from=cronjob/depot-validation`, which is what its schedule does."""
    cron_job = promoted.api.get(CRON_JOB)
    assert cron_job is not None
    before = promoted.verdict()
    metadata = {"name": f"{FLOW}-validation-again", "namespace": NAMESPACE}
    spec = cron_job["spec"]["jobTemplate"]["spec"]
    promoted.api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    end = promoted.end_of(metadata["name"])
    verdict = promoted.verdict()
    promoted.api.delete(Reference("batch/v1", "Job", NAMESPACE, metadata["name"]))
    assert end.startswith("Complete")
    assert (verdict["verdict"], verdict["depth"]) == ("pass", "incremental")
    assert verdict["time"] > before["time"]
    assert verdict["passingSince"] == before["passingSince"]


def test_a_job_that_exceeds_its_deadline_is_ended_and_is_not_evidence(promoted: Promoted) -> None:
    """The earlier verdict is on the same model, but no validation has ended since."""
    before, verdict = promoted.job()["metadata"]["name"], promoted.verdict()
    configure(promoted.stacks, deadlineSeconds=5)
    with pytest.raises(CannotRunError) as refused:
        promote(promoted.stacks)
    assert refused.value.code == "job-without-verdict"
    assert "DeadlineExceeded" in refused.value.what
    assert promoted.job()["metadata"]["name"] != before, "a Job cannot be changed, so a change makes a new one"
    assert promoted.verdict() == verdict
    wait_for("the process to end", expect_no_process, JOB_SECONDS)


def test_a_deleted_job_is_reported_as_missing(promoted: Promoted) -> None:
    configure(promoted.stacks, readySeconds=601)
    deployment.up(promoted.settings, lambda _: None)
    job = promoted.job()["metadata"]["name"]

    def started() -> None:
        if not any(alive(each) and each.name.startswith(f"{NAMESPACE}/{job}") for each in pods()):
            raise NotYetError("no process")

    wait_for("the pod", started, JOB_SECONDS)
    promoted.api.delete(Reference("batch/v1", "Job", NAMESPACE, job))
    wait_for("the process to end", expect_no_process, JOB_SECONDS)
    with pytest.raises(CannotRunError, match="job-missing"):
        await_jobs(promoted.settings, [promoted.deployed.flow(FLOW)], lambda _: None)


@pytest.fixture(scope="module")
def validated_here(promoted: Promoted, spark: SparkSession) -> Callable[[], FlowOutcome]:
    """The validation of the flow with the filter in this process; it runs once."""
    assert spark.sparkContext.master == "local[2]"
    return cache(lambda: promoted.deployed.validate(FLOW, catch_up_seconds=300))


def test_executors_in_pods_give_the_same_verdict_and_leave_no_pod_behind(
    promoted: Promoted, validated_here: Callable[[], FlowOutcome]
) -> None:
    """Only Spark evaluates a filter, however few the records are, and such a driver itself runs no task."""
    promoted.edit_flow(transforms={"after": {"drop": FILTER}})
    configure(promoted.stacks, executors={"instances": 2, "memory": "512m", "cpu": "250m"})
    deployment.up(promoted.settings, lambda _: None)
    executors = wait_for("the executors", lambda: promoted.running_executors(2), JOB_SECONDS)
    shown = json.dumps(executors) + "".join(log(each) for each in executors)
    name = promoted.job()["metadata"]["name"]
    assert promoted.end_of(name).startswith("Complete"), promoted.verdict()
    assert [value for value in promoted.passwords() if value in shown] == []
    for each in executors:
        assert each["metadata"]["ownerReferences"][0]["name"].startswith(name), "they do not end with the driver"
        assert [mount["mountPath"] for mount in each["spec"]["containers"][0]["volumeMounts"]] == ["/tmp"]
        assert each["spec"]["automountServiceAccountToken"] is False
    wait_for("no executor", lambda: expect_no_executor(promoted), JOB_SECONDS)
    expect_same_verdict(promoted.report(), validated_here(), RECORDS)


def test_a_spark_application_gives_the_same_verdict_and_leaves_only_its_driver(
    promoted: Promoted, validated_here: Callable[[], FlowOutcome], tmp_path: Path
) -> None:
    """Spark's own submission makes the driver's pod, and the promotion takes the state that the operator writes."""
    promoted.edit_flow(transforms={"after": {"drop": FILTER}})
    configure(promoted.stacks, workload="SparkApplication", executors={"instances": 1, "memory": "512m"})
    before = promoted.job()["metadata"]["name"]
    with pytest.raises(CannotRunError, match="spark-operator-missing"):
        promote(promoted.stacks)
    assert promoted.job()["metadata"]["name"] == before, "it was refused too late"
    operator = SparkOperator(promoted.api, promoted.endpoints.kubeconfig, NAMESPACE, tmp_path)
    operator.install()
    with operator.running():
        code, printed = promote(promoted.stacks)
    assert code == 0, printed + json.dumps(promoted.application())
    assert f"{STACK}: {promoted.application()['metadata']['name']} is complete" in printed
    assert operator.executors, "the driver has read everything"
    expect_same_verdict(promoted.report(), validated_here(), RECORDS)
    wait_for("no executor", lambda: expect_no_executor(promoted), JOB_SECONDS)
    assert [promoted.of_kind("batch/v1", kind) for kind in ("Job", "CronJob")] == [[], []]
    driver = promoted.api.get(Reference("v1", "Pod", NAMESPACE, f"{promoted.application()['metadata']['name']}-driver"))
    assert driver is not None
    kept = [promoted.of_kind(*each) for each in ((API_VERSION, "SparkApplication"), ("v1", "Pod"), ("v1", "ConfigMap"))]
    shown = json.dumps([*operator.executors.values(), kept]) + log(driver)
    assert [value for value in promoted.passwords() if value in shown] == []
    assert all(each["spec"]["automountServiceAccountToken"] is False for each in operator.executors.values())
    wait_for("no drift", promoted.deployed.expect_no_drift, JOB_SECONDS)


def test_a_job_may_list_pods_for_its_executors_but_no_other_kind_or_namespace(job_account: KubernetesApi) -> None:
    assert job_account.list_all("v1", "Pod", namespace=NAMESPACE)
    others = [(kind, NAMESPACE) for kind in ("Secret", "ConfigMap", "Service", "PersistentVolumeClaim")]
    for kind, namespace in (*others, ("Pod", "default")):
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "other", "namespace": namespace}}
        for forbidden in (
            partial(job_account.list_all, "v1", kind, namespace=namespace),
            partial(job_account.create, body),
        ):
            with pytest.raises(ApiError, match="forbidden"):
                forbidden()
