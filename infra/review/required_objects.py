"""The namespaces and Secrets that a change needs and that the stack does not create. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from components.render.planned_objects import Manifest
from infra.review.object_changes import Identity, identity
from infra.review.snapshots import Snapshot


def required_objects(before: Snapshot, after: Snapshot, changed: Iterable[str]) -> tuple[str, ...]:
    """Lines with what the objects of `after` need and those of `before` did not. `changed` are the deployments that
    differ; others are rendered only if they share a namespace in which these need something new.
    """
    names = tuple(changed)
    candidates = _required(after, names) - _required(before, names)
    namespaces = {namespace or name for _, namespace, name in candidates}
    old, new = (_required(each, (*names, *_others_in(namespaces, each))) for each in (before, after))
    found: dict[str, list[str]] = {}
    for kind, namespace, name in sorted(candidates & (new - old)):
        found.setdefault(f"Secrets in {namespace}" if namespace else f"{kind}s", []).append(name)
    return tuple(f"{title}: {', '.join(each)}" for title, each in found.items())


def _required(snapshot: Snapshot, names: Iterable[str]) -> set[Identity]:
    """The namespaces and Secrets that objects of these deployments name, except those that are among the objects."""
    bodies = [body for name in names for body in snapshot.objects(name).values()]
    needed: set[Identity] = set()
    for body in bodies:
        if namespace := body["metadata"].get("namespace"):
            needed.add(("Namespace", "", namespace))
            needed |= {("Secret", namespace, secret) for secret in _secrets(body)}
    return needed - set(_made(snapshot, bodies))


def _made(snapshot: Snapshot, bodies: Iterable[Manifest]) -> Iterator[Identity]:
    """Yield what the stack creates, and the Secrets that Strimzi's User Operator writes for its KafkaUsers."""
    for body in bodies:
        kind, namespace, name = identity(body)
        # Whoever applies a GitOps stack gets no value of a Secret from it.
        if kind != "Secret" or not snapshot.by_gitops:
            yield kind, namespace, name
        if body["kind"] == "KafkaUser":
            yield "Secret", namespace, name


def _others_in(namespaces: Collection[str], snapshot: Snapshot) -> Iterator[str]:
    """Yield the deployments in these namespaces, and those of which only objects are known, which cost nothing."""
    yield from snapshot.others
    for name, deployment in snapshot.deployments.items():
        if any(flow.namespace in namespaces for flow in deployment.flows):
            yield name


def _secrets(value: Any) -> Iterator[str]:
    """Yield the Secrets anywhere in an object: those that pods mount, read or pull their image with, and those that a
    Role lets connectors read.
    """
    if isinstance(value, Mapping):
        if "secretName" in value:
            yield value["secretName"]
        for key in ("secret", "secretKeyRef", "secretRef"):
            if isinstance(named := value.get(key), Mapping) and "name" in named:
                yield named["name"]
        for each in value.get("imagePullSecrets") or ():
            yield each["name"] if isinstance(each, Mapping) else each
        if "secrets" in (value.get("resources") or ()):
            yield from value.get("resourceNames", ())
        for each in value.values():
            yield from _secrets(each)
    elif isinstance(value, list):
        for each in value:
            yield from _secrets(each)
