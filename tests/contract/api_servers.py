"""API servers that know one version of Strimzi's API and nothing else, as the release that defines it has it.

The local stack's own server takes more as v1beta2 than an operator before 0.49 does (see
infra/local/build/crd_versions.py), so what such an operator takes is asked here. A server is etcd and kube-apiserver:
no Kafka, no controllers.
"""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from infra.kubernetes.api import ApiError, KubernetesApi
from infra.local import paths
from infra.local.build import crds
from infra.local.build.artifacts import ensure
from infra.local.endpoints import with_passwords
from infra.local.parts import control_plane, processes
from infra.local.parts.part import Site
from infra.local.parts.starting import settle_ports, start_part
from infra.local.state import State

DEFINITIONS = {each.version: each for each in (crds.V1, crds.V1BETA2)}
"""What each version's release defines; `BOTH` is what the local stack serves."""

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
    """The object as the server would keep it, strictly and without keeping it; in a namespace that exists.

    Raises ApiError with the server's own complaints.
    """
    item = copy.deepcopy(manifest)
    if "namespace" in item["metadata"]:
        item["metadata"]["namespace"] = NAMESPACE
    return server.api.apply(item, dry_run=True)


def strict_apply(server: ApiServer, manifest: dict[str, Any]) -> list[str]:
    """What the server has against the object, or would drop of it; empty if it takes it whole.

    A field that it does not declare is named by its path; so is one that it declares and does not keep.
    """
    try:
        kept = dry_run(server, manifest)
    except ApiError as error:
        return [error.message]
    return [
        f"{path}: not kept" for key in _CONTENT if key in manifest for path in _lost(manifest[key], kept.get(key), key)
    ]


def _lost(given: Any, kept: Any, path: str) -> Iterator[str]:
    """Paths of what was given and not kept; the server's defaults may stand beside it."""
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
    """A server of its own under `folder`, ended afterwards."""
    started = []
    try:
        # Only while it starts: where it lies is asked then, and the stack of the other tests keeps its own places.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REPLICATE_LOCAL", str(folder))
            kubeconfig = paths.kubeconfig()
            artifacts = ensure(Console(quiet=True))
            if version != BOTH:
                artifacts = replace(artifacts, crds=DEFINITIONS[version].files)
            state = State(passwords=with_passwords({}, (control_plane.ADMIN,)))
            for part in (control_plane.ETCD, control_plane.KUBE_APISERVER):
                state = settle_ports(state, part, later_parts_run=False)
                site = Site(artifacts, ports=state.ports, cluster_ids={}, passwords=state.passwords)
                state = start_part(site, state, part)
                started.append(state.parts[part.name])
        with KubernetesApi(kubeconfig, field_manager="contract") as api:
            api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            yield ApiServer(version, api, kubeconfig)
    finally:
        for record in reversed(started):
            processes.stop(record, grace_seconds=10)
