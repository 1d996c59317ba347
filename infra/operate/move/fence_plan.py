"""Whether a fence can keep the producers of a flow off its source, and what it denies. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from components.clients.writer import Access
from components.contract.parameters import FlowParameters
from components.contract.problems import RefusedError
from components.contract.wording import named, number
from components.flows.resolved import ResolvedFlow
from components.kafka.acls import CLUSTER_NAME, grant_options, marked_topics, without_grant
from components.kafka.positions import OffsetRange, TopicPartition
from components.render.job_parameters import flow_parameters
from infra.operate.move.facts import Precondition

_INSTEAD = "stop the producers yourself, and leave `--fence` out"
_STOPS_FLOW = "The fence's ACL would also stop the other flow from writing."


def fence_precondition(
    flow: FlowParameters, principal: str, topics: Sequence[str], owner: str, found: Access
) -> Precondition:
    """What the command denies. `principal` is the connectors' user on the source; it must be allowed to change ACLs."""
    source = flow.source.alias
    if not found.has_authorizer:
        return _unmet(f"{source} has no authorizer, so it cannot deny anything: {_INSTEAD}")
    if not found.may_change:
        grant = f"kafka-acls.sh … {grant_options(principal or '…', 'cluster', 'literal', CLUSTER_NAME, ['ALTER'])}"
        return _unmet(f"the connectors' user may not change ACLs on {source}: allow it with `{grant}`, or {_INSTEAD}")
    if closed := without_grant(topics, found.entries):
        told = f"no ACL allows anything on {named(closed)} of {source}, and a first ACL could also stop the consumers"
        return _unmet(f"{told}: allow them to read, or {_INSTEAD}")
    if marked := marked_topics(owner, found.entries):
        denied = f"an earlier run denied everyone (`User:*`) to write to {named(marked)} on {source}"
        return Precondition("fence", f"{denied}; `--lift-fence` allows it again")
    return Precondition("fence", f"everyone (`User:*`) will be denied to write to {named(topics)} on {source}")


def _unmet(value: str) -> Precondition:
    return Precondition("fence", value, met=False)


def not_seen(alias: str) -> Precondition:
    """The note that no fence was looked for, because the connectors' user may not see ACLs there."""
    value = f"not looked for: the connectors' user may not see the ACLs of {alias}"
    remedy = "if you failed over with `--fence`, run that command again with `--lift-fence`"
    return Precondition("fence", f"{value}; {remedy}", met=None)


def refuse_unfenceable(flow: ResolvedFlow, topics: Iterable[str], flows: Iterable[ResolvedFlow]) -> None:
    """Raise RefusedError if a denial would stop a flow or be copied by one; `flows` are all flows of the topology."""
    where, wanted = f"flow {flow.name}", set(topics)
    if flow.settings.loop_guard:
        what = "the flow is half of a pair, whose other half writes to the same topics"
        raise RefusedError("fence-unsuited", what, where, _STOPS_FLOW, f"{_INSTEAD}.")
    for each in flows:
        if each.settings.source == flow.settings.source and each.settings.sync_topic_acls:
            what = f"`{each.name}` copies the ACLs of topics to {each.settings.target} (`syncTopicAcls`)"
            why = (
                "It would copy the fence's ACL to the remote topics. Then nobody could write to them, not even "
                "MirrorMaker."
            )
            raise RefusedError(
                "fence-copied", what, where, why, f"set `syncTopicAcls: false` and deploy it, or {_INSTEAD}."
            )
        if each.settings.target == flow.settings.source and (written := _written(flow_parameters(each), wanted)):
            what = f"`{each.name}` writes to {named(written)} on {flow.settings.source}"
            raise RefusedError("fence-unsuited", what, where, _STOPS_FLOW, f"{_INSTEAD}.")


def _written(flow: FlowParameters, topics: Iterable[str]) -> list[str]:
    """Those of these topics on the target to which the flow replicates."""
    policy = flow.replication_policy
    originals = {policy.original(each): each for each in topics if policy.remote(policy.original(each)) == each}
    return sorted(originals[each] for each in flow.replicated(originals))


def growth(before: Mapping[TopicPartition, OffsetRange], after: Mapping[TopicPartition, OffsetRange]) -> str:
    """How much each topic grew, such as "orders grew by 12 records"; empty if none did."""
    grown: dict[str, int] = {}
    for partition, log in after.items():
        if (records := log.end - before[partition].end) > 0:
            grown[partition.topic] = grown.get(partition.topic, 0) + records
    told = [f"{topic} grew by {number(records, 'record')}" for topic, records in sorted(grown.items())]
    return named(told)
