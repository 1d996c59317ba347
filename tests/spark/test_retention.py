"""Records that the source removed before they were replicated, as the offset syncs show."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.contract.evidence import Proven
from kafka_replication.components.contract.report import Coverage, Verdict
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.checks.retention import CopyCounts, Loss, Replicated, Unequal, judge, losses, with_proven

ORDERS = TopicPartition("orders", 0)


def replicated(*syncs: OffsetSync, source: tuple[int, int], target: tuple[int, int], **changes: Any) -> Replicated:
    return Replicated(
        ORDERS,
        SyncHistory(syncs),
        OffsetRange(*source),
        OffsetRange(*target),
        changes.get("dense", True),
        changes.get("policy", "delete"),
        changes.get("hidden", ""),
        unequal=changes.get("unequal"),
    )


def differing(kind: str, first: int, last: int) -> Difference:
    return Difference(ORDERS, kind, last + 1 - first, first, last)


def test_a_source_that_still_starts_before_the_replicated_position_lost_nothing() -> None:
    assert losses(replicated(OffsetSync(0, 0), OffsetSync(50, 50), source=(40, 60), target=(0, 60))) == []


def test_a_source_that_starts_at_the_replicated_position_lost_nothing() -> None:
    assert losses(replicated(OffsetSync(0, 0), source=(60, 100), target=(0, 60))) == []


def test_a_source_that_starts_after_the_replicated_position_lost_the_records_between() -> None:
    found = losses(replicated(OffsetSync(0, 0), source=(80, 100), target=(0, 60)))
    assert found == [Loss(ORDERS, 1, 80, True, some=20)]


def test_a_jump_between_two_syncs_is_reported_as_a_loss() -> None:
    jump = replicated(OffsetSync(59, 59), OffsetSync(90, 60, 1_700), source=(90, 100), target=(0, 70))
    assert losses(jump) == [Loss(ORDERS, 60, 90, True, 1_700)]
    outcome = judge([jump])
    assert outcome.verdict is Verdict.FAIL
    assert "source offsets 60 to 89 never reached the target" in outcome.findings[0].message
    assert outcome.counts["lost"] == 30


def test_a_loss_is_found_if_mirror_maker_dropped_the_sync_right_after_it() -> None:
    """A sync that waits to be sent is replaced by the next one of its partition, here by that of the 300th record."""
    dropped = replicated(OffsetSync(99, 99), OffsetSync(417, 397), source=(120, 420), target=(0, 400))
    assert losses(dropped) == [Loss(ORDERS, 100, 120, True, 0)]


def test_a_loss_may_be_anywhere_between_two_syncs() -> None:
    (loss,) = losses(replicated(OffsetSync(10, 10), OffsetSync(90, 60), source=(70, 100), target=(0, 70)))
    assert loss == Loss(ORDERS, 11, 70, True, 0, some=30)
    message = judge([replicated(OffsetSync(10, 10), OffsetSync(90, 60), source=(70, 100), target=(0, 70))]).findings[0]
    assert message.message.startswith("orders-0: 30 of the source offsets 11 to 69 never reached the target")


def test_what_parity_reports_as_missing_is_not_also_lost_to_retention() -> None:
    """The source still holds these records; each other offset that the target did not advance by is lost."""
    syncs, logs = (OffsetSync(99, 99), OffsetSync(417, 392)), {"source": (120, 420), "target": (0, 395)}
    hole = Unequal(missing=[differing("missing-hole", 300, 304)])
    assert losses(replicated(*syncs, **logs, unequal=hole)) == [Loss(ORDERS, 100, 120, True, 0)]
    hole = Unequal(missing=[differing("missing-hole", 300, 324)])
    assert losses(replicated(*syncs, **logs, unequal=hole)) == []


@pytest.mark.parametrize(
    ("target", "surplus", "lost"),
    [
        pytest.param((0, 400), differing("extra-head", 0, 99), 20, id="none of them arrived"),
        pytest.param((0, 408), differing("extra-head", 0, 107), 12, id="some of them arrived"),
        pytest.param((0, 420), differing("extra-head", 0, 119), 0, id="all of them arrived"),
        pytest.param((105, 412), differing("extra-head", 105, 111), 8, id="the target has removed some of them"),
        pytest.param((130, 420), None, 0, id="the target has removed as many"),
    ],
)
def test_a_loss_after_the_newest_sync_is_found_although_more_records_follow(
    target: tuple[int, int], surplus: Difference | None, lost: int
) -> None:
    """Only a record that the target alone holds, or has removed, can be the copy of one that the source has removed."""
    parity = Unequal(surplus=[surplus] if surplus else [])
    found = losses(replicated(OffsetSync(99, 99), source=(120, 420), target=target, unequal=parity))
    some = None if lost == 20 else lost
    assert found == ([Loss(ORDERS, 100, 120, True, some=some)] if lost else [])


def test_a_loss_after_the_newest_sync_cannot_be_seen_if_the_records_were_not_compared() -> None:
    """A quick validation does not know which of the target's records are copies of those that were removed."""
    outcome = judge([replicated(OffsetSync(99, 99), source=(120, 420), target=(0, 400))])
    assert (outcome.verdict, [finding.code for finding in outcome.findings]) == (Verdict.ERROR, ["losses-not-visible"])
    assert "it has removed records after the newest offset sync" in outcome.findings[0].message
    outcome = judge([replicated(OffsetSync(119, 119), source=(120, 420), target=(0, 420))])
    assert outcome.verdict is Verdict.PASS


