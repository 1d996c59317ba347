"""The objects that run `replicate exporter` for a stack in its cluster: a Deployment, and what it may read.

Its pod has a service account that is bound to a Role in each namespace of the stack. With that it asks what `status`
and `diff --against cluster` ask. It gets only the Secrets that it needs, by name, and lists none.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_replication.components.contract.exported_series import ADDRESS, ALIVE, READY
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.flows.naming import config_map_name
from kafka_replication.components.flows.operators import STRIMZI_GROUP
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.replication_policy import SIDES
from kafka_replication.components.render import job_pods
from kafka_replication.components.render.job_parameters import connector_login, flow_parameters, keeper_login
from kafka_replication.components.render.monitoring import API_VERSION as MONITORING_API
from kafka_replication.components.render.planned_objects import (
    Manifest,
    ObjectRole,
    PlannedObject,
    access_manifests,
    manifest,
    rule,
)
from kafka_replication.components.render.validation_jobs import VALIDATION_KINDS
from kafka_replication.components.topology.in_cluster import Exporter, InCluster
from kafka_replication.components.topology.model import MonitoringSettings

#: Where the project's files are in the pod.
FOLDER = "/etc/replication/project"
PORT = int(ADDRESS.rpartition(":")[2])
_PORT_NAME = "metrics"
_RBAC = "rbac.authorization.k8s.io/v1"
#: The kinds that a comparison with the cluster lists, besides Secrets.
COMPARED_KINDS = {
    **dict.fromkeys(("Namespace", "ConfigMap", "ResourceQuota", "LimitRange"), "v1"),
    **dict.fromkeys(("Role", "RoleBinding"), _RBAC),
}
STRIMZI_KINDS = ("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "KafkaUser")
#: Those that it lists only if the stack declares them.
OPTIONAL_KINDS = {
    **dict.fromkeys(("PodMonitor", "PrometheusRule"), MONITORING_API),
    **dict.fromkeys(("ServiceAccount", "Service"), "v1"),
    "Deployment": "apps/v1",
    **VALIDATION_KINDS,
}


def exporter_name(stack: str) -> str:
    """Return the name of a stack's exporter. A stack can have a name that Kubernetes does not allow."""
    legal = re.sub("[^a-z0-9-]", "-", stack.lower()).strip("-")
    # Two stacks whose names differ only in such characters get two names.
    digest = "" if legal == stack else f"-{hashlib.sha256(stack.encode()).hexdigest()[:6]}"
    return f"replicate-{job_pods.EXPORTER}-{legal}{digest}"


