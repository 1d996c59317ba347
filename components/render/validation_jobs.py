"""The objects that run the validation job in the cluster: for each flow a Job, a CronJob, and everything they need.

A stack may ask for a SparkApplication and a ScheduledSparkApplication of the Spark operator instead of these two.

They are in the flow's namespace, because a pod can mount only Secrets of its own namespace, and the verdict is there.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from components.contract.parameters import FlowParameters, Parameters
from components.contract.problems import CannotRunError
from components.contract.published_verdict import config_map_name as verdict_name
from components.contract.spark_conf import NO_SETTINGS, SparkSettings
from components.flows.digest import flow_digest
from components.flows.naming import config_map_name, validation_job_name, validation_run_name
from components.flows.resolved import ResolvedFlow
from components.render.deployments import deployments
from components.render.executor_pods import RULE, TEMPLATE, executor_template
from components.render.job_parameters import job_parameters
from components.render.job_pods import PARAMETERS, pod_spec
from components.render.planned_objects import Manifest, ObjectRole, PlannedObject, manifest
from components.render.spark_applications import API_VERSION as SPARK_OPERATOR
from components.render.spark_applications import application_spec, scheduled_spec
from components.render.validation_pods import run_labels
from components.topology.in_cluster import InCluster, Workload

#: The annotation of a Job with the digest of the model that it validates.
MODEL_DIGEST = "kafka-replication/model-digest"
#: Kubernetes accepts 1 MiB of data in a ConfigMap.
_LARGEST = 1024 * 1024
_RBAC = "rbac.authorization.k8s.io"
_PLURALS = {"KafkaConnector": "kafkaconnectors", "KafkaMirrorMaker2": "kafkamirrormaker2s"}


def validation_objects(
    flows: Sequence[ResolvedFlow], stack: str, asked: InCluster | None, spark: SparkSettings = NO_SETTINGS
) -> tuple[PlannedObject, ...]:
    """Return the objects that run the validation of a stack's flows; none unless the stack asks for them.

    `spark` holds the Spark settings of the job.
    """
    if asked is None or not flows:
        return ()
    document = job_parameters(stack, tuple(flows))
    found = deployments(flows)
    beside: dict[str, list[Manifest]] = {}
    for deployment in found:
        beside.setdefault(deployment.flows[0].namespace, []).extend(each.manifest for each in deployment.objects)
    return tuple(
        planned
        for deployment in found
        for flow in deployment.flows
        for planned in flow_validation(flow, beside[flow.namespace], document, asked, spark)
    )


def flow_validation(
    flow: ResolvedFlow, deployed: Sequence[Manifest], document: Parameters, asked: InCluster, spark: SparkSettings
) -> Iterator[PlannedObject]:
    """Yield the objects that validate one flow of the document, each after those that it needs.

    `deployed` are the objects that are deployed in its namespace.
    """
    name, namespace = validation_run_name(flow.name), flow.namespace
    (own,) = (each for each in document.flows if each.name == flow.name)
    parameters = _parameters(flow, document, asked)
    binding = {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    rules = [*_rules(own), *([RULE] if asked.executors is not None else [])]
    runs = _runs(flow, deployed, own, parameters["metadata"]["name"], asked, spark)
    account = manifest("v1", "ServiceAccount", name, namespace, flow.name)
    role = manifest(f"{_RBAC}/v1", "Role", name, namespace, flow.name, rules=rules)
    bound = manifest(f"{_RBAC}/v1", "RoleBinding", name, namespace, flow.name, **binding)
    needed = (ObjectRole.VALIDATION_PARAMETERS, ObjectRole.VALIDATION_ACCOUNT, ObjectRole.VALIDATION_BINDING)
    for kind, body, after in (
        (ObjectRole.VALIDATION_PARAMETERS, parameters, ()),
        (ObjectRole.VALIDATION_ACCOUNT, account, ()),
        (ObjectRole.VALIDATION_ROLE, role, ()),
        (ObjectRole.VALIDATION_BINDING, bound, (ObjectRole.VALIDATION_ROLE, ObjectRole.VALIDATION_ACCOUNT)),
        *((role, body, needed) for role, body in runs),
    ):
        yield PlannedObject(kind, body, after=after, part=flow.name)


def _parameters(flow: ResolvedFlow, document: Parameters, asked: InCluster) -> Manifest:
    """Return the ConfigMap with the whole document, because the verdict on a flow also depends on the other flows."""
    data = {PARAMETERS: json.dumps(document.document(), separators=(",", ":"))}
    if asked.executors is not None and asked.workload is Workload.JOB:
        data[TEMPLATE] = json.dumps(executor_template(flow.name, asked), separators=(",", ":"))
    if (size := sum(len(key) + len(value) for key, value in data.items())) > _LARGEST:
        raise _too_large(len(document.flows), size)
    name = config_map_name(flow.name, "validation-parameters", data)
    return manifest("v1", "ConfigMap", name, flow.namespace, flow.name, immutable=True, data=data)


def _too_large(flows: int, size: int) -> CannotRunError:
    return CannotRunError(
        "parameters-too-large",
        f"the job's parameters for {flows} flows have {size} bytes",
        "config.replication:validation.inCluster",
        f"The job reads them from a ConfigMap, which can hold at most {_LARGEST} bytes.",
        "deploy the topology with a stack for each region, or divide it into several topologies.",
    )


def _rules(flow: FlowParameters) -> Iterator[dict[str, Any]]:
    """Yield what the job may do: read the flow's connectors, and read and write its one verdict.

    The rule's name also limits creation, because the job applies the ConfigMap under its name. The job reads no Secret
    through the API: they are mounted. Executors need one more rule.
    """
    kinds: dict[str, list[str]] = {}
    for each in flow.connectors or ():
        names = kinds.setdefault(each.kind, [])
        if each.object_name not in names:
            names.append(each.object_name)
    for kind, names in kinds.items():
        yield {
            "apiGroups": ["kafka.strimzi.io"],
            "resources": [_PLURALS[kind]],
            "resourceNames": names,
            "verbs": ["get"],
        }
    yield {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [verdict_name(flow.name)],
        "verbs": ["get", "create", "patch"],
    }


def _runs(
    flow: ResolvedFlow,
    deployed: Sequence[Manifest],
    own: FlowParameters,
    parameters: str,
    asked: InCluster,
    spark: SparkSettings,
) -> Iterator[tuple[ObjectRole, Manifest]]:
    """Yield the object that validates the flow after a deployment, and the one that does so between deployments."""
    once, scheduled = _KINDS[asked.workload]
    spec = once.spec(own, parameters, asked, "full", spark)
    # Any change that a deployment makes in a namespace outdates the verdicts there, so each change needs new runs.
    content = json.dumps([flow_digest(flow), spec, deployed], sort_keys=True, separators=(",", ":"))
    name = validation_job_name(flow.name, content)
    run = manifest(once.api_version, once.kind, name, flow.namespace, flow.name, spec=spec)
    run["metadata"]["annotations"] = {MODEL_DIGEST: flow_digest(flow)}
    yield once.role, run
    spec = scheduled.spec(own, parameters, asked, "incremental", spark)
    name = validation_run_name(flow.name)
    yield scheduled.role, manifest(scheduled.api_version, scheduled.kind, name, flow.namespace, flow.name, spec=spec)


def _cron_job_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: SparkSettings
) -> dict[str, Any]:
    return {
        "schedule": asked.schedule,
        "timeZone": asked.time_zone,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": asked.history.successful,
        "failedJobsHistoryLimit": asked.history.failed,
        "jobTemplate": {
            "metadata": {"labels": run_labels(flow.name)},
            "spec": _job_spec(flow, parameters, asked, depth, spark),
        },
    }


def _job_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: SparkSettings
) -> dict[str, Any]:
    return {
        "backoffLimit": asked.retries,
        "activeDeadlineSeconds": asked.deadline_seconds,
        "template": {
            "metadata": {"labels": run_labels(flow.name)},
            "spec": pod_spec(flow, parameters, asked, depth, spark),
        },
    }


@dataclass(frozen=True)
class _Kind:
    """A kind of object that runs the validation, and the function that returns its spec."""

    role: ObjectRole
    api_version: str
    kind: str
    spec: Callable[[FlowParameters, str, InCluster, str, SparkSettings], dict[str, Any]]


#: Workload -> the kind that runs after a deployment, and the kind that runs between deployments.
_KINDS = {
    Workload.JOB: (
        _Kind(ObjectRole.VALIDATION_JOB, "batch/v1", "Job", _job_spec),
        _Kind(ObjectRole.VALIDATION_CRON_JOB, "batch/v1", "CronJob", _cron_job_spec),
    ),
    Workload.SPARK_APPLICATION: (
        _Kind(ObjectRole.SPARK_APPLICATION, SPARK_OPERATOR, "SparkApplication", application_spec),
        _Kind(ObjectRole.SCHEDULED_SPARK_APPLICATION, SPARK_OPERATOR, "ScheduledSparkApplication", scheduled_spec),
    ),
}
#: The kinds whose objects validate a flow once, after a deployment.
RUNS_ONCE = frozenset(once.kind for once, _ in _KINDS.values())
#: The API version of each kind.
VALIDATION_KINDS = {each.kind: each.api_version for kinds in _KINDS.values() for each in kinds}
