"""ACLs of a stack's flows as tables and as Kafka's commands, for clusters whose users Strimzi does not manage."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.table import Table

from components.checks.open_grants import open_grants
from components.contract.problems import Problem
from components.render.acls import Acl, flow_acls, flows_without_addresses, merged_acls, operation_title
from components.topology.model import Topology
from components.topology.principals import kafka_principal
from infra.settings import StackSettings
from infra.stack_checks import raise_mistakes

_OPTIONS = {"topic": "--topic", "group": "--group", "transactional_id": "--transactional-id"}


def stack_acls(settings: StackSettings) -> tuple[Acl, ...]:
    """ACLs of every flow of a stack, merged by cluster; raises ReplicationError with every problem of the topology."""
    raise_mistakes(settings)
    flows = flows_without_addresses(settings.topology, settings.region)
    return merged_acls(acl for flow in flows for acl in flow_acls(flow))


def widest_grants(settings: StackSettings) -> list[Problem]:
    """A warning for every pattern of the stack's flows whose ACLs are for every topic or group of a cluster."""
    flows = flows_without_addresses(settings.topology, settings.region)
    aliases = set(settings.topology.clusters)
    return sorted({found for flow in flows for found in open_grants(settings.topology, flow.expanded, aliases)})


def unknown_principals(settings: StackSettings) -> tuple[str, ...]:
    """Aliases of the stack's clusters whose principal is unknown, so that no ACL can be derived."""
    flows = flows_without_addresses(settings.topology, settings.region)
    sides = {each for flow in flows for each in (flow.settings.source, flow.settings.target)}
    return tuple(sorted(alias for alias in sides if kafka_principal(settings.topology.clusters[alias]) is None))


def acl_tables(acls: Sequence[Acl]) -> Iterator[Table]:
    """A table for each cluster and principal."""
    for (cluster, principal), members in groupby(acls, key=lambda acl: (acl.cluster, acl.principal)):
        table = Table("resource", "pattern", title=f"{principal} on {cluster}", title_justify="left")
        for column in ("name", "operations"):
            table.add_column(column, overflow="fold")
        for acl in members:
            operations = ", ".join(operation_title(each) for each in acl.operations)
            table.add_row(acl.resource.replace("_", " "), acl.pattern, acl.name, operations)
        yield table


def acl_documents(acls: Sequence[Acl]) -> list[dict[str, Any]]:
    """The same as JSON values, in the order of the tables."""
    return [{**asdict(acl), "operations": list(acl.operations)} for acl in acls]


def acl_commands(acls: Sequence[Acl], topology: Topology) -> Iterator[str]:
    """Shell lines that grant the ACLs with Kafka's own tool, for clusters where no KafkaUser grants them."""
    for alias, members in groupby(acls, key=lambda acl: acl.cluster):
        if topology.clusters[alias].kafka_user is not None:
            yield f"# {alias}: declared as a KafkaUser"
        else:
            yield from grant_commands(tuple(members))


def grant_commands(acls: Iterable[Acl]) -> Iterator[str]:
    """Shell lines that grant the ACLs, in order of their clusters, with Kafka's own tool.

    Each cluster has its own shell variables for the address and for the file of client properties, so that the lines of
    two clusters can run together. The shell stops at a variable that is not set.
    """
    for alias, members in groupby(acls, key=lambda acl: acl.cluster):
        variable = re.sub("[^A-Z0-9]", "_", alias.upper())
        servers, config = f"{variable}_SERVERS", f"{variable}_CONFIG"
        yield f"# {alias}: set {servers} to its address and {config} to the client properties of an administrator"
        yield from (_command(acl, variable) for acl in members)


def _command(acl: Acl, variable: str) -> str:
    resource = ["--cluster"] if acl.resource == "cluster" else [_OPTIONS[acl.resource], shlex.quote(acl.name)]
    pattern = [] if acl.pattern == "literal" else ["--resource-pattern-type", acl.pattern]
    operations = [word for each in acl.operations for word in ("--operation", operation_title(each))]
    words = [
        *("kafka-acls.sh", "--bootstrap-server", f'"${{{variable}_SERVERS:?}}"'),
        *("--command-config", f'"${{{variable}_CONFIG:?}}"', "--add"),
        *("--allow-principal", shlex.quote(acl.principal), *operations, *resource, *pattern),
    ]
    return " ".join(words)
