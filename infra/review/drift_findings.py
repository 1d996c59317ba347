"""Objects and fields that are not as a stack declares them although no deployment changed them. Pure.

The owner of a field tells an edit from a change that is not deployed yet: a deployer owns what it declared. The engine
creates an object after the objects that it waits for, so an object that exists as declared shows that those were
created too. Pulumi's state, which would show an interrupted deployment, is not read.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from components.changes.effect import Severity
from components.contract.temporary_states import temporary_states
from components.contract.wording import agreeing
from components.flows.operators import REPLICATING_KINDS, STRIMZI_GROUP
from components.kafka.mirror_connectors import ROLE_OF_CLASS
from components.render.planned_objects import PART_OF, Manifest
from infra.kubernetes.api import reference
from infra.kubernetes.managed_fields import (
    Owner,
    Path,
    is_deployed,
    owner_of,
    owners,
)
from infra.review.drift import Drift, drift_at, kubectl
from infra.review.object_changes import FieldChange, field_changes
from infra.review.report_text import value_text
from infra.review.snapshots import Objects


class Redeploy(str):
    """A remedy that only Pulumi can carry out: deploying the stack."""


def redeploy(stack: str) -> Redeploy:
    """The remedy for an object that is not as it was deployed."""
    why = "without it, Pulumi compares with its state and sees nothing to do."
    return Redeploy(f"`replicate up {stack} --refresh`: {why}")


def mended_by_gitops(drift: Iterable[Drift]) -> tuple[Drift, ...]:
    """The same drift for a stack that Pulumi does not deploy, with a remedy that works there."""
    remedy = "let the tool that applies what `replicate render` writes, such as Argo CD or Flux, apply it again."
    return tuple(replace(each, remedy=remedy) if isinstance(each.remedy, Redeploy) else each for each in drift)


def undeclared(live: Manifest) -> Iterator[Drift]:
    """An object with our labels that the stack does not declare and nobody deployed."""
    if is_deployed(live):
        return
    by = next((owner.manager for owner in owners(live)), "")
    metadata = live["metadata"]
    flow = metadata["labels"].get(PART_OF, "")
    what = f"has the labels of {flow}, but {flow} does not declare it, and no deployment created it"
    remedy = f"delete it: `{kubectl('delete', live)}`, or remove our labels from it."
    since = metadata.get("creationTimestamp", "")
    yield Drift(Severity.RESTART, "object-undeclared", flow, str(reference(live)), what, by, since, remedy)


def edited(stack: str, flow: str, declared: Manifest, live: Manifest) -> Iterator[Drift]:
    """Declared fields that somebody changed by hand, and fields that somebody added to a Strimzi resource's spec.

    A field that somebody removed no longer has an owner, so it is only a change that a deployment would make. A list
    has one owner: each difference in it is attributed to whoever wrote the list last.
    """
    for path, wanted, seen in _differing(declared, live):
        owner = owner_of(live, path)
        if owner is not None and not owner.deploys:
            for change in field_changes(wanted, seen, ".".join(path)):
                yield _announced(stack, flow, live, change) or _edit(stack, flow, live, change, owner)
    if declared["apiVersion"].startswith(f"{STRIMZI_GROUP}/"):
        for path, seen in _added(declared.get("spec"), live.get("spec"), ("spec",)):
            owner = owner_of(live, path)
            if owner is not None and not owner.deploys:
                for change in field_changes(None, seen, ".".join(path)):
                    yield _addition(flow, live, path, change, owner)


def written_by_hand(stack: str, flow: str, live: Manifest, keys: Collection[str]) -> Iterator[Drift]:
    """The keys of our Secret that somebody last wrote outside a deployment; its values are never read."""
    for key in keys:
        owner = owner_of(live, ("data", key))
        if owner is not None and not owner.deploys:
            what = f"data.{key} was written by hand, so its value may differ from the stack's (values are not compared)"
            yield drift_at(Severity.DATA, "secret-written", flow, live, what, redeploy(stack), owner)


def _announced(stack: str, flow: str, live: Manifest, change: FieldChange) -> Drift | None:
    """A state announced as temporary; None for other fields or a different state."""
    for name, temporary in temporary_states(live).items():
        if change.after == temporary.state and _is_state_of(name, live, change.path):
            now = datetime.now(UTC)
            severity = Severity.DATA if temporary.expired(now) else Severity.RESTART
            what = f"connector {name} is {temporary.text(now)}, and the stack declares {value_text(change.before)}"
            remedy = f"`replicate resume {stack} {temporary.flow} --connector '{name}'`."
            since = temporary.at.isoformat(timespec="seconds")
            where = str(reference(live))
            return Drift(severity, "temporary-state", flow, where, what, temporary.by, since, remedy)
    return None


def _is_state_of(connector: str, live: Manifest, path: str) -> bool:
    """Whether the field at the path is the state of the connector."""
    if live["kind"] == "KafkaConnector":
        return path == "spec.state"
    source, _, kind = connector.rpartition(".")
    alias, role = source.partition("->")[0], ROLE_OF_CLASS.get(kind, "")
    return path == f"spec.mirrors[{alias}].{role}Connector.state"


def _edit(stack: str, flow: str, live: Manifest, change: FieldChange, owner: Owner) -> Drift:
    seen = f"is {value_text(change.after)}" if change.after is not None else "was removed"
    wanted = f"declares {value_text(change.before)}" if change.before is not None else "does not declare it"
    what = f"{change.path} {seen}, and the stack {wanted}"
    return drift_at(Severity.RESTART, "field-edited", flow, live, what, redeploy(stack), owner)


def _addition(flow: str, live: Manifest, path: Path, change: FieldChange, owner: Owner) -> Drift:
    pointer = "/".join(step.replace("~", "~0").replace("/", "~1") for step in path)
    patch = f'[{{"op":"remove","path":"/{pointer}"}}]'
    otherwise = (
        "Otherwise it stays until a deployment changes this resource: Pulumi then takes over what kubectl wrote."
        if owner.yields
        else "No deployment removes it, because somebody else owns the field."
    )
    command = f"{kubectl('patch', live)} --type=json -p '{patch}'"
    remedy = f"remove it: `{command}`, or declare it in the topology. {otherwise}"
    what = f"{change.path} is {value_text(change.after)}, and the stack does not declare it"
    return drift_at(Severity.RESTART, "field-added", flow, live, what, remedy, owner)


def _differing(declared: Any, live: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Declared fields with a different value; a list is one field, because its writer owns all of it."""
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


