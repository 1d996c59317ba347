"""Asks both clusters of a flow for what its applications need there, and writes missing ACLs."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.kafka.acls import CLUSTER_NAME, grant_options
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.topology.clusters import kafka_principal, keeper_principal, validation_principal
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.ready.readiness import OPEN, Judgement, Quotas, ReadyFacts, judge
from kafka_replication.infra.operate.status.facts import NoAnswer

T = TypeVar("T")
#: Answers that leave something unjudged, and what to do; any other error ends the command.
_REFUSALS = {
    "not-authorized": "Let the validation's user describe the cluster and the configuration of topics",
    "authorizer-off": "Without an authorizer there are no ACLs to compare",
    "kafka-error": "The brokers may be too old to say",
}


def look(opened: FlowAccess, quotas: Mapping[Side, Quotas]) -> Judgement:
    """Ask both clusters and judge. Raises NoAnswerError if one does not answer."""
    flow, readers = opened.parameters, opened.readers()
    source, target = readers["source"], readers["target"]
    partitions = source.topics()
    topics = flow.replicated(partitions)
    existing = frozenset(target.topics())
    there = sorted(existing & {*topics, *map(flow.replication_policy.remote, topics)})
    known = [*source.groups(), *source.other_groups()]
    chosen = flow.applications(known)
    moved = [group for group, places in source.committed(chosen).items() if {at.topic for at in places} & set(topics)]
    facts = ReadyFacts(
        {topic: partitions[topic] for topic in topics},
        sorted(moved),
        existing,
        {side: _asked(readers[side].every_acl) for side in SIDES},
        {side: _asked(readers[side].scram_mechanisms) for side in SIDES},
        {
            "source": _asked(lambda: source.settings(topics)),
            "target": _asked(lambda: target.settings(there)),
        },
        quotas,
        target.brokers_set(OPEN),
    )
    principals = (kafka_principal, keeper_principal, validation_principal)
    own = {of(opened.flow.cluster(side)) for side in SIDES for of in principals}
    api_version = strimzi(opened.stack.settings.topology.strimzi).api_version
    return judge(flow, facts, frozenset(user for user in own if user is not None), api_version)


def _asked(ask: Callable[[], T]) -> T | NoAnswer:
    try:
        return ask()
    except ClusterError as error:
        if error.code not in _REFUSALS:
            raise
        return NoAnswer(f"{error}. {_REFUSALS[error.code]}")


def refuse_copy(opened: FlowAccess) -> None:
    """Raise RefusedError unless the connectors' user may write ACLs on the target, and nobody would delete them."""
    alias, cluster = opened.parameters.target.alias, opened.flow.target
    if cluster.kafka_user is not None:
        what, why = "ACLs are not written", "The User Operator of that cluster deletes ACLs that no KafkaUser has."
        remedy = "add what `--kafka-users` prints to the KafkaUsers."
        raise RefusedError("acls-by-operator", what, alias, why, remedy)
    if not opened.topic_acls("target").access().may_change:
        principal = kafka_principal(cluster) or "…"
        grant = grant_options(principal, "cluster", "literal", CLUSTER_NAME, ["ALTER"])
        what, why = "the connectors' user may not write ACLs", "It needs Alter on the cluster."
        remedy = f"run the printed lines as an administrator, or allow it: `kafka-acls.sh … {grant}`."
        raise RefusedError("acls-refused", what, alias, why, remedy)