def test_where_an_earlier_validation_found_both_sides_equal_counts_as_a_sync() -> None:
    """Then only what follows is compared, and the target's records before it seem to have no source record."""
    proven = Proven(0, 320, 0, 300, 320, 1_700, unmoved=False)
    history = with_proven(SyncHistory((OffsetSync(99, 99),)), proven)
    assert history.latest == OffsetSync(320, 300, 1_700_000)
    later = SyncHistory((OffsetSync(330, 310),))
    assert with_proven(later, proven) is later
    assert with_proven(SyncHistory(), proven) == SyncHistory()
    found = losses(replicated(*history.syncs, source=(120, 420), target=(0, 400)))
    assert found == [Loss(ORDERS, 100, 120, True, 1_700_000)]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"dense": False}, id="markers in the live range"),
        pytest.param({"policy": "compact"}, id="compaction"),
    ],
)
def test_a_jump_that_markers_or_compaction_may_explain_is_not_proven(changes: dict[str, Any]) -> None:
    outcome = judge([replicated(OffsetSync(0, 0), OffsetSync(90, 60), source=(90, 100), target=(0, 70), **changes)])
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.ERROR, ["possible-markers"])


def test_a_jump_in_a_flow_that_filters_may_be_dropped_records() -> None:
    jump = replicated(OffsetSync(0, 0), OffsetSync(90, 60), source=(90, 100), target=(0, 70), dense=False)
    single = replicated(OffsetSync(0, 0), OffsetSync(61, 60), source=(90, 100), target=(0, 70), dense=False)
    dropped = "aborted or compacted records, records that the flow's transforms dropped, or they were lost: nothing"
    assert dropped in judge([jump], may_drop=True).findings[0].message
    assert "aborted or compacted records, or they were lost: nothing" in judge([jump]).findings[0].message
    dropped = "a compacted record, a record that the flow's transforms dropped, or it was lost: nothing"
    assert dropped in judge([single], may_drop=True).findings[0].message


def test_a_jump_over_offsets_that_the_source_still_holds_is_left_to_parity() -> None:
    assert losses(replicated(OffsetSync(0, 0), OffsetSync(90, 60), source=(0, 100), target=(0, 70))) == []


def test_a_jump_that_has_expired_on_the_target_is_ignored() -> None:
    assert losses(replicated(OffsetSync(0, 0), OffsetSync(90, 60), source=(90, 100), target=(65, 70))) == []


def test_a_flow_that_began_in_the_middle_of_a_topic_lost_nothing() -> None:
    assert losses(replicated(OffsetSync(500, 0), source=(500, 600), target=(0, 100))) == []


def test_a_worker_that_read_again_after_a_restart_lost_nothing() -> None:
    assert (
        losses(replicated(OffsetSync(0, 0), OffsetSync(50, 50), OffsetSync(40, 60), source=(0, 60), target=(0, 80)))
        == []
    )


def test_losses_of_an_emptied_topic_with_many_jumps_are_uncertain() -> None:
    syncs = [OffsetSync(11 * step, 10 * step) for step in range(5)]
    assert {loss.certain for loss in losses(replicated(*syncs, source=(60, 60), target=(0, 45)))} == {False}


@pytest.mark.parametrize(
    ("syncs", "target_end"),
    [
        pytest.param((OffsetSync(0, 0), OffsetSync(99, 99)), 100, id="after the newest sync"),
        pytest.param((OffsetSync(0, 0), OffsetSync(51, 50), OffsetSync(99, 98)), 100, id="between two syncs"),
    ],
)
@pytest.mark.parametrize("source", [(101, 101), (101, 120)], ids=["emptied", "with records since"])
def test_a_gap_of_one_offset_is_not_a_certain_loss(
    syncs: tuple[OffsetSync, ...], target_end: int, source: tuple[int, int]
) -> None:
    """A topic may hold a single transaction, which has expired completely: only its marker was not replicated."""
    found = losses(replicated(*syncs, source=source, target=(0, target_end)))
    assert [(loss.count, loss.certain) for loss in found] == [(1, False)]


