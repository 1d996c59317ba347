"""Waits until a flow's connectors run: a job that starts with a deployment would otherwise judge connectors that are
still starting.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.contract.parameters import FlowParameters
from components.kafka.connectors import failures, is_observed, reported_connectors
from spark.checks.connectors import Object
from spark.connector_objects import read_objects
from spark.waiting import wait_until

_EVERY_SECONDS = 2.0


def await_connectors(
    flows: Sequence[FlowParameters], kubeconfig: Path | None, deadline_seconds: float, progress: Callable[[str], object]
) -> bool:
    """Whether the connectors of every flow run, waiting at most until the deadline.

    If they do not, the job continues, and its checks say what is wrong. It does not wait for connectors that it may not
    read.
    """
    if deadline_seconds <= 0 or not any(flow.connectors for flow in flows):
        return True
    progress(f"waiting until the connectors run, at most {deadline_seconds:g} s")

    def probe() -> bool:
        return all(settled(each) for flow in flows for each in read_objects(flow, kubeconfig).values())

    return wait_until(probe, deadline_seconds, _EVERY_SECONDS)


def settled(found: Object) -> bool:
    """Whether an object's connectors run according to its status, or cannot be read."""
    if found.refusal:
        return True
    return found.live is not None and _runs(found.live)


def _runs(live: Mapping[str, Any]) -> bool:
    conditions = (live.get("status") or {}).get("conditions") or []
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    return ready and is_observed(live) and not any(True for each in reported_connectors(live) for _ in failures(each))
