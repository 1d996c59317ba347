"""Restarts connectors whose Secret of the stack has changed: they read it only when they start."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.planned_objects import OURS, Manifest
from kafka_replication.components.render.secrets import ObjectReference as Named
from kafka_replication.components.render.secrets import references
from kafka_replication.infra.kubernetes.access import asking_kubernetes
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, annotations_of, reference
from kafka_replication.infra.kubernetes.managed_fields import newest_writer

#: Source: Strimzi 1.2 KafkaConnectAssemblyOperator.restartAnnotationIsValid. The operator removes it afterwards.
RESTART = {"strimzi.io/restart": "includeTasks"}
#: An annotation of a connector that was restarted: the `resourceVersion` of each Secret that it then read, by name.
READ_SECRETS = "kafka-replication/read-secrets"


def restart_readers(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> Iterator[str]:
    """Ask the operator to restart the connectors that started before a Secret of theirs changed, in whichever
    deployment that was; yield a sentence about each.
    """
    readers = list(_readers(flows))
    secrets = _existing(api, {named for _, read in readers for named in read})
    connectors = _connectors(api, flows) if secrets else {}
    for body, read in readers:
        live, target = connectors.get(reference(body)), reference(body)
        own = {named.name: secrets[named] for named in read & secrets.keys()}
        if live is None or not (changed := sorted(name for name in own if not _has_read(live, own[name]))):
            continue
        _annotate(api, target, {**RESTART, READ_SECRETS: _versions(own.values())})
        names = ", ".join(f"`{name}`" for name in changed)
        yield f"connector {target.name} restarts: Secret {names} has changed since it started"


def secrets_read(
    api: KubernetesApi, flows: Sequence[ResolvedFlow], connectors: Collection[Reference]
) -> Mapping[Reference, str]:
    """Return what to note on those of the connectors that read Secrets of the stack if they start now."""
    readers = [(reference(body), read) for body, read in _readers(flows) if reference(body) in connectors]
    secrets: dict[Named, Object] = {}
    for named in {named for _, read in readers for named in read}:
        # An account that may not read a Secret notes nothing of it: the next deployment then restarts the connector.
        with suppress(CannotRunError):
            secrets |= _existing(api, {named})
    return {target: _versions(secrets[named] for named in read & secrets.keys()) for target, read in readers if read}


def note_secrets_read(api: KubernetesApi, noted: Mapping[Reference, str]) -> None:
    """Note on connectors that have restarted what they then read, so that the next deployment does not restart them."""
    for target, versions in noted.items():
        _annotate(api, target, {READ_SECRETS: versions})


def _versions(secrets: Iterable[Object]) -> str:
    versions = {secret["metadata"]["name"]: secret["metadata"]["resourceVersion"] for secret in secrets}
    return json.dumps(versions, sort_keys=True)


def _annotate(api: KubernetesApi, target: Reference, annotations: Mapping[str, str]) -> None:
    metadata = {"name": target.name, "namespace": target.namespace, "annotations": dict(annotations)}
    with asking_kubernetes(str(target), "It reads a Secret that changed.", "let your user patch it."):
        api.apply({"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata})


def _has_read(connector: Object, secret: Object) -> bool:
    """Return whether a connector started after the Secret was last written: when it was last restarted for a Secret, or
    else when it was created.
    """
    recorded = json.loads(annotations_of(connector).get(READ_SECRETS, "{}"))
    metadata = secret["metadata"]
    if metadata["name"] in recorded:
        return bool(recorded[metadata["name"]] == metadata["resourceVersion"])
    writer = newest_writer(secret, "data")
    written = metadata["creationTimestamp"] if writer is None else writer.since
    return bool(written <= connector["metadata"]["creationTimestamp"])


def _existing(api: KubernetesApi, secrets: set[Named]) -> Mapping[Named, Object]:
    existing = {}
    for named in sorted(secrets):
        target = Reference("v1", "Secret", named.namespace, named.name)
        with asking_kubernetes(str(target), "Connectors read it.", f"let your user `get` the {target}."):
            live = api.get(target)
        if live is not None:
            existing[named] = live
    return existing


def _connectors(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> Mapping[Reference, Object]:
    version, namespaces = flows[0].strimzi.api_version, sorted({flow.namespace for flow in flows})
    why = "Connectors whose Secrets changed must restart."
    with asking_kubernetes("the connectors of the stack", why, "let your user list KafkaConnectors."):
        listed = api.list_where_allowed(version, "KafkaConnector", namespaces, label_selector=OURS)
    return {reference(live): live for live in listed}


def _readers(flows: Sequence[ResolvedFlow]) -> Iterator[tuple[Manifest, set[Named]]]:
    """Yield each connector with the Secrets of the stack that it names itself. The operator rolls workers whose own
    Secrets change, and whoever changes another Secret raises `credentialsRevision`.
    """
    for deployment in deployments(flows):
        own = {planned.name for planned in deployment.objects if planned.kind == "Secret"}
        for planned in deployment.objects:
            if planned.kind == "KafkaConnector":
                named = references(json.dumps(planned.manifest["spec"]), planned.manifest["metadata"]["namespace"])
                yield planned.manifest, {target for target in named if target.kind == "Secret" and target.name in own}
