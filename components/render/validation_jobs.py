"""The objects that run the validation job in the cluster: for each flow a Job, a CronJob, and everything they need.
They are in the flow's namespace, because a pod can mount only Secrets of its own namespace, and because the
verdict is kept there.

A stack may ask for a SparkApplication and a ScheduledSparkApplication of Kubeflow's Spark operator (API v1beta2)
instead of these two. The operator calls spark-submit in cluster mode. This creates the driver's pod from a template,
and the driver creates the executors' pods. The templates hold the settings for which the resource has no field, so
the operator's webhook does not have to change the pods.
Source: Spark operator 2.5, internal/controller/sparkapplication/submission.go; Spark 4.2, KubernetesDriverBuilder.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import FlowParameters, Parameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import config_map_name as verdict_name
from kafka_replication.components.contract.spark_conf import DRIVER_HEAP, NO_SETTINGS, SparkSettings
from kafka_replication.components.flows.naming import config_map_name, validation_job_name, validation_run_name
from kafka_replication.components.flows.operators import STRIMZI_GROUP
from kafka_replication.components.flows.resolved import ResolvedFlow, flow_digest
from kafka_replication.components.render import job_pods
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.job_parameters import job_parameters
from kafka_replication.components.render.planned_objects import (
    Manifest,
    ObjectRole,
    PlannedObject,
    access_manifests,
    manifest,
    rule,
)
from kafka_replication.components.topology.in_cluster import Executors, InCluster, Workload, heap_bytes
from kafka_replication.components.topology.workers import quantity_value

API_VERSION = "sparkoperator.k8s.io/v1beta2"
#: The Spark in the job's image.
SPARK_VERSION = "4.2.0"
#: The job in the image, where `spark/Dockerfile` puts it. Spark recognises Python by the file's name.
APPLICATION = "local:///opt/replication/validate.py"
#: Before each retry the operator waits this long, times the number of tries so far.
RETRY_SECONDS = 10
#: The operator looks for containers of these names.
_DRIVER, _EXECUTOR = "spark-kubernetes-driver", "spark-kubernetes-executor"
#: The resources that the fields `coreRequest`, `coreLimit` and `memory` set.
_IN_FIELDS = frozenset({"cpu", "memory"})


def application_spec(run: job_pods.JobRun) -> dict[str, Any]:
    """Return the spec of a SparkApplication."""
    asked = run.asked
    assert asked.executors is not None, "checked"
    return {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": SPARK_VERSION,
        "image": asked.image,
        **({"imagePullSecrets": [asked.image_pull_secret]} if asked.image_pull_secret else {}),
        "mainApplicationFile": APPLICATION,
        "arguments": job_pods.job_arguments(run),
        "sparkConf": {**run.spark.conf, **job_pods.GUARDED},
        # Otherwise Spark adds 40% to an executor's heap for Python, which no executor runs here.
        "memoryOverheadFactor": "0.1",
        "restartPolicy": _restart_policy(asked.retries),
        "driver": _driver(run, run.spark.driver_memory or DRIVER_HEAP),
        "executor": _executor(run.flow, asked, asked.executors),
    }


def scheduled_spec(run: job_pods.JobRun) -> dict[str, Any]:
    """Return the spec of a ScheduledSparkApplication."""
    return {
        **_schedule(run.asked),
        "successfulRunHistoryLimit": run.asked.history.successful,
        "failedRunHistoryLimit": run.asked.history.failed,
        "template": application_spec(run),
    }


def _schedule(asked: InCluster) -> dict[str, Any]:
    return {"schedule": asked.schedule, "timeZone": asked.time_zone, "concurrencyPolicy": "Forbid"}


def longest_seconds(asked: InCluster) -> int:
    """Return the longest time that all tries of a SparkApplication can take together: each has the whole deadline."""
    return (asked.retries + 1) * asked.deadline_seconds + sum(range(asked.retries + 1)) * RETRY_SECONDS


def _restart_policy(retries: int) -> dict[str, Any]:
    if not retries:
        return {"type": "Never"}
    return {
        "type": "OnFailure",
        "onFailureRetries": retries,
        "onFailureRetryInterval": RETRY_SECONDS,
        "onSubmissionFailureRetries": retries,
        "onSubmissionFailureRetryInterval": RETRY_SECONDS,
    }


def _driver(run: job_pods.JobRun, heap: str) -> Manifest:
    flow, asked = run.flow, run.asked
    requests, limits = asked.resources.requests, asked.resources.limits
    beside_heap = int((quantity_value(limits["memory"]) - heap_bytes(heap)) // 1024**2)
    mounts, volumes = job_pods.mounted(run, job_pods.LOCAL_VOLUME)
    others = [{key: value for key, value in side.items() if key not in _IN_FIELDS} for side in (requests, limits)]
    container = {
        "name": _DRIVER,
        "command": list(job_pods.DRIVER_COMMAND),
        "env": [job_pods.HOME],
        **({"resources": resources_left} if (resources_left := job_pods.resources(*others)) else {}),
    }
    # The resource has no field for a deadline, and names the Secret for the image's registry itself.
    spec = job_pods.restricted_pod(container, mounts, volumes, None, activeDeadlineSeconds=asked.deadline_seconds)
    return {
        # Without a request, Kubernetes would request the limit, and Spark would request a whole core.
        "coreRequest": str(requests.get("cpu", limits.get("cpu", 0))),
        **({"coreLimit": str(limits["cpu"])} if "cpu" in limits else {}),
        "memory": heap,
        "memoryOverhead": f"{beside_heap}m",
        "serviceAccount": validation_run_name(flow.name),
        "template": {"metadata": {"labels": job_pods.run_labels(flow.name)}, "spec": spec},
    }


def _executor(flow: FlowParameters, asked: InCluster, executors: Executors) -> Manifest:
    template: Mapping[str, Any] = job_pods.executor_template(flow.name, asked, _EXECUTOR)
    # The resource names this Secret for the driver and the executors.
    spec = {key: value for key, value in template["spec"].items() if key != "imagePullSecrets"}
    return {
        "instances": executors.instances,
        "cores": executors.cores,
        "memory": executors.memory,
        **({"coreRequest": str(executors.cpu)} if executors.cpu is not None else {}),
        # Otherwise Spark gives executors the driver's account.
        "serviceAccount": "default",
        "template": {"metadata": template["metadata"], "spec": spec},
    }


#: The annotation of a Job with the digest of the model that it validates.
MODEL_DIGEST = "kafka-replication/model-digest"
#: Kubernetes accepts 1 MiB of data in a ConfigMap.
_LARGEST = 1024 * 1024


def validation_objects(
    flows: Sequence[ResolvedFlow], stack: str, asked: InCluster | None, spark: SparkSettings = NO_SETTINGS
) -> tuple[PlannedObject, ...]:
    """Return what runs the validation of a stack's flows, if the stack asks for it; `spark` are its settings."""
    if asked is None or not flows:
        return ()
    document = job_parameters(stack, tuple(flows))
    planned_deployments = deployments(flows)
    beside = grouped(
        (deployment.flows[0].namespace, planned.manifest)
        for deployment in planned_deployments
        for planned in deployment.objects
    )
    return tuple(
        planned
        for deployment in planned_deployments
        for flow in deployment.flows
        for planned in flow_validation(flow, beside[flow.namespace], document, asked, spark)
    )