def missing_objects(
    stack: str,
    deployment: str,
    objects: Objects,
    there: Objects,
    waits: Mapping[str, Collection[str]],
    gone: Collection[str],
    proven: Mapping[str, str],
) -> Iterator[Drift]:
    """Drift for the missing objects of a deployment that partly exists.

    `there` holds the objects that exist, restricted to declared fields, and `waits` what each object waits for, both by
    key. `gone` has the keys of objects left by an earlier deployment. `proven` says when each flow was last validated
    with its declared digest.
    """
    unknown = []
    for key, body in objects.items():
        if key in there or key in gone:
            continue
        flow = body["metadata"]["labels"][PART_OF]
        later = next((each for each in there if key in waits.get(each, ()) and there[each] == objects[each]), None)
        if later is not None:
            yield _deleted(stack, flow, body, f"{reference(objects[later])}, which is deployed after it, exists")
        elif body["kind"] in REPLICATING_KINDS and flow in proven:
            yield _deleted(stack, flow, body, f"the validation of {proven[flow]} found this model deployed")
        else:
            unknown.append(body)
    if unknown:
        yield _incomplete(stack, deployment, objects, unknown)


def _deleted(stack: str, flow: str, body: Manifest, why: str) -> Drift:
    what = f"was deleted: {why}"
    return drift_at(Severity.DATA, "object-missing", flow, body, what, redeploy(stack))


def _incomplete(stack: str, deployment: str, objects: Objects, unknown: list[Manifest]) -> Drift:
    names = ", ".join(str(reference(body)) for body in unknown)
    count = len(unknown)
    missing = agreeing(count, "[does|do] not exist, and nothing shows that [it|they] ever did")
    what = (
        f"{count} of {len(objects)} objects {missing}: {names}. A deployment was interrupted, is still running or has "
        f"not started, or somebody deleted {agreeing(count, '[it|them]')}"
    )
    remedy = Redeploy(
        f"`replicate up {stack} --refresh`: it continues an interrupted deployment and creates deleted objects again."
    )
    flow = unknown[0]["metadata"]["labels"][PART_OF]
    return Drift(Severity.DATA, "deployment-incomplete", flow, f"deployment {deployment}", what, "", "", remedy)
