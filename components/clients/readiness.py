"""Asks both clusters of a flow for what its applications need."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.readiness import OPEN, Quotas, ReadyFacts
from kafka_replication.components.kafka.replication_policy import Side

T = TypeVar("T")
#: Answers that leave something unjudged, and what to do; any other error is raised.
_REFUSALS = {
    "not-authorized": "Let the validation's user describe the cluster and the configuration of topics",
    "authorizer-off": "Without an authorizer there are no ACLs to compare",
    "kafka-error": "The brokers may be too old to say",
}


def ready_facts(
    flow: FlowParameters, source: KafkaReader, target: KafkaReader, quotas: Mapping[Side, Quotas]
) -> ReadyFacts:
    """Ask both clusters. Kafka's client cannot ask for `quotas`. Raises NoAnswerError if one does not answer."""
    partitions = source.topics()
    topics = flow.replicated(partitions)
    existing = frozenset(target.topics())
    there = sorted(existing & {*topics, *map(flow.replication_policy.remote, topics)})
    chosen = flow.applications([*source.groups(), *source.other_groups()])
    moved = [group for group, places in source.committed(chosen).items() if {at.topic for at in places} & set(topics)]
    return ReadyFacts(
        {topic: partitions[topic] for topic in topics},
        sorted(moved),
        existing,
        {"source": _asked(source.every_acl), "target": _asked(target.every_acl)},
        {"source": _asked(source.scram_mechanisms), "target": _asked(target.scram_mechanisms)},
        {"source": _asked(lambda: source.settings(topics)), "target": _asked(lambda: target.settings(there))},
        quotas,
        target.brokers_set(OPEN),
    )


def _asked(ask: Callable[[], T]) -> T | NoAnswer:
    try:
        return ask()
    except ClusterError as error:
        if error.code not in _REFUSALS:
            raise
        return NoAnswer(f"{error}. {_REFUSALS[error.code]}")
