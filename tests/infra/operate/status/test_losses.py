"""What is asked about records that a source deletes before they cross, and of which partitions."""

from collections.abc import Collection, Iterable
from typing import Any, cast

import pytest

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.losses import Deletion, Gap, LogMemory, Replaced, Stop
from kafka_replication.components.kafka.mirror_records import Checkpoints, OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.kafka.topic_sync import TopicSetting
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.status.facts import Lag, Losses, PartitionLag
from kafka_replication.infra.operate.status.kafka_facts import KafkaLook, OnSource, OnTarget
from tests.builders import a_resolved_flow

DAY_MS = 86_400_000
FLOW = flow_parameters(a_resolved_flow())
ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 0)


class Source:
    """Keeps every topic for a day, and notes which ones it was asked about."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def settings(self, topics: Collection[str]) -> dict[str, dict[str, TopicSetting]]:
        self.asked |= set(topics)
        texts = {"cleanup.policy": "delete", "retention.ms": str(DAY_MS), "retention.bytes": "-1"}
        return {topic: {name: TopicSetting(text, "") for name, text in texts.items()} for topic in topics}


class Target:
    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends of the partitions that exist."""
        return {partition: {TopicPartition("useast.orders", 0): 70}[partition] for partition in partitions}


def losing(
    *behind: PartitionLag,
    stored: dict[TopicPartition, int] | None = None,
    flow: FlowParameters = FLOW,
    memory: LogMemory | None = None,
    starts: dict[TopicPartition, int] | None = None,
    now_ms: int = 0,
) -> tuple[Losses, set[str]]:
    """What is lost of two topics that begin at offset 80, where an offset sync says that `orders` had got to 50, and
    the topics that were asked about."""
    source = Source()
    logs = {ORDERS: OffsetRange(80, 100), BILLS: OffsetRange(80, 100)}
    on_target = OnTarget(frozenset({"useast.orders"}), stored or {}, Checkpoints(), {}, {})
    syncs = {ORDERS: SyncHistory((OffsetSync(49, 49),))}
    found = KafkaLook(flow, OnSource(logs, {}, starts or {}), on_target, syncs).losses(
        {"source": cast(KafkaReader, source), "target": cast(KafkaReader, Target())},
        Lag(2, behind),
        memory or LogMemory(),
        now_ms,
    )
    return found, source.asked


def test_a_flow_that_keeps_up_asks_for_no_settings() -> None:
    assert losing(stored={ORDERS: 95, BILLS: 79}) == (Losses(), set())


def test_the_first_record_that_waits_in_a_partition_decides_when_it_is_deleted() -> None:
    waiting = PartitionLag(BILLS, 20, 1_000, 80)
    assert losing(waiting, stored={ORDERS: 95}) == (
        Losses({BILLS: Deletion(1_000 + DAY_MS, 1_000 + DAY_MS * 3 // 4)}),
        {"bills"},
    )


def test_what_the_source_has_deleted_is_counted_by_the_room_on_the_target() -> None:
    assert losing() == (Losses(gaps={ORDERS: Gap(10, 30)}), {"orders"})


def test_a_remote_topic_that_does_not_exist_leaves_the_loss_uncertain() -> None:
    found, _ = losing(stored={ORDERS: 95, BILLS: 60})
    assert found == Losses(gaps={BILLS: Gap(0, 19)})


def test_what_a_flow_has_passed_over_since_an_earlier_look_is_counted() -> None:
    memory = LogMemory(syncs={ORDERS: OffsetSync(20, 40)})
    assert losing(stored={ORDERS: 95}, memory=memory) == (Losses(gaps={ORDERS: Gap(20, 28)}), {"orders"})
    assert losing(stored={ORDERS: 95}, memory=memory) == (Losses(), {"orders"})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"transformed": True}, id="transforms drop records"),
        pytest.param({"guard": {"filter": "from-uswest", "mark": "from-useast"}}, id="a guard drops records"),
    ],
)
def test_deleted_records_of_a_flow_that_drops_some_may_be_those(change: dict[str, Any]) -> None:
    flow = FlowParameters.model_validate(FLOW.document() | change)
    assert losing(flow=flow) == (Losses(), set())


def test_a_flow_that_stops_has_stopped_where_records_are_lost_and_begins_nothing_without_a_start() -> None:
    flow = FLOW.model_copy(update={"starts_group": "starts"})
    found, _ = losing(flow=flow, stored={ORDERS: 49})
    gap, log = Gap(10, 30), OffsetRange(80, 100)
    assert found == Losses(gaps={ORDERS: gap}, stopped={ORDERS: Stop(50, log, certain=True)}, unstarted=(BILLS,))
    found, _ = losing(flow=flow, stored={ORDERS: 120}, starts={BILLS: 60})
    assert found == Losses(stopped={ORDERS: Stop(121, log, certain=True), BILLS: Stop(60, log, certain=False)})


@pytest.mark.parametrize("change", [{}, {"transformed": True}], ids=["nothing has crossed", "transformed"])
def test_a_flow_that_has_stored_nothing_for_two_minutes_while_records_wait_has_stopped(change: dict[str, Any]) -> None:
    """Nothing else says it where no sync shows what is missing, and an alert needs to be sure."""
    flow, memory = FLOW.model_copy(update={"starts_group": "starts", **change}), LogMemory()

    def certain(stored: int, now_ms: int) -> list[bool]:
        starts = {ORDERS: 80, BILLS: 60}
        found, _ = losing(flow=flow, stored={BILLS: stored}, starts=starts, memory=memory, now_ms=now_ms)
        return [stop.certain for stop in found.stopped.values()]

    assert [certain(60, 0), certain(61, 100_000), certain(61, 220_000)] == [[False], [False], [False]]
    assert [certain(61, 220_001), certain(79, 300_000), certain(61, 400_000)] == [[True], [], [False]]


class WithIds:
    """Gives each topic its name as its id."""

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: topic for topic in topics}


@pytest.mark.parametrize(
    ("stored", "target_end", "proven", "expected"),
    [
        pytest.param(99, 50, {}, {"useast": Replaced(), "uswest": Replaced()}, id="nothing"),
        pytest.param(
            100, 50, {}, {"useast": Replaced((), (ORDERS,)), "uswest": Replaced()}, id="past the end of the source"
        ),
        pytest.param(
            99,
            49,
            {},
            {"useast": Replaced(), "uswest": Replaced((), (TopicPartition("useast.orders", 0),))},
            id="the target lacks the record of the newest sync",
        ),
        pytest.param(
            99,
            50,
            {"useast": {"orders": "x"}, "uswest": {"useast.orders": "y"}},
            {"useast": Replaced(("orders",)), "uswest": Replaced(("useast.orders",))},
            id="other topics than those that were proven",
        ),
    ],
)  # fmt: skip
def test_offsets_past_the_end_of_a_log_show_that_it_was_replaced(
    stored: int, target_end: int, proven: dict[str, dict[str, str]], expected: dict[str, Replaced]
) -> None:
    reader = cast(KafkaReader, WithIds())
    ends = {TopicPartition("useast.orders", 0): target_end}
    seen = KafkaLook(
        FLOW,
        OnSource({ORDERS: OffsetRange(0, 100)}, {}),
        OnTarget(frozenset({"useast.orders"}), {ORDERS: stored}, Checkpoints(), {}, ends),
        {ORDERS: SyncHistory((OffsetSync(49, 49),))},
    )
    memories: dict[Side, LogMemory] = {"source": LogMemory(), "target": LogMemory()}
    assert seen.replaced({"source": reader, "target": reader}, proven, memories) == expected
