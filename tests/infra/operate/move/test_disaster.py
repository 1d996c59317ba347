"""The plan of a disaster failover, from the target alone: what is lost, what is read again, what to commit."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.evidence import PublishedPositions, SpannedTopic
from kafka_replication.components.contract.report import Verdict
from kafka_replication.components.flows.resolved import flow_digest
from kafka_replication.components.kafka.mirror_records import Checkpoint
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.move import disaster
from kafka_replication.infra.operate.move.disaster import (
    DisasterFacts,
    PartitionTail,
    consumed_topics,
    disaster_plan,
)
from kafka_replication.infra.operate.move.facts import Group, GroupPlan, Mode, NewPosition
from kafka_replication.infra.operate.status.facts import VerdictFacts
from kafka_replication.infra.stack.session import OpenStack
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster
from tests.infra.operate.move.night import a_night, fail_over
from tests.infra.readmes import shown

NOW_MS = round(datetime(2026, 1, 31, 3, 0, tzinfo=UTC).timestamp() * 1000)
ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
FLOW = flow_parameters(a_resolved_flow())
SILENT = "Kafka cluster useast does not answer: Connection refused"
CHECKPOINT = Checkpoint(412, 398, NOW_MS - 90_000)


def evidence(**given: Any) -> DisasterFacts:
    group = Group("checkout-web", 0, 0, {}, {REMOTE: 390})
    found = {
        "now_ms": NOW_MS,
        "source": NoAnswerError(SILENT),
        "verdict": None,
        "heartbeat_ms": NOW_MS - 61_000,
        "tails": {ORDERS: PartitionTail(430, NOW_MS - 75_000, NOW_MS - 261_000, 101)},
        "groups": (group,),
        "checkpoints": {("checkout-web", REMOTE): CHECKPOINT},
    }
    return DisasterFacts(**{**found, **given})


def values(found: GroupPlan, name: str) -> list[str]:
    return [each.value for each in found.preconditions if each.name == name]


def test_losses_are_reported_for_each_topic_and_re_reads_for_each_group() -> None:
    found = disaster_plan(FLOW, evidence())
    assert found.unmet == ()
    assert values(found, "source") == [SILENT]
    assert values(found, "lost") == [
        "orders: at least the records of the last 61.0 s, about 31 at its last rate; if replication lagged, also every "
        "record after its newest record on uswest, which is 75.0 s old"
    ]
    assert values(found, "read again") == ["checkout-web: at most 40 records; its offsets are known as of 90.0 s ago"]
    assert found.positions == ()
    assert consumed_topics(FLOW, evidence()) == {"checkout-web": ["orders"]}


def test_a_checkpoint_is_committed_if_the_group_has_no_offset_on_the_target() -> None:
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-web", 0, 0, {}, {}),)))
    assert found.positions == (NewPosition("checkout-web", ORDERS, 412, REMOTE, 398, 32, "at most"),)


def test_a_group_that_runs_on_the_target_is_left_alone() -> None:
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-web", 0, 2, {}, {}),)))
    assert (found.positions, found.left_alone) == (
        (),
        {"checkout-web": "it runs on uswest with 2 members already"},
    )


def test_a_group_without_offset_or_checkpoint_starts_at_its_auto_offset_reset() -> None:
    found = disaster_plan(FLOW, evidence(groups=(Group("checkout-app", 0, 0, {}, {}),)))
    assert values(found, "read again") == [
        "checkout-app: it has no valid position on uswest, so it starts at its `auto.offset.reset`"
    ]


def test_a_disaster_failover_is_refused_while_the_source_answers() -> None:
    (unmet,) = disaster_plan(FLOW, evidence(source=None)).unmet
    assert unmet.value == "useast answers, so exact positions can be computed: use `--mode planned` or `continuous`"


def test_a_source_that_refuses_the_login_does_not_count_as_lost() -> None:
    refusal = "Kafka cluster useast refuses the login: SASL authentication error: Authentication failed"
    (unmet,) = disaster_plan(FLOW, evidence(source=NoAnswerError(refusal, refused=True))).unmet
    assert unmet.value == f"{refusal}. The source is not lost: correct the login, and look again"


def test_a_flow_without_any_sign_of_its_source_is_refused() -> None:
    (unmet,) = disaster_plan(FLOW, evidence(heartbeat_ms=None, tails={ORDERS: PartitionTail(0)})).unmet
    assert unmet.value == "the flow has no heartbeat on uswest, and none of the newest records there came from useast"


def test_a_remote_topic_without_records_is_reported_as_empty() -> None:
    assert values(disaster_plan(FLOW, evidence(tails={ORDERS: PartitionTail(0)})), "lost") == [
        "orders: at least the records of the last 61.0 s; if replication lagged, it is unknown how much more, because "
        "none of its newest records on uswest came from useast"
    ]


def test_the_reported_loss_includes_the_partition_that_is_furthest_behind() -> None:
    tails = {
        ORDERS: PartitionTail(430, NOW_MS - 75_000),
        TopicPartition("orders", 1): PartitionTail(9, NOW_MS - 7_200_000),
    }
    assert values(disaster_plan(FLOW, evidence(tails=tails)), "lost") == [
        "orders: at least the records of the last 61.0 s; if replication lagged, also every record after the newest "
        "record of each partition on uswest, the oldest of which is 2 h old"
    ]


def test_a_record_dated_in_the_future_does_not_prove_that_nothing_is_lost() -> None:
    tails = {ORDERS: PartitionTail(430, NOW_MS + 3_600_000)}
    (lost,) = values(disaster_plan(FLOW, evidence(tails=tails)), "lost")
    assert lost.startswith("orders: at least the records of the last 61.0 s; ")
    assert values(disaster_plan(FLOW, evidence(tails=tails, heartbeat_ms=None)), "lost") == [
        "not known: the newest records are dated in the future, and there is no heartbeat"
    ]


def test_an_old_burst_of_records_does_not_inflate_the_estimated_rate() -> None:
    burst = PartitionTail(430, NOW_MS - 561_000, NOW_MS - 561_019, 101)
    (lost,) = values(disaster_plan(FLOW, evidence(tails={ORDERS: burst})), "lost")
    assert "at least the records of the last 61.0 s, about 13 at its last rate" in lost


def test_a_checkpoint_past_the_end_of_the_remote_partition_is_not_committed() -> None:
    """The topic was created again: a consumer would not find the offset and would apply its `auto.offset.reset`."""
    found = disaster_plan(
        FLOW, evidence(groups=(Group("checkout-web", 0, 0, {}, {}),), tails={ORDERS: PartitionTail(397, 0)})
    )
    assert found.positions == ()
    assert values(found, "read again") == [
        "checkout-web: it has no valid position on uswest, so it starts at its `auto.offset.reset`"
    ]


def test_partitions_without_a_position_are_reported() -> None:
    tails = {
        ORDERS: PartitionTail(430, NOW_MS - 75_000),
        TopicPartition("orders", 1): PartitionTail(9, NOW_MS - 75_000),
    }
    assert values(disaster_plan(FLOW, evidence(tails=tails)), "read again") == [
        "checkout-web: at most 40 records; its offsets are known as of 90.0 s ago; it starts at its "
        "`auto.offset.reset` in 1 partition where it has no valid position"
    ]


KEPT = PublishedPositions(
    flow_digest(a_resolved_flow()),
    "2026-01-31T02:00:00+00:00",
    {"orders": SpannedTopic("S", "T", {0: Span(100, 410, 90, 400, dense=True)})},
)
HELD = {"published": KEPT, "logs": {ORDERS: OffsetRange(0, 430)}, "topic_ids": {"orders": "T"}}
COARSE = {"checkpoints": {("checkout-web", REMOTE): Checkpoint(405, 300, NOW_MS)}}
NOWHERE = (Group("checkout-web", 0, 0, {}, {}),)


def test_a_published_position_is_more_exact_than_the_checkpoint() -> None:
    """The checkpoint says that the group was at 405; the span says where that record is on the target."""
    found = disaster_plan(FLOW, evidence(**HELD, **COARSE, groups=NOWHERE))
    assert found.positions == (NewPosition("checkout-web", ORDERS, 405, REMOTE, 395, 35, "at most"),)
    assert values(found, "exact") == [
        "1 of 1 position to commit comes from the validation of 2026-01-31T02:00:00+00:00"
    ]
    (again,) = values(found, "read again")
    assert again.startswith("checkout-web: at most 35 records; ")


def test_a_keeper_that_kept_nothing_hides_no_validation_and_is_no_good_sign() -> None:
    found = disaster_plan(FLOW, evidence(**HELD, **COARSE, groups=NOWHERE, keeper_ms=NOW_MS - 3_600_000))
    (exact,) = (each for each in found.preconditions if each.name == "exact")
    looked = "0 of 1 position to commit come from the keeper, which last looked 60 min ago"
    validated = "1 of 1 position to commit comes from the validation of 2026-01-31T02:00:00+00:00"
    assert (exact.value, exact.met) == (f"{looked}, {validated}", None)


def test_the_checkpoint_has_what_the_application_stored_beside_its_offset() -> None:
    stored = {("checkout-web", REMOTE): Checkpoint(405, 300, NOW_MS, "clock 17")}
    (move,) = disaster_plan(FLOW, evidence(**HELD, checkpoints=stored, groups=NOWHERE)).positions
    assert move.metadata == "clock 17"


@pytest.mark.parametrize(
    ("current", "moves"),
    [
        pytest.param(290, 1, id="MirrorMaker would move it forward itself"),
        pytest.param(300, 1, id="MirrorMaker has committed its checkpoint"),
        pytest.param(301, 0, id="the group has worked on the target"),
        pytest.param(400, 0, id="the group has gone on even further"),
    ],
)
def test_only_an_offset_that_mirror_maker_committed_is_replaced(current: int, moves: int) -> None:
    synced = evidence(**HELD, **COARSE, groups=(Group("checkout-web", 0, 0, {}, {REMOTE: current}),))
    assert [each.offset for each in disaster_plan(FLOW, synced).positions] == [395] * moves
    unsynced = FLOW.model_copy(
        update={"checkpoints": FLOW.checkpoints.model_copy(update={"sync_group_offsets": False})}
    )
    assert disaster_plan(unsynced, synced).positions == ()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"topic_ids": {"orders": "other"}}, id="the remote topic was deleted and created again"),
        pytest.param({"topic_ids": {}}, id="the id of the remote topic is unknown"),
        pytest.param({"logs": {ORDERS: OffsetRange(0, 399)}}, id="the remote topic lost its end"),
        pytest.param({"published": replace(KEPT, topics={})}, id="nothing was proven about the topic"),
        pytest.param(
            {"published": "the positions published at noon belong to another model"},
            id="the published positions belong to another model",
        ),
    ],
)
def test_published_positions_that_may_be_outdated_are_not_used(changed: dict[str, Any]) -> None:
    found = disaster_plan(FLOW, evidence(**{**HELD, **COARSE, **changed}, groups=NOWHERE))
    assert [each.offset for each in found.positions] == [300]


SET_BACK = replace(KEPT, positions={("checkout-web", "orders", 0): ProvenPosition(150, 140, 0)})


@pytest.mark.parametrize(
    ("changed", "committed", "offset"),
    [
        pytest.param({}, 150, 140, id="a validation saw it after the checkpoint"),
        pytest.param({"logs": {ORDERS: OffsetRange(200, 430)}}, 150, 200, id="the target has deleted that position"),
        pytest.param({"topic_ids": {}}, 150, 0, id="its position is no longer known, so it starts at the beginning"),
        pytest.param(
            {"published": replace(SET_BACK, time="2026-01-31T01:00:00+00:00")},
            405,
            395,
            id="the checkpoint is newer than the validation",
        ),
        pytest.param(
            {"published": replace(SET_BACK, positions={("checkout-web", "orders", 0): ProvenPosition(406, 396, 0)})},
            405,
            395,
            id="it was not set back",
        ),
    ],
)
def test_a_group_that_was_set_back_without_a_new_checkpoint_skips_nothing(
    changed: dict[str, Any], committed: int, offset: int
) -> None:
    """MirrorMaker cannot translate an offset before its oldest offset sync, so it writes no checkpoint for it."""
    written_ms = round(datetime(2026, 1, 31, 1, 30, tzinfo=UTC).timestamp() * 1000)
    at = Checkpoint(405, 300, written_ms)
    given = {**HELD, "published": SET_BACK, "checkpoints": {("checkout-web", REMOTE): at}, **changed}
    (move,) = disaster_plan(FLOW, evidence(**given, groups=NOWHERE)).positions
    assert (move.committed, move.offset, move.read_again) == (committed, offset, 430 - offset)


@pytest.mark.parametrize("kept", [KEPT, "no validation has published any"])
def test_a_group_is_not_placed_before_the_start_of_the_log(kept: PublishedPositions | str) -> None:
    """Its consumers would apply their `auto.offset.reset` there: `latest` skips all records that are left."""
    deleted = {**HELD, **COARSE, "logs": {ORDERS: OffsetRange(410, 430)}, "published": kept}
    for current in ({}, {REMOTE: 300}):
        found = disaster_plan(FLOW, evidence(**deleted, groups=(Group("checkout-web", 0, 0, {}, current),)))
        assert found.positions == (NewPosition("checkout-web", ORDERS, 405, REMOTE, 410, 20, "at most"),)
        assert not any(each.startswith("1 position") for each in values(found, "exact")), "nobody has proven that"


def test_the_plan_says_why_there_are_no_published_positions() -> None:
    assert values(disaster_plan(FLOW, evidence()), "exact") == ["none: no validation has published any"]


def test_the_readme_shows_a_disaster_failover_as_it_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the dry run, then the call that commits."""
    checkpoint = Checkpoint(405, 300, NOW_MS - 90_000)
    verdict = VerdictFacts(Verdict.PASS, datetime.fromisoformat(KEPT.time), current=True)
    found = evidence(**HELD, checkpoints={("checkout-web", REMOTE): checkpoint}, groups=NOWHERE, verdict=verdict)
    monkeypatch.setattr(disaster, "look_at_target", lambda *_: found)
    target = Cluster()
    target.hold(REMOTE.topic, [(0, "")])
    night = a_night(a_resolved_flow(), Cluster(), target, {})
    night = replace(
        night, stack=OpenStack(replace(night.stack.settings, stack="prod-us-west-2")), members={"checkout-web": 0}
    )
    dry_run = " ".join(shown("does not answer: Connection refused").split())
    committed = " ".join(shown("✓ 1 position committed on uswest\n").split())
    fail_over(night, Mode.DISASTER, dry_run=True)
    assert " ".join(capsys.readouterr().out.split()) == dry_run
    fail_over(night, Mode.DISASTER)
    plan, _, _ = dry_run.partition("nothing was changed")
    assert " ".join(capsys.readouterr().out.split()) == plan + committed.removeprefix("… ")
    assert night.positions(REMOTE) == {"checkout-web": 395}
