"""Evidence of a stack: what its validation proved of which model, as the ConfigMap that is kept of it. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from infra.promotion.plan import evidence_name
from infra.promotion.rules import PASS

#: Worst first: a problem that was found stays found when another check could not run.
_VERDICTS = ("fail", "error", PASS)
LABELS = {"app.kubernetes.io/managed-by": "replication-promotion"}


@dataclass(frozen=True)
class FlowEvidence:
    """One flow: what it replicates and how by its digest, and what its validation said; `checks` are verdicts by name.

    `summaries` are the report's own sentences by the check's name.
    """

    namespace: str
    digest: str
    verdict: str
    validated_at: datetime
    checks: Mapping[str, str] = field(default_factory=dict)
    summaries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """What is recorded of a stack. `proven_since` begins the soak time; `who` is a name, not an identity.

    `allow_unproven` is the reason for which the stack was deployed although its predecessors did not prove the model.
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
        """The worst verdict of the flows; an error without any."""
        return min((flow.verdict for flow in self.flows.values()), key=_VERDICTS.index, default="error")


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
    """The evidence that the data of a ConfigMap holds. Raises KeyError or ValueError for data of another form."""
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
        "digest": flow.digest,
        "verdict": flow.verdict,
        "validatedAt": _text(flow.validated_at),
        "checks": {
            name: {"verdict": verdict, "summary": flow.summaries.get(name, "")} for name, verdict in flow.checks.items()
        },
    }


def _flow(document: Mapping[str, Any]) -> FlowEvidence:
    return FlowEvidence(
        namespace=document["namespace"],
        digest=document["digest"],
        verdict=verdict_of(document["verdict"]),
        validated_at=time_of(document["validatedAt"]),
        checks={name: check["verdict"] for name, check in document["checks"].items()},
        summaries={name: check["summary"] for name, check in document["checks"].items()},
    )


def verdict_of(text: str) -> str:
    """A verdict as it is kept; raises ValueError for any other word."""
    if text not in _VERDICTS:
        raise ValueError(f"`{text}` is no verdict")
    return text


def time_of(text: str) -> datetime:
    """A time as it is kept; raises ValueError where it does not say its zone, as no order with others is known."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} says no zone")
    return at


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
