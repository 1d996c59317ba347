"""What a flow's users may do in Kafka: the least ACLs of its workers and connectors, derived from the model."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from components.clusters import ConfigValue
from components.expansion import Shape, all_topics
from components.heartbeats import EVERYTHING
from components.kafka_version import kafka_version
from components.model import ExactlyOnce, Flow, OffsetSyncsLocation, Topology
from components.naming import (
    HEARTBEATS_TOPIC,
    checkpoints_topic_name,
    group_id,
    heartbeat_workers_name,
    offset_syncs_topic_name,
    remote_topic_name,
    storage_topic_name,
)
from components.principals import kafka_principal
from components.resolved import ResolvedFlow, resolve_flows
from components.specs.acl_patterns import literal_beginning, remote_prefix
from components.specs.connector_layers import chooses_heartbeats

ResourceType = Literal["topic", "group", "transactional_id", "cluster"]
PatternType = Literal["literal", "prefixed"]

#: The one name of the resource type `cluster`. Source: org.apache.kafka.common.resource.Resource.CLUSTER_NAME.
CLUSTER_NAME = "kafka-cluster"
EVERY_NAME = "*"
#: An operation that others allow, too. Source: StandardAuthorizerData.IMPLIES_DESCRIBE, IMPLIES_DESCRIBE_CONFIGS.
IMPLIED_BY = {
    "DESCRIBE": frozenset({"READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"ALTER_CONFIGS"}),
}


@dataclass(frozen=True, order=True)
class Acl:
    """Allowed operations of one principal on one resource of one cluster, from any host.

    `operations` are Kafka's own words in upper case. Source: KIP-11, KIP-290.
    """

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

    def matching(self, resource: ResourceType, pattern: str, *operations: str, prefix: str = "") -> Acl:
        """For a name or pattern; Kafka's ACLs know no regular expressions, so a pattern is its literal beginning."""
        literal, whole = literal_beginning(pattern)
        name = prefix + literal
        if not name:
            return self.may(resource, EVERY_NAME, *operations)
        return self.may(resource, name, *operations, pattern="literal" if whole else "prefixed")


def flows_without_addresses(topology: Topology, region: str | None = None) -> tuple[ResolvedFlow, ...]:
    """The flows of a region (all without one); no ACL depends on an address, which only a stack's configuration may
    hold."""
    addresses = [cluster.bootstrap_servers for cluster in topology.clusters.values()]
    return resolve_flows(topology, region, {each.config: "" for each in addresses if isinstance(each, ConfigValue)})


def flow_acls(resolved: ResolvedFlow) -> tuple[Acl, ...]:
    """Least ACLs of a flow's Kafka users, as tried: the worker beside the target, heartbeats produced to the source.

    Nothing for a cluster whose principal is not known, such as that of a certificate.
    """
    source = _User(resolved.flow.source, kafka_principal(resolved.source) or "")
    target = _User(resolved.flow.target, kafka_principal(resolved.target) or "")
    acls = [
        # Preparing workers have a transactional leader already; the tasks' ids are granted with it, for the next step.
        *_worker(target, resolved.workers, resolved.flow.exactly_once is not ExactlyOnce.DISABLED),
        *_source_connector(resolved, source, target),
        *_offset_syncs(resolved.flow, source, target),
        *_checkpoint_connector(resolved.flow, source, target),
        *_heartbeat_connector(resolved, source, target),
    ]
    return merged_acls(acl for acl in acls if acl.principal)


