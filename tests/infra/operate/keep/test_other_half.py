"""The kept positions of a prefixless pair's groups, which also consume what was written on the target."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.contract.kept_positions import kept_positions, positions_topic
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.operate.keep.keeper import FlowKeeper
from kafka_replication.infra.operate.keep.other_half import OtherHalf, syncs_of_other_half
from kafka_replication.infra.operate.move.facts import Mode
from kafka_replication.infra.stack.session import OpenStack
from tests.builders import a_topology
from tests.components.clients.brokers import Cluster
from tests.infra.operate.keep.test_keeper import WithIds, look, offsets
from tests.infra.operate.move.night import Night, a_night, fail_over
from tests.infra.operate.move.test_failover import of_topology
from tests.spark.forging import offset_sync_key, offset_sync_value

ORDERS = TopicPartition("orders", 0)
EAST, WEST = "replicated-from-useast", "replicated-from-uswest"
_PAIR: dict[str, Any] = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]}
_KEPT = {**_PAIR, "offsetSyncs": {"enabled": True}}
_BACK: dict[str, Any] = {"kind": "flow", "source": "uswest", "target": "useast"}
_HALF: dict[str, Any] = {"kind": "flow", "topics": ["orders"], "policy": "identity", "loopGuard": True}


@pytest.fixture(autouse=True)
def _ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.components.clients.brokers.Reader.topic_ids", WithIds.topic_ids)


def opened(**replications: Any) -> Night:
    """The flow from useast in a stack with these replications."""
    source, target = Cluster(), Cluster()
    night = a_night(of_topology(replications["orders"]), source, target, {})
    topology = parse_topology({**a_topology(_KEPT), "replications": replications})
    return replace(night, stack=OpenStack(replace(night.stack.settings, topology=topology)))


@pytest.fixture
def night() -> Night:
    """Numbers 0 to 4 come from useast, 10 to 12 were written on uswest; 12 has not been copied yet."""
    night = opened(orders=_KEPT)
    night.source.hold("orders", [(0, ""), (1, ""), (10, WEST), (2, ""), (11, WEST), (3, ""), (4, "")])
    night.target.hold("orders", [(10, ""), (0, EAST), (11, ""), (1, EAST), (2, EAST), (12, ""), (3, EAST)])
    for group, offset in {"behind": 3, "there": 7, "early": 2}.items():
        night.source.commit(group, {ORDERS: offset})
        night.members[group] = 0
    return night


def a_keeper(night: Night) -> FlowKeeper:
    syncs = syncs_of_other_half(night)
    assert not isinstance(syncs, str)
    for upstream, downstream in ((0, 2), (2, 4)):
        key, value = offset_sync_key(*ORDERS), offset_sync_value(upstream, downstream)
        night.target.producer.produce(syncs.topic, value, key, 0)
    assert night.target.producer.flush(10) == 0
    return FlowKeeper(night.parameters, OtherHalf(syncs, EAST))


def test_a_group_continues_before_the_first_record_of_the_target_that_it_has_not_got(night: Night) -> None:
    kept = look(night, a_keeper(night))
    assert offsets(kept) == {"there": 5, "behind": 0, "early": 0}
    assert "behind in orders-0, early in orders-0 are before every end" in kept.text
    assert kept.text.endswith("so it would begin at the start of the log")


def test_a_disaster_moves_the_groups_of_a_pair(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    look(night, a_keeper(night))
    night.dead.add("useast")
    fail_over(night, Mode.DISASTER)
    assert night.positions(ORDERS) == {"there": 5, "behind": 0, "early": 0}
    assert "3 of 3 positions to commit come from the keeper" in " ".join(capsys.readouterr().out.split())


def test_a_keeper_that_starts_again_goes_on_with_the_next_sync(night: Night) -> None:
    """Earlier syncs may be of a log that has lost its end since."""
    keeper = a_keeper(night)
    look(night, keeper)
    published = kept_positions(night.flow.name, night.readers()["target"].records(positions_topic(night.flow.name)))
    assert published.look is not None
    assert published.look.syncs == 2
    syncs = syncs_of_other_half(night)
    assert not isinstance(syncs, str)
    half = OtherHalf(syncs, EAST)
    again = FlowKeeper(night.parameters, half)
    again.begin(night.parameters, published)
    assert half.read == 2
    assert offsets(look(night, again)) == offsets(look(night, keeper))


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"orders": _PAIR}, "orders-to-useast has no offset syncs: set `offsetSyncs: {enabled: true}`"),
        (
            {"orders": _KEPT, "sales": {**_BACK, "topics": ["sales"]}},
            "sales writes its offset syncs to mm2-offset-syncs.useast.internal, too, where they cannot be told apart",
        ),
        (
            {"orders": {**_HALF, "source": "useast", "target": "uswest"}},
            "no flow from uswest to useast with a loop guard has the same topics",
        ),
    ],
    ids=["not enabled", "another flow back", "one half"],
)
def test_what_keeps_the_groups_of_a_pair_from_being_kept_is_said(others: dict[str, Any], says: str) -> None:
    assert syncs_of_other_half(opened(**others)) == says


@pytest.mark.parametrize(
    "others",
    [
        {"orders": _KEPT, "sales": {**_KEPT, "topics": ["sales"]}},
        {"orders": {**_HALF, "source": "useast", "target": "uswest"}, "back": {**_HALF, **_BACK, "loopGuard": True}},
    ],
    ids=["another pair", "two flows"],
)
def test_the_other_half_is_the_guarded_flow_with_the_same_topics(others: dict[str, Any]) -> None:
    syncs = syncs_of_other_half(opened(**others))
    assert not isinstance(syncs, str)
    assert (syncs.cluster, syncs.topic) == ("target", "mm2-offset-syncs.useast.internal")
