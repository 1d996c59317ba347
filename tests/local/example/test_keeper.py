"""The keeper of the deployed stack: what it writes to real brokers, and that only one keeper writes."""

import pytest

from kafka_replication.components.clients.writer import REPLACED
from kafka_replication.components.contract.kept_positions import PositionKey, kept_positions, positions_topic
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.keep.keeper import LookResult, StackKeeper
from kafka_replication.infra.stack.session import OpenStack
from tests.local.flows import Deployed


@pytest.mark.parametrize("flow", ["orders", "ledger"])
def test_positions_are_on_the_target_and_a_second_keeper_ends_the_first(deployed: Deployed, flow: str) -> None:
    with OpenStack(deployed.settings) as first, OpenStack(deployed.settings) as second:
        opened = FlowAccess(first, first.flow(flow))
        keeper = StackKeeper()
        others = [other for other in dict(keeper.look(first)).values() if not isinstance(other, LookResult)]
        assert not others, others
        kept = dict(keeper.look(first))[flow]
        assert isinstance(kept, LookResult)
        assert kept.positions
        target, topic = opened.readers()["target"], positions_topic(flow)
        written = kept_positions(flow, target.records(topic))
        seen = {
            PositionKey(group, partition): position
            for group, by_partition in kept.positions.items()
            for partition, position in by_partition.items()
        }
        assert (written.positions, written.unreadable) == (seen, 0)
        assert written.look is not None
        assert target.cleanup_policies([topic]) == {topic: "compact"}
        taken_over = dict(StackKeeper().look(second))[flow]
        assert isinstance(taken_over, LookResult)
        assert taken_over.positions.keys() == kept.positions.keys()
        with pytest.raises(CannotRunError, match="another keeper writes") as refused:
            dict(keeper.look(first))
        assert refused.value.code == REPLACED
