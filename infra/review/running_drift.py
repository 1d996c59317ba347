"""Finds resources that run differently from their spec, by what the operator reports. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.changes.effect import Impact
from components.flows.operators import PAUSE
from components.kafka.connectors import failures, is_observed
from components.render.planned_objects import Manifest
from infra.kubernetes.api import reference
from infra.kubernetes.connector_states import REPORTED, wanted_connectors
from infra.kubernetes.managed_fields import newest_writer, owner_of, status_time
from infra.kubernetes.preconditions import condition
from infra.kubernetes.readiness import readiness_of
from infra.review.comparison import Drift
from infra.review.drift import drift_at, kubectl


def running_otherwise(stack: str, flow: str, live: Manifest, flows: Mapping[str, str]) -> Iterator[Drift]:
    """Yield what a resource's status reports: another state than wanted, failures, not Ready. `flows` is by source."""
    paused = (live["metadata"].get("annotations") or {}).get(PAUSE) == "true"
    if paused:
        yield _paused(flow, live)
    findings = [
        drift
        for name, wanted, status in wanted_connectors(live)
        for drift in (
            *_other_state(flow, live, name, wanted, status),
            *_failed(flow, live, name, status, _restart(stack, flow, name, flows)),
            *_without_task(flow, live, name, wanted, status, _restart(stack, flow, name, flows)),
        )
    ]
    yield from findings
    if not paused:
        yield from _not_ready(flow, live, explained=bool(findings))


def _paused(flow: str, live: Manifest) -> Drift:
    owner = owner_of(live, ("metadata", "annotations", PAUSE))
    what = f"the annotation {PAUSE} stops the operator: no change takes effect, and the status is not updated"
    remedy = f"`{kubectl('annotate', live)} {PAUSE}-`."
    return drift_at(Impact.DATA, "reconciliation-paused", flow, live, what, remedy, owner)


def _other_state(flow: str, live: Manifest, name: str, wanted: str, status: Mapping[str, Any]) -> Iterator[Drift]:
    seen = (status.get("connector") or {}).get("state", "")
    if seen not in REPORTED.values() or seen == REPORTED[wanted] or not is_observed(live):
        return
    what = f"connector {name} is {seen}, and its spec says {wanted}: it was changed through Connect's REST interface"
    remedy = (
        "wait for the next reconciliation: the operator has asked Connect to correct the state, and asks again then. "
        "If the state stays, read the logs of the operator and the Connect workers."
    )
    by, since = "Connect's REST interface", status_time(live)
    yield Drift(Impact.DATA, "connector-state", flow, str(reference(live)), what, by, since, remedy)


def _failed(flow: str, live: Manifest, name: str, status: Mapping[str, Any], restart: str) -> Iterator[Drift]:
    for failure in failures(status):
        what = f"connector {failure.of(name)}"
        task = "" if failure.task is None else f" --task {failure.task}"
        remedy = f"correct the cause, then restart it: `{restart}{task}`."
        yield drift_at(Impact.DATA, "connector-failed", flow, live, what, remedy)


def _without_task(
    flow: str, live: Manifest, name: str, wanted: str, status: Mapping[str, Any], restart: str
) -> Iterator[Drift]:
    """Yield a source connector without a task: it selects no topic that exists, or could not list the topics."""
    source = "MirrorSourceConnector" in (live["spec"].get("class") or name)
    state = (status.get("connector") or {}).get("state")
    if source and wanted == "running" and state == "RUNNING" and "tasks" in status and not status["tasks"]:
        what = (
            f"connector {name} runs without a task, so it replicates nothing: no topic that it selects exists, or a "
            "login is refused"
        )
        remedy = (
            "check the address and login of the source, and that its topics exist; the Connect workers' log names a "
            f"refused login. Then restart it: `{restart}`."
        )
        yield drift_at(Impact.DATA, "connector-without-task", flow, live, what, remedy)


def _restart(stack: str, flow: str, name: str, flows: Mapping[str, str]) -> str:
    alias, arrow, _ = name.partition("->")
    return f"replicate restart {stack} {flows[alias] if arrow and alias in flows else flow} --connector '{name}'"


def _not_ready(flow: str, live: Manifest, *, explained: bool) -> Iterator[Drift]:
    """Yield a resource that is not Ready, unless another finding has already explained why."""
    where = str(reference(live))
    readiness = readiness_of(where, live)
    if readiness.ready:
        return
    if not is_observed(live):
        writer = newest_writer(live, "spec")
        remedy = "wait a few seconds; if nothing changes, check that the operator runs and watches this namespace."
        yield drift_at(Impact.DATA, "not-ready", flow, live, readiness.message, remedy, writer)
    elif not explained:
        remedy = "read the object's status and the operator's log."
        since = condition(live, "NotReady").get("lastTransitionTime", "")
        yield Drift(Impact.DATA, "not-ready", flow, where, readiness.message, "", since, remedy)
