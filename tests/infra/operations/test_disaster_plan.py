"""What the target alone says in a disaster: what is lost, what is read again, and what has to be committed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from components.contract.kept_positions import KeptPositions, SpannedTopic
from components.flows.digest import flow_digest
from components.kafka.kept_positions import KeptPosition, Span
from components.kafka.mirror_records import Checkpoint
from components.kafka.positions import OffsetRange, TopicPartition
from components.render.job_parameters import flow_parameters
from infra.operations.disaster_facts import Evidence, Silence, Tail, Translated
from infra.operations.disaster_plan import consumed_topics, disaster_plan
from infra.operations.failover_facts import Group, LeftAlone, Move, Plan
from tests.builders import a_resolved_flow

NOW_MS = round(datetime(2026, 1, 31, 3, 0, tzinfo=UTC).timestamp() * 1000)
ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
FLOW = flow_parameters(a_resolved_flow())
SILENT = "Kafka cluster useast does not answer: Connection refused"
CHECKPOINT = Translated(Checkpoint("checkout-web", REMOTE, 412, 398), NOW_MS - 90_000)


def evidence(**given: Any) -> Evidence:
    group = Group("checkout-web", 0, 0, {}, {REMOTE: 390})
    found = {
        "now_ms": NOW_MS,
        "source": Silence(SILENT),
        "verdict": None,
        "heartbeat_ms": NOW_MS - 61_000,
        "tails": {ORDERS: Tail(430, NOW_MS - 75_000, NOW_MS - 261_000, 101)},
        "groups": (group,),
        "checkpoints": {("checkout-web", REMOTE): CHECKPOINT},
    }
    return Evidence(**{**found, **given})


def values(found: Plan, name: str) -> list[str]:
    return [each.value for each in found.preconditions if each.name == name]


def test_what_is_lost_is_said_by_topic_and_what_is_read_again_by_group() -> None:
    found = disaster_plan(FLOW, evidence())
    assert found.unmet == ()
    assert values(found, "source") == [SILENT]
    assert values(found, "lost") == [
        "orders: at least what came in the last 61.0 s, about 31 records at its last rate; if replication was behind, "
        "everything after its newest record, which is 75.0 s old"
    ]
    assert values(found, "read again") == ["checkout-web: at most 40 records; its offsets are known as of 90.0 s ago"]
    assert found.moves == ()
    assert consumed_topics(FLOW, evidence()) == {"checkout-web": ["orders"]}


def test_a_checkpoint_that_nobody_committed_is_committed() -> None:
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-web", 0, 0, {}, {}),)))
    assert found.moves == (Move("checkout-web", ORDERS, 412, REMOTE, 398, 32, "at most"),)


def test_a_group_that_runs_on_the_target_is_left_alone() -> None:
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-web", 0, 2, {}, {}),)))
    assert (found.moves, found.left_alone) == (
        (),
        (LeftAlone("checkout-web", "it runs on uswest with 2 members already"),),
    )


def test_a_group_without_a_trace_begins_at_its_reset() -> None:
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-app", 0, 0, {}, {}),)))
    assert values(found, "read again") == [
        "checkout-app: it has no position on uswest, and begins at its `auto.offset.reset`"
    ]


def test_a_source_that_answers_is_refused() -> None:
    (unmet,) = disaster_plan(FLOW, evidence(source=None)).unmet
    assert unmet.value == "useast answers, so exact positions can be computed: use `--mode planned` or `continuous`"


def test_a_source_that_refuses_the_login_is_not_lost() -> None:
    told = "Kafka cluster useast refuses the login: SASL authentication error: Authentication failed"
    (unmet,) = disaster_plan(FLOW, evidence(source=Silence(told, refused=True))).unmet
    assert unmet.value == f"{told}. The source is not lost: correct the login, and look again"


def test_a_flow_that_never_replicated_is_refused() -> None:
    (unmet,) = disaster_plan(FLOW, evidence(heartbeat_ms=None, tails={ORDERS: Tail(0)})).unmet
    assert unmet.value == "nothing of useast was ever replicated"


def test_a_topic_without_records_says_so() -> None:
    assert values(disaster_plan(FLOW, evidence(tails={ORDERS: Tail(0)})), "lost") == [
        "orders: at least what came in the last 61.0 s; it holds no record"
    ]


def test_a_partition_that_was_behind_is_not_hidden_by_another() -> None:
    tails = {ORDERS: Tail(430, NOW_MS - 75_000), TopicPartition("orders", 1): Tail(9, NOW_MS - 7_200_000)}
    assert values(disaster_plan(FLOW, evidence(tails=tails)), "lost") == [
        "orders: at least what came in the last 61.0 s; if replication was behind, everything after the newest record "
        "of each partition, the oldest 2 h old"
    ]


def test_a_record_dated_in_the_future_does_not_say_that_nothing_is_lost() -> None:
    tails = {ORDERS: Tail(430, NOW_MS + 3_600_000)}
    (lost,) = values(disaster_plan(FLOW, evidence(tails=tails)), "lost")
    assert lost.startswith("orders: at least what came in the last 61.0 s; ")
    assert values(disaster_plan(FLOW, evidence(tails=tails, heartbeat_ms=None)), "lost") == [
        "not known: the newest records are dated in the future, and there is no heartbeat"
    ]


def test_records_that_came_at_once_long_before_the_last_sign_are_no_rate() -> None:
    burst = Tail(430, NOW_MS - 561_000, NOW_MS - 561_019, 101)
    (lost,) = values(disaster_plan(FLOW, evidence(tails={ORDERS: burst})), "lost")
    assert "at least what came in the last 61.0 s, about 13 records at its last rate" in lost


def test_a_checkpoint_after_the_end_is_not_committed() -> None:
    """The topic was created again: a consumer would not find the offset, and jump to its reset."""
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-web", 0, 0, {}, {}),), tails={ORDERS: Tail(397, 0)}))
    assert found.moves == ()
    assert values(found, "read again") == [
        "checkout-web: it has no position on uswest, and begins at its `auto.offset.reset`"
    ]


def test_partitions_without_a_position_are_said() -> None:
    tails = {ORDERS: Tail(430, NOW_MS - 75_000), TopicPartition("orders", 1): Tail(9, NOW_MS - 75_000)}
    assert values(disaster_plan(FLOW, evidence(tails=tails)), "read again") == [
        "checkout-web: at most 40 records; its offsets are known as of 90.0 s ago; it begins at its "
        "`auto.offset.reset` in 1 partition without a position"
    ]


KEPT = KeptPositions(
    flow_digest(a_resolved_flow()),
    "2026-01-31T02:00:00+00:00",
    {"orders": SpannedTopic("S", "T", {0: Span(100, 410, 90, 400, dense=True)})},
)
HELD = {"kept": KEPT, "logs": {ORDERS: OffsetRange(0, 430)}, "topic_ids": {"orders": "T"}}
COARSE = {"checkpoints": {("checkout-web", REMOTE): Translated(Checkpoint("checkout-web", REMOTE, 405, 300), NOW_MS)}}
NOWHERE = (Group("checkout-web", 0, 0, {}, {}),)


def test_a_published_position_is_more_exact_than_the_checkpoint() -> None:
    """The checkpoint says that the group stood at 405, and the span where that record is."""
    found = disaster_plan(FLOW, evidence(**HELD, **COARSE, groups=NOWHERE))
    assert found.moves == (Move("checkout-web", ORDERS, 405, REMOTE, 395, 35, "at most"),)
    assert values(found, "exact") == ["1 position of 1 move by what was proven at 2026-01-31T02:00:00+00:00"]
    (again,) = values(found, "read again")
    assert again.startswith("checkout-web: at most 35 records; ")


@pytest.mark.parametrize(
    ("current", "moves"),
    [
        pytest.param(290, 1, id="MirrorMaker would move it on itself"),
        pytest.param(300, 1, id="MirrorMaker has committed its checkpoint"),
        pytest.param(301, 0, id="the group has worked on the target"),
        pytest.param(400, 0, id="it is further already"),
    ],
)
def test_an_offset_that_is_not_mirror_makers_is_left(current: int, moves: int) -> None:
    synced = evidence(**HELD, **COARSE, groups=(Group("checkout-web", 0, 0, {}, {REMOTE: current}),))
    assert [each.offset for each in disaster_plan(FLOW, synced).moves] == [395] * moves
    unsynced = FLOW.model_copy(
        update={"checkpoints": FLOW.checkpoints.model_copy(update={"sync_group_offsets": False})}
    )
    assert disaster_plan(unsynced, synced).moves == ()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"topic_ids": {"orders": "other"}}, id="the remote topic was deleted and created again"),
        pytest.param({"topic_ids": {}}, id="the id of the remote topic is not known"),
        pytest.param({"logs": {ORDERS: OffsetRange(0, 399)}}, id="the remote topic lost its end"),
        pytest.param({"kept": replace(KEPT, topics={})}, id="nothing was proven of the topic"),
        pytest.param({"kept": "those of yesterday are about another model"}, id="another model"),
    ],
)
def test_what_may_not_hold_any_more_moves_no_group(changed: dict[str, Any]) -> None:
    found = disaster_plan(FLOW, evidence(**{**HELD, **COARSE, **changed}, groups=NOWHERE))
    assert [each.offset for each in found.moves] == [300]


SET_BACK = replace(KEPT, positions={("checkout-web", "orders", 0): KeptPosition(150, 140, 0)})


@pytest.mark.parametrize(
    ("changed", "committed", "offset"),
    [
        pytest.param({}, 150, 140, id="as a validation has seen since"),
        pytest.param({"logs": {ORDERS: OffsetRange(200, 430)}}, 150, 200, id="the target has deleted the place"),
        pytest.param({"topic_ids": {}}, 150, 0, id="the place is not known any more, so the beginning"),
        pytest.param({"kept": replace(SET_BACK, time="2026-01-31T01:00:00+00:00")}, 405, 395, id="it went on later"),
        pytest.param(
            {"kept": replace(SET_BACK, positions={("checkout-web", "orders", 0): KeptPosition(406, 396, 0)})},
            405,
            395,
            id="it was not set back",
        ),
    ],
)
def test_a_group_that_was_set_back_without_a_new_checkpoint_skips_nothing(
    changed: dict[str, Any], committed: int, offset: int
) -> None:
    """MirrorMaker cannot translate an offset before its oldest sync, and writes no checkpoint of it."""
    written_ms = round(datetime(2026, 1, 31, 1, 30, tzinfo=UTC).timestamp() * 1000)
    at = Translated(Checkpoint("checkout-web", REMOTE, 405, 300), written_ms)
    given = {**HELD, "kept": SET_BACK, "checkpoints": {("checkout-web", REMOTE): at}, **changed}
    (move,) = disaster_plan(FLOW, evidence(**given, groups=NOWHERE)).moves
    assert (move.committed, move.offset, move.read_again) == (committed, offset, 430 - offset)


@pytest.mark.parametrize("kept", [KEPT, "no validation has published any"])
def test_a_group_does_not_go_on_before_the_log(kept: KeptPositions | str) -> None:
    """There, its consumers would go on at their `auto.offset.reset`: `latest` skips all that is left."""
    deleted = {**HELD, **COARSE, "logs": {ORDERS: OffsetRange(410, 430)}, "kept": kept}
    for current in ({}, {REMOTE: 300}):
        found = disaster_plan(FLOW, evidence(**deleted, groups=(Group("checkout-web", 0, 0, {}, current),)))
        assert found.moves == (Move("checkout-web", ORDERS, 405, REMOTE, 410, 20, "at most"),)
        assert not any(each.startswith("1 position") for each in values(found, "exact")), "nobody has proven that"


def test_why_there_are_no_published_positions_is_said() -> None:
    assert values(disaster_plan(FLOW, evidence()), "exact") == ["none: no validation has published any"]