def flow_validation(
    flow: ResolvedFlow, deployed: Sequence[Manifest], document: Parameters, asked: InCluster, spark: SparkSettings
) -> Iterator[PlannedObject]:
    """Yield what validates one flow, in order; `deployed` are the objects that are deployed in its namespace."""
    name = validation_run_name(flow.name)
    (own,) = (parameters for parameters in document.flows if parameters.name == flow.name)
    parameters = _parameters(flow, document, asked)
    rules = [*_rules(own), *([job_pods.RULE] if asked.executors is not None else [])]
    runs = _runs(flow, deployed, job_pods.JobRun(own, parameters["metadata"]["name"], asked, spark, "full"))
    account = manifest("v1", "ServiceAccount", name, flow.namespace, flow.name)
    role, bound = access_manifests(name, flow.namespace, flow.name, rules, name)
    needed = (ObjectRole.VALIDATION_PARAMETERS, ObjectRole.POD_ACCOUNT, ObjectRole.POD_BINDING)
    for kind, body, after in (
        (ObjectRole.VALIDATION_PARAMETERS, parameters, ()),
        (ObjectRole.POD_ACCOUNT, account, ()),
        (ObjectRole.POD_ROLE, role, ()),
        (ObjectRole.POD_BINDING, bound, (ObjectRole.POD_ROLE, ObjectRole.POD_ACCOUNT)),
        *((role, body, needed) for role, body in runs),
    ):
        yield PlannedObject(kind, body, after=after, part=flow.name)


