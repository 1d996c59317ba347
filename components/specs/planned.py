"""What a spec builder returns: a Kubernetes object as a plain dict, its role in the flow, and what it waits for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Manifest = dict[str, Any]


class Role(StrEnum):
    """Roles of a flow's objects; a Pulumi name is `<flow>-<role>[-<part>]`, so renaming a role needs an alias."""

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
    CONNECT = "connect"
    MIRROR_MAKER2 = "mirror-maker2"
    ACCESS_ROLE = "access-role"
    ACCESS_BINDING = "access-binding"
    SOURCE_CONNECTOR = "source-connector"
    CHECKPOINT_CONNECTOR = "checkpoint-connector"
    HEARTBEAT_CONNECTOR = "heartbeat-connector"
    KAFKA_USER = "user"
    KAFKA_USER_PASSWORD = "user-password"


@dataclass(frozen=True)
class PlannedObject:
    """One Kubernetes object of a flow.

    `secret_values` maps a key of a Secret to the configuration key that holds its value; the manifest of such a
    Secret carries no data. `after` names the roles that must exist first, where no value of the object refers to them.
    `part` tells objects of one role apart, such as the source connectors of a flow.
    """

    role: Role
    manifest: Manifest
    after: tuple[Role, ...] = ()
    secret_values: Mapping[str, str] = field(default_factory=dict)
    part: str = ""

    @property
    def key(self) -> str:
        """Role and part: what tells the object apart within its flow."""
        return f"{self.role}-{self.part}" if self.part else self.role.value

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])


def waits(objects: Iterable[PlannedObject]) -> dict[str, tuple[str, ...]]:
    """Keys of what must exist before each object, by its key: the namespace, and what it says to come after."""
    found: dict[str, tuple[str, ...]] = {}
    earlier: list[PlannedObject] = []
    for planned in objects:
        needed = (Role.NAMESPACE, *planned.after)
        found[planned.key] = tuple(each.key for role in needed for each in earlier if each.role is role)
        earlier.append(planned)
    return found


def manifest(api_version: str, kind: str, name: str, namespace: str | None, flow_name: str, **body: Any) -> Manifest:
    """Kubernetes object with the labels that every object of a flow carries."""
    metadata: dict[str, Any] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    metadata["labels"] = {
        "app.kubernetes.io/managed-by": "kafka-replication",
        "app.kubernetes.io/part-of": flow_name,
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
