"""The ACLs of a stack's flows as tables and as Kafka's commands, and those that a change needs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.table import Table

from kafka_replication.components.checks.kafka_users import open_grants
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.kafka.acls import administrator, grant_options, operation_title
from kafka_replication.components.render.flow_acls import (
    Acl,
    added_acls,
    flow_acls,
    flows_without_addresses,
    keeper_acls,
    merged_acls,
    user_acls,
    validation_acls,
)
from kafka_replication.components.topology.clusters import (
    Cluster,
    kafka_principal,
    keeper_principal,
    validation_principal,
)
from kafka_replication.components.topology.model import Topology
from kafka_replication.infra.review.snapshots import Snapshot
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.stack_checks import raise_mistakes
from kafka_replication.infra.stack.validation_job import in_cluster


def stack_acls(settings: StackSettings, *, keeper: bool = False) -> tuple[Acl, ...]:
    """Return ACLs of a stack's flows, their validation and, if wanted or run by the stack, their keeper, by cluster.
    Raises ReplicationError for mistakes.
    """
    raise_mistakes(settings)
    asked = in_cluster(settings.validation)
    keeper = keeper or (asked is not None and asked.keeps)
    flows = flows_without_addresses(settings.topology, settings.region)
    kept = [acl for flow in flows for acl in keeper_acls(flow)] if keeper else []
    return merged_acls([*(acl for flow in flows for acl in user_acls(flow)), *kept])


def widest_grants(settings: StackSettings) -> list[Problem]:
    """Return a warning for every pattern of the stack's flows whose ACLs cover every topic or group of a cluster."""
    flows = flows_without_addresses(settings.topology, settings.region)
    aliases = set(settings.topology.clusters)
    return sorted({problem for flow in flows for problem in open_grants(settings.topology, flow.expanded, aliases)})


def unknown_principals(settings: StackSettings) -> Iterator[str]:
    """Yield the paths of the logins whose principal is unknown, so no ACL can be derived."""
    for alias in _aliases(settings):
        cluster = settings.topology.clusters[alias]
        if kafka_principal(cluster) is None:
            yield f"clusters.{alias}.authentication"
        if _own_login(cluster) and validation_principal(cluster) is None:
            yield f"clusters.{alias}.validation.authentication"
        if cluster.keeper is not None and keeper_principal(cluster) is None:
            yield f"clusters.{alias}.keeper.authentication"


def validations_without_user(settings: StackSettings) -> Iterator[tuple[str, tuple[Acl, ...]]]:
    """Yield the clusters where the validation job logs in as the connectors do, and which ACLs the job adds there."""
    flows = flows_without_addresses(settings.topology, settings.region)
    granted = [acl for flow in flows for acl in flow_acls(flow)]
    for alias in _aliases(settings):
        cluster = settings.topology.clusters[alias]
        user = kafka_principal(cluster)
        if user is not None and not _own_login(cluster):
            yield alias, tuple(added_acls(granted, validation_acls(alias, user)))


def _own_login(cluster: Cluster) -> bool:
    return cluster.validation is not None and cluster.validation.authentication is not None


def _aliases(settings: StackSettings) -> list[str]:
    """Return the clusters of a stack's flows, sorted."""
    flows = flows_without_addresses(settings.topology, settings.region)
    return sorted({alias for flow in flows for alias in (flow.settings.source, flow.settings.target)})


def acl_tables(acls: Sequence[Acl]) -> Iterator[Table]:
    """Yield a table for each cluster and principal."""
    for (cluster, principal), members in groupby(acls, key=lambda acl: (acl.cluster, acl.principal)):
        table = Table("resource", "pattern", title=f"{principal} on {cluster}", title_justify="left")
        for column in ("name", "operations"):
            table.add_column(column, overflow="fold")
        for acl in members:
            table.add_row(acl.resource.replace("_", " "), acl.pattern, acl.name, _operations(acl))
        yield table


def acl_phrase(acl: Acl) -> str:
    """Return an ACL as a phrase, such as `DescribeConfigs, Read on topic *`."""
    return f"{_operations(acl)} on {acl.resource.replace('_', ' ')} {acl.name}"


def _operations(acl: Acl) -> str:
    return ", ".join(operation_title(operation) for operation in acl.operations)


def acl_documents(acls: Sequence[Acl]) -> list[dict[str, Any]]:
    """Return the same as JSON values, in the order of the tables."""
    return [{**asdict(acl), "operations": list(acl.operations)} for acl in acls]


def acl_commands(acls: Sequence[Acl], topology: Topology) -> Iterator[str]:
    """Yield shell lines that grant the ACLs with Kafka's own tool, for clusters where no KafkaUser grants them."""
    for alias, members in groupby(acls, key=lambda acl: acl.cluster):
        cluster = topology.clusters[alias]
        if cluster.kafka_user is not None:
            yield f"# {alias}: declared as a KafkaUser"
            for user in sorted({acl.principal for acl in members} - {kafka_principal(cluster)}):
                yield f"# {alias}: the User Operator manages the users, so declare a KafkaUser with the ACLs of {user}"
        else:
            yield from grant_commands(tuple(members))


def grant_commands(acls: Iterable[Acl]) -> Iterator[str]:
    """Yield shell lines that grant the ACLs with Kafka's own tool. Each cluster has its own shell variables, so that
    the lines of two can run together; the shell stops at one that is not set."""
    for alias, members in groupby(acls, key=lambda acl: acl.cluster):
        said, connection = administrator(alias)
        yield said
        for acl in members:
            granted = grant_options(acl.principal, acl.resource, acl.pattern, acl.name, acl.operations)
            yield f"kafka-acls.sh {connection} {granted}"


def needed_acls(before: Snapshot, after: Snapshot) -> list[Acl]:
    """Return ACLs that `after` needs and `before` did not have, where the stack deploys no KafkaUsers. None if `before`
    is known only by its objects."""
    if before.others and not before.deployments:
        return []
    flows = [flow for deployment in after.deployments.values() for flow in deployment.flows]
    declared = {flow.settings.source for flow in flows if flow.source.kafka_user is not None}
    declared |= {flow.settings.target for flow in flows if flow.target.kafka_user is not None}
    return [acl for acl in added_acls(_acls(before), _acls(after)) if acl.cluster not in declared]


def _acls(snapshot: Snapshot) -> list[Acl]:
    return [acl for deployment in snapshot.deployments.values() for flow in deployment.flows for acl in user_acls(flow)]
