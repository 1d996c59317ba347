"""What a keeper commits for connectors that stop at a gap."""

from collections.abc import Mapping

from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.keep.keeper import commit_starts
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster, Reader

FLOW = flow_parameters(a_resolved_flow(onLoss="stop", topics=["orders", "payments-.*"]))
GROUP = "__mm2-starts.orders"


def committed(
    source: Cluster, *, renew: bool = False, heartbeats: bool = True
) -> dict[str, dict[TopicPartition, CommittedOffset]]:
    """What one look commits, by group; it is committed in the cluster, too."""
    found = {}

    def commit(group: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> None:
        found[group] = dict(offsets)
        source.commit(group, {partition: offset.offset for partition, offset in offsets.items()})

    commit_starts(FLOW, Reader("useast", source.config), commit, renew=renew, heartbeats=heartbeats)
    return found


def test_every_partition_without_a_start_gets_one_also_of_heartbeats_that_cross() -> None:
    """A task that has one partition without a start replicates nothing of any other."""
    source, numbers = Cluster(), range(4)
    for topic in ("orders", "other", "heartbeats", "eu.heartbeats", "uswest.heartbeats"):
        source.hold(topic, [(0, "")])
    topics = ("eu.heartbeats", "heartbeats", "orders")
    starts = {TopicPartition(topic, number): CommittedOffset(0) for topic in topics for number in numbers}
    assert committed(source) == {GROUP: starts}
    source.hold("payments-eu", [(0, "")])
    source.hold("orders", [(1, "")])
    starts = {TopicPartition("payments-eu", number): CommittedOffset(0) for number in numbers}
    assert committed(source) == {GROUP: starts}
    assert committed(source) == {}


def test_known_starts_are_committed_again_as_they_are() -> None:
    """One that expired would be committed anew at the start of the log, which may lie behind a gap by then."""
    source = Cluster()
    source.hold("orders", [(0, "")])
    first = TopicPartition("orders", 0)
    source.commit(GROUP, {first: 3})
    others = {TopicPartition("orders", number): CommittedOffset(0) for number in range(1, 4)}
    assert committed(source) == {GROUP: others}
    assert committed(source, renew=True) == {GROUP: {first: CommittedOffset(3), **others}}


def test_heartbeats_that_do_not_cross_get_no_start_as_the_connectors_need_not_have_the_right_to_read_them() -> None:
    source = Cluster()
    source.hold("heartbeats", [(0, "")])
    assert committed(source, heartbeats=False) == {}
