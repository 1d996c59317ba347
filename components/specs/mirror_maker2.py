"""The KafkaMirrorMaker2 of a deployment: its workers beside the target, and a mirror for each flow that they run.

What the API version cannot say in it, heartbeats under `v1`, gets a KafkaConnect of its own beside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from components.model import ExactlyOnce
from components.naming import (
    Side,
    excluded_groups,
    excluded_topics,
    heartbeat_workers_name,
    mirror_maker2_account_name,
    namespace_name,
)
from components.resolved import ResolvedFlow, StrimziApi, bootstrap_address
from components.specs.access import access_objects, granted
from components.specs.api_versions import group_fields, security_fields, strimzi_api_version
from components.specs.clients import FILE_PROVIDER, WORKER_FILE, placeholder_secrets
from components.specs.config_maps import config_map_object, connector_config_maps
from components.specs.connect import EXACTLY_ONCE_SUPPORT, connect_object, worker_layers
from components.specs.connector_layers import ConnectorRole, connector_settings
from components.specs.connectors import connector_fields, connector_objects
from components.specs.flow import namespace_objects
from components.specs.layers import Config, values
from components.specs.mounts import mounts
from components.specs.planned import Manifest, PlannedObject, Role, manifest
from components.specs.secrets import cluster_secrets
from components.specs.workers import worker_fields
from components.workers import NamespaceChoice

Mirrors = Sequence[ResolvedFlow]

#: Source: Strimzi 0.45 kafka_mirror_maker_2_run.sh.
_CONNECTORS_FILE = "/tmp/strimzi-mirrormaker2-connector.properties"
_ALLOWED_FILES = f"config.providers.{FILE_PROVIDER}.param.allowed.paths"


def mirror_maker2_objects(mirrors: Mirrors) -> tuple[PlannedObject, ...]:
    """Namespace (if it is ours), Secrets once a cluster, access, KafkaMirrorMaker2, and heartbeats beside it."""
    first = mirrors[0]
    resource = _resource(mirrors)
    return (
        *namespace_objects(first),
        *(_of_mirror(mirror, planned) for mirror in mirrors for planned in cluster_secrets(mirror, "source")),
        *cluster_secrets(first, "target"),
        *_access(first, resource.manifest),
        resource,
        *_heartbeats(mirrors),
    )


def _of_mirror(mirror: ResolvedFlow, planned: PlannedObject) -> PlannedObject:
    """An object of which each of several mirrors has one."""
    return replace(planned, part=mirror.named.part) if mirror.named.shared else planned


def _resource(mirrors: Mirrors) -> PlannedObject:
    """Source: Strimzi KafkaMirrorMaker2Spec."""
    first = mirrors[0]
    connect = first.flow.connect
    mounted: Manifest = {}
    for mirror in mirrors:
        for side in _mounted(mirror, first):
            mounted = _with_mounts(mounted, mounts(mirror, [side]))
    spec = {"replicas": connect.replicas, **_CLUSTERS[first.api](mirrors), **worker_fields(connect, mounted)}
    body = manifest(
        strimzi_api_version(first),
        "KafkaMirrorMaker2",
        first.workers,
        namespace_name(first.workers, first.flow),
        first.named.replication,
        spec=spec,
    )
    after = (Role.TARGET_CREDENTIALS, Role.SOURCE_CREDENTIALS, Role.ACCESS_BINDING)
    return PlannedObject(Role.MIRROR_MAKER2, body, after=after)


def _mounted(mirror: ResolvedFlow, first: ResolvedFlow) -> tuple[Side, ...]:
    """Clusters whose files workers must mount; older operators do it for every cluster of the resource."""
    if mirror.api is StrimziApi.V1BETA2:
        return ()
    return ("target", "source") if mirror is first else ("source",)


def _with_mounts(present: Manifest, more: Manifest) -> Manifest:
    if not present or not more:
        return present or more
    return {
        "pod": {"volumes": [*present["pod"]["volumes"], *more["pod"]["volumes"]]},
        "connectContainer": {
            "volumeMounts": [*present["connectContainer"]["volumeMounts"], *more["connectContainer"]["volumeMounts"]]
        },
    }


def _v1_clusters(mirrors: Mirrors) -> Manifest:
    return {
        "target": _target(mirrors[0]),
        "mirrors": [{"source": _cluster(mirror, "source"), **_mirror(mirror)} for mirror in mirrors],
    }


def _v1beta2_clusters(mirrors: Mirrors) -> Manifest:
    target = mirrors[0].flow.target
    return {
        "connectCluster": target,
        "clusters": [*(_cluster(mirror, "source") for mirror in mirrors), _target(mirrors[0])],
        "mirrors": [
            {"sourceCluster": mirror.flow.source, "targetCluster": target, **_mirror(mirror)} for mirror in mirrors
        ],
    }


_CLUSTERS = {StrimziApi.V1: _v1_clusters, StrimziApi.V1BETA2: _v1beta2_clusters}


def _target(resolved: ResolvedFlow) -> Manifest:
    return {**_cluster(resolved, "target"), **group_fields(resolved, mirror_worker_config(resolved))}


def _cluster(resolved: ResolvedFlow, side: Side) -> Manifest:
    return {
        "alias": resolved.alias(side),
        "bootstrapServers": bootstrap_address(resolved.cluster(side)),
        **security_fields(resolved, side),
    }


def mirror_worker_config(resolved: ResolvedFlow) -> Config:
    """Configuration of the workers, without what Strimzi writes itself.

    Where workers have values in files, the connectors' credentials are in one more file than those of a KafkaConnect,
    read through the same provider. Source: Strimzi 0.45 KafkaMirrorMaker2Connectors.
    """
    config = values(worker_layers(resolved))
    if resolved.strimzi.keeps_values:
        config[_ALLOWED_FILES] = f"{WORKER_FILE},{_CONNECTORS_FILE}"
    return config


def mirror_roles(resolved: ResolvedFlow) -> tuple[ConnectorRole, ...]:
    """Connectors of a mirror that the resource itself has."""
    connectors = resolved.flow.connectors
    checkpoint: tuple[ConnectorRole, ...] = ("checkpoint",) if connectors.checkpoint.enabled else ()
    heartbeat = connectors.heartbeat.enabled and resolved.api.has_heartbeat_mirrors
    return ("source", *checkpoint, "heartbeat") if heartbeat else ("source", *checkpoint)


def _mirror(resolved: ResolvedFlow) -> Manifest:
    flow = resolved.flow
    fields: Manifest = {
        "topicsPattern": ",".join(flow.topics),
        "topicsExcludePattern": ",".join(excluded_topics(flow)),
    }
    roles = mirror_roles(resolved)
    if "checkpoint" in roles:
        fields["groupsPattern"] = ",".join(flow.groups)
        fields["groupsExcludePattern"] = ",".join(excluded_groups(flow))
    return fields | {f"{role}Connector": _connector(resolved, role) for role in roles}


def _connector(resolved: ResolvedFlow, role: ConnectorRole) -> Manifest:
    settings = connector_settings(resolved, role)
    return {
        **connector_fields(getattr(resolved.flow.connectors, role)),
        "config": {key: setting.value for key, setting in settings.items()},
    }


def _access(first: ResolvedFlow, body: Manifest) -> list[PlannedObject]:
    """The right to read the Secrets that placeholders name; those of the resource's fields the operator grants."""
    here = namespace_name(first.workers, first.flow)
    read = {secret for text in _texts(body["spec"]) for _, secret in placeholder_secrets(text, here)}
    return granted(first, mirror_maker2_account_name(first.workers), [], read) if read else []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _heartbeats(mirrors: Mirrors) -> Iterator[PlannedObject]:
    """One KafkaConnect for the heartbeats of all mirrors, where the resource has none, and their connectors."""
    flows = [with_heartbeat_workers(mirror) for mirror in mirrors if heartbeat_connectors(mirror)]
    if not flows:
        return
    for flow in flows:
        for config_map in connector_config_maps(flow):
            yield _of_mirror(flow, config_map_object(config_map, flow.name))
    yield from (replace(planned, part="heartbeats") for planned in access_objects(*flows))
    yield connect_object(*flows)
    for mirror in mirrors:
        yield from (_of_mirror(mirror, planned) for planned in heartbeat_connectors(mirror))


def heartbeat_connectors(mirror: ResolvedFlow) -> list[PlannedObject]:
    """KafkaConnectors for the heartbeats of a mirror that the resource itself has none for."""
    if mirror.api.has_heartbeat_mirrors:
        return []
    planned = connector_objects(with_heartbeat_workers(mirror))
    return [each for each in planned if each.role is Role.HEARTBEAT_CONNECTOR]


def with_heartbeat_workers(mirror: ResolvedFlow) -> ResolvedFlow:
    """The flow of a mirror as the workers of its heartbeats alone run it: one, without transactions."""
    flow = mirror.flow
    config = {key: value for key, value in flow.connect.config.items() if key != EXACTLY_ONCE_SUPPORT}
    own = flow.model_copy(
        update={
            "namespace": NamespaceChoice(name=namespace_name(mirror.workers, flow), create=False),
            "connect": flow.connect.model_copy(update={"replicas": 1, "config": config}),
            "exactly_once": ExactlyOnce.DISABLED,
        }
    )
    workers = heartbeat_workers_name(mirror.workers)
    return replace(mirror, named=replace(mirror.named, workers=workers, flow=own))
