"""Connectors that read a Secret when they start: a changed value has no effect until they restart."""

import json
from collections.abc import Iterator, Mapping, Sequence

from components.flows.resolved import ResolvedFlow
from components.render.deployments import deployments
from components.render.planned_objects import Manifest
from components.render.secrets import ObjectReference as Named
from components.render.secrets import references
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Reference, reference

#: Source: Strimzi 1.2 KafkaConnectAssemblyOperator.restartAnnotationIsValid. The operator removes it afterwards.
RESTART = {"strimzi.io/restart": "includeTasks"}

Versions = Mapping[Named, str]


def secret_versions(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> Versions:
    """The `resourceVersion` of each Secret that connectors read and that exists."""
    versions = {}
    for named in sorted({secret for _, secrets in _readers(flows) for secret in secrets}):
        target = Reference("v1", "Secret", named.namespace, named.name)
        with asking_kubernetes(str(target), "Connectors read it.", f"let your user `get` the {target}."):
            live = api.get(target)
        if live is not None:
            versions[named] = str(live["metadata"]["resourceVersion"])
    return versions


def restart_readers(api: KubernetesApi, flows: Sequence[ResolvedFlow], before: Versions) -> Iterator[str]:
    """Ask the operator to restart the connectors that read a changed Secret; yield a sentence about each."""
    after = secret_versions(api, flows)
    changed = {named for named, version in before.items() if after.get(named, version) != version}
    for body, read in _readers(flows):
        if because := sorted(read & changed):
            metadata = {key: body["metadata"][key] for key in ("name", "namespace")}
            item = {"apiVersion": body["apiVersion"], "kind": body["kind"]}
            with asking_kubernetes(str(reference(body)), "It reads a Secret that changed.", "let your user patch it."):
                api.apply({**item, "metadata": {**metadata, "annotations": RESTART}})
            names = ", ".join(f"`{secret.name}`" for secret in because)
            yield f"connector {metadata['name']} restarts: it read Secret {names} before the change"


def _readers(flows: Sequence[ResolvedFlow]) -> Iterator[tuple[Manifest, set[Named]]]:
    """Each connector that names Secrets itself. The operator rolls workers whose own Secrets change."""
    for deployment in deployments(flows):
        for planned in deployment.objects:
            if planned.kind == "KafkaConnector":
                named = references(json.dumps(planned.manifest["spec"]), planned.manifest["metadata"]["namespace"])
                yield planned.manifest, {target for target in named if target.kind == "Secret"}
