"""A Kubernetes object as a plain dict, with its role in the flow and the objects that must exist before it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from kafka_replication.components.flows.resolved import ResolvedFlow

Manifest = dict[str, Any]
#: The label that names an object's flow.
PART_OF = "app.kubernetes.io/part-of"
#: The label that names the tool that owns an object.
MANAGED_BY, _US = "app.kubernetes.io/managed-by", "kafka-replication"
#: Selects the objects that this project renders.
OURS = f"{MANAGED_BY}={_US}"


class ObjectRole(StrEnum):
    """Role of an object in its flow; its Pulumi name is `<flow>-<role>[-<part>]`, so renaming a role needs an alias."""

    NAMESPACE = "namespace"
    QUOTA = "quota"
    LIMITS = "limits"
    SOURCE_CONFIG = "source-config"
    TARGET_CONFIG = "target-config"
    REPLICATION_CONFIG = "replication-config"
    TOPICS_CONFIG = "topics-config"
    SOURCE_CREDENTIALS = "source-credentials"
    TARGET_CREDENTIALS = "target-credentials"
    SOURCE_VALIDATION = "source-validation"
    TARGET_VALIDATION = "target-validation"
    SOURCE_KEEPER = "source-keeper"
    TARGET_KEEPER = "target-keeper"
    METRICS_CONFIG = "metrics-config"
    CONNECT = "connect"
    MIRROR_MAKER2 = "mirror-maker2"
    ACCESS_ROLE = "access-role"
    ACCESS_BINDING = "access-binding"
    SOURCE_CONNECTOR = "source-connector"
    CHECKPOINT_CONNECTOR = "checkpoint-connector"
    HEARTBEAT_CONNECTOR = "heartbeat-connector"
    KAFKA_USER = "user"
    KAFKA_USER_PASSWORD = "user-password"
    POD_MONITOR = "pod-monitor"
    PROMETHEUS_RULE = "prometheus-rule"
    DASHBOARD = "dashboard"
    VALIDATION_PARAMETERS = "parameters"
    POD_ACCOUNT = "account"
    POD_ROLE = "role"
    POD_BINDING = "binding"
    VALIDATION_JOB = "job"
    VALIDATION_CRON_JOB = "cron-job"
    SPARK_APPLICATION = "spark-application"
    SCHEDULED_SPARK_APPLICATION = "scheduled-spark-application"
    EXPORTER_PROJECT = "project"
    EXPORTER_SERVICE = "service"
    EXPORTER = "deployment"


@dataclass(frozen=True)
class PlannedObject:
    """One Kubernetes object of a flow.

    `secret_values` maps each key of a Secret to the configuration key that holds its value; the manifest of such a
    Secret has no data. `after` lists the roles whose objects must exist first. `part` distinguishes objects of one
    role, such as several source connectors.
    """

    role: ObjectRole
    manifest: Manifest
    after: tuple[ObjectRole, ...] = ()
    secret_values: Mapping[str, str] = field(default_factory=dict)
    part: str = ""

    @property
    def key(self) -> str:
        """Return role and part, which identify the object within its deployment."""
        return f"{self.role}-{self.part}" if self.part else self.role.value

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    def annotated(self, annotations: Mapping[str, str]) -> "PlannedObject":
        """Return the object with more annotations."""
        metadata = self.manifest["metadata"]
        joined = {**metadata.get("annotations", {}), **annotations}
        return replace(self, manifest={**self.manifest, "metadata": {**metadata, "annotations": joined}})

    def with_own(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> "PlannedObject":
        """Return the object with a user's labels and annotations added; the object's own win."""
        metadata = self.manifest["metadata"]
        added = {"labels": {**labels, **metadata["labels"]}}
        if joined := {**annotations, **metadata.get("annotations", {})}:
            added["annotations"] = joined
        return replace(self, manifest={**self.manifest, "metadata": {**metadata, **added}})


def needed_keys(objects: Iterable[PlannedObject]) -> dict[str, tuple[str, ...]]:
    """Return, for each object's key, the keys of the objects that must exist first: its namespace and the roles in
    `after`.
    """
    earlier_keys: dict[str, tuple[str, ...]] = {}
    earlier: list[PlannedObject] = []
    for planned in objects:
        needed = (ObjectRole.NAMESPACE, *planned.after)
        earlier_keys[planned.key] = tuple(other.key for role in needed for other in earlier if other.role is role)
        earlier.append(planned)
    return earlier_keys


def flow_object(
    flow: ResolvedFlow, role: ObjectRole, api_version: str, kind: str, name: str, part: str = "", **body: Any
) -> PlannedObject:
    """Return an object of a flow in its namespace."""
    return PlannedObject(role, manifest(api_version, kind, name, flow.namespace, flow.name, **body), part=part)


_RBAC = "rbac.authorization.k8s.io"


def rule(group: str, resource: str, names: Iterable[str], *verbs: str) -> Manifest:
    """Return a rule of a Role that allows these verbs on objects by name."""
    return {"apiGroups": [group], "resources": [resource], "resourceNames": list(names), "verbs": list(verbs)}


def access_manifests(
    name: str, namespace: str, part_of: str, rules: list[Manifest], account: str, of: str | None = None
) -> tuple[Manifest, Manifest]:
    """Return a Role in a namespace with these rules, and its binding to a service account there or in `of`."""
    role = manifest(f"{_RBAC}/v1", "Role", name, namespace, part_of, rules=rules)
    binding = {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": of or namespace}],
    }
    return role, manifest(f"{_RBAC}/v1", "RoleBinding", name, namespace, part_of, **binding)


def manifest(api_version: str, kind: str, name: str, namespace: str | None, flow_name: str, **body: Any) -> Manifest:
    """Return a Kubernetes object with the labels that every object of a flow carries."""
    metadata: dict[str, Any] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    metadata["labels"] = {MANAGED_BY: _US, PART_OF: flow_name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
