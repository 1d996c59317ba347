"""Evidence of a stack: which model its validation proved, and the ConfigMap that records it. Pure."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.components.contract.published_verdict import config_map_name, entries, read_verdict
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.operators import REPLICATING_KINDS, strimzi
from kafka_replication.components.flows.resolved import model_digest
from kafka_replication.components.render.planned_objects import OURS
from kafka_replication.infra.deploy.promotion.rule.plan import evidence_name, read_plan, wave_before
from kafka_replication.infra.deploy.promotion.rule.rules import (
    PASS,
    CheckResult,
    FlowProof,
    FlowState,
    StackState,
    reasons_against,
    time_text,
)
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import StackSettings, read_settings

if TYPE_CHECKING:
    from kafka_replication.infra.kubernetes.api import Object
    from kafka_replication.infra.kubernetes.managed_fields import FieldOwner

#: Worst first: a failed check outweighs one that could not run.
_VERDICTS = ("fail", "error", PASS)
LABELS = {"app.kubernetes.io/managed-by": "replication-promotion"}


@dataclass(frozen=True)
class FlowEvidence:
    """One flow: its namespace, and the proof of its validation without `passing_since`."""

    namespace: str
    proof: FlowProof


@dataclass(frozen=True)
class Evidence:
    """What is recorded about a stack. The soak time starts at `proven_since`; the name in `who` is not verified.
    `allow_unproven` is why the stack was deployed although its predecessors had not proven the model.
    """

    stack: str
    model_digest: str
    deployed_at: datetime
    validated_at: datetime
    who: str
    flows: Mapping[str, FlowEvidence]
    proven_since: datetime | None = None
    allow_unproven: str | None = None

    @property
    def verdict(self) -> str:
        """The worst verdict of the flows; `error` if there is no flow."""
        return min((flow.proof.verdict for flow in self.flows.values()), key=_VERDICTS.index, default="error")


def evidence_config_map(evidence: Evidence, namespace: str) -> dict[str, Any]:
    """Return the ConfigMap that holds the evidence."""
    data = {
        "stack": evidence.stack,
        "modelDigest": evidence.model_digest,
        "verdict": evidence.verdict,
        "deployedAt": time_text(evidence.deployed_at),
        "validatedAt": time_text(evidence.validated_at),
        "who": evidence.who,
        "flows.json": json.dumps({name: _document(flow) for name, flow in evidence.flows.items()}, indent=2),
    }
    if evidence.proven_since is not None:
        data["provenSince"] = time_text(evidence.proven_since)
    if evidence.allow_unproven is not None:
        data["allowUnproven"] = evidence.allow_unproven
    metadata = {
        "name": evidence_name(evidence.stack),
        "namespace": namespace,
        "labels": {**LABELS, "replication/verdict": evidence.verdict},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def read_evidence(data: Mapping[str, str]) -> Evidence:
    """Return the evidence in a ConfigMap's data. Raises KeyError or ValueError if the data has another form."""
    since = data.get("provenSince")
    return Evidence(
        stack=data["stack"],
        model_digest=data["modelDigest"],
        deployed_at=time_of(data["deployedAt"]),
        validated_at=time_of(data["validatedAt"]),
        who=data["who"],
        flows={name: _flow(document) for name, document in json.loads(data["flows.json"]).items()},
        proven_since=time_of(since) if since is not None else None,
        allow_unproven=data.get("allowUnproven"),
    )


def _document(flow: FlowEvidence) -> dict[str, Any]:
    return {
        "namespace": flow.namespace,
        "digest": flow.proof.digest,
        "verdict": flow.proof.verdict,
        "validatedAt": time_text(flow.proof.at),
        "checks": {name: asdict(check) for name, check in flow.proof.checks.items()},
    }


def _flow(document: Mapping[str, Any]) -> FlowEvidence:
    checks = {
        name: CheckResult(check["verdict"], check["summary"], check.get("accepted", {}))
        for name, check in document["checks"].items()
    }
    at = time_of(document["validatedAt"])
    if document["verdict"] not in _VERDICTS:
        raise ValueError(f"`{document['verdict']}` is not a verdict")
    return FlowEvidence(document["namespace"], FlowProof(document["digest"], document["verdict"], at, checks=checks))


