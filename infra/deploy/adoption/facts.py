"""Reads what a stack declares, what its cluster holds, and what Pulumi knows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.flows.operators import REPLICATING_KINDS, strimzi
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.engine.deployment import known_objects
from kafka_replication.infra.kubernetes.access import api_client, asking_kubernetes
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Reference, reference
from kafka_replication.infra.onboard.importing.cluster import config_maps_of
from kafka_replication.infra.onboard.importing.values import ConfigMaps, config_map_data
from kafka_replication.infra.review.object_changes import Identity, identity
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import StackSettings

_WHY = "Adoption compares every object that the stack declares with the one in the cluster."
_PERMISSION = (
    "let the account of the stack's Kubernetes context get what `replicate render` writes, get namespaces, and list "
    "kafkaconnects and kafkamirrormaker2s."
)


@dataclass(frozen=True)
class AdoptionFacts:
    """Hold what was read. `live` holds the declared objects that exist; for Secrets, only the fact that they exist.

    `known` are those in Pulumi's state. `others` may copy records and are not declared; they were looked for in the
    whole cluster, or in the namespaces of `searched`. `config_maps` are those that live objects read.
    `without_namespace` and `not_served` are declared but cannot be created.
    """

    stack: str
    declared: Snapshot
    live: Mapping[Identity, Manifest]
    known: frozenset[Identity]
    others: Sequence[Manifest] = ()
    searched: tuple[str, ...] = ()
    config_maps: Sequence[Manifest] = ()
    without_namespace: frozenset[str] = frozenset()
    not_served: frozenset[tuple[str, str]] = frozenset()

    @property
    def config_map_data(self) -> ConfigMaps:
        """Return the data of the ConfigMaps that exist."""
        declared = (body for body in self.live.values() if body["kind"] == "ConfigMap")
        return config_map_data([*self.config_maps, *declared])

    def live_at(self, place: Reference) -> Manifest | None:
        """Return the declared object of this place, if it exists."""
        return self.live.get((place.kind, place.namespace or "", place.name))

    def objects(self) -> Iterator[tuple[str, str, Manifest, Manifest | None]]:
        """Yield the deployment, role and part of each declared object, what is declared, and what exists."""
        for name in self.declared.names:
            for key, body in self.declared.objects(name).items():
                yield name, key, body, self.live.get(identity(body))


def read_facts(settings: StackSettings) -> AdoptionFacts:
    """Read everything. Raises CannotRunError if the cluster or Pulumi's state cannot be read."""
    declared = current_snapshot(settings.stack, settings.stacks, like_rendered=True)
    known = frozenset((known.kind, known.namespace or "", known.name) for known in known_objects(settings))
    bodies = [body for name in declared.names for body in declared.objects(name).values()]
    version = strimzi(settings.topology.strimzi).api_version
    with (
        api_client(settings, stack_environment(settings).kubernetes_access()) as api,
        asking_kubernetes(f"stack {settings.stack}", _WHY, _PERMISSION),
    ):
        not_served = frozenset(_not_served(api, bodies))
        seen = [body for body in bodies if (body["apiVersion"], body["kind"]) not in not_served]
        live = {identity(body): current for body in seen if (current := _live(api, body)) is not None}
        searched = _allowed(api, version, bodies)
        others = [
            other
            for kind in REPLICATING_KINDS
            for namespace in searched or (None,)
            for other in api.list_if_served(version, kind, namespace=namespace)
            if identity(other) not in live
        ]
        mirrors = [other for other in others if other["kind"] == "KafkaMirrorMaker2"]
        config_maps = list(config_maps_of(api, [*live.values(), *mirrors]))
        created = {body["metadata"]["name"] for body in bodies if body["kind"] == "Namespace"}
        needed = {body["metadata"].get("namespace", "") for body in bodies} - {"", *created}
        without = frozenset(
            name for name in sorted(needed) if api.get(Reference("v1", "Namespace", None, name)) is None
        )
    return AdoptionFacts(settings.stack, declared, live, known, others, searched, config_maps, without, not_served)


def _not_served(api: KubernetesApi, bodies: Sequence[Manifest]) -> Iterator[tuple[str, str]]:
    for version, kind in sorted({(body["apiVersion"], body["kind"]) for body in bodies}):
        try:
            api.is_namespaced(version, kind)
        except ApiError as error:
            if not error.not_found:
                raise
            yield version, kind


def _live(api: KubernetesApi, body: Manifest) -> Manifest | None:
    live = api.get(reference(body))
    if live is None or live["kind"] != "Secret":
        return live
    # Its values never leave this function.
    metadata = {key: live["metadata"].get(key) for key in ("name", "namespace", "labels", "managedFields")}
    return {"apiVersion": live["apiVersion"], "kind": "Secret", "metadata": metadata}


def _allowed(api: KubernetesApi, version: str, bodies: Sequence[Manifest]) -> tuple[str, ...]:
    """Return the namespaces to look in: those of the stack if the account may not list everything, otherwise none."""
    try:
        api.list_if_served(version, REPLICATING_KINDS[0])
    except ApiError as error:
        if not error.forbidden:
            raise
        return tuple(sorted({body["metadata"].get("namespace", "") for body in bodies} - {""}))
    return ()
