"""The minimal Kafka ACLs of a flow's users, for its workers, connectors and validation, derived from the model."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kafka_replication.components.contract.kept_positions import positions_topic
from kafka_replication.components.flows.heartbeats import EVERYTHING
from kafka_replication.components.flows.naming import (
    STORAGE_ROLES,
    group_id,
    offset_syncs_topic_name,
    replication_policy,
    starts_group,
    storage_topic_name,
)
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.flows.selections import all_topics
from kafka_replication.components.kafka.acls import CLUSTER_NAME, EVERY_NAME, PatternType, implying, wider_resources
from kafka_replication.components.kafka.name_prefixes import beginnings_of_entry
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC
from kafka_replication.components.render.connector_config import replicates_heartbeats
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.topology.clusters import (
    ConfigValue,
    kafka_principal,
    keeper_principal,
    validation_principal,
)
from kafka_replication.components.topology.model import ExactlyOnce, Flow, OffsetSyncsLocation, Topology

ResourceType = Literal["topic", "group", "transactional_id", "cluster"]


@dataclass(frozen=True, order=True)
class Acl:
    """Operations (Kafka's names) that a principal may do on a resource, from any host. Source: KIP-11, KIP-290."""

    cluster: str
    principal: str
    resource: ResourceType
    pattern: PatternType
    name: str
    operations: tuple[str, ...]


@dataclass(frozen=True)
class _User:
    """One of a flow's two users."""

    cluster: str
    principal: str

    def may(self, resource: ResourceType, name: str, *operations: str, pattern: PatternType = "literal") -> Acl:
        return Acl(self.cluster, self.principal, resource, pattern, name, operations)

    def topic(self, name: str, *operations: str) -> Acl:
        return self.may("topic", name, *operations)

    def matching(self, resource: ResourceType, pattern: str, *operations: str, prefix: str = "") -> Iterator[Acl]:
        """Yield the ACLs for a name or pattern; ACLs have no regular expressions, so a pattern becomes prefixes."""
        for beginning, is_whole in beginnings_of_entry(pattern):
            name = prefix + beginning
            if name:
                yield self.may(resource, name, *operations, pattern="literal" if is_whole else "prefixed")
            else:
                yield self.may(resource, EVERY_NAME, *operations)


def flows_without_addresses(topology: Topology, region: str | None = None) -> tuple[ResolvedFlow, ...]:
    """Return a region's flows (None: all) for output without addresses; configuration keys stand in for those."""
    addresses = [cluster.bootstrap_servers for cluster in topology.clusters.values()]
    keys = [address.config for address in addresses if isinstance(address, ConfigValue)]
    return resolve_flows(topology, region, {key: f"the address in configuration key `{key}`" for key in keys})


def flow_acls(flow: ResolvedFlow) -> tuple[Acl, ...]:
    """Return the minimal ACLs of a flow's users, none if a principal is unknown; tests try them on real brokers."""
    source = _User(flow.settings.source, kafka_principal(flow.source) or "")
    target = _User(flow.settings.target, kafka_principal(flow.target) or "")
    acls = [
        # Preparing workers already have a transactional leader; the tasks' ids are granted too, for the next step.
        *_worker(target, flow, flow.settings.exactly_once is not ExactlyOnce.DISABLED),
        *_source_connector(flow, source, target),
        *_offset_syncs(flow.settings, source, target),
        *_checkpoint_connector(flow.settings, source, target),
        *_heartbeat_connector(flow, source, target),
    ]
    return merged_acls(acl for acl in acls if acl.principal)


def user_acls(flow: ResolvedFlow) -> tuple[Acl, ...]:
    """Return the ACLs of a flow's users, and of its validation's and its keeper's users if they have their own."""
    sides = ((flow.settings.source, flow.source), (flow.settings.target, flow.target))
    own = [(alias, validation_principal(cluster)) for alias, cluster in sides]
    kept = keeper_acls(flow) if any(cluster.keeper is not None for _, cluster in sides) else ()
    validated = (acl for alias, user in own if user is not None for acl in validation_acls(alias, user))
    return merged_acls([*flow_acls(flow), *validated, *kept])


def validation_acls(cluster: str, principal: str) -> tuple[Acl, ...]:
    """Return what a user needs to run the validation job: it reads everything and changes nothing."""
    user = _User(cluster, principal)
    return (
        user.topic(EVERY_NAME, "READ", "DESCRIBE_CONFIGS"),
        user.may("group", EVERY_NAME, "DESCRIBE"),
        # To see the flows' ACLs, and whether the brokers open resources without ACLs to everyone.
        user.may("cluster", CLUSTER_NAME, "DESCRIBE", "DESCRIBE_CONFIGS"),
    )


def keeper_acls(flow: ResolvedFlow) -> tuple[Acl, ...]:
    """Return what `replicate keep` needs for a flow: all of it where it has a login of its own, and else what the
    connectors' user needs on the target to write; none if a principal is unknown.
    """
    settings, topic, policy = flow.settings, positions_topic(flow.name), replication_policy(flow.settings)
    source = _User(settings.source, keeper_principal(flow.source) or "")
    target = _User(settings.target, keeper_principal(flow.target) or "")
    writer = target if flow.target.keeper is not None else _User(settings.target, kafka_principal(flow.target) or "")
    acls = [
        writer.topic(topic, "CREATE", "WRITE"),
        writer.may("transactional_id", topic, "WRITE"),
        target.topic(topic, "READ"),
    ]
    for pattern in all_topics(settings):
        # In a pair it also reads what was written on the target.
        remote = "READ" if settings.loop_guard else "DESCRIBE"
        acls += source.matching("topic", pattern, "DESCRIBE")
        acls += target.matching("topic", pattern, remote, prefix=policy.prefix_of(pattern))
    for group in settings.groups:
        acls += source.matching("group", group, "DESCRIBE")
    if not settings.groups:
        acls.append(source.may("group", EVERY_NAME, "DESCRIBE"))
    if settings.connectors.checkpoint.enabled:
        acls.append(target.topic(policy.checkpoints_topic, "DESCRIBE"))
    if settings.loop_guard and settings.offset_syncs.enabled:
        half = settings.model_copy(update={"source": settings.target, "target": settings.source})
        syncs_on = target if half.offset_syncs.location is OffsetSyncsLocation.SOURCE else source
        acls.append(syncs_on.topic(offset_syncs_topic_name(half), "READ"))
    return merged_acls(acl for acl in acls if acl.principal)


def added_acls(before: Iterable[Acl], after: Iterable[Acl]) -> Iterator[Acl]:
    """Yield what `after` allows and `before` does not, without operations that a wider ACL of either allows."""
    old = merged_acls(before)
    allowed = {replace(acl, operations=()): acl.operations for acl in old}
    for acl in merged_acls((*old, *after)):
        new = tuple(
            operation for operation in acl.operations if operation not in allowed.get(replace(acl, operations=()), ())
        )
        if new:
            yield replace(acl, operations=new)


def _worker(user: _User, flow: ResolvedFlow, exactly_once: bool) -> Iterator[Acl]:
    for role in STORAGE_ROLES:
        topic = storage_topic_name(flow.workers, flow.settings, role)
        yield user.topic(topic, "READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    group = group_id(flow.workers, flow.settings)
    yield user.may("group", group, "READ")
    if exactly_once:
        # For the tasks, and for the leader, which writes the connectors' configuration. Source: KIP-618.
        yield user.may("transactional_id", f"{group}-", "WRITE", pattern="prefixed")
        yield user.may("transactional_id", f"connect-cluster-{group}", "WRITE")


def _source_connector(flow: ResolvedFlow, source: _User, target: _User) -> Iterator[Acl]:
    settings = flow.settings
    heartbeats = sorted(flow.heartbeat_topics) if replicates_heartbeats(flow.expanded) else []
    remote = ("CREATE", "WRITE", "ALTER", "ALTER_CONFIGS")
    policy = replication_policy(settings)
    for pattern in all_topics(settings):
        yield from source.matching("topic", pattern, "READ", "DESCRIBE_CONFIGS")
        yield from target.matching("topic", pattern, *remote, prefix=policy.prefix_of(pattern))
    for topic in heartbeats:
        if topic.endswith(EVERYTHING):
            beginning = topic.removesuffix(EVERYTHING)
            yield source.may("topic", beginning, "READ", "DESCRIBE_CONFIGS", pattern="prefixed")
            yield target.may("topic", f"{policy.prefix}{beginning}", *remote, pattern="prefixed")
        else:
            yield source.topic(topic, "READ", "DESCRIBE_CONFIGS")
            yield target.topic(policy.remote(topic), *remote)
    if settings.on_loss is not None:
        # Its consumer reads the group's offsets, and with this login the keeper commits them.
        yield source.may("group", starts_group(flow.name), "READ")
    if settings.sync_topic_acls:
        # Source: MirrorSourceConnector.listTopicAclBindings and updateTopicAcls.
        yield source.may("cluster", CLUSTER_NAME, "DESCRIBE")
        yield target.may("cluster", CLUSTER_NAME, "ALTER")


def _offset_syncs(flow: Flow, source: _User, target: _User) -> Iterator[Acl]:
    if flow.offset_syncs.enabled:
        user = source if flow.offset_syncs.location is OffsetSyncsLocation.SOURCE else target
        yield user.topic(offset_syncs_topic_name(flow), "CREATE", "WRITE")
        if flow.connectors.checkpoint.enabled:
            yield user.topic(offset_syncs_topic_name(flow), "READ")


def _checkpoint_connector(flow: Flow, source: _User, target: _User) -> Iterator[Acl]:
    if not flow.connectors.checkpoint.enabled:
        return
    yield target.topic(replication_policy(flow).checkpoints_topic, "CREATE", "READ", "WRITE")
    for group in flow.groups:
        yield from source.matching("group", group, "DESCRIBE")
    if flow.sync_group_offsets:
        # A consumer needs these to commit. Source: MirrorCheckpointTask.syncGroupOffset, KafkaApis.handleOffsetCommit.
        for group in flow.groups:
            yield from target.matching("group", group, "READ")
        for pattern in all_topics(flow):
            yield from target.matching("topic", pattern, "READ", prefix=replication_policy(flow).prefix_of(pattern))


def _heartbeat_connector(flow: ResolvedFlow, source: _User, target: _User) -> Iterator[Acl]:
    if not flow.settings.connectors.heartbeat.enabled:
        return
    if flow.heartbeats_on == "target":
        # A KafkaMirrorMaker2 has one producer for all its connectors, that of the target.
        yield target.topic(HEARTBEATS_TOPIC, "CREATE", "WRITE")
        return
    yield source.topic(HEARTBEATS_TOPIC, "CREATE", "WRITE")
    sender = heartbeat_workers(flow)
    if sender is not flow:
        yield from _worker(source if sender.workers_on == "source" else target, sender, exactly_once=False)
    elif flow.settings.exactly_once is ExactlyOnce.ENABLED:
        # Its transactions and offsets are on the cluster that gets its records. Source: KIP-618.
        topic = storage_topic_name(flow.workers, flow.settings, "offsets")
        yield source.topic(topic, "READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
        group = group_id(flow.workers, flow.settings)
        yield source.may("transactional_id", f"{group}-", "WRITE", pattern="prefixed")


def merged_acls(acls: Iterable[Acl]) -> tuple[Acl, ...]:
    """Merge ACLs of the same resource, drop operations that another ACL already allows, and sort them."""
    allowed: dict[_Resource, set[str]] = {}
    for acl in acls:
        resource = acl.cluster, acl.principal, acl.resource, acl.pattern, acl.name
        allowed.setdefault(resource, set()).update(acl.operations)
    minimal = (Acl(*resource, tuple(sorted(_needed(resource, allowed)))) for resource in allowed)
    return tuple(sorted(acl for acl in minimal if acl.operations))


#: A user's resource: the fields of an Acl before its operations.
_Resource = tuple[str, str, ResourceType, PatternType, str]


def _needed(resource: _Resource, allowed: Mapping[_Resource, set[str]]) -> set[str]:
    """Return the operations that neither a wider ACL of the same user nor another operation grants."""
    cluster, principal, kind, pattern, name = resource
    places = ((cluster, principal, kind, *place) for place in wider_resources(pattern, name))
    own, wider = allowed[resource], {operation for place in places for operation in allowed.get(place, ())}
    return {operation for operation in own - wider if not implying(operation) & (own | wider)}