def time_of(text: str) -> datetime:
    """Return a recorded time. Raises ValueError for one without a zone: it cannot be compared with other times."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return at


Record = TypeVar("Record")


class StackCluster:
    """The Kubernetes cluster of one stack. Raises CannotRunError if it does not answer or refuses."""

    def __init__(self, settings: StackSettings) -> None:
        self._settings = settings
        # Loading a client takes longer than the rest of the program.
        from kafka_replication.infra.kubernetes.access import api_client

        self._api = api_client(settings, stack_environment(settings).kubernetes_access())

    def validation(self, flow: str, namespace: str) -> FlowProof | None:
        """The newest published validation of a flow."""
        again = f"delete it, then `replicate validate {self._settings.stack} --publish`."
        return self._read(config_map_name(flow), namespace, proof_of, again)

    def last_change(self, namespace: str) -> "FieldOwner | None":
        """Return who last changed the spec of any of our objects in a namespace; None if there is no object."""
        version = strimzi(self._settings.topology.strimzi).api_version
        items: list[Object] = []
        for kind in REPLICATING_KINDS:
            with self._asking(f"{kind} of namespace {namespace}"):
                items += self._api.list_if_served(version, kind, label_selector=OURS, namespace=namespace)
        return max(map(spec_writer, items), key=attrgetter("since", "manager"), default=None)

    def evidence(self, namespace: str) -> Evidence | None:
        """The recorded evidence of the stack."""
        again = f"delete it, then `replicate promote --to {self._settings.stack}`, which records it again."
        return self._read(evidence_name(self._settings.stack), namespace, read_evidence, again)

    def record(self, evidence: Evidence, namespace: str) -> None:
        """Write the evidence, replacing earlier evidence; creates the namespace if it is missing."""
        from kafka_replication.infra.kubernetes.api import Reference

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

    def _read(
        self, name: str, namespace: str, reader: Callable[[Mapping[str, str]], Record], again: str
    ) -> Record | None:
        data = self._config_map(name, namespace)
        try:
            return None if data is None else reader(data)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"the record cannot be read: {f'{error} is missing' if isinstance(error, KeyError) else error}"
            why = "Someone edited it, or another version of this project wrote it."
            raise CannotRunError(
                "record-unreadable", what, self._where(f"configmap {namespace}/{name}"), why, again
            ) from error

    def _config_map(self, name: str, namespace: str) -> Mapping[str, str] | None:
        from kafka_replication.infra.kubernetes.api import Reference

        with self._asking(f"configmap {namespace}/{name}"):
            config_map = self._api.get(Reference("v1", "ConfigMap", namespace, name))
        return None if config_map is None else entries(config_map)

    def _where(self, what: str) -> str:
        return f"stack {self._settings.stack}, {what}"

    def _asking(self, where: str) -> AbstractContextManager[None]:
        from kafka_replication.infra.kubernetes.access import asking_kubernetes

        return asking_kubernetes(
            self._where(where),
            "What a stack has proven is recorded in its own cluster.",
            "allow the account of the stack's Kubernetes context to read and write it.",
        )


def proof_of(data: Mapping[str, str]) -> FlowProof:
    """Return the proof in a published ConfigMap's data. Raises KeyError or ValueError if the data has another form."""
    published = read_verdict(data)
    since = published.passing_since
    return FlowProof(
        published.digest,
        published.verdict,
        # If something changed during a run, the run has at least partly judged the earlier state.
        time_of(published.began),
        time_of(since) if since is not None else None,
        {check.name: CheckResult(check.verdict, check.summary, check.accepted) for check in published.checks},
    )


def spec_writer(item: "Object") -> "FieldOwner":
    """Return who last wrote the spec, and when. Status, labels and annotations do not change what is replicated."""
    from kafka_replication.infra.kubernetes.managed_fields import FieldOwner, newest_writer

    writer = newest_writer(item, "spec")
    return writer if writer is not None and writer.since else FieldOwner("", item["metadata"]["creationTimestamp"])


def known_state(
    settings: StackSettings, state: StackState, evidence: Evidence | None, cluster: StackCluster
) -> StackState:
    """Complete the state with what the cluster says about its flows, and with the findings that each accepts."""
    accepted = {
        flow.name: frozenset(entry.finding for entry in flow.settings.validation.accept)
        for flow in expand(settings.topology)
    }
    # Proofs are read first, so that a change while they are read counts against them.
    proofs = {flow.name: cluster.validation(flow.name, flow.namespace) for flow in state.flows}
    changes = {namespace: cluster.last_change(namespace) for namespace in {flow.namespace for flow in state.flows}}
    flows = []
    for flow in sorted(state.flows, key=lambda flow: flow.name):
        if change := changes[flow.namespace]:
            flow = replace(flow, changed_at=datetime.fromisoformat(change.since), changed_by=change.manager)
        flows.append(replace(flow, proof=proofs[flow.name], accepts=accepted.get(flow.name, frozenset())))
    same = evidence is not None and evidence.model_digest == state.model_digest and evidence.verdict == PASS
    since = evidence.proven_since if evidence is not None and same else None
    return replace(state, flows=tuple(flows), recorded_since=since)


def evidence_of(state: StackState, who: str, deployed_at: datetime, allow_unproven: str | None) -> Evidence:
    """Return the evidence to record for a stack with validated flows only; a soak time that has begun continues."""
    flows = {
        flow.name: FlowEvidence(flow.namespace, replace(flow.proof, passing_since=None))
        for flow in state.flows
        if flow.proof is not None
    }
    passed = all(flow.proof.verdict == PASS for flow in flows.values())
    return Evidence(
        stack=state.stack,
        model_digest=str(state.model_digest),
        deployed_at=deployed_at,
        validated_at=max(flow.proof.at for flow in flows.values()),
        who=who,
        flows=flows,
        proven_since=state.proven_since if passed else None,
        allow_unproven=allow_unproven,
    )


def unproven(settings: StackSettings) -> tuple[Problem, ...]:
    """Return why the stack's model may not be deployed: what the stacks before it in the plan have not proven, by the
    evidence in their clusters. Empty without a plan, or if `allowUnproven` gives a reason to deploy anyway. Raises
    CannotRunError if one of these clusters does not answer.
    """
    plan = read_plan(settings.stacks)
    if plan is None or settings.allow_unproven is not None:
        return ()
    problems: list[Problem] = []
    before = wave_before(plan, settings.stack)
    for stack in before.stacks:
        theirs = read_settings(stack, settings.stacks)
        cluster, state = StackCluster(theirs), StackState(stack, None, recorded=True)
        if (evidence := cluster.evidence(plan.evidence_namespace)) is not None:
            flows = tuple(FlowState(name, flow.namespace, flow.proof.digest) for name, flow in evidence.flows.items())
            state = replace(state, model_digest=evidence.model_digest, flows=flows)
            state = known_state(theirs, state, evidence, cluster)
        problems += reasons_against(state, model_digest(settings.topology), before.soak_minutes, datetime.now(UTC))
    return tuple(problems)
