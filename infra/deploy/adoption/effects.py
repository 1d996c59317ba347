"""What adoption means for replication: effects on records and offsets, and restarts. Pure. Whether records and offsets
continue is judged as `replicate import` does, with Kafka's defaults filled in. Restarts are judged by the text that
Connect receives: any different text restarts a connector, even one with the same effect.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from components.changes.deployment_state import deployment_state
from components.changes.effect import Effect, Impact, listed
from components.changes.kubernetes_objects import namespace_and_user_effects
from components.changes.restarts import connector_effects
from components.changes.stack_change import StackChange
from components.flows.operators import REPLICATING_KINDS, WORKER_KINDS
from components.properties.values import value_text
from components.render.deployments import Deployment
from components.render.planned_objects import PART_OF, Manifest
from infra.deploy.adoption.facts import Facts
from infra.kubernetes.managed_fields import Path, owners_of
from infra.onboard.importing.deployment_changes import changes_of_import
from infra.onboard.importing.flows import Imported
from infra.onboard.importing.reading import ReadObject, read_documents
from infra.onboard.importing.values import Placeholders, providers_of
from infra.review.live_objects import as_declared
from infra.review.object_changes import named_entries
from infra.review.snapshots import Objects

#: Kubernetes writes it again at once.
_NAME_OF_NAMESPACE = ("metadata", "labels", "kubernetes.io/metadata.name")
#: An annotation may hold the whole object, with credentials.
_ANNOTATIONS = ("metadata", "annotations")
_HIDDEN = "(not shown)"
_OF_METADATA = ("name", "namespace", "labels", "annotations")


def before_take_over(live: Manifest, declared: Manifest) -> Manifest:
    """The fields of a live object that the stack declares or that adoption removes, written as the stack does."""
    body = as_declared(live, declared)
    metadata = {key: body["metadata"][key] for key in _OF_METADATA if key in body["metadata"]}
    known = {key: value for key, value in body.items() if key != "status"}
    found: Manifest = _kept(live, {**known, "metadata": metadata}, declared, ())
    return found


def _kept(whole: Manifest, value: Any, declared: Any, path: Path) -> Any:
    if not isinstance(value, Mapping) or not isinstance(declared, Mapping):
        return value
    kept = {}
    for key, inner in value.items():
        here = (*path, key)
        if key in declared:
            kept[key] = _kept(whole, inner, declared[key], here)
        elif (left := _removed(whole, inner, here)) is not None:
            kept[key] = left
    return kept


def _removed(whole: Manifest, value: Any, path: Path) -> Any:
    """What adoption removes of an undeclared field; None if nothing."""
    if isinstance(value, Mapping) and value:
        inner = {key: left for key, each in value.items() if (left := _removed(whole, each, (*path, key))) is not None}
        return inner or None
    owners = owners_of(whole, path)
    if path == _NAME_OF_NAMESPACE or not owners or any(owner.stays for owner in owners):
        return None
    return _HIDDEN if path[: len(_ANNOTATIONS)] == _ANNOTATIONS else value


#: Effects that depend on the text of a configuration, not on its meaning.
_BY_TEXT = frozenset({"connector-restarts", "credentials-are-read-anew"})
#: An effect of a deployment that does not know what exists.
_NOT_HERE = frozenset({"namespace-created"})
#: Labels of a resource that the operator does not pass on to its pods. Source: STRIMZI_LABELS_EXCLUSION_PATTERN.
_NOT_PASSED_ON = re.compile(r"app\.kubernetes\.io/(?!part-of$).*")


def effects_of(facts: Facts, waiting: Collection[str] = ()) -> tuple[Effect, ...]:
    """The effects of adoption on the flows that already run, most severe first; those of `waiting` do not run yet."""
    running = {
        name: deployment
        for name, deployment in facts.declared.deployments.items()
        if not any(flow.name in waiting for flow in deployment.flows)
    }
    found = [each for name, deployment in running.items() for each in _of(facts, name, deployment)]
    found += [effect for name in facts.declared.others for effect in _of_users(facts, name)]
    return tuple(sorted(set(found), key=lambda each: (-each.severity.rank, each.flow, each.code, each.what)))


def _of(facts: Facts, name: str, deployment: Deployment) -> Iterator[Effect]:
    declared = facts.declared.objects(name)
    live = {key: body for each, key, _, body in facts.objects() if each == name and body is not None}
    if not any(body["kind"] in WORKER_KINDS for body in live.values()):
        return
    yield from (each for each in _proven(facts, deployment, live) if each.code not in _BY_TEXT | _NOT_HERE)
    flows = facts.declared.flows(name)
    before = {key: _readable(before_take_over(body, declared[key]), declared[key]) for key, body in live.items()}
    change = StackChange((deployment_state(name, before, flows),), (deployment_state(name, declared, flows),))
    yield from (effect for effect in connector_effects(change) if effect.code in _BY_TEXT)
    for key, body in live.items():
        if body["kind"] in WORKER_KINDS:
            yield from _passed_on(deployment.flows[0].name, body, declared[key])


def _of_users(facts: Facts, name: str) -> Iterator[Effect]:
    """Effects on the KafkaUsers that exist."""
    pairs = [(key, body, live) for each, key, body, live in facts.objects() if each == name and live is not None]
    users = [pair for pair in pairs if pair[1]["kind"] == "KafkaUser"]
    before = {key: _readable(before_take_over(live, body), body) for key, body, live in users}
    after = {key: body for key, body, _ in users}
    yield from namespace_and_user_effects(
        StackChange((deployment_state(name, before),), (deployment_state(name, after),))
    )


def _proven(facts: Facts, deployment: Deployment, live: Objects) -> Sequence[Effect]:
    documents = [
        body for key, body in live.items() if body["kind"] in REPLICATING_KINDS and not key.endswith("-heartbeats")
    ]
    if not any(document["kind"] != "KafkaConnect" for document in documents):
        return ()
    read = read_documents("the cluster", documents).objects
    flow = deployment.flows[0].name
    if len(read) < len(documents):
        lost = sorted({document["metadata"]["name"] for document in documents} - {each.name for each in read})
        what = (
            f"it is not known whether records and offsets continue, because {listed(lost)} cannot be read as a mirror"
        )
        return (Effect(Impact.DATA, "not-compared", flow, "", what),)
    parts = {planned.name: planned.part for planned in deployment.objects if planned.kind == "KafkaConnector"}
    imported = Imported(flow, "", {}, {}, read, parts=parts)
    return changes_of_import(imported, deployment, _placeholders(facts, read)).effects


def _placeholders(facts: Facts, read: Sequence[ReadObject]) -> Placeholders:
    workers = next(each for each in read if each.kind in WORKER_KINDS)
    config_maps = [*facts.config_maps, *(each for each in facts.live.values() if each["kind"] == "ConfigMap")]
    data = {
        (config_map["metadata"]["namespace"], config_map["metadata"]["name"]): dict(config_map.get("data") or {})
        for config_map in config_maps
    }
    return Placeholders(workers.namespace, providers_of(workers.spec.get("config") or {}), data)


def _readable(before: Manifest, declared: Manifest) -> Manifest:
    """A live object in the form that effects read: it names its flow, and equal values have equal types."""
    body: Manifest = _same_types(before, declared)
    metadata = body["metadata"]
    own = {PART_OF: declared["metadata"]["labels"][PART_OF]}
    body = {**body, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **own}}}
    if body["kind"] == "KafkaConnector":
        body["spec"] = {"config": {}, **body["spec"]}
    elif body["kind"] == "KafkaMirrorMaker2":
        body["spec"] = {
            **body["spec"],
            "mirrors": [_with_config(mirror) for mirror in body["spec"].get("mirrors") or []],
        }
    return body


def _with_config(mirror: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {"config": {}, **each} if key.endswith("Connector") and isinstance(each, Mapping) else each
        for key, each in mirror.items()
    }


def _same_types(value: Any, declared: Any) -> Any:
    """A value whose scalars have the declared type if they read the same, because Connect gets text."""
    if isinstance(value, Mapping) and isinstance(declared, Mapping):
        return {key: _same_types(each, declared.get(key)) for key, each in value.items()}
    if isinstance(value, list) and isinstance(declared, list):
        names, wanted = named_entries(value), named_entries(declared)
        if names is not None and wanted is not None:
            return [_same_types(each, wanted.get(name)) for name, each in names.items()]
        return value
    scalars = isinstance(value, str | int | float) and isinstance(declared, str | int | float)
    return declared if scalars and value_text(value) == value_text(declared) else value


def _passed_on(flow: str, live: Manifest, declared: Manifest) -> Iterator[Effect]:
    """Workers whose labels change: the operator gives their pods the same labels, so it replaces the pods."""
    old, new = (
        {
            name: value
            for name, value in (body["metadata"].get("labels") or {}).items()
            if not _NOT_PASSED_ON.fullmatch(name)
        }
        for body in (before_take_over(live, declared), declared)
    )
    changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    if changed:
        what = (
            f"{declared['kind']} `{declared['metadata']['name']}` rolls: its labels change ({listed(changed)}), and "
            "the operator gives them to the pods of the workers"
        )
        yield Effect(Impact.RESTART, "labels-roll", flow, "", what)
