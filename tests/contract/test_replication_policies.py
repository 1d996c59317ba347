"""MirrorMaker's own classes interpret topic names as our rules do, with separators of any length.

Otherwise a topic would wrongly count as coming from the target and not be replicated, or a loop would count as stopped.
"""

import json
from itertools import product
from pathlib import Path

import pytest

from kafka_replication.components.kafka.patterns import matches
from kafka_replication.components.kafka.replication_policy import (
    POLICY_CLASSES,
    Policy,
    ReplicationPolicy,
    clusters_passed,
    is_heartbeat_topic,
)
from kafka_replication.infra.machine.toolchain import CONNECT
from tests.contract.java_programs import answer

PROGRAM = Path(__file__).with_name("Policies.java")
SEPARATORS = (".", "_", "--", "..", "-.", ".-.", "---", "ba")
POLICIES = [
    *(ReplicationPolicy(Policy.DEFAULT, separator, "b", "a") for separator in SEPARATORS),
    *(ReplicationPolicy(Policy.IDENTITY, separator, "b", "a") for separator in (".", "--")),
]


def topics(separator: str) -> list[str]:
    """All names made of a few characters or pieces that could be interpreted in different ways."""
    characters = sorted({"a", "b", *separator})
    short = ("".join(each) for length in range(1, 7) for each in product(characters, repeat=length))
    pieces = ["a", "b", separator, separator[0], "heartbeats"]
    heartbeats = ("".join(each) + "heartbeats" for length in range(5) for each in product(pieces, repeat=length))
    return sorted({*short, *heartbeats})


@pytest.fixture(scope="module")
def java() -> dict[ReplicationPolicy, list[tuple[str, bool, bool, list[str]]]]:
    """The topics of each policy: the name, whether it is a cycle, whether it holds heartbeats, and its aliases."""
    asked = [
        {
            "class": POLICY_CLASSES[each.kind],
            "separator": each.separator,
            "source": each.source,
            "target": each.target,
            "topics": topics(each.separator),
        }
        for each in POLICIES
    ]
    answers = json.loads(answer(PROGRAM, CONNECT, json.dumps(asked)).splitlines()[-1])
    return {
        policy: [(topic, *said) for topic, said in zip(topics(policy.separator), each, strict=True)]
        for policy, each in zip(POLICIES, answers, strict=True)
    }


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.kind}{policy.separator}")
def test_we_treat_the_same_topics_as_cycles_as_mirrormaker(
    java: dict[ReplicationPolicy, list[tuple[str, bool, bool, list[str]]]], policy: ReplicationPolicy
) -> None:
    pattern = policy.came_from_target
    wrong = [topic for topic, cycle, _, _ in java[policy] if matches(pattern, topic) is not cycle]
    assert wrong == []


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.kind}{policy.separator}")
def test_we_read_the_same_clusters_from_heartbeat_topics_as_mirrormaker(
    java: dict[ReplicationPolicy, list[tuple[str, bool, bool, list[str]]]], policy: ReplicationPolicy
) -> None:
    separator = policy.separator
    heartbeats = [(topic, aliases) for topic, _, is_heartbeat, aliases in java[policy] if is_heartbeat]
    assert [topic for topic, _, _, _ in java[policy] if is_heartbeat_topic(topic, separator)] == [
        topic for topic, _ in heartbeats
    ]
    assert [aliases for _, aliases in heartbeats] == [clusters_passed(topic, separator) for topic, _ in heartbeats]
    never = policy.never_selected
    assert [topic for topic, _ in heartbeats if not any(matches(pattern, topic) for pattern in never)] == []
