"""What runs otherwise than a stack declares it although nobody deployed that. Pure.

An edit is told from a change that is not deployed yet by the field's owner: whoever deploys owns what it declared.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from components.effects.effect import Severity
from components.effects.running import deployed
from components.specs.planned import Manifest
from infra.readiness import readiness_of
from infra.review.drift import Drift
from infra.review.field_owners import Owner, Path, is_deployed, newest_writer, owner_of, status_time
from infra.review.live_objects import STRIMZI_GROUP
from infra.review.objects import FieldChange, field_changes
from infra.review.wording import value_text

_PAUSE = "strimzi.io/pause-reconciliation"
_WANTED = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}


def title(body: Manifest) -> str:
    metadata = body["metadata"]
    place = f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
    return f"{body['kind']} {place}"


def redeploy(stack: str) -> str:
    """What mends an object that is not as it was deployed."""
    return f"`replicate up {stack} --refresh`: without it, Pulumi compares with its state and sees nothing to do."


def undeclared(live: Manifest) -> Iterator[Drift]:
    """An object with our labels that the stack would not have and that nobody deployed."""
    if is_deployed(live):
        return
    metadata = live["metadata"]
    entries = [each for each in metadata.get("managedFields") or [] if each.get("subresource") != "status"]
    by = entries[0].get("manager", "") if entries else ""
    flow = metadata["labels"].get("app.kubernetes.io/part-of", "")
    what = f"carries the labels of {flow}, which declares no such object, and was deployed by nobody"
    remedy = f"delete it: `{_kubectl('delete', live)}`, or take our labels off it."
    since = metadata.get("creationTimestamp", "")
    yield Drift(Severity.RESTART, "object-undeclared", flow, title(live), what, by, since, remedy)


def edited(stack: str, flow: str, declared: Manifest, live: Manifest) -> Iterator[Drift]:
    """Declared fields that somebody changed by hand, and fields of a resource's spec that somebody added.

    A field that somebody removed leaves no trace of who did, and is only a change that a deployment would make. A list
    is owned as a whole: each of its differences is told, as of whoever wrote it last.
    """
    for path, wanted, seen in _differing(declared, live):
        owner = owner_of(live, path)
        if owner is not None and not owner.deploys:
            for change in field_changes(wanted, seen, ".".join(path)):
                yield _edit(stack, flow, live, change, owner)
    if declared["apiVersion"].startswith(STRIMZI_GROUP):
        for path, seen in _added(declared.get("spec"), live.get("spec"), ("spec",)):
            owner = owner_of(live, path)
            if owner is not None and not owner.deploys:
                for change in field_changes(None, seen, ".".join(path)):
                    yield _addition(flow, live, path, change, owner)


def _edit(stack: str, flow: str, live: Manifest, change: FieldChange, owner: Owner) -> Drift:
    seen = f"is {value_text(change.after)}" if change.after is not None else "is gone"
    wanted = f"declares {value_text(change.before)}" if change.before is not None else "does not declare it"
    what = f"{change.path} {seen}, and the stack {wanted}"
    return Drift(Severity.RESTART, "field-edited", flow, title(live), what, owner.manager, owner.since, redeploy(stack))


def _addition(flow: str, live: Manifest, path: Path, change: FieldChange, owner: Owner) -> Drift:
    pointer = "/".join(step.replace("~", "~0").replace("/", "~1") for step in path)
    patch = f'[{{"op":"remove","path":"/{pointer}"}}]'
    remedy = (
        f"a deployment leaves it, as it is another's: `{_kubectl('patch', live)} --type=json -p '{patch}'`, "
        "or declare it in the topology."
    )
    what = f"{change.path} is {value_text(change.after)}, and the stack does not declare it"
    return Drift(Severity.RESTART, "field-added", flow, title(live), what, owner.manager, owner.since, remedy)


def running_otherwise(flow: str, live: Manifest) -> Iterator[Drift]:
    """What a resource's status says: connectors that run otherwise than its spec says, failed ones, not Ready."""
    where = title(live)
    paused = (live["metadata"].get("annotations") or {}).get(_PAUSE) == "true"
    if paused:
        owner = owner_of(live, ("metadata", "annotations", _PAUSE))
        what = f"the annotation {_PAUSE} keeps the operator from it: no change takes effect and no status is renewed"
        remedy = f"`{_kubectl('annotate', live)} {_PAUSE}-`."
        by, since = (owner.manager, owner.since) if owner else ("", "")
        yield Drift(Severity.DATA, "reconciliation-paused", flow, where, what, by, since, remedy)
    found = False
    for name, wanted, status in _connectors(live):
        seen = (status.get("connector") or {}).get("state", "")
        if seen in ("PAUSED", "STOPPED", "RUNNING") and seen != _WANTED[wanted] and _taken_up(live):
            found = True
            what = f"connector {name} is {seen}, and its spec says {wanted}: changed over Connect's REST interface"
            remedy = (
                "the operator wrote this right after it asked Connect to mend it, and asks again when it next "
                "reconciles; if it stays so, see its log and that of the Connect workers."
            )
            by, since = "Connect's REST interface", status_time(live)
            yield Drift(Severity.DATA, "connector-state", flow, where, what, by, since, remedy)
        for task, reason in _failures(status):
            found = True
            what = f"connector {name}{'' if task is None else f' task {task}'} failed: {reason}"
            remedy = f"correct what it says; then `{_restart(live, name, task)}` starts it again."
            yield Drift(Severity.DATA, "connector-failed", flow, where, what, "", "", remedy)
    readiness = readiness_of(where, live)
    if not (readiness.ready or paused) and not _taken_up(live):
        writer = newest_writer(live, "spec")
        remedy = "it takes seconds; if it stays so, see that the operator runs and watches this namespace."
        by, since = (writer.manager, writer.since) if writer else ("", "")
        yield Drift(Severity.DATA, "not-ready", flow, where, readiness.message, by, since, remedy)
    elif not (readiness.ready or found or paused):
        remedy = "read the object's status and the operator's log."
        yield Drift(Severity.DATA, "not-ready", flow, where, readiness.message, "", _since(live), remedy)


