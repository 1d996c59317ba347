"""The traffic that the demos replicate: topics of the example stacks, and groups that stopped at chosen offsets."""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.endpoints import Region
from infra.local.traffic import Positions, consume_to, create_topics, end_offsets, produce


@dataclass(frozen=True)
class Example:
    """Topics with their partitions; for each group, what it reads and at which share of a partition it stops."""

    topics: Mapping[str, int]
    groups: Mapping[str, tuple[tuple[str, ...], float]]


ORDERS = Example(
    topics={"orders": 3, "payments-cards": 2, "payments-refunds": 1, "audit": 1},
    groups={
        "checkout-web": (("orders", "payments-cards"), 0.6),
        "checkout-risk": (("orders",), 0.9),
        "checkout-ledger": (("orders", "payments-cards", "payments-refunds"), 1.0),
        "reporting": (("orders", "audit"), 0.5),
    },
)
"""For the stack `local`, which selects neither `audit` nor `reporting`."""

LEDGER = Example(topics={"ledger": 3}, groups={})
"""For the stack `local-pair`, on either side."""

SALES = Example(
    topics={"sales-web": 2, "sales-stores": 1, "clicks": 3, "logs-app": 2},
    groups={"shop-stock": (("sales-web", "sales-stores"), 0.7), "shop-trends": (("clicks", "logs-app"), 0.5)},
)
"""For the stack `local-split`."""

STOCK = Example(
    topics={"stock-levels": 2, "stock-moves": 1},
    groups={"warehouse-north": (("stock-levels", "stock-moves"), 0.7), "warehouse-south": (("stock-moves",), 1.0)},
)
"""For the stack `local-mirrormaker2`."""


@dataclass(frozen=True)
class Traffic:
    """What was made: records produced by topic and partition, and offsets committed by group."""

    produced: Mapping[tuple[str, int], int]
    committed: Mapping[str, Positions]


def make_example_traffic(region: Region, records_per_topic: int, seed: int, example: Example = ORDERS) -> Traffic:
    """Create the topics, produce to each, and let each group consume up to its share of these records.

    A second run produces more and moves the groups on.
    """
    create_topics(region, example.topics)
    before = end_offsets(region, example.topics)
    produced: dict[tuple[str, int], int] = {}
    for topic in example.topics:
        # Goes on in the sequence where an earlier run ended, so that no two records of a topic are the same.
        first = sum(end for place, end in before.items() if place[0] == topic)
        for partition, count in produce(region, topic, records_per_topic, seed=seed, first=first).items():
            produced[topic, partition] = count
    committed = {}
    for group, (topics, share) in example.groups.items():
        stop_at = {place: before[place] + int(count * share) for place, count in produced.items() if place[0] in topics}
        consume_to(region, group, stop_at)
        committed[group] = stop_at
    return Traffic(produced=produced, committed=committed)
