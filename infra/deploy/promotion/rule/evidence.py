"""Evidence of a stack: which model its validation proved, and the ConfigMap that records it. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from infra.deploy.promotion.rule.plan import evidence_name
from infra.deploy.promotion.rule.rules import PASS, CheckResult, Proof

#: Worst first: a failed check outweighs one that could not run.
_VERDICTS = ("fail", "error", PASS)
LABELS = {"app.kubernetes.io/managed-by": "replication-promotion"}


@dataclass(frozen=True)
class FlowEvidence:
    """One flow: its namespace, and the proof of its validation without `passing_since`."""

    namespace: str
    proof: Proof


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
    """The ConfigMap that holds the evidence."""
    data = {
        "stack": evidence.stack,
        "modelDigest": evidence.model_digest,
        "verdict": evidence.verdict,
        "deployedAt": _text(evidence.deployed_at),
        "validatedAt": _text(evidence.validated_at),
        "who": evidence.who,
        "flows.json": json.dumps({name: _document(flow) for name, flow in evidence.flows.items()}, indent=2),
    }
    if evidence.proven_since is not None:
        data["provenSince"] = _text(evidence.proven_since)
    if evidence.allow_unproven is not None:
        data["allowUnproven"] = evidence.allow_unproven
    metadata = {
        "name": evidence_name(evidence.stack),
        "namespace": namespace,
        "labels": {**LABELS, "replication/verdict": evidence.verdict},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def read_evidence(data: Mapping[str, str]) -> Evidence:
    """The evidence in a ConfigMap's data. Raises KeyError or ValueError if the data has another form."""
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
        "validatedAt": _text(flow.proof.at),
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
    return FlowEvidence(document["namespace"], Proof(document["digest"], document["verdict"], at, checks=checks))


def time_of(text: str) -> datetime:
    """A recorded time. Raises ValueError if it has no zone, because it could not be compared with other times."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return at


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
