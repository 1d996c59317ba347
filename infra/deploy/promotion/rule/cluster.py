"""Reads a stack's validations, latest changes and evidence from its Kubernetes cluster, and records evidence there."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from components.contract.problems import CannotRunError
from components.contract.published_verdict import config_map_name, entries, read_verdict
from components.flows.operators import REPLICATING_KINDS, strimzi
from components.render.planned_objects import OURS
from infra.deploy.promotion.rule.evidence import LABELS, Evidence, evidence_config_map, read_evidence, time_of
from infra.deploy.promotion.rule.plan import evidence_name
from infra.deploy.promotion.rule.rules import CheckResult, Proof
from infra.kubernetes.access import api_client, asking_kubernetes
from infra.kubernetes.api import ApiError, Object, Reference
from infra.kubernetes.managed_fields import newest_writer
from infra.stack.environment import stack_environment
from infra.stack.settings import StackSettings

Record = TypeVar("Record")


@dataclass(frozen=True, order=True)
class SpecChange:
    """When the spec of an object last changed, and which field manager changed it."""

    at: datetime
    by: str


class StackCluster:
    """The Kubernetes cluster of one stack. Raises CannotRunError if it does not answer or refuses."""

    def __init__(self, settings: StackSettings) -> None:
        self._settings = settings
        self._api = api_client(settings, stack_environment(settings).kubernetes_access())

    def validation(self, flow: str, namespace: str) -> Proof | None:
        """The newest published validation of a flow."""
        name = config_map_name(flow)
        data = self._config_map(name, namespace)
        again = f"delete it, then `replicate validate {self._settings.stack} --publish`."
        where = self._where(f"configmap {namespace}/{name}")
        return None if data is None else _read(data, proof_of, where, again)

    def last_change(self, namespace: str) -> SpecChange | None:
        """The latest change of the spec of any of our objects in a namespace; None if there is no object."""
        items = [item for kind in REPLICATING_KINDS for item in self._items(kind, namespace)]
        return max(map(spec_change, items), default=None)

    def _items(self, kind: str, namespace: str) -> list[Object]:
        """Our objects of one kind; none if the cluster does not have the kind."""
        version = strimzi(self._settings.topology.strimzi).api_version
        with self._asking(f"{kind} of namespace {namespace}"):
            try:
                return self._api.list_all(version, kind, label_selector=OURS, namespace=namespace)
            except ApiError as error:
                if not error.not_found:
                    raise
                return []

    def evidence(self, namespace: str) -> Evidence | None:
        """The recorded evidence of the stack."""
        name = evidence_name(self._settings.stack)
        data = self._config_map(name, namespace)
        again = f"delete it, then `replicate promote --to {self._settings.stack}`, which records it again."
        return None if data is None else _read(data, read_evidence, self._where(f"configmap {namespace}/{name}"), again)

    def record(self, evidence: Evidence, namespace: str) -> None:
        """Write the evidence, replacing earlier evidence; creates the namespace if it is missing."""
        item = evidence_config_map(evidence, namespace)
        name = item["metadata"]["name"]
        with self._asking(f"configmap {namespace}/{name}"):
            if self._api.get(Reference("v1", "Namespace", None, namespace)) is None:
                metadata = {"name": namespace, "labels": LABELS}
                self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            if self._config_map(name, namespace) is None:
                self._api.create(item)
            else:
                self._api.replace(item)

    def _config_map(self, name: str, namespace: str) -> Mapping[str, str] | None:
        with self._asking(f"configmap {namespace}/{name}"):
            found = self._api.get(Reference("v1", "ConfigMap", namespace, name))
        return None if found is None else entries(found)

    def _where(self, what: str) -> str:
        return f"stack {self._settings.stack}, {what}"

    def _asking(self, where: str) -> AbstractContextManager[None]:
        return asking_kubernetes(
            self._where(where),
            "What a stack has proven is recorded in its own cluster.",
            "allow the account of the stack's Kubernetes context to read and write it.",
        )


def proof_of(data: Mapping[str, str]) -> Proof:
    """The proof in a published ConfigMap's data. Raises KeyError or ValueError if the data has another form."""
    published = read_verdict(data)
    since = published.passing_since
    return Proof(
        published.digest,
        published.verdict,
        # If something changed during a run, the run has at least partly judged the earlier state.
        time_of(published.began),
        time_of(since) if since is not None else None,
        {check.name: CheckResult(check.verdict, check.summary, check.accepted) for check in published.checks},
    )


def spec_change(item: Object) -> SpecChange:
    """Who wrote the spec of an object last, and when; its creation if that is not recorded.

    A change of a status, label or annotation does not change what is replicated.
    """
    writer = newest_writer(item, "spec")
    if writer is None or not writer.since:
        return SpecChange(datetime.fromisoformat(item["metadata"]["creationTimestamp"]), "")
    return SpecChange(datetime.fromisoformat(writer.since), writer.manager)


def _read(data: Mapping[str, str], reader: Callable[[Mapping[str, str]], Record], where: str, again: str) -> Record:
    try:
        return reader(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CannotRunError(
            "record-unreadable",
            f"the record cannot be read: {f'{error} is missing' if isinstance(error, KeyError) else error}",
            where,
            "Someone edited it, or another version of this project wrote it.",
            again,
        ) from error
