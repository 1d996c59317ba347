"""What runs of a stack in its Kubernetes cluster, to compare with what its files say. Only reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ForbiddenError, NotFoundError, ResourceNotFoundError

from components.digest import flow_digest
from components.naming import namespace_name
from components.resolved import strimzi
from components.specs.planned import Manifest
from infra.kubernetes_access import api_client, asking_kubernetes
from infra.review.comparison import Comparison, compare
from infra.review.drift import Drift
from infra.review.drift_findings import edited, running_otherwise, undeclared
from infra.review.live_objects import PART_OF, Identity, as_declared, former, identity, seen, whole
from infra.review.missing_objects import missing_objects
from infra.review.published import PUBLISHED, by_flow, validated
from infra.review.snapshots import Objects, Snapshot, current_snapshot
from infra.review.topic_drift import topic_drift
from infra.settings import read_settings, stack_names

LABEL = "what runs"
_OURS = "app.kubernetes.io/managed-by=kafka-replication"
_CALL_SECONDS = 30
_KINDS = (
    ("v1", "Namespace"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ResourceQuota"),
    ("v1", "LimitRange"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
)
_STRIMZI_KINDS = ("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "KafkaUser")
_RUNNERS = frozenset({"KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "KafkaUser"})


@dataclass(frozen=True)
class Running:
    """What runs of a stack: its objects as far as the stack speaks of them, and what no longer matches it."""

    snapshot: Snapshot
    drift: tuple[Drift, ...]


def deployable_stacks(stacks: Path) -> tuple[str, ...]:
    """Stacks with a cluster of their own: all but those of the local stack."""
    return tuple(name for name in stack_names(stacks) if not read_settings(name, stacks).local)


def compare_with_cluster(stack: str, stacks: Path) -> Comparison:
    """What the next deployment of a stack would change in its cluster, and what drifted there.

    Raises ReplicationError for mistakes of its topology, CannotRunError when the cluster does not answer.
    """
    settings = read_settings(stack, stacks)
    declared = current_snapshot(stack, stacks, like_rendered=True)
    api = strimzi(settings.topology.strimzi).api.value
    with _asking(stack):
        dynamic: Any = DynamicClient(api_client(settings))  # type: ignore[no-untyped-call]
        live = read_objects(dynamic, declared, api)
        published = list(_listed(dynamic, "v1", "ConfigMap", _namespaces(declared), PUBLISHED))
    flows = [flow for each in declared.deployments.values() for flow in each.flows]
    told = by_flow({flow.name: namespace_name(flow.workers, flow.flow) for flow in flows}, published)
    found = running(stack, declared, live, validated({flow.name: flow_digest(flow) for flow in flows}, told))
    compared = compare(stack, LABEL, found.snapshot, declared)
    effects = compare(stack, LABEL, with_known_contents(found.snapshot, declared), declared).effects
    drift = (*found.drift, *topic_drift(stack, told))
    return Comparison(stack, LABEL, effects, compared.objects, drift)


def read_objects(dynamic: Any, declared: Snapshot, version: str) -> list[Manifest]:
    """Every object with our labels in the cluster, and declared ones without; Secrets without their values."""
    kinds = [*_KINDS, *((f"kafka.strimzi.io/{version}", kind) for kind in _STRIMZI_KINDS)]
    namespaces = _namespaces(declared)
    found = {identity(live): live for kind in kinds for live in _listed(dynamic, *kind, namespaces, _OURS)}
    for body in _objects(declared):
        if identity(body) not in found and (live := _read(dynamic, body)) is not None:
            found[identity(body)] = live
    return list(found.values())


def _objects(declared: Snapshot) -> list[Manifest]:
    return [body for name in declared.names for body in declared.objects(name).values()]


def _namespaces(declared: Snapshot) -> list[str]:
    return sorted({body["metadata"].get("namespace", "") for body in _objects(declared)} - {""})


def _asking(stack: str) -> AbstractContextManager[None]:
    return asking_kubernetes(
        f"stack {stack}",
        "What runs is compared with what its files say.",
        "let the account of the stack's Kubernetes context get and list the kinds that `replicate render` writes.",
    )


def running(
    stack: str, declared: Snapshot, live: Sequence[Manifest], proven: Mapping[str, str] = MappingProxyType({})
) -> Running:
    """Sort live objects by the deployments that they are or were of, and tell what drifted. Pure.

    `proven` is when each flow was validated, of those that were with the digest that is declared.
    """
    by_identity = {identity(each): each for each in live}
    others: dict[str, Objects] = {}
    drift: list[Drift] = []
    known: set[Identity] = set()
    for name in declared.names:
        objects = declared.objects(name)
        flows = {body["metadata"]["labels"][PART_OF] for body in objects.values()}
        there = {key: by_identity[identity(body)] for key, body in objects.items() if identity(body) in by_identity}
        left = [
            each
            for each in live
            if each["metadata"].get("labels", {}).get(PART_OF) in {*flows, name}
            and identity(each) not in {identity(body) for body in objects.values()}
            and identity(each) not in known
        ]
        known |= {identity(each) for each in (*there.values(), *left)}
        gone = dict(former(left, objects, there))
        others[name] = {key: seen(objects[key], each) for key, each in there.items()} | {
            key: whole(each) for key, each in gone.items()
        }
        if there:
            drift += _drift(stack, objects, there)
            known_as = {key: body for key, body in others[name].items() if key in there}
            drift += missing_objects(stack, name, objects, known_as, declared.waits(name), gone, proven)
        drift += [each for body in left for each in undeclared(body)]
    return Running(Snapshot(others=others), tuple(sorted(drift, key=lambda each: -each.severity.rank)))


def with_known_contents(live: Snapshot, declared: Snapshot) -> Snapshot:
    """What runs, with ConfigMaps that somebody deleted: their names say what they held, and connectors read it then."""
    filled = {
        name: {key: body for key, body in declared.objects(name).items() if body["kind"] == "ConfigMap"} | dict(objects)
        if objects
        else objects
        for name, objects in live.others.items()
    }
    return Snapshot(others=filled)


def _drift(stack: str, objects: Objects, there: Mapping[str, Manifest]) -> Iterator[Drift]:
    for key, live in there.items():
        body = {each: value for each, value in objects[key].items() if each != "values"}
        flow = body["metadata"]["labels"][PART_OF]
        yield from edited(stack, flow, body, as_declared(live, body))
        if body["kind"] in _RUNNERS:
            yield from running_otherwise(flow, live)


def _listed(dynamic: Any, version: str, kind: str, namespaces: Iterable[str], labels: str) -> Iterator[Manifest]:
    """Objects of a kind with labels: of the whole cluster, or of the stack's namespaces where that is forbidden."""
    try:
        resource = dynamic.resources.get(api_version=version, kind=kind)
    except ResourceNotFoundError:
        return
    options = {"label_selector": labels, "_request_timeout": _CALL_SECONDS}
    try:
        items = resource.get(**options).to_dict()["items"]
    except ForbiddenError:
        if not resource.namespaced:
            return
        items = [item for each in namespaces for item in resource.get(namespace=each, **options).to_dict()["items"]]
    yield from (_without_secrets({"apiVersion": version, "kind": kind, **item}) for item in items)


def _read(dynamic: Any, body: Manifest) -> Manifest | None:
    metadata = body["metadata"]
    try:
        resource = dynamic.resources.get(api_version=body["apiVersion"], kind=body["kind"])
        place = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
        live = resource.get(name=metadata["name"], **place, _request_timeout=_CALL_SECONDS).to_dict()
    except (NotFoundError, ResourceNotFoundError):
        return None
    return _without_secrets({"apiVersion": body["apiVersion"], "kind": body["kind"], **live})


def _without_secrets(live: Manifest) -> Manifest:
    """Of a Secret only the keys: its values go no further than here."""
    if live["kind"] != "Secret":
        return live
    kept = {key: value for key, value in live.items() if key not in ("data", "stringData")}
    metadata = {key: value for key, value in live["metadata"].items() if key != "annotations"}
    return {**kept, "metadata": metadata, "data": dict.fromkeys(live.get("data") or {}, "(not shown)")}
