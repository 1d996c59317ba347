"""What runs the validation job in the cluster: for each flow a Job, a CronJob, and all that they need.

They are in the flow's namespace, because a pod mounts the Secrets of its own namespace only, and the verdict is there.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from components.contract.clusters import CertificateAuthentication, ClusterParameters, PasswordAuthentication
from components.contract.parameters import FlowParameters, Parameters
from components.contract.problems import CannotRunError
from components.contract.published_verdict import config_map_name as verdict_name
from components.flows.digest import flow_digest
from components.flows.naming import config_map_name, validation_job_name, validation_run_name
from components.flows.resolved import ResolvedFlow
from components.render.deployments import deployments
from components.render.executor_pods import OWN_POD, RULE, TEMPLATE, executor_arguments, executor_template
from components.render.job_parameters import job_parameters
from components.render.planned_objects import Manifest, ObjectRole, PlannedObject, manifest
from components.render.validation_pods import (
    COMMAND,
    CONTAINER_SECURITY,
    PARAMETERS_FOLDER,
    POD_SECURITY,
    VALIDATION,
    pull_secrets,
    run_labels,
)
from components.topology.in_cluster import InCluster

#: The annotation of a Job with the digest of the model that it validates.
MODEL_DIGEST = "kafka-replication/model-digest"
PARAMETERS = "parameters.json"
_SECRETS_FOLDER = "/etc/replication/secrets"
#: Kubernetes accepts 1 MiB of data in a ConfigMap.
_LARGEST = 1024 * 1024
_RBAC = "rbac.authorization.k8s.io"
_PLURALS = {"KafkaConnector": "kafkaconnectors", "KafkaMirrorMaker2": "kafkamirrormaker2s"}


def validation_objects(
    flows: Sequence[ResolvedFlow], stack: str, asked: InCluster | None, spark: Sequence[str] = ()
) -> tuple[PlannedObject, ...]:
    """Return the objects that run the validation of a stack's flows; none unless the stack asks for them.

    `spark` are arguments of the job about its Spark session.
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
    flow: ResolvedFlow, deployed: Sequence[Manifest], document: Parameters, asked: InCluster, spark: Sequence[str]
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
    job = _job(flow, deployed, own, parameters["metadata"]["name"], asked, spark)
    cron_job = _cron_job(flow, own, parameters["metadata"]["name"], asked, spark)
    account = manifest("v1", "ServiceAccount", name, namespace, flow.name)
    role = manifest(f"{_RBAC}/v1", "Role", name, namespace, flow.name, rules=rules)
    bound = manifest(f"{_RBAC}/v1", "RoleBinding", name, namespace, flow.name, **binding)
    needed = (ObjectRole.VALIDATION_PARAMETERS, ObjectRole.VALIDATION_ACCOUNT, ObjectRole.VALIDATION_BINDING)
    for kind, body, after in (
        (ObjectRole.VALIDATION_PARAMETERS, parameters, ()),
        (ObjectRole.VALIDATION_ACCOUNT, account, ()),
        (ObjectRole.VALIDATION_ROLE, role, ()),
        (ObjectRole.VALIDATION_BINDING, bound, (ObjectRole.VALIDATION_ROLE, ObjectRole.VALIDATION_ACCOUNT)),
        (ObjectRole.VALIDATION_JOB, job, needed),
        (ObjectRole.VALIDATION_CRON_JOB, cron_job, needed),
    ):
        yield PlannedObject(kind, body, after=after, part=flow.name)


def _parameters(flow: ResolvedFlow, document: Parameters, asked: InCluster) -> Manifest:
    """Return the ConfigMap with the whole document, because what a flow is judged by depends on the others, too."""
    data = {PARAMETERS: json.dumps(document.document(), separators=(",", ":"))}
    if asked.executors is not None:
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
        f"The job reads them from a ConfigMap, for which {_LARGEST} are the limit.",
        "deploy the topology with a stack for each region, or divide it into several topologies.",
    )


