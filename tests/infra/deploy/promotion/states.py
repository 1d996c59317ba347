"""States of stacks for tests: proven unless overridden; times are hours and minutes of one day."""

from datetime import UTC, datetime
from typing import Any

from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult, FlowProof, FlowState, StackState

MODEL = "sha256:aa"
FLOW = "sha256:11"
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def at(time: str) -> datetime:
    """A time of that day, given as `11:30`."""
    hour, minute = (int(part) for part in time.split(":"))
    return NOON.replace(hour=hour, minute=minute)


def a_proof(**overrides: Any) -> FlowProof:
    return FlowProof(**{"digest": FLOW, "verdict": "pass", "at": at("11:10"), **overrides})


def a_flow_state(name: str = "orders", **overrides: Any) -> FlowState:
    given = {"namespace": "mirror-orders", "digest": FLOW, "changed_at": at("11:00"), "proof": a_proof()}
    return FlowState(**{"name": name, **given, **overrides})


def a_state(*flows: FlowState, **overrides: Any) -> StackState:
    return StackState(**{"stack": "one", "model_digest": MODEL, "flows": flows or (a_flow_state(),), **overrides})


def failed(*checks: str) -> dict[str, CheckResult]:
    return {name: CheckResult("fail", "") for name in checks}


def state_of(document: dict[str, Any]) -> StackState:
    """The state in the second document of a file of tests/bad_input/promotion."""
    flows = []
    for name, flow in document.get("flows", {}).items():
        proof, changed = flow["proof"], flow["changedAt"]
        flows.append(
            FlowState(
                name,
                "mirror-orders",
                flow["digest"],
                at(changed) if changed else None,
                FlowProof(
                    proof["digest"],
                    proof["verdict"],
                    at(proof["at"]),
                    checks={
                        **failed(*proof.get("notPassed", ())),
                        "accepting": CheckResult("pass", "", proof.get("accepted", {})),
                    },
                )
                if proof
                else None,
            )
        )
    return StackState("one", document["modelDigest"], tuple(flows), recorded=document.get("recorded", False))
