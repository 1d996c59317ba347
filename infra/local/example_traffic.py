"""The traffic that the demos replicate: the topics and consumer groups of each example stack."""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.endpoints import Region
from infra.local.traffic import Positions, consume_to, create_topics, end_offsets, produce


@dataclass(frozen=True)
class Example:
    """Partitions by topic; by group, the topics that it reads and the share of each partition that it consumes."""

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
"""For the stack `local`, whose flow selects neither the topic `audit` nor the group `reporting`."""

LEDGER = Example(topics={"ledger": 3}, groups={})
"""For each region of the stack `local-pair`."""

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
    """What a run made: the number of records by topic and partition, and the committed offsets by group."""

    produced: Mapping[tuple[str, int], int]
    committed: Mapping[str, Positions]


def make_example_traffic(region: Region, records_per_topic: int, seed: int, example: Example = ORDERS) -> Traffic:
    """Create the topics, produce to each, and let each group consume its share of the new records.

    Every run produces more records and advances the groups.
    """
    create_topics(region, example.topics)
    before = end_offsets(region, example.topics)
    produced: dict[tuple[str, int], int] = {}
    for topic in example.topics:
        # Continue the sequence where the last run ended, so that no two records of a topic are equal.
        first = sum(end for place, end in before.items() if place[0] == topic)
        for partition, count in produce(region, topic, records_per_topic, seed=seed, first=first).items():
            produced[topic, partition] = count
    committed = {}
    for group, (topics, share) in example.groups.items():
        stop_at = {place: before[place] + int(count * share) for place, count in produced.items() if place[0] in topics}
        consume_to(region, group, stop_at)
        committed[group] = stop_at
    return Traffic(produced=produced, committed=committed)