def _rules(flow: FlowParameters) -> Iterator[dict[str, Any]]:
    """Yield what the job may do: read the flow's connectors, and read and write its one verdict.

    The API server honours the name for a creation, too, because the job applies the ConfigMap under its name. The job
    reads no Secret: they are mounted. Executors need one more rule.
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


def _job(
    flow: ResolvedFlow,
    deployed: Sequence[Manifest],
    own: FlowParameters,
    parameters: str,
    asked: InCluster,
    spark: Sequence[str],
) -> Manifest:
    spec = _job_spec(own, parameters, asked, "full", spark)
    # Whatever a deployment changes in a namespace makes the verdicts there too old, so each change needs new Jobs.
    content = json.dumps([flow_digest(flow), spec, deployed], sort_keys=True, separators=(",", ":"))
    body = manifest("batch/v1", "Job", validation_job_name(flow.name, content), flow.namespace, flow.name, spec=spec)
    body["metadata"]["annotations"] = {MODEL_DIGEST: flow_digest(flow)}
    return body


def _cron_job(
    flow: ResolvedFlow, own: FlowParameters, parameters: str, asked: InCluster, spark: Sequence[str]
) -> Manifest:
    spec = {
        "schedule": asked.schedule,
        "timeZone": asked.time_zone,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": asked.history.successful,
        "failedJobsHistoryLimit": asked.history.failed,
        "jobTemplate": {
            "metadata": {"labels": run_labels(flow.name)},
            "spec": _job_spec(own, parameters, asked, "incremental", spark),
        },
    }
    return manifest("batch/v1", "CronJob", validation_run_name(flow.name), flow.namespace, flow.name, spec=spec)


def _job_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: Sequence[str]
) -> dict[str, Any]:
    return {
        "backoffLimit": asked.retries,
        "activeDeadlineSeconds": asked.deadline_seconds,
        "template": {
            "metadata": {"labels": run_labels(flow.name)},
            "spec": _pod_spec(flow, parameters, asked, depth, spark),
        },
    }


def _pod_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: Sequence[str]
) -> dict[str, Any]:
    secrets = _mounted_secrets(flow)
    arguments = [
        *("--parameters", f"{PARAMETERS_FOLDER}/{PARAMETERS}"),
        *(("--secrets", _SECRETS_FOLDER) if secrets else ()),
        *("--flow", flow.name),
        *("--depth", depth),
        "--publish",
        f"--ready-seconds={asked.ready_seconds}",
        f"--catch-up-seconds={asked.catch_up_seconds}",
        *spark,
        *(executor_arguments(flow.namespace, asked.image, asked.executors) if asked.executors else ()),
    ]
    mounts = [
        {"name": "parameters", "mountPath": PARAMETERS_FOLDER, "readOnly": True},
        *([{"name": "secrets", "mountPath": _SECRETS_FOLDER, "readOnly": True}] if secrets else []),
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    volumes = [
        {"name": "parameters", "configMap": {"name": parameters}},
        *([{"name": "secrets", "projected": {"sources": secrets}}] if secrets else []),
        {"name": "tmp", "emptyDir": {}},
    ]
    container = {
        "name": VALIDATION,
        "image": asked.image,
        "command": list(COMMAND),
        "args": arguments,
        # The root file system is read-only.
        "env": [
            {"name": "HOME", "value": "/tmp"},
            {"name": "SPARK_LOCAL_DIRS", "value": "/tmp"},
            *(OWN_POD if asked.executors else ()),
        ],
        "resources": {
            kind: {key: str(value) for key, value in values.items()}
            for kind, values in (("requests", asked.resources.requests), ("limits", asked.resources.limits))
            if values
        },
        "securityContext": CONTAINER_SECURITY,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    return {
        "serviceAccountName": validation_run_name(flow.name),
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        **pull_secrets(asked.image_pull_secret),
        "containers": [container],
        "volumes": volumes,
    }


def _mounted_secrets(flow: FlowParameters) -> list[dict[str, Any]]:
    """Return the sources of a volume with exactly the keys that the job reads, at NAMESPACE/NAME/KEY."""
    keys: dict[tuple[str, str], set[str]] = {}
    for cluster in (flow.source, flow.target):
        for secret in _secrets(cluster):
            keys.setdefault((secret.namespace, secret.name), set()).add(secret.key)
    return [
        {"secret": {"name": name, "items": [{"key": key, "path": f"{namespace}/{name}/{key}"} for key in sorted(each)]}}
        for (namespace, name), each in sorted(keys.items())
    ]


def _secrets(cluster: ClusterParameters) -> Iterator[Any]:
    references = []
    if cluster.trust is not None:
        references += [cluster.trust.certificates, cluster.trust.password]
    match cluster.authentication:
        case PasswordAuthentication(password=password):
            references.append(password)
        case CertificateAuthentication(certificate=certificate, key=key):
            references += [certificate, key]
    yield from (each.secret for each in references if each is not None and each.secret is not None)
