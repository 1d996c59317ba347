"""The KafkaMirrorMaker2 of a deployment, with a mirror for each flow; under `v1`, others send heartbeats."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.flows.naming import mirror_maker2_account_name
from kafka_replication.components.flows.operators import CUSTOM_SINCE, StrimziApi
from kafka_replication.components.flows.resolved import ResolvedFlow, bootstrap_address
from kafka_replication.components.flows.selections import each_once, excluded_groups, excluded_topics
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.api_versions import group_fields, security_fields, trust_fields
from kafka_replication.components.render.config_layers import Config, values
from kafka_replication.components.render.connections import FILE_PROVIDER, WORKER_FILE, connection_properties
from kafka_replication.components.render.connector_config import connector_settings
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.render.kafka_connect import (
    connect_object,
    joined_templates,
    worker_fields,
    worker_layers,
)
from kafka_replication.components.render.kafka_connectors import (
    connector_config_maps,
    connector_fields,
    connector_object,
    connector_roles,
    is_mirrored,
)
from kafka_replication.components.render.metrics import metrics_fields, metrics_objects
from kafka_replication.components.render.namespaces import access_objects, namespace_objects, read_access_objects
from kafka_replication.components.render.planned_objects import Manifest, ObjectRole, PlannedObject, manifest
from kafka_replication.components.render.secrets import (
    cluster_secrets,
    mounts,
    names_here,
    references,
    rolling_annotations,
)
from kafka_replication.components.topology.clusters import CustomAuthentication

Mirrors = Sequence[ResolvedFlow]

#: Source: Strimzi 0.45 kafka_mirror_maker_2_run.sh.
_CONNECTORS_FILE = "/tmp/strimzi-mirrormaker2-connector.properties"
_ALLOWED_FILES = f"config.providers.{FILE_PROVIDER}.param.allowed.paths"


def mirror_maker2_objects(mirrors: Mirrors) -> tuple[PlannedObject, ...]:
    """Return the objects of the mirrors that share one KafkaMirrorMaker2, each after the objects that it needs."""
    first = mirrors[0]
    resource = _resource(mirrors)
    return (
        *namespace_objects(first),
        *(_of_mirror(mirror, planned) for mirror in mirrors for planned in cluster_secrets(mirror, "source")),
        *cluster_secrets(first, "target"),
        *_access(first, resource.manifest),
        *metrics_objects(first),
        resource,
        *_heartbeats(mirrors),
    )


def _of_mirror(mirror: ResolvedFlow, planned: PlannedObject) -> PlannedObject:
    """Return an object that each mirror has, with a name that distinguishes it from those of the other mirrors."""
    return replace(planned, part=mirror.expanded.part) if mirror.expanded.shared else planned


def _resource(mirrors: Mirrors) -> PlannedObject:
    """Source: Strimzi KafkaMirrorMaker2Spec."""
    first = mirrors[0]
    connect = first.settings.connect
    # The operator writes the logins to all clusters into the connectors, which read them when their workers start.
    template = rolling_annotations([(first, "target"), *((mirror, "source") for mirror in mirrors)])
    for mirror in mirrors:
        for side in _mounted(mirror, first):
            template = joined_templates(template, mounts(mirror, [side]))
    spec = {"replicas": connect.replicas, **_clusters(mirrors), **worker_fields(connect, template)}
    spec |= metrics_fields(first)
    name, flow_name = first.connect_name, first.expanded.replication
    body = manifest(first.strimzi.api_version, "KafkaMirrorMaker2", name, first.namespace, flow_name, spec=spec)
    credentials = (ObjectRole.TARGET_CREDENTIALS, ObjectRole.SOURCE_CREDENTIALS)
    after = (*credentials, ObjectRole.ACCESS_BINDING, ObjectRole.METRICS_CONFIG)
    return PlannedObject(ObjectRole.MIRROR_MAKER2, body, after).with_own(connect.labels, connect.annotations)


def _mounted(mirror: ResolvedFlow, first: ResolvedFlow) -> tuple[Side, ...]:
    """Return the clusters whose files workers must mount; older operators mount those of every cluster themselves."""
    if mirror.api is StrimziApi.V1BETA2:
        return ()
    return ("target", "source") if mirror is first else ("source",)


def _clusters(mirrors: Mirrors) -> Manifest:
    first = mirrors[0]
    target = {**_cluster(first, "target"), **group_fields(first, mirror_worker_config(first))}
    sources = [_cluster(mirror, "source") for mirror in mirrors]
    if first.api is StrimziApi.V1:
        pairs = zip(mirrors, sources, strict=True)
        return {"target": target, "mirrors": [{"source": source, **_mirror(mirror)} for mirror, source in pairs]}
    alias = first.settings.target
    of_sources = [
        {"sourceCluster": mirror.settings.source, "targetCluster": alias, **_mirror(mirror)} for mirror in mirrors
    ]
    return {"connectCluster": alias, "clusters": [*sources, target], "mirrors": of_sources}


def _cluster(flow: ResolvedFlow, side: Side) -> Manifest:
    return {
        "alias": flow.alias(side),
        "bootstrapServers": bootstrap_address(flow.cluster(side)),
        **_security(flow, side),
    }


def _security(flow: ResolvedFlow, side: Side) -> Manifest:
    """Return `tls` and `authentication` of a cluster. Operators without logins of the type `custom` pass the properties
    of a source to the connectors from its `config`.
    """
    custom = isinstance(flow.cluster(side).authentication, CustomAuthentication)
    if side == "target" or not custom or flow.strimzi.has(CUSTOM_SINCE):
        return security_fields(flow, side)
    connection = connection_properties(flow, side)
    login = {key: value for key, value in connection.items() if not key.startswith(("bootstrap.", "ssl.truststore."))}
    return {**trust_fields(flow, side), "config": login}


def mirror_worker_config(flow: ResolvedFlow) -> Config:
    """Return the workers' configuration; old ones read a second file. Source: 0.45 KafkaMirrorMaker2Connectors."""
    config = values(worker_layers(flow))
    if flow.strimzi.keeps_values:
        config[_ALLOWED_FILES] = f"{WORKER_FILE},{_CONNECTORS_FILE}"
    return config


