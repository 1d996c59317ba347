"""Compares what runs in a stack's Kubernetes cluster with what the stack's files declare. It only reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.contract.published_verdict import SELECTOR
from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.flows.resolved import flow_digest
from kafka_replication.components.render.exporter import COMPARED_KINDS, OPTIONAL_KINDS, STRIMZI_KINDS
from kafka_replication.components.render.planned_objects import OURS, PART_OF, Manifest
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, reference
from kafka_replication.infra.review.comparison import Comparison, Drift, compare
from kafka_replication.infra.review.drift import (
    Deployer,
    by_flow,
    edited,
    missing_objects,
    not_deleted,
    running_otherwise,
    territory,
    topic_drift,
    undeclared,
    undeleted_replications,
    validated,
    written_by_hand,
)
from kafka_replication.infra.review.live_objects import as_declared, former, seen, whole
from kafka_replication.infra.review.object_changes import Identity, identity
from kafka_replication.infra.review.snapshots import Objects, Snapshot, current_snapshot
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings, stack_names

LABEL = "what runs"
_WHY = "The command compares what runs with what the stack's files declare."
_PERMISSION = "let the account of the stack's Kubernetes context get and list the kinds that `replicate render` writes."


@dataclass(frozen=True)
class Running:
    """Holds what runs: the objects of a stack with the fields that it declares, and what no longer matches it."""

    snapshot: Snapshot
    drift: tuple[Drift, ...]


def deployable_stacks(stacks: Path) -> tuple[str, ...]:
    """Return stacks with a real cluster: all except those of the local stack."""
    return tuple(
        name for name in stack_names(stacks) if not stack_environment(read_settings(name, stacks)).on_this_machine
    )


def compare_with_clusters(names: Iterable[str], stacks: Path) -> tuple[list[Comparison], list[CannotRunError]]:
    """Return the comparisons of these stacks, and why the others could not be compared: a cluster may be down."""
    comparisons: list[Comparison] = []
    failures: list[CannotRunError] = []
    for stack in names:
        try:
            with OpenStack(read_settings(stack, stacks)) as opened:
                comparisons.append(compare_with_cluster(opened))
        except CannotRunError as error:
            failures.append(error)
    return comparisons, failures


def compare_with_cluster(opened: OpenStack, *, lists_secrets: bool = True) -> Comparison:
    """Return what a deployment would change in the cluster, and drift. Raises ReplicationError, CannotRunError."""
    stack, settings = opened.name, opened.settings
    declared = current_snapshot(stack, settings.stacks, like_rendered=True)
    version = strimzi(settings.topology.strimzi).api_version
    with opened.asking_kubernetes(_WHY, _PERMISSION) as cluster:
        live = read_objects(cluster, declared, version, lists_secrets=lists_secrets)
        published = list(_listed(cluster, "v1", "ConfigMap", _namespaces(declared), SELECTOR))
    # Pulumi deletes what it deployed, and a preview shows that.
    undeleted: Mapping[str, Objects] = {}
    if settings.by_gitops:
        known = {*declared.names, *(body["metadata"]["labels"][PART_OF] for body in _objects(declared))}
        own = territory(settings, opened.configured.values)
        others = []
        for name in (name for name in stack_names(settings.stacks) if name != stack):
            # The files of another stack may have mistakes.
            with suppress(CannotRunError, ReplicationError):
                other = read_settings(name, settings.stacks)
                others.append(territory(other, other.values))
        undeleted = undeleted_replications(live, known, own, others)
    flows = [flow for deployment in declared.deployments.values() for flow in deployment.flows]
    verdicts = by_flow({flow.name: flow.namespace for flow in flows}, published)
    proven = validated({flow.name: flow_digest(flow) for flow in flows}, verdicts)
    live_stack = running(stack, declared, live, proven, undeleted)
    compared = compare(stack, LABEL, live_stack.snapshot, declared)
    effects = compare(stack, LABEL, with_known_contents(live_stack.snapshot, declared), declared).effects
    drift = (*live_stack.drift, *topic_drift(stack, verdicts))
    not_asked = (
        "only Kubernetes objects and published verdicts are compared; Kafka is not asked: "
        f"`replicate status {stack}` asks both clusters of each flow"
    )
    return Comparison(stack, LABEL, effects, compared.objects, drift, not_asked=not_asked)


def read_objects(api: KubernetesApi, declared: Snapshot, version: str, *, lists_secrets: bool = True) -> list[Manifest]:
    """Return objects with our labels, and declared ones without them; Secrets without values. Unless it
    `lists_secrets`, only declared ones."""
    kinds = {**COMPARED_KINDS, **dict.fromkeys(STRIMZI_KINDS, version)}
    if lists_secrets:
        kinds["Secret"] = "v1"
    namespaces = _namespaces(declared)
    listed = (_listed(api, of, kind, namespaces, OURS) for kind, of in kinds.items())
    by_identity = {identity(live): live for objects in listed for live in objects}
    by_identity |= {identity(live): live for live in _optional(api, declared, namespaces)}
    for body in _objects(declared):
        if identity(body) not in by_identity and (live := api.get(reference(body))) is not None:
            by_identity[identity(body)] = _without_secrets(live)
    return list(by_identity.values())


def _optional(api: KubernetesApi, declared: Snapshot, namespaces: list[str]) -> list[Manifest]:
    """Return the stack's monitoring, and its validation in the cluster."""
    needed = {body["kind"] for body in _objects(declared)}
    optional: list[Manifest] = []
    for kind, version in OPTIONAL_KINDS.items():
        try:
            # The operator copies our labels to the runs that it creates from a ScheduledSparkApplication.
            listed = _listed(api, version, kind, namespaces, OURS)
            optional += (body for body in listed if not body["metadata"].get("ownerReferences"))
        except ApiError as error:
            if kind in needed or not error.forbidden:
                raise
    return optional


