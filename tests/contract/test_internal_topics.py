"""Each version of Kafka excludes the topics that we say it excludes.

Otherwise `check` would refuse a topic that is replicated, or accept one that never arrives.
"""

import json
from pathlib import Path

import pytest

from kafka_replication.components.kafka.patterns import matches_any
from kafka_replication.components.kafka.topic_names import default_topics_exclude, internal_by_ending, internal_topics
from tests.contract.java_programs import answer
from tests.contract.property_definitions import KAFKAS

PROGRAM = Path(__file__).with_name("Topics.java")
NAMES = [
    *("orders", "orders-internal", "orders.internal", "orders_internal", "__consumer_offsets", ".hidden", "a.replica"),
    *(f"mm2-offset-syncs{one}uswest{one}internal" for one in "._-"),
    *(f"useast{one}checkpoints{one}internal" for one in "._-"),
    *("mm2", "mm2-orders", "mm2.internal", "mm2internal", "my-mm2.internal", "checkpoints.internal"),
    *("mirror-orders-offsets-internal", "heartbeats", "internal", "-internal"),
]


@pytest.mark.parametrize("kafka", KAFKAS)
def test_we_exclude_the_same_topics_as_each_kafka_version(kafka: str) -> None:
    _, jars = KAFKAS[kafka]
    said = json.loads(answer(PROGRAM, jars, json.dumps(NAMES)).splitlines()[-1])
    assert said["excluded"] == [name for name in NAMES if matches_any(default_topics_exclude(kafka), name)]
    for separator in "._-":
        ours = (*internal_topics(separator), *internal_by_ending(kafka, separator))
        assert said[separator] == [name for name in NAMES if matches_any(ours, name)], separator
