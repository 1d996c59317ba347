"""Filters that drop every record are told apart from filters that may drop some."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_replication.components.kafka.plugins import (
    HAS_HEADER_KEY,
    KAFKA_TRANSFORMS,
    RECORD_IS_TOMBSTONE,
    TOPIC_NAME_MATCHES,
)
from kafka_replication.components.kafka.transform_chains import chain_of, filters_of_everything

MATCHES = {"type": TOPIC_NAME_MATCHES}
HAS_SEEN = {"type": HAS_HEADER_KEY, "name": "seen"}
TOMBSTONE = {"type": RECORD_IS_TOMBSTONE}
MARK = {"type": f"{KAFKA_TRANSFORMS}InsertHeader", "header": " seen ", "value.literal": "null"}
CLEAN = {"type": f"{KAFKA_TRANSFORMS}DropHeaders", "headers": "trace, seen"}
COPY = {"type": f"{KAFKA_TRANSFORMS}HeaderFrom$Value", "fields": "a", "headers": "seen", "operation": "copy"}
OWN = {"type": "com.example.Own"}


def a_filter(predicate: Mapping[str, Any] | None = None, negate: bool = False) -> dict[str, Any]:
    return {"type": f"{KAFKA_TRANSFORMS}Filter", "asks": predicate, "negate": negate}


def a_chain(*steps: Mapping[str, Any]) -> dict[str, Any]:
    """A connector's configuration whose steps are named by their number; `asks` is a step's predicate."""
    config: dict[str, Any] = {"transforms": ",".join(str(number) for number in range(len(steps)))}
    for number, step in enumerate(steps):
        asked = step.get("asks")
        own = {key: value for key, value in step.items() if key != "asks" and not (key == "negate" and not asked)}
        config |= {f"transforms.{number}.{key}": value for key, value in own.items()}
        if asked:
            config[f"transforms.{number}.predicate"] = f"p{number}"
            config |= {f"predicates.p{number}.{key}": value for key, value in asked.items()}
    return config


ORDERS = ("useast.orders", r"useast\.(payments-.*)")
CASES: dict[str, tuple[list[Mapping[str, Any]], tuple[str, ...], list[str]]] = {
    "no predicate": ([a_filter()], ORDERS, ["0"]),
    "a pattern of every topic": ([a_filter({**MATCHES, "pattern": r"useast\..*"})], ORDERS, ["0"]),
    "a pattern of one topic of two": ([a_filter({**MATCHES, "pattern": r".*orders"})], ORDERS, []),
    "a pattern of some topics of a pattern": (
        [a_filter({**MATCHES, "pattern": r"useast\.payments-eu"})],
        (r"useast\.(payments-.*)",),
        [],
    ),
    "two patterns that leave no topic": (
        [a_filter({**MATCHES, "pattern": ".*orders"}), a_filter({**MATCHES, "pattern": ".*payments.*"})],
        ORDERS,
        ["1"],
    ),
    "all but heartbeats": (
        [a_filter({**MATCHES, "pattern": r"^(?!(.*\.)?heartbeats$).*$"})],
        ("orders", "payments-[0-9]*"),
        ["0"],
    ),
    "all but names without the prefix": (
        [a_filter({**MATCHES, "pattern": "(?!useast).*"}, negate=True)],
        ORDERS,
        ["0"],
    ),
    "a broken pattern": ([a_filter({**MATCHES, "pattern": "("})], ORDERS, []),
    "a header that every record has": ([MARK, a_filter(HAS_SEEN)], ORDERS, ["1"]),
    "a header from a field": ([COPY, a_filter(HAS_SEEN)], ORDERS, ["1"]),
    "a header that a record may have": ([a_filter(HAS_SEEN)], ORDERS, []),
    "without a header that was dropped": ([CLEAN, a_filter(HAS_SEEN, negate=True)], ORDERS, ["1"]),
    "a header that was inserted and dropped": ([MARK, CLEAN, a_filter(HAS_SEEN)], ORDERS, []),
    "a header that an unknown class may drop": ([MARK, OWN, a_filter(HAS_SEEN)], ORDERS, []),
    "a topic that an unknown class may rename": ([OWN, a_filter({**MATCHES, "pattern": ".*"})], ORDERS, []),
    "with a header, then without": ([a_filter(HAS_SEEN), a_filter(HAS_SEEN, negate=True)], ORDERS, ["1"]),
    "with a header, then without, an unknown class between": (
        [a_filter(HAS_SEEN), OWN, a_filter(HAS_SEEN, negate=True)],
        ORDERS,
        [],
    ),
    "tombstones": ([a_filter(TOMBSTONE)], ORDERS, []),
    "a header that is inserted only beside another header": (
        [{**MARK, "asks": {"type": HAS_HEADER_KEY, "name": "trace"}}, a_filter(HAS_SEEN)],
        ORDERS,
        [],
    ),
    "more predicates than are followed": (
        [*(a_filter({"type": HAS_HEADER_KEY, "name": f"h{number}"}) for number in range(8)), a_filter()],
        ORDERS,
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_filter_is_named_only_if_it_drops_every_record(name: str) -> None:
    steps, topics, dropping = CASES[name]
    assert filters_of_everything(chain_of(a_chain(*steps)), topics) == dropping
