"""Judges what adoption means: effects on records and offsets, and restarts. Pure. Whether records and offsets
continue is judged as `replicate import` does, with Kafka's defaults filled in. Restarts are judged by the text that
Connect receives: any different text restarts a connector, even one with the same effect.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kafka_replication.components.changes.deployment_state import deployment_state
from kafka_replication.components.changes.effect import Effect, Impact, listed
from kafka_replication.components.changes.kubernetes_objects import namespace_and_user_effects
from kafka_replication.components.changes.restarts import connector_effects
from kafka_replication.components.changes.stack_change import StackChange
from kafka_replication.components.flows.operators import REPLICATING_KINDS, WORKER_KINDS
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.deployments import Deployment
from kafka_replication.components.render.planned_objects import PART_OF, Manifest
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.kubernetes.managed_fields import Path, owners_of
from kafka_replication.infra.onboard.importing.deployment_changes import changes_of_import
from kafka_replication.infra.onboard.importing.flows import Imported
from kafka_replication.infra.onboard.importing.reading import read_documents
from kafka_replication.infra.onboard.importing.values import Placeholders
from kafka_replication.infra.review.live_objects import as_declared, as_written
from kafka_replication.infra.review.snapshots import Objects

#: Kubernetes writes it again at once.
_NAME_OF_NAMESPACE = ("metadata", "labels", "kubernetes.io/metadata.name")
#: An annotation may hold the whole object, with credentials.
_ANNOTATIONS = ("metadata", "annotations")
_HIDDEN = "(not shown)"
_OF_METADATA = ("name", "namespace", "labels", "annotations")


def before_take_over(live: Manifest, declared: Manifest) -> Manifest:
    """Return the fields of a live object that the stack declares or that adoption removes, as the stack writes them."""
    body = as_declared(live, declared)
    metadata = {key: body["metadata"][key] for key in _OF_METADATA if key in body["metadata"]}
    known = {key: value for key, value in body.items() if key != "status"}
    compared: Manifest = _compared(live, {**known, "metadata": metadata}, declared, ())
    return compared


def _compared(whole: Manifest, value: Any, declared: Any, path: Path) -> Any:
    if not isinstance(value, Mapping) or not isinstance(declared, Mapping):
        return value
    compared = {}
    for key, inner in value.items():
        here = (*path, key)
        if key in declared:
            compared[key] = _compared(whole, inner, declared[key], here)
        elif (removed := _removed(whole, inner, here)) is not None:
            compared[key] = removed
    return compared


def _removed(whole: Manifest, value: Any, path: Path) -> Any:
    """Return what adoption removes of an undeclared field; None if nothing."""
    if isinstance(value, Mapping) and value:
        parts = {key: _removed(whole, inner, (*path, key)) for key, inner in value.items()}
        return {key: removed for key, removed in parts.items() if removed is not None} or None
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


def effects_of(facts: AdoptionFacts, waiting: Collection[str] = ()) -> tuple[Effect, ...]:
    """Return the effects of adoption on flows that already run, most severe first; `waiting` do not run yet."""
    running = {
        name: deployment
        for name, deployment in facts.declared.deployments.items()
        if not any(flow.name in waiting for flow in deployment.flows)
    }
    effects = [effect for name, deployment in running.items() for effect in _of(facts, name, deployment)]
    effects += [effect for name in facts.declared.others for effect in _of_users(facts, name)]
    return tuple(
        sorted(set(effects), key=lambda effect: (-effect.severity.rank, effect.flow, effect.code, effect.what))
    )


def _of(facts: AdoptionFacts, name: str, deployment: Deployment) -> Iterator[Effect]:
    declared = facts.declared.objects(name)
    live = {key: body for owner, key, _, body in facts.objects() if owner == name and body is not None}
    if not any(body["kind"] in WORKER_KINDS for body in live.values()):
        return
    yield from (effect for effect in _proven(facts, deployment, live) if effect.code not in _BY_TEXT | _NOT_HERE)
    flows = facts.declared.flows(name)
    before = {key: _readable(before_take_over(body, declared[key]), declared[key]) for key, body in live.items()}
    change = StackChange((deployment_state(name, before, flows),), (deployment_state(name, declared, flows),))
    yield from (effect for effect in connector_effects(change) if effect.code in _BY_TEXT)
    for key, body in live.items():
        if body["kind"] in WORKER_KINDS:
            yield from _passed_on(deployment.flows[0].name, body, declared[key])


def _of_users(facts: AdoptionFacts, name: str) -> Iterator[Effect]:
    """Yield effects on the KafkaUsers that exist."""
    before: dict[str, Manifest] = {}
    after: dict[str, Manifest] = {}
    for owner, key, body, live in facts.objects():
        if owner == name and live is not None and body["kind"] == "KafkaUser":
            before[key], after[key] = _readable(before_take_over(live, body), body), body
    change = StackChange((deployment_state(name, before),), (deployment_state(name, after),))
    yield from namespace_and_user_effects(change)


def _proven(facts: AdoptionFacts, deployment: Deployment, live: Objects) -> Sequence[Effect]:
    documents = [
        body for key, body in live.items() if body["kind"] in REPLICATING_KINDS and not key.endswith("-heartbeats")
    ]
    if not any(document["kind"] != "KafkaConnect" for document in documents):
        return ()
    read = read_documents("the cluster", documents).objects
    flow = deployment.flows[0].name
    if len(read) < len(documents):
        lost = sorted({document["metadata"]["name"] for document in documents} - {document.name for document in read})
        what = f"whether records and offsets continue is not known: {listed(lost)} cannot be read as a mirror"
        return (Effect(Impact.DATA, "not-compared", flow, "", what),)
    parts = {planned.name: planned.part for planned in deployment.objects if planned.kind == "KafkaConnector"}
    imported = Imported(flow, "", {}, {}, read, parts=parts)
    workers = next(document for document in read if document.kind in WORKER_KINDS)
    placeholders = Placeholders.of(workers.namespace, workers.config, facts.config_map_data)
    return changes_of_import(imported, deployment, placeholders).effects


def _readable(before: Manifest, declared: Manifest) -> Manifest:
    """Return a live object in the form that effects read: it names its flow, and equal values have equal types."""
    # Connect gets text.
    body: Manifest = as_written(before, declared, _reads_the_same)
    metadata = body["metadata"]
    own = {PART_OF: declared["metadata"]["labels"][PART_OF]}
    body = {**body, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **own}}}
    if body["kind"] == "KafkaConnector":
        body["spec"] = {"config": {}, **body["spec"]}
    elif body["kind"] == "KafkaMirrorMaker2":
        mirrors = [
            {
                key: {"config": {}, **field} if key.endswith("Connector") and isinstance(field, Mapping) else field
                for key, field in mirror.items()
            }
            for mirror in body["spec"].get("mirrors") or []
        ]
        body["spec"] = {**body["spec"], "mirrors": mirrors}
    return body


def _reads_the_same(value: Any, declared: Any) -> bool:
    scalars = isinstance(value, str | int | float) and isinstance(declared, str | int | float)
    return scalars and value_text(value) == value_text(declared)


def _passed_on(flow: str, live: Manifest, declared: Manifest) -> Iterator[Effect]:
    """Yield an effect if the labels of workers change: the operator gives them to the pods, so it replaces the pods."""
    old, new = (body["metadata"].get("labels") or {} for body in (before_take_over(live, declared), declared))
    passed_on = (name for name in {*old, *new} if not _NOT_PASSED_ON.fullmatch(name))
    if changed := sorted(name for name in passed_on if old.get(name) != new.get(name)):
        what = (
            f"{declared['kind']} `{declared['metadata']['name']}` rolls: its labels change ({listed(changed)}), and "
            "the operator gives them to the pods of the workers"
        )
        yield Effect(Impact.RESTART, "labels-roll", flow, "", what)