def _objects(declared: Snapshot) -> list[Manifest]:
    return [body for name in declared.names for body in declared.objects(name).values()]


def _namespaces(declared: Snapshot) -> list[str]:
    return sorted({body["metadata"].get("namespace", "") for body in _objects(declared)} - {""})


def running(
    stack: str,
    declared: Snapshot,
    live: Sequence[Manifest],
    proven: Mapping[str, str] = MappingProxyType({}),
    undeleted: Mapping[str, Objects] = MappingProxyType({}),
) -> Running:
    """Assign live objects to their deployments, and find drift. `proven` says when each flow was validated with its
    digest; `undeleted` are replications that the stack no longer declares. Pure."""
    by_identity = {identity(body): body for body in live}
    deployer = Deployer(stack, declared.by_gitops)
    others: dict[str, Objects] = {}
    drift: list[Drift] = []
    # Deployments of one replication share its label, and each declares objects that the others do not.
    known: set[Identity] = {identity(body) for body in _objects(declared)}
    for name in declared.names:
        objects = declared.objects(name)
        flows = {body["metadata"]["labels"][PART_OF] for body in objects.values()}
        there = {key: by_identity[identity(body)] for key, body in objects.items() if identity(body) in by_identity}
        left = [
            body
            for body in live
            if body["metadata"].get("labels", {}).get(PART_OF) in {*flows, name} and identity(body) not in known
        ]
        known |= {identity(body) for body in left}
        gone = dict(former(left, objects, there))
        present = {key: seen(objects[key], body) for key, body in there.items()}
        others[name] = present | {key: whole(body) for key, body in gone.items()}
        if there:
            drift += _drift(deployer, objects, there, declared.flows(name))
            drift += missing_objects(deployer, name, objects, present, declared.waits(name), gone, proven)
        drift += [finding for body in left for finding in undeclared(body)]
    others |= undeleted
    drift += [not_deleted(stack, name, objects) for name, objects in undeleted.items()]
    return Running(Snapshot(others=others), tuple(sorted(drift, key=lambda finding: -finding.severity.rank)))


def with_known_contents(live: Snapshot, declared: Snapshot) -> Snapshot:
    """Return what runs, plus deleted ConfigMaps, whose names contain the digest of what connectors read from them."""
    filled = {
        name: {key: body for key, body in declared.objects(name).items() if body["kind"] == "ConfigMap"} | dict(objects)
        if objects
        else objects
        for name, objects in live.others.items()
    }
    return Snapshot(others=filled)


def _drift(
    deployer: Deployer, objects: Objects, there: Mapping[str, Manifest], flows: Mapping[str, str]
) -> Iterator[Drift]:
    for key, live in there.items():
        body = {field: value for field, value in objects[key].items() if field != "values"}
        flow = body["metadata"]["labels"][PART_OF]
        yield from edited(deployer, flow, body, as_declared(live, body))
        yield from written_by_hand(deployer, flow, live, objects[key].get("values", ()))
        if body["kind"] in STRIMZI_KINDS:
            yield from running_otherwise(deployer.stack, flow, live, flows)


def _listed(api: KubernetesApi, version: str, kind: str, namespaces: Iterable[str], labels: str) -> Iterator[Manifest]:
    yield from map(_without_secrets, api.list_where_allowed(version, kind, namespaces, label_selector=labels))


def _without_secrets(live: Manifest) -> Manifest:
    """Keep only the keys of a Secret: its values never leave this module."""
    if live["kind"] != "Secret":
        return live
    shown = {key: value for key, value in live.items() if key not in ("data", "stringData")}
    metadata = {key: value for key, value in live["metadata"].items() if key != "annotations"}
    return {**shown, "metadata": metadata, "data": dict.fromkeys(live.get("data") or {}, "(not shown)")}
