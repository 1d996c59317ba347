"""What a stack's Kubernetes cluster tells of it: validations, changes of objects, recorded evidence; and its record."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubernetes import client

from components.resolved import strimzi
from infra.errors import CannotRunError
from infra.kubernetes_access import api_client, asking_kubernetes
from infra.promotion.evidence import LABELS, Evidence, evidence_config_map, read_evidence, time_of, verdict_of
from infra.promotion.plan import evidence_name
from infra.promotion.rules import PASS, Proof
from infra.settings import StackSettings

_CALL_SECONDS = 10
_GROUP = "kafka.strimzi.io"
_PLURALS = ("kafkaconnects", "kafkaconnectors", "kafkamirrormaker2s")
_OURS = "app.kubernetes.io/managed-by=kafka-replication"


@dataclass(frozen=True, order=True)
class Change:
    """The newest change of an object's spec, and the field manager that made it."""

    at: datetime
    by: str


@dataclass(frozen=True)
class Validation:
    """A published validation: its proof, and the verdict and the sentence of each check."""

    proof: Proof
    checks: Mapping[str, str]
    summaries: Mapping[str, str]


class StackCluster:
    """The Kubernetes cluster of one stack. Raises CannotRunError when it does not answer or does not let us."""

    def __init__(self, settings: StackSettings) -> None:
        self._settings = settings
        self._api = api_client(settings)
        self._core = client.CoreV1Api(self._api)

    def validation(self, flow: str, namespace: str) -> Validation | None:
        """The newest published validation of a flow."""
        data = self._config_map(f"{flow}-validation", namespace)
        again = f"delete it, then `replicate validate {self._settings.stack} --publish`."
        where = self._where(f"configmap {namespace}/{flow}-validation")
        return None if data is None else _read(data, validation_of, where, again)

    def last_change(self, namespace: str) -> Change | None:
        """When and by whom the spec of an object of ours in a namespace was changed last; None without any object."""
        items = [item for plural in _PLURALS for item in self._items(plural, namespace)]
        return max((spec_change(item["metadata"]) for item in items), default=None)

    def _items(self, plural: str, namespace: str) -> list[Any]:
        """Objects of ours of one kind; none where the operator does not bring the kind with it."""
        custom = client.CustomObjectsApi(self._api)
        version = strimzi(self._settings.topology.strimzi).api.value
        with self._asking(f"{plural} of namespace {namespace}"):
            try:
                listed: Any = custom.list_namespaced_custom_object(
                    _GROUP, version, namespace, plural, label_selector=_OURS, _request_timeout=_CALL_SECONDS
                )
            except client.ApiException as error:
                if error.status != 404:
                    raise
                return []
        return list(listed["items"])

    def evidence(self, namespace: str) -> Evidence | None:
        """The recorded evidence of the stack."""
        name = evidence_name(self._settings.stack)
        data = self._config_map(name, namespace)
        again = f"delete it, then `replicate promote --to {self._settings.stack}`, which records it again."
        return None if data is None else _read(data, read_evidence, self._where(f"configmap {namespace}/{name}"), again)

    def record(self, evidence: Evidence, namespace: str) -> None:
        """Write the evidence over an earlier one; its namespace is created when missing."""
        manifest = evidence_config_map(evidence, namespace)
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(**manifest["metadata"]), data=manifest["data"])
        name = evidence_name(evidence.stack)
        with self._asking(f"configmap {namespace}/{name}"):
            self._create_namespace(namespace)
            if self._config_map(name, namespace) is None:
                self._core.create_namespaced_config_map(namespace, body, _request_timeout=_CALL_SECONDS)
            else:
                self._core.replace_namespaced_config_map(name, namespace, body, _request_timeout=_CALL_SECONDS)

    def _create_namespace(self, name: str) -> None:
        try:
            self._core.read_namespace(name, _request_timeout=_CALL_SECONDS)
        except client.ApiException as error:
            if error.status != 404:
                raise
            metadata = client.V1ObjectMeta(name=name, labels=LABELS)
            self._core.create_namespace(client.V1Namespace(metadata=metadata), _request_timeout=_CALL_SECONDS)

    def _config_map(self, name: str, namespace: str) -> Mapping[str, str] | None:
        with self._asking(f"configmap {namespace}/{name}"):
            try:
                found = self._core.read_namespaced_config_map(name, namespace, _request_timeout=_CALL_SECONDS)
            except client.ApiException as error:
                if error.status != 404:
                    raise
                return None
        return found.data or {}

    def _where(self, what: str) -> str:
        return f"stack {self._settings.stack}, {what}"

    def _asking(self, where: str) -> AbstractContextManager[None]:
        return asking_kubernetes(
            self._where(where),
            "What a stack has proven is kept in its own cluster.",
            "let the account of the stack's Kubernetes context read and write it.",
        )


def validation_of(data: Mapping[str, str]) -> Validation:
    """The validation that a published ConfigMap holds. Raises KeyError or ValueError for data of another form."""
    report = json.loads(data["report.json"])
    checks = {check["name"]: check["verdict"] for check in report["checks"]}
    summaries = {check["name"]: check["summary"] for check in report["checks"]}
    not_passed = tuple(name for name, verdict in checks.items() if verdict != PASS)
    at, begun = time_of(data["time"]), data.get("passingSince")
    passing_since = time_of(begun) if begun is not None else None
    return Validation(
        Proof(data["digest"], verdict_of(data["verdict"]), at, not_passed, passing_since), checks, summaries
    )


def spec_change(metadata: Mapping[str, Any]) -> Change:
    """When and by whom the spec of an object was written last; its creation where nobody is noted.

    Statuses, labels and annotations change without a change of what is replicated. Source: Kubernetes managedFields.
    """
    changes = [
        Change(datetime.fromisoformat(entry["time"]), entry.get("manager", ""))
        for entry in metadata.get("managedFields") or []
        if entry.get("subresource") != "status" and "f:spec" in (entry.get("fieldsV1") or {}) and entry.get("time")
    ]
    return max(changes, default=Change(datetime.fromisoformat(metadata["creationTimestamp"]), ""))


def _read(data: Mapping[str, str], reader: Callable[[Mapping[str, str]], Any], where: str, again: str) -> Any:
    try:
        return reader(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CannotRunError(
            f"what is recorded cannot be read: {error!r}",
            where,
            "It was edited by hand, or written by another version of this project.",
            again,
        ) from error
