"""A stack on the local stack that validates in its cluster, and what its Jobs leave there."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.components.contract.published_verdict import entries
from kafka_replication.components.contract.report import FlowOutcome
from kafka_replication.components.render.validation_jobs import API_VERSION
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.parts.operator import pods
from kafka_replication.infra.local.parts.processes import alive
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import StackSettings, read_settings, stack_file
from tests.local.flows import Deployed
from tests.repository import STACKS
from tests.spark.uncompiled import WITHOUT_COMPILING

STACK, FLOW = "local-pair", "depot"
NAMESPACE, EVIDENCE = f"mirror-{FLOW}", "depot-evidence"
VERDICT = Reference("v1", "ConfigMap", NAMESPACE, f"{FLOW}-validation")
CRON_JOB = Reference("batch/v1", "CronJob", NAMESPACE, f"{FLOW}-validation")
ASKED: dict[str, Any] = {
    "image": f"registry.example.com/validation@sha256:{'0' * 64}",
    "catchUpSeconds": 300,
    "retries": 0,
}
JOB_SECONDS = 900
#: It drops nothing: no record has such a header.
FILTER = {
    "type": "org.apache.kafka.connect.transforms.Filter",
    "predicate": {
        "type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        "config": {"name": "nobody-sets-this"},
    },
}


@dataclass(frozen=True)
class Promoted:
    """A stack that validates in its cluster, and what its promotion printed."""

    stacks: Path
    endpoints: Endpoints
    api: KubernetesApi
    code: int
    printed: str

    @property
    def settings(self) -> StackSettings:
        return read_settings(STACK, self.stacks)

    @property
    def deployed(self) -> Deployed:
        return Deployed(self.settings, self.endpoints)

    def edit_flow(self, **changes: Any) -> None:
        """Change the flow in the stack's topology."""
        file = self.stacks / "topologies" / f"{STACK}.yaml"
        topology = yaml.safe_load(file.read_text())
        topology["replications"][FLOW] |= changes
        file.write_text(yaml.safe_dump(topology))

    def verdict(self) -> dict[str, str]:
        found = self.api.get(VERDICT)
        return {} if found is None else entries(found)

    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.verdict()["report.json"]))

    def of_kind(self, api_version: str, kind: str) -> list[Object]:
        return self.api.list_all(api_version, kind, namespace=NAMESPACE)

    def job(self) -> Object:
        """The Job of the stack, without those that a CronJob made."""
        (job,) = [each for each in self.of_kind("batch/v1", "Job") if not each["metadata"].get("ownerReferences")]
        return job

    def application(self) -> Object:
        """The SparkApplication of the stack, without those that a ScheduledSparkApplication made."""
        every = self.of_kind(API_VERSION, "SparkApplication")
        (application,) = [each for each in every if not each["metadata"].get("ownerReferences")]
        return application

    def passwords(self) -> list[str]:
        """The values of its Secrets; at least one."""
        found = [
            base64.b64decode(value).decode()
            for each in self.of_kind("v1", "Secret")
            for key, value in each.get("data", {}).items()
            if "password" in key
        ]
        assert found
        return found

    def executors(self) -> list[Object]:
        selector = "app.kubernetes.io/component=validation-executor"
        return self.api.list_all("v1", "Pod", namespace=NAMESPACE, label_selector=selector)

    def running_executors(self, count: int) -> list[Object]:
        """The executor pods once `count` of them run; raises NotYetError until then."""
        found = self.executors()
        if len([each for each in found if each.get("status", {}).get("phase") == "Running"]) < count:
            raise NotYetError(f"{len(found)} pods; {self.job().get('status')}")
        return found

    def end_of(self, name: str) -> str:
        """`Complete` or `Failed`, and why."""

        def ended() -> str:
            live = self.api.get(Reference("batch/v1", "Job", NAMESPACE, name))
            status = (live or {}).get("status", {})
            for each in status.get("conditions", ()):
                if each["status"] == "True" and each["type"] in ("Complete", "Failed"):
                    return f"{each['type']} {each.get('reason', '')}"
            raise NotYetError(str(status))

        return wait_for(f"Job {name}", ended, JOB_SECONDS)


def configure(stacks: Path, **asked: Any) -> None:
    """Ask for the job in the cluster in the stack's file."""
    file = stack_file(STACK, STACKS)
    config = yaml.safe_load(file.read_text())
    config["config"]["replication:validation"] = {
        "inCluster": {**ASKED, **asked},
        "spark": {"conf": WITHOUT_COMPILING},
    }
    stack_file(STACK, stacks).write_text(yaml.safe_dump(config))


def log(pod: Object) -> str:
    """The log of a pod; it is deleted together with the pod."""
    name: str = pod["metadata"]["name"]
    return (paths.operator() / "pods" / NAMESPACE / name / "log").read_text()


def counted(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts without the duration, and without the compared topic ids, which a first verdict does not have."""
    return {key: value for key, value in counts.items() if key not in ("readSeconds", "topicIdsCompared")}


def expect_no_process() -> None:
    if left := [each.name for each in pods() if alive(each) and each.name.startswith(f"{NAMESPACE}/")]:
        raise NotYetError(str(left))


def expect_no_executor(promoted: Promoted) -> None:
    processes = [each.name for each in pods() if alive(each) and "-exec-" in each.name]
    if found := [*promoted.executors(), *processes]:
        raise NotYetError(str(found))


def expect_same_verdict(published: Mapping[str, Any], here: FlowOutcome, records: int) -> None:
    """Expect a published report and an outcome to have the same verdicts and counts, with so many source records."""
    assert {each["name"]: each["verdict"] for each in published["checks"]} == {
        check.name: check.verdict.value for check in here.checks
    }
    (parity,) = [each for each in published["checks"] if each["name"] == "parity"]
    (same,) = [check for check in here.checks if check.name == "parity"]
    assert counted(parity["counts"]) == counted(same.counts)
    assert counted(same.counts)["sourceRecords"] == records