def _worker(user: _User, workers: str, exactly_once: bool) -> Iterator[Acl]:
    for role in ("configs", "offsets", "status"):
        topic = storage_topic_name(workers, role)
        yield user.topic(topic, "READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    yield user.may("group", group_id(workers), "READ")
    if exactly_once:
        # Of the tasks, and of the leader, which writes the connectors' configuration. Source: KIP-618.
        yield user.may("transactional_id", f"{group_id(workers)}-", "WRITE", pattern="prefixed")
        yield user.may("transactional_id", f"connect-cluster-{group_id(workers)}", "WRITE")


def _source_connector(resolved: ResolvedFlow, source: _User, target: _User) -> Iterator[Acl]:
    flow = resolved.flow
    chosen = chooses_heartbeats(kafka_version(flow.connect, resolved.strimzi))
    heartbeats = sorted(resolved.heartbeat_topics) if flow.replicate_heartbeats or not chosen else []
    remote = ("CREATE", "WRITE", "ALTER", "ALTER_CONFIGS")
    for pattern in all_topics(flow):
        yield source.matching("topic", pattern, "READ", "DESCRIBE_CONFIGS")
        yield target.matching("topic", pattern, *remote, prefix=remote_prefix(flow, pattern))
    for topic in heartbeats:
        if topic.endswith(EVERYTHING):
            beginning = topic.removesuffix(EVERYTHING)
            yield source.may("topic", beginning, "READ", "DESCRIBE_CONFIGS", pattern="prefixed")
            yield target.may("topic", f"{flow.source}{flow.separator}{beginning}", *remote, pattern="prefixed")
        else:
            yield source.topic(topic, "READ", "DESCRIBE_CONFIGS")
            yield target.topic(remote_topic_name(flow, topic), *remote)
    if flow.sync_topic_acls:
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
    yield target.topic(checkpoints_topic_name(flow), "CREATE", "READ", "WRITE")
    for group in flow.groups:
        yield source.matching("group", group, "DESCRIBE")
    if flow.sync_group_offsets:
        # What a consumer needs to commit. Source: MirrorCheckpointTask.syncGroupOffset, KafkaApis.handleOffsetCommit.
        for group in flow.groups:
            yield target.matching("group", group, "READ")
        for pattern in all_topics(flow):
            yield target.matching("topic", pattern, "READ", prefix=remote_prefix(flow, pattern))


def _heartbeat_connector(resolved: ResolvedFlow, source: _User, target: _User) -> Iterator[Acl]:
    if not resolved.flow.connectors.heartbeat.enabled:
        return
    in_one_resource = resolved.named.shape is Shape.MIRROR_MAKER2
    if resolved.heartbeats_on == "target":
        # A KafkaMirrorMaker2 has one producer for all its connectors, that of the target.
        yield target.topic(HEARTBEATS_TOPIC, "CREATE", "WRITE")
        return
    yield source.topic(HEARTBEATS_TOPIC, "CREATE", "WRITE")
    if resolved.flow.exactly_once is ExactlyOnce.ENABLED and not in_one_resource:
        # Its transactions and its offsets are where its records are. Source: KIP-618.
        yield source.topic(
            storage_topic_name(resolved.workers, "offsets"), "READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS"
        )
        yield source.may("transactional_id", f"{group_id(resolved.workers)}-", "WRITE", pattern="prefixed")
    if in_one_resource:
        yield from _worker(target, heartbeat_workers_name(resolved.workers), exactly_once=False)


def merged_acls(acls: Iterable[Acl]) -> tuple[Acl, ...]:
    """Each resource once, with all its operations that no other ACL allows already, sorted."""
    operations: dict[Acl, set[str]] = {}
    for acl in acls:
        operations.setdefault(replace(acl, operations=()), set()).update(acl.operations)
    named = {_place(acl, acl.pattern, acl.name): allowed for acl, allowed in operations.items()}
    least = (
        replace(acl, operations=tuple(sorted(_needed(acl, allowed, named)))) for acl, allowed in operations.items()
    )
    return tuple(sorted(acl for acl in least if acl.operations))


_Place = tuple[str, str, str, str, str]


def _place(acl: Acl, pattern: str, name: str) -> _Place:
    return (acl.cluster, acl.principal, acl.resource, pattern, name)


def _needed(acl: Acl, allowed: set[str], named: Mapping[_Place, set[str]]) -> set[str]:
    wider = {operation for place in _covering(acl) for operation in named.get(place, ())}
    return {each for each in allowed - wider if not IMPLIED_BY.get(each, frozenset()) & (allowed | wider)}


def _covering(acl: Acl) -> Iterator[_Place]:
    """Where an ACL would be that stands for all resources of this one, of the same user.

    They are looked up: a topology has too many ACLs to compare each with each.
    """
    if acl.name == EVERY_NAME:
        return
    yield _place(acl, "literal", EVERY_NAME)
    for end in range(len(acl.name) + (acl.pattern == "literal")):
        yield _place(acl, "prefixed", acl.name[:end])


def operation_title(operation: str) -> str:
    """An operation as Strimzi and Kafka's own commands write it, such as `DescribeConfigs`."""
    return operation.replace("_", " ").title().replace(" ", "")