def _mirror(flow: ResolvedFlow) -> Manifest:
    settings = flow.settings
    fields: Manifest = {
        "topicsPattern": ",".join(each_once(settings.topics)),
        "topicsExcludePattern": ",".join(excluded_topics(settings, flow.expanded.kafka)),
    }
    roles = [role for role, _ in connector_roles(settings) if is_mirrored(flow, role)]
    if "checkpoint" in roles:
        fields["groupsPattern"] = ",".join(each_once(settings.groups))
        fields["groupsExcludePattern"] = ",".join(excluded_groups(settings))
    for role in roles:
        own = connector_fields(getattr(settings.connectors, role))
        fields[f"{role}Connector"] = {**own, "config": connector_settings(flow, role)}
    return fields


def _access(first: ResolvedFlow, body: Manifest) -> list[PlannedObject]:
    """Return the right to read what placeholders name; the operator itself grants the Secrets that the fields name."""
    named = references(json.dumps(body["spec"]), first.namespace)
    secrets, config_maps = (sorted(names_here(named, kind, first.namespace)) for kind in ("Secret", "ConfigMap"))
    account = mirror_maker2_account_name(first.connect_name)
    return read_access_objects(first, account, config_maps, secrets) if named else []


def _heartbeats(mirrors: Mirrors) -> Iterator[PlannedObject]:
    """Yield the workers of heartbeats that the resource cannot send; mirrors share them unless one has conflicts."""
    enabled = [mirror for mirror in mirrors if mirror.settings.connectors.heartbeat.enabled]
    apart = [mirror for mirror in enabled if not mirror.api.has_heartbeat_mirrors]
    for senders in grouped((sender.workers, sender) for sender in map(heartbeat_workers, apart)).values():
        for sender in senders:
            for config_map in connector_config_maps(sender):
                yield _of_mirror(sender, config_map)
        own = "" if senders[0].workers_on == "target" or not senders[0].expanded.shared else senders[0].expanded.part
        part = f"heartbeats-{own}" if own else "heartbeats"
        around = (*access_objects(*senders), *metrics_objects(senders[0]))
        yield from (replace(planned, part=part) for planned in around)
        yield replace(connect_object(*senders), part=own)
    for mirror in apart:
        yield _of_mirror(mirror, connector_object(mirror, "heartbeat"))