def exporter_objects(
    stack: str,
    flows: Sequence[ResolvedFlow],
    asked: InCluster,
    monitoring: MonitoringSettings | None,
    files: Mapping[str, str],
    others: Sequence[PlannedObject],
) -> tuple[PlannedObject, ...]:
    """Return what runs the exporter of a checked stack. `files` are its project's, by path; `others` are all other
    objects of the stack, with which it compares the cluster.
    """
    exporter = asked.exporter
    namespace = (exporter and exporter.namespace) or (monitoring and monitoring.namespace) or None
    if exporter is None or namespace is None or not flows:
        return ()
    name = exporter_name(stack)
    data = {re.sub(r"[^-.\w]", "_", path, flags=re.ASCII): text for path, text in files.items()}
    config_map = config_map_name(name, "project", data)
    labels = job_pods.run_labels(name, job_pods.EXPORTER)

    def made(api_version: str, kind: str, named: str = name, **body: Any) -> Manifest:
        return manifest(api_version, kind, named, namespace, name, **body)

    mounted: list[Manifest] = [
        {"name": "project", "mountPath": FOLDER, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    items = [{"key": key, "path": path} for key, path in zip(data, files, strict=True)]
    volumes: list[Manifest] = [
        {"name": "project", "configMap": {"name": config_map, "items": items}},
        {"name": "tmp", "emptyDir": {}},
    ]
    pod = job_pods.restricted_pod(
        _container(stack, asked.image, exporter), mounted, volumes, asked.image_pull_secret, serviceAccountName=name
    )
    ports = [{"name": _PORT_NAME, "port": PORT, "targetPort": _PORT_NAME}]
    deployment = {
        "replicas": 1,
        # Two exporters at the same time would count everything twice.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
    }
    before = [
        PlannedObject(ObjectRole.EXPORTER_PROJECT, made("v1", "ConfigMap", config_map, immutable=True, data=data)),
        PlannedObject(ObjectRole.POD_ACCOUNT, made("v1", "ServiceAccount")),
        PlannedObject(ObjectRole.EXPORTER_SERVICE, made("v1", "Service", spec={"selector": labels, "ports": ports})),
        *_pod_monitor(name, namespace, labels, monitoring),
    ]
    needed = (ObjectRole.EXPORTER_PROJECT, ObjectRole.POD_ACCOUNT, ObjectRole.POD_BINDING)
    run = PlannedObject(ObjectRole.EXPORTER, made("apps/v1", "Deployment", spec=deployment), after=needed)
    manifests = [planned.manifest for planned in (*others, *before, run)]
    return (*before, *_access(name, namespace, flows, manifests, keeps=exporter.keep), run)


def _container(stack: str, image: str, exporter: Exporter) -> Manifest:
    return {
        "name": job_pods.EXPORTER,
        "image": image,
        "command": list(job_pods.EXPORTER_COMMAND),
        "args": [
            *("--project", FOLDER, job_pods.EXPORTER, stack, f"--listen=$(POD_IP):{PORT}"),
            *(f"--every={exporter.every_seconds}", f"--worst={exporter.worst}"),
            *(["--keep"] if exporter.keep else []),
        ],
        "env": [job_pods.HOME, job_pods.POD_IP],
        "ports": [{"name": _PORT_NAME, "containerPort": PORT}],
        "livenessProbe": _probe(ALIVE, failures=6),
        "readinessProbe": _probe(READY, failures=1),
        "resources": job_pods.resources(exporter.resources.requests, exporter.resources.limits),
    }


def _probe(path: str, failures: int) -> Manifest:
    """Return a probe, which a busy node may keep waiting for some seconds."""
    return {"httpGet": {"path": path, "port": _PORT_NAME}, "timeoutSeconds": 5, "failureThreshold": failures}


def _pod_monitor(
    name: str, namespace: str, labels: Mapping[str, str], monitoring: MonitoringSettings | None
) -> Iterator[PlannedObject]:
    if monitoring is None:
        return
    # A new pod continues the series of the old one; otherwise the time that alerts wait would begin again.
    endpoint = {
        "port": _PORT_NAME,
        "path": "/metrics",
        "metricRelabelings": [{"regex": "pod|instance", "action": "labeldrop"}],
    }
    spec = {
        "namespaceSelector": {"matchNames": [namespace]},
        "selector": {"matchLabels": dict(labels)},
        "podMetricsEndpoints": [endpoint],
    }
    body = manifest(MONITORING_API, "PodMonitor", name, monitoring.namespace, name, spec=spec)
    yield PlannedObject(ObjectRole.POD_MONITOR, body).with_own(monitoring.labels, {})


def _access(
    name: str, namespace: str, flows: Sequence[ResolvedFlow], manifests: Sequence[Manifest], *, keeps: bool
) -> Iterator[PlannedObject]:
    """Yield a Role and its binding for each namespace with objects of the stack."""
    secrets: dict[str, set[str]] = {}
    for flow in flows:
        parameters = flow_parameters(flow)
        logins = (
            *(parameters.source, parameters.target, *(connector_login(flow, side) for side in SIDES)),
            *(keeper_login(flow, side) if keeps else None for side in SIDES),
        )
        for secret in (secret for login in logins if login is not None for secret in job_pods.secrets_of(login)):
            secrets.setdefault(secret.namespace, set()).add(secret.name)
    for body in manifests:
        if body["kind"] == "Secret":
            secrets.setdefault(body["metadata"]["namespace"], set()).add(body["metadata"]["name"])
    created = {body["metadata"]["name"] for body in manifests if body["kind"] == "Namespace"}
    kinds = {body["kind"] for body in manifests}
    listed = {kind: version for kind, version in COMPARED_KINDS.items() if kind != "Namespace"}
    listed |= dict.fromkeys(STRIMZI_KINDS, f"{STRIMZI_GROUP}/")
    listed |= {kind: version for kind, version in OPTIONAL_KINDS.items() if kind in kinds}
    for place in sorted({body["metadata"].get("namespace", namespace) for body in manifests}):
        rules = list(_rules(listed))
        if place in created:
            rules.append(rule("", "namespaces", [place], "get"))
        if place in secrets:
            rules.append(rule("", "secrets", sorted(secrets[place]), "get"))
        role, binding = access_manifests(name, place, name, rules, name, namespace)
        yield PlannedObject(ObjectRole.POD_ROLE, role, part=place)
        after = (ObjectRole.POD_ROLE, ObjectRole.POD_ACCOUNT)
        yield PlannedObject(ObjectRole.POD_BINDING, binding, after=after, part=place)


def _rules(listed: Mapping[str, str]) -> Iterator[Manifest]:
    groups = grouped((version.rpartition("/")[0], f"{kind.lower()}s") for kind, version in listed.items())
    for group, plurals in groups.items():
        yield {"apiGroups": [group], "resources": sorted(plurals), "verbs": ["get", "list"]}