def _parameters(flow: ResolvedFlow, document: Parameters, asked: InCluster) -> Manifest:
    """Return the ConfigMap with the whole document, because the verdict on a flow also depends on the other flows."""
    data = {job_pods.PARAMETERS: json.dumps(document.document(), separators=(",", ":"))}
    if asked.executors is not None and asked.workload is Workload.JOB:
        data[job_pods.TEMPLATE] = json.dumps(job_pods.executor_template(flow.name, asked), separators=(",", ":"))
    if (size := sum(len(key) + len(value) for key, value in data.items())) > _LARGEST:
        raise CannotRunError(
            "parameters-too-large",
            f"the job's parameters for {len(document.flows)} flows have {size} bytes",
            "config.replication:validation.inCluster",
            f"The job reads them from a ConfigMap, which can hold at most {_LARGEST} bytes.",
            "deploy the topology with a stack for each region, or divide it into several topologies.",
        )
    name = config_map_name(flow.name, "validation-parameters", data)
    return manifest("v1", "ConfigMap", name, flow.namespace, flow.name, immutable=True, data=data)


def _rules(flow: FlowParameters) -> Iterator[dict[str, Any]]:
    """Yield what the job may do: read the flow's connectors, and apply its one verdict. Secrets are mounted."""
    kinds = grouped((connector.kind, connector.object_name) for connector in flow.connectors or ())
    for kind, names in kinds.items():
        yield rule(STRIMZI_GROUP, f"{kind.lower()}s", dict.fromkeys(names), "get")
    yield rule("", "configmaps", [verdict_name(flow.name)], "get", "create", "patch")


def _runs(
    flow: ResolvedFlow, deployed: Sequence[Manifest], full: job_pods.JobRun
) -> Iterator[tuple[ObjectRole, Manifest]]:
    """Yield the object that validates the flow after a deployment, and the one that does so between deployments."""
    once, scheduled = _KINDS[full.asked.workload]
    spec = once.spec(full)
    # Any change that a deployment makes in a namespace outdates the verdicts there, so each change needs new runs.
    content = json.dumps([flow_digest(flow), spec, deployed], sort_keys=True, separators=(",", ":"))
    name = validation_job_name(flow.name, content)
    run = manifest(once.api_version, once.kind, name, flow.namespace, flow.name, spec=spec)
    run["metadata"]["annotations"] = {MODEL_DIGEST: flow_digest(flow)}
    yield once.role, run
    spec = scheduled.spec(replace(full, depth="incremental"))
    name = validation_run_name(flow.name)
    yield scheduled.role, manifest(scheduled.api_version, scheduled.kind, name, flow.namespace, flow.name, spec=spec)


def _cron_job_spec(run: job_pods.JobRun) -> dict[str, Any]:
    return {
        **_schedule(run.asked),
        "successfulJobsHistoryLimit": run.asked.history.successful,
        "failedJobsHistoryLimit": run.asked.history.failed,
        "jobTemplate": {"metadata": {"labels": job_pods.run_labels(run.flow.name)}, "spec": _job_spec(run)},
    }


def _job_spec(run: job_pods.JobRun) -> dict[str, Any]:
    return {
        "backoffLimit": run.asked.retries,
        "activeDeadlineSeconds": run.asked.deadline_seconds,
        "template": {"metadata": {"labels": job_pods.run_labels(run.flow.name)}, "spec": job_pods.pod_spec(run)},
    }


@dataclass(frozen=True)
class _Kind:
    """A kind of object that runs the validation, and the function that returns its spec."""

    role: ObjectRole
    api_version: str
    kind: str
    spec: Callable[[job_pods.JobRun], dict[str, Any]]


#: Workload -> the kind that runs after a deployment, and the kind that runs between deployments.
_KINDS = {
    Workload.JOB: (
        _Kind(ObjectRole.VALIDATION_JOB, "batch/v1", "Job", _job_spec),
        _Kind(ObjectRole.VALIDATION_CRON_JOB, "batch/v1", "CronJob", _cron_job_spec),
    ),
    Workload.SPARK_APPLICATION: (
        _Kind(ObjectRole.SPARK_APPLICATION, API_VERSION, "SparkApplication", application_spec),
        _Kind(ObjectRole.SCHEDULED_SPARK_APPLICATION, API_VERSION, "ScheduledSparkApplication", scheduled_spec),
    ),
}
#: The kinds whose objects validate a flow once, after a deployment.
RUNS_ONCE = frozenset(once.kind for once, _ in _KINDS.values())
#: The API version of each kind.
VALIDATION_KINDS = {kind.kind: kind.api_version for kinds in _KINDS.values() for kind in kinds}
