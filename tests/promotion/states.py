"""States of stacks for tests: proven unless told otherwise, in a day whose times are written as hours and minutes."""

from datetime import UTC, datetime
from typing import Any

from infra.promotion.rules import FlowState, Proof, StackState

MODEL = "sha256:aa"
FLOW = "sha256:11"
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def at(time: str) -> datetime:
    """The time of the day, as `11:30`."""
    hour, minute = (int(part) for part in time.split(":"))
    return NOON.replace(hour=hour, minute=minute)


def a_proof(**overrides: Any) -> Proof:
    return Proof(**{"digest": FLOW, "verdict": "pass", "at": at("11:10"), **overrides})


def a_flow_state(name: str = "orders", **overrides: Any) -> FlowState:
    return FlowState(**{"name": name, "digest": FLOW, "changed_at": at("11:00"), "proof": a_proof(), **overrides})


def a_state(*flows: FlowState, **overrides: Any) -> StackState:
    return StackState(**{"stack": "one", "model_digest": MODEL, "flows": flows or (a_flow_state(),), **overrides})


def state_of(document: dict[str, Any]) -> StackState:
    """The state that a second document of tests/bad_input/promotion holds."""
    flows = []
    for name, flow in document.get("flows", {}).items():
        proof, changed = flow["proof"], flow["changedAt"]
        flows.append(
            FlowState(
                name,
                flow["digest"],
                at(changed) if changed else None,
                Proof(proof["digest"], proof["verdict"], at(proof["at"]), tuple(proof.get("notPassed", ())))
                if proof
                else None,
            )
        )
    return StackState("one", document["modelDigest"], tuple(flows), recorded=document.get("recorded", False))