def _connectors(live: Manifest) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Name, wanted state and status of the connectors that a resource runs."""
    status = live.get("status") or {}
    if live["kind"] == "KafkaConnector":
        yield live["metadata"]["name"], live["spec"].get("state", "running"), status.get("connectorStatus") or {}
    elif live["kind"] == "KafkaMirrorMaker2":
        wanted = {each.name: each.state for each in deployed("", {"": live}).connectors}
        for each in status.get("connectors") or []:
            yield each["name"], wanted.get(each["name"], "running"), each


def _failures(status: Mapping[str, Any]) -> Iterator[tuple[int | None, str]]:
    """Failed tasks by id, or None for the connector itself, each with the first line of its trace."""
    parts = [(None, status.get("connector") or {}), *((task["id"], task) for task in status.get("tasks") or [])]
    for task, state in parts:
        if state.get("state") == "FAILED":
            yield task, str(state.get("trace") or "no trace").strip().splitlines()[0]


def _restart(live: Manifest, name: str, task: int | None) -> str:
    """Source: Strimzi ResourceAnnotations; the restart of a connector leaves its tasks alone."""
    if live["kind"] == "KafkaConnector":
        annotation = "restart=true" if task is None else f"restart-task={task}"
    else:
        annotation = f"restart-connector='{name}'" if task is None else f"restart-connector-task='{name}:{task}'"
    return f"{_kubectl('annotate', live)} strimzi.io/{annotation}"


def _taken_up(live: Manifest) -> bool:
    return bool((live.get("status") or {}).get("observedGeneration") == live["metadata"].get("generation"))


def _since(live: Manifest) -> str:
    conditions = (live.get("status") or {}).get("conditions") or []
    return next((each.get("lastTransitionTime", "") for each in conditions if each["type"] == "NotReady"), "")


def _differing(declared: Any, live: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Declared fields that are there with another value; a list is one field, as whoever writes it owns all of it."""
    for key in [each for each in declared if each in live]:
        wanted, seen = declared[key], live[key]
        if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
            yield from _differing(wanted, seen, (*path, key))
        elif seen != wanted:
            yield (*path, key), wanted, seen


def _added(declared: Any, live: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if not isinstance(declared, Mapping) or not isinstance(live, Mapping):
        return
    for key, seen in live.items():
        if key not in declared:
            yield (*path, key), seen
        else:
            yield from _added(declared[key], seen, (*path, key))


def _kubectl(verb: str, live: Manifest) -> str:
    namespace = live["metadata"].get("namespace")
    place = f" -n {namespace}" if namespace else ""
    return f"kubectl {verb} {live['kind'].lower()} {live['metadata']['name']}{place}"
