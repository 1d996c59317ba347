"""What runs of a stack in its Kubernetes cluster, to compare with what its files say. Only reads."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError, ForbiddenError, NotFoundError, ResourceNotFoundError
from kubernetes.utils.quantity import parse_quantity
from urllib3.exceptions import HTTPError

from components.naming import namespace_name
from components.resolved import strimzi
from components.specs.planned import Manifest
from infra.errors import CannotRunError
from infra.kubernetes_access import api_client
from infra.review.comparison import Comparison, compare
from infra.review.drift import Drift
from infra.review.drift_findings import edited, missing, running_otherwise, undeclared
from infra.review.snapshots import Objects, Snapshot, current_snapshot
from infra.review.topic_drift import PUBLISHED, topic_drift
from infra.settings import read_settings, stack_names

LABEL = "what runs"
_OURS = "app.kubernetes.io/managed-by=kafka-replication"
_PART_OF = "app.kubernetes.io/part-of"
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
_QUANTITIES = frozenset({"ResourceQuota", "LimitRange"})
#: How the name of a ConfigMap ends that is named by its content.
_DIGEST = re.compile(r"-[0-9a-f]{10}$")
_CONNECTOR_ROLES = {
    "MirrorSourceConnector": "source",
    "MirrorCheckpointConnector": "checkpoint",
    "MirrorHeartbeatConnector": "heartbeat",
}
#: A value of the configuration that only a deployment knows.
_PLACEHOLDER = "(configuration key "

Identity = tuple[str, str, str]


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
    found = running(stack, declared, live)
    flows = {
        flow.name: namespace_name(flow.workers, flow.flow)
        for each in declared.deployments.values()
        for flow in each.flows
    }
    compared = compare(stack, LABEL, found.snapshot, declared)
    effects = compare(stack, LABEL, with_known_contents(found.snapshot, declared), declared).effects
    drift = (*found.drift, *topic_drift(stack, flows, published))
    return Comparison(stack, LABEL, effects, compared.objects, drift)


def read_objects(dynamic: Any, declared: Snapshot, version: str) -> list[Manifest]:
    """Every object with our labels in the cluster, and declared ones without; Secrets without their values."""
    kinds = [*_KINDS, *((f"kafka.strimzi.io/{version}", kind) for kind in _STRIMZI_KINDS)]
    namespaces = _namespaces(declared)
    found = {_identity(live): live for kind in kinds for live in _listed(dynamic, *kind, namespaces, _OURS)}
    for body in _objects(declared):
        if _identity(body) not in found and (live := _read(dynamic, body)) is not None:
            found[_identity(body)] = live
    return list(found.values())


def _objects(declared: Snapshot) -> list[Manifest]:
    return [body for name in declared.names for body in declared.objects(name).values()]


def _namespaces(declared: Snapshot) -> list[str]:
    return sorted({body["metadata"].get("namespace", "") for body in _objects(declared)} - {""})


@contextmanager
def _asking(stack: str) -> Iterator[None]:
    why = "What runs is compared with what its files say."
    try:
        yield
    except DynamicApiError as error:
        raise CannotRunError(
            f"Kubernetes answers {error.status} {error.reason}",
            f"stack {stack}",
            why,
            "let the account of the stack's Kubernetes context get and list the kinds that `replicate render` writes.",
        ) from error
    except HTTPError as error:
        raise CannotRunError(
            "the Kubernetes API server does not answer",
            f"stack {stack}",
            why,
            "correct `kubernetes:context` or `kubernetes:kubeconfig` in the stack file, or run it again.",
        ) from error


def running(stack: str, declared: Snapshot, live: Sequence[Manifest]) -> Running:
    """Sort live objects by the deployments that they are or were of, and tell what drifted. Pure."""
    by_identity = {_identity(each): each for each in live}
    others: dict[str, Objects] = {}
    drift: list[Drift] = []
    known: set[Identity] = set()
    for name in declared.names:
        objects = declared.objects(name)
        flows = {body["metadata"]["labels"][_PART_OF] for body in objects.values()}
        there = {key: by_identity[_identity(body)] for key, body in objects.items() if _identity(body) in by_identity}
        left = [
            each
            for each in live
            if each["metadata"].get("labels", {}).get(_PART_OF) in {*flows, name}
            and _identity(each) not in {_identity(body) for body in objects.values()}
            and _identity(each) not in known
        ]
        known |= {_identity(each) for each in (*there.values(), *left)}
        former = dict(_former(left, objects, there))
        others[name] = {key: _seen(objects[key], each) for key, each in there.items()} | {
            key: _whole(each) for key, each in former.items()
        }
        if there:
            drift += _drift(stack, objects, there, former)
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


def _drift(stack: str, objects: Objects, there: Mapping[str, Manifest], former: Objects) -> Iterator[Drift]:
    for key, body in objects.items():
        flow = body["metadata"]["labels"][_PART_OF]
        if key in there:
            yield from edited(
                stack, flow, {each: body[each] for each in body if each != "values"}, _with_known(there[key], body)
            )
            if body["kind"] in _RUNNERS:
                yield from running_otherwise(flow, there[key])
        elif key not in former:
            yield missing(stack, flow, body)


def _former(left: Iterable[Manifest], objects: Objects, there: Objects) -> Iterator[tuple[str, Manifest]]:
    """Objects that the stack would not have any more, by role and part as far as they tell."""
    stems = {_stem(body): key for key, body in objects.items() if body["kind"] == "ConfigMap" and key not in there}
    for live in left:
        metadata = live["metadata"]
        if live["kind"] == "ConfigMap" and (key := stems.pop(_stem(live), None)) is not None:
            yield key, live
        elif live["kind"] == "KafkaConnector":
            role = _CONNECTOR_ROLES.get(str(live["spec"].get("class")).rpartition(".")[2], "")
            part = metadata["name"].removeprefix(f"{metadata['labels'][_PART_OF]}-{role}").removeprefix("-")
            key = f"{role}-connector-{part}" if part else f"{role}-connector"
            yield key if key not in objects else f"kafkaconnector {metadata['name']}", live
        else:
            yield f"{live['kind'].lower()} {metadata['name']}", live


def _stem(body: Manifest) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), _DIGEST.sub("", body["metadata"]["name"])


def _seen(declared: Manifest, live: Manifest) -> Manifest:
    """A live object as far as the stack declares it; of a Secret of our making, which keys it has."""
    body: Manifest = _restricted(live, {key: value for key, value in declared.items() if key != "values"})
    if declared["kind"] in _QUANTITIES:
        body = _same_quantities(body, declared)
    if "values" in declared:
        keys = live.get("data") or {}
        body["values"] = {
            key: declared["values"].get(key, "(set in the cluster)") for key in declared["values"] if key in keys
        }
    return body


def _restricted(live: Any, declared: Any) -> Any:
    if isinstance(live, Mapping) and isinstance(declared, Mapping):
        return {key: _restricted(live[key], declared[key]) for key in declared if key in live}
    if isinstance(live, list) and isinstance(declared, list) and len(live) == len(declared):
        return [_restricted(*pair) for pair in zip(live, declared, strict=True)]
    if isinstance(live, str) and isinstance(declared, str) and _PLACEHOLDER in declared:
        return declared
    return live


def _same_quantities(live: Any, declared: Any) -> Any:
    """Quantities that are equal as they are declared; the API server writes them in a form of its own."""
    if isinstance(live, Mapping) and isinstance(declared, Mapping):
        return {key: _same_quantities(value, declared.get(key)) for key, value in live.items()}
    if isinstance(live, list) and isinstance(declared, list) and len(live) == len(declared):
        return [_same_quantities(*pair) for pair in zip(live, declared, strict=True)]
    return declared if _quantity(live) is not None and _quantity(live) == _quantity(declared) else live


def _quantity(value: Any) -> Any:
    try:
        return parse_quantity(value)  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):
        return None


def _with_known(live: Manifest, declared: Manifest) -> Manifest:
    """A live object whole, with quantities in the form in which they are declared."""
    if declared["kind"] in _QUANTITIES:
        found: Manifest = _same_quantities(live, declared)
        return found
    return live


def _whole(live: Manifest) -> Manifest:
    """A live object without what the API server and the operator wrote."""
    metadata = {key: live["metadata"][key] for key in ("name", "namespace", "labels") if key in live["metadata"]}
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}


def _identity(body: Manifest) -> Identity:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace") or "", metadata["name"]


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
