"""API servers that serve only one version of Strimzi's API, with the definitions of the release that has it.

The local stack's own server accepts more in v1beta2 than an operator before 0.49 does (see
infra/local/artifacts.py), so these servers show what such an operator accepts. A server is etcd and
kube-apiserver, without Kafka and without controllers.
"""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.artifacts import CLASSES, V1, V1BETA2, ensure
from kafka_replication.infra.local.endpoints import with_passwords
from kafka_replication.infra.local.parts import control_plane, processes
from kafka_replication.infra.local.parts.part import StackFacts
from kafka_replication.infra.local.stack import settle_ports, start_part
from kafka_replication.infra.local.state import State
from tests.building import without_limit

DEFINITIONS = {each.version: each for each in (V1, V1BETA2)}
"""The definitions of each version's release; `BOTH` stands for those that the local stack serves."""

BOTH = "both"
NAMESPACE = "contract"

_CONTENT = ("spec", "data", "rules", "roleRef")


@dataclass(frozen=True)
class ApiServer:
    """A server of one version of Strimzi's API (`v1`, `v1beta2`), or of `both`, with a namespace for its objects."""

    version: str
    api: KubernetesApi
    kubeconfig: Path


def dry_run(server: ApiServer, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the object as the server would store it: a strict dry run, in a namespace that exists.

    Raises ApiError with the server's own complaints.
    """
    item = copy.deepcopy(manifest)
    if "namespace" in item["metadata"]:
        item["metadata"]["namespace"] = NAMESPACE
    return server.api.apply(item, dry_run=True)


def strict_apply(server: ApiServer, manifest: dict[str, Any]) -> list[str]:
    """The server's complaints about the object, or the fields that it would drop; empty if it accepts all of it.

    Complaints name fields by their paths.
    """
    try:
        kept = dry_run(server, manifest)
    except ApiError as error:
        return [error.message]
    return [
        f"{path}: not kept" for key in _CONTENT if key in manifest for path in _lost(manifest[key], kept.get(key), key)
    ]


def _lost(given: Any, kept: Any, path: str) -> Iterator[str]:
    """Yield the paths of fields that were given and not kept; the server may add defaults."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            yield from _lost(value, kept.get(key), f"{path}.{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for position, (one, other) in enumerate(zip(given, kept, strict=True)):
            yield from _lost(one, other, f"{path}[{position}]")
    elif given != kept:
        yield path


@contextlib.contextmanager
def running(version: str, folder: Path) -> Iterator[ApiServer]:
    """A separate server under `folder`, which stops afterwards."""
    started = []
    try:
        # Only while the server starts, because it looks up its folder then. The stack of other tests has another one.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REPLICATE_LOCAL", str(folder))
            kubeconfig = paths.kubeconfig()
            without_limit()
            artifacts = ensure(Console(quiet=True))
            if version != BOTH:
                crds = tuple(DEFINITIONS[version].folder / file for file in CLASSES.values())
                artifacts = replace(artifacts, crds=crds)
            state = State(passwords=with_passwords({}, (control_plane.ADMIN,)))
            for part in (control_plane.ETCD, control_plane.KUBE_APISERVER):
                state = settle_ports(state, part, later_parts_run=False)
                site = StackFacts(artifacts, ports=state.ports, cluster_ids={}, passwords=state.passwords)
                state = start_part(site, state, part)
                started.append(state.parts[part.name])
        with KubernetesApi(kubeconfig, field_manager="contract") as api:
            api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            yield ApiServer(version, api, kubeconfig)
    finally:
        for record in reversed(started):
            processes.stop(record, grace_seconds=10)
