"""The traffic that the demo replicates: topics of the example flow, and groups that stopped at chosen offsets."""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.endpoints import Region
from infra.local.traffic import Positions, consume_to, create_topics, end_offsets, produce

TOPICS: Mapping[str, int] = {"orders": 3, "payments-cards": 2, "payments-refunds": 1, "audit": 1}
"""Partitions by topic; `audit` is not selected by the example flow."""

GROUPS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "checkout-web": (("orders", "payments-cards"), 0.6),
    "checkout-risk": (("orders",), 0.9),
    "checkout-ledger": (("orders", "payments-cards", "payments-refunds"), 1.0),
    "reporting": (("orders", "audit"), 0.5),
}
"""What each group reads, and at which share of every partition it stops; `reporting` is not selected."""


@dataclass(frozen=True)
class Traffic:
    """What was made: records produced by topic and partition, and offsets committed by group."""

    produced: Mapping[tuple[str, int], int]
    committed: Mapping[str, Positions]


def make_example_traffic(region: Region, records_per_topic: int, seed: int) -> Traffic:
    """Create the topics, produce to each, and let each group consume up to its share of these records.

    A second run produces more and moves the groups on.
    """
    create_topics(region, TOPICS)
    before = end_offsets(region, TOPICS)
    produced: dict[tuple[str, int], int] = {}
    for topic in TOPICS:
        # Goes on in the sequence where an earlier run ended, so that no two records of a topic are the same.
        first = sum(end for place, end in before.items() if place[0] == topic)
        for partition, count in produce(region, topic, records_per_topic, seed=seed, first=first).items():
            produced[topic, partition] = count
    committed = {}
    for group, (topics, share) in GROUPS.items():
        stop_at = {place: before[place] + int(count * share) for place, count in produced.items() if place[0] in topics}
        consume_to(region, group, stop_at)
        committed[group] = stop_at
    return Traffic(produced=produced, committed=committed)
