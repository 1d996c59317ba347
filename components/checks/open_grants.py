"""Patterns whose ACLs open every topic or group of a cluster, although the patterns select only some."""

from collections.abc import Iterator

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow
from components.flows.selections import topic_lists
from components.kafka.beginnings import beginnings_of_entry
from components.kafka.replication_policy import Policy
from components.kafka.selection import is_for_everything
from components.topology.model import Topology
from components.topology.principals import kafka_principal


def check_declared_grants(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """No pattern opens a cluster where the stack itself grants the ACLs, through a KafkaUser."""
    declared = {alias for alias, cluster in topology.clusters.items() if cluster.kafka_user is not None}
    yield from open_grants(topology, flow, declared)


def open_grants(topology: Topology, flow: ExpandedFlow, aliases: set[str]) -> Iterator[Problem]:
    """Warn about every pattern whose ACLs cover every topic or group on one of these clusters."""
    settings = flow.settings
    renamed = settings.policy is Policy.DEFAULT
    topics = [
        (settings.source, "read every topic"),
        *([] if renamed else [(settings.target, "create, write and alter every topic")]),
    ]
    groups = [
        (settings.source, "describe every group"),
        *([(settings.target, "commit offsets of every group")] if settings.sync_group_offsets else []),
    ]
    lists = [(key, entries, topics) for key, entries in topic_lists(settings).items()]
    if settings.connectors.checkpoint.enabled:
        lists.append(("groups", settings.groups, groups))
    for key, entries, opened in lists:
        for index, entry in enumerate(entries):
            said = [
                f"`{kafka_principal(topology.clusters[alias])}` to {what} on `{alias}`"
                for alias, what in opened
                if alias in aliases and kafka_principal(topology.clusters[alias]) is not None
            ]
            if said and beginnings_of_entry(entry) == (("", False),) and not is_for_everything(entry):
                yield _problem(flow.where(f"{key}.{index}"), entry, " and ".join(said))


def _problem(where: str, entry: str, said: str) -> Problem:
    return Problem(
        where,
        "acl-for-every-name",
        f"the ACLs needed for `{entry}` allow {said}",
        "Kafka's ACLs take whole names and prefixes, and the names that this pattern matches have no common prefix.",
        "begin the pattern with text, as in `orders-.*`, or list the names.",
        Severity.WARNING,
    )
