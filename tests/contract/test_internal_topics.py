"""Each version of Kafka leaves out the topics that we say it leaves out.

Without it `check` refuses a topic that is replicated, or passes one that never arrives.
"""

import json
import subprocess
from pathlib import Path

import pytest

from components.kafka.internal_topics import default_topics_exclude, internal_by_ending, internal_topics
from components.kafka.patterns import matches_any
from infra.machine.jdk import find_jdk
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
def test_topics_are_left_out_as_the_version_does(kafka: str) -> None:
    _, jars = KAFKAS[kafka]
    command = [find_jdk().java, "-XX:TieredStopAtLevel=1", "-cp", f"{jars.directory}/*", PROGRAM]
    ran = subprocess.run(
        [str(word) for word in command], input=json.dumps(NAMES), capture_output=True, text=True, check=True
    )
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["excluded"] == [name for name in NAMES if matches_any(default_topics_exclude(kafka), name)]
    for separator in "._-":
        ours = (*internal_topics(separator), *internal_by_ending(kafka, separator))
        assert said[separator] == [name for name in NAMES if matches_any(ours, name)], separator