def test_a_source_that_has_removed_nothing_has_lost_nothing() -> None:
    outcome = judge([replicated(source=(0, 10), target=(0, 10))])
    assert (outcome.verdict, outcome.coverage) == (Verdict.PASS, a_coverage(1))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(replicated(source=(5, 10), target=(0, 10)), "the partition has no offset sync", id="no sync"),
        pytest.param(
            replicated(OffsetSync(0, 0), OffsetSync(9, 30), source=(5, 10), target=(0, 31), hidden="both sides write"),
            "both sides write",
            id="a guarded flow",
        ),
    ],
)
def test_a_partition_whose_losses_cannot_be_seen_is_not_proven(given: Replicated, why: str) -> None:
    """Nothing on either side shows a record that expired before it was replicated, so a pass would say too much."""
    outcome = judge([given, replicated(source=(0, 10), target=(0, 10))])
    assert (outcome.verdict, outcome.coverage) == (Verdict.ERROR, a_coverage(1, **{"losses-not-visible": 1}))
    (finding,) = outcome.findings
    assert finding.message == (
        "orders-0: the source has removed records, and nothing shows whether all of them were replicated first, "
        f"because {why}"
    )


def test_a_gap_of_one_offset_does_not_pass() -> None:
    outcome = judge([replicated(OffsetSync(0, 0), OffsetSync(60, 59), source=(61, 80), target=(0, 79))])
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.ERROR, ["possible-markers"])


def a_coverage(judged: int, **not_judged: int) -> Coverage:
    return Coverage("partitions", judged, {"possible-markers": 0, "losses-not-visible": 0, **not_judged})


def marked(
    *syncs: OffsetSync, between: int, after: int, source: tuple[int, int], target: tuple[int, int]
) -> Replicated:
    """A target that has transaction markers, with the counts of its records."""
    given = replicated(*syncs, source=source, target=target)
    return replace(given, copies=CopyCounts(syncs[0], syncs[-1], between, after))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(150, 101), between=100, after=20, source=(150, 170), target=(0, 121)),
            [Loss(ORDERS, 1, 150, True, 0, some=50)],
            id="a marker before the loss",
        ),
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(12, 12), between=10, after=8, source=(12, 20), target=(0, 20)),
            [Loss(ORDERS, 1, 12, True, some=2)],
            id="as many markers as lost records",
        ),
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(10, 12), between=10, after=8, source=(10, 18), target=(0, 20)),
            [],
            id="markers, and nothing lost",
        ),
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(9, 9), between=9, after=1, source=(12, 20), target=(0, 12)),
            [Loss(ORDERS, 10, 12, True)],
            id="markers after the newest sync",
        ),
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(9, 9), between=9, after=3, source=(12, 20), target=(0, 14)),
            [],
            id="markers after the newest sync, and nothing lost",
        ),
        pytest.param(
            marked(
                OffsetSync(0, 0), OffsetSync(20, 12), OffsetSync(30, 22), OffsetSync(50, 32),
                between=28, after=8, source=(50, 58), target=(0, 40),
            ),
            [
                Loss(ORDERS, 1, 20, True, 0, some=8), Loss(ORDERS, 31, 50, True, 0, some=10),
                Loss(ORDERS, 1, 50, True, some=4),
            ],
            id="several gaps",
        ),
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(12, 12), between=10, after=0, source=(20, 20), target=(0, 20)),
            [Loss(ORDERS, 1, 12, False, some=2)],
            id="the source is empty and may have had markers",
        ),
        pytest.param(
            marked(OffsetSync(0, 0), OffsetSync(12, 12), between=11, after=8, source=(12, 20), target=(0, 20)),
            [Loss(ORDERS, 1, 12, False, some=1)],
            id="one offset, which may have been a marker",
        ),
    ],
)  # fmt: skip
def test_markers_on_the_target_do_not_hide_lost_records(given: Replicated, found: list[Loss]) -> None:
    """In offset syncs, a marker of exactly-once delivery looks like a record."""
    assert losses(given) == found


def test_lost_records_are_counted_even_if_their_offsets_are_unknown() -> None:
    outcome = judge(
        [marked(OffsetSync(0, 0), OffsetSync(12, 12), between=10, after=8, source=(12, 20), target=(0, 20))]
    )
    assert (outcome.verdict, outcome.counts["lost"]) == (Verdict.FAIL, 2)
    assert outcome.findings[0].message == (
        "orders-0: 2 of the source offsets 1 to 11 never reached the target: retention removed them before they were "
        "replicated"
    )
