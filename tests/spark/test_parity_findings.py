"""What a difference between two sides means."""

from dataclasses import replace

import pytest

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.findings import (
    parity_findings,
    parity_samples,
    unread_on_source,
    unread_on_target,
)

ORDERS = TopicPartition("orders", 0)


def sides(
    source: tuple[int, int] = (0, 100),
    target: tuple[int, int] = (0, 100),
    held: int = 100,
    compacted: bool = False,
    at_source: int = 100,
) -> Sides:
    return Sides(OffsetRange(*source), OffsetRange(*target), at_source, held, compacted)


@pytest.mark.parametrize(
    ("kind", "given", "code", "severity"),
    [
        pytest.param("missing-hole", sides(), "missing-records", FindingSeverity.FAIL, id="a hole"),
        pytest.param(
            "missing-head", sides(), "missing-records", FindingSeverity.FAIL, id="a head, although nothing has expired"
        ),
        pytest.param(
            "missing-head",
            sides(target=(7, 90)),
            "expired-on-target",
            FindingSeverity.NOTE,
            id="a head that expired on the target",
        ),
        pytest.param(
            "duplicated",
            replace(sides(), exactly_once=True),
            "duplicated-exactly-once",
            FindingSeverity.ERROR,
            id="sent again despite exactly-once",
        ),
        pytest.param("missing-tail", sides(), "not-replicated-yet", FindingSeverity.FAIL, id="the tail after waiting"),
        pytest.param(
            "missing-tail",
            replace(sides(target=(0, 40)), written_end=60),
            "remote-topic-recreated",
            FindingSeverity.FAIL,
            id="a log shorter than what was written",
        ),
        pytest.param(
            "missing-tail",
            replace(sides(target=(0, 60)), written_end=60),
            "not-replicated-yet",
            FindingSeverity.FAIL,
            id="a log as long as what was written",
        ),
        pytest.param(
            "missing",
            replace(sides(target=(0, 0), held=0), written_end=1),
            "remote-topic-recreated",
            FindingSeverity.FAIL,
            id="an empty log that once held a record",
        ),
        pytest.param(
            "duplicated", sides(), "duplicated-records", FindingSeverity.NOTE, id="sent again after a restart"
        ),
        pytest.param(
            "duplicated", sides(target=(0, 6)), "records-repeated", FindingSeverity.FAIL, id="every record twice"
        ),
        pytest.param(
            "duplicated",
            replace(sides(target=(0, 8), held=6), exactly_once=True),
            "records-repeated",
            FindingSeverity.FAIL,
            id="every record twice, and two markers",
        ),
        pytest.param(
            "duplicated",
            replace(sides(target=(0, 102), held=0), exactly_once=True),
            "duplicated-exactly-once",
            FindingSeverity.ERROR,
            id="a few records twice in a partition that was empty when its records were counted",
        ),
        pytest.param(
            "duplicated",
            replace(sides(target=(0, 6)), sent_again=(3,)),
            "duplicated-records",
            FindingSeverity.NOTE,
            id="all of a young topic sent again after a restart",
        ),
        pytest.param(
            "duplicated",
            replace(sides(target=(0, 6)), sent_again=(1, 1, 1)),
            "records-repeated",
            FindingSeverity.FAIL,
            id="sent again and again",
        ),
        pytest.param(
            "duplicated",
            replace(sides(target=(0, 4)), sent_again=(1,)),
            "records-repeated",
            FindingSeverity.FAIL,
            id="every record twice, although a restart sent one again",
        ),
        pytest.param(
            "reordered",
            replace(sides(target=(9, 100)), sent_again=(2,)),
            "records-reordered",
            FindingSeverity.FAIL,
            id="more records in another order than a restart sent again",
        ),
        pytest.param(
            "copied-out-of-turn",
            replace(sides(), sent_again=(3,)),
            "copied-out-of-turn",
            FindingSeverity.FAIL,
            id="an old record between newer ones, whatever a restart sent again",
        ),
        pytest.param("reordered", sides(), "records-reordered", FindingSeverity.FAIL, id="another order"),
        pytest.param(
            "reordered",
            replace(sides(target=(9, 100)), sent_again=(3,)),
            "order-not-proven",
            FindingSeverity.ERROR,
            id="another order, which a restart and retention may explain",
        ),
        pytest.param(
            "extra-head",
            replace(sides(source=(9, 100)), source_anew=True),
            "expired-on-source",
            FindingSeverity.NOTE,
            id="source retention of a topic that was recreated long ago",
        ),
        pytest.param(
            "missing",
            replace(sides(target=(9, 9), held=0), source_anew=True),
            "losses-not-visible",
            FindingSeverity.ERROR,
            id="an emptied target, which may have held another source's records",
        ),
        pytest.param(
            "missing-head",
            replace(sides(target=(9, 100)), source_anew=True),
            "losses-not-visible",
            FindingSeverity.ERROR,
            id="the head of a recreated topic, where the flow may have begun later",
        ),
        pytest.param(
            "unmarked", sides(), "records-unmarked", FindingSeverity.FAIL, id="replicated without the guard's mark"
        ),
        pytest.param("extra", sides(), "extra-records", FindingSeverity.FAIL, id="from somewhere else"),
        pytest.param(
            "extra-head",
            sides(),
            "extra-records",
            FindingSeverity.FAIL,
            id="an older record, although the source has removed nothing",
        ),
        pytest.param(
            "extra-head", sides(source=(9, 100)), "expired-on-source", FindingSeverity.NOTE, id="source retention"
        ),
        pytest.param(
            "extra",
            sides(source=(9, 9), at_source=0),
            "expired-on-source",
            FindingSeverity.NOTE,
            id="an emptied source",
        ),
        pytest.param(
            "extra",
            sides(source=(9, 10), at_source=0),
            "expired-on-source",
            FindingSeverity.NOTE,
            id="only a marker left",
        ),
        pytest.param("missing", sides(held=0), "not-replicated-yet", FindingSeverity.FAIL, id="nothing arrived"),
        pytest.param("missing", sides(held=5), "records-differ", FindingSeverity.FAIL, id="nothing is equal"),
        pytest.param("missing-hole", sides(compacted=True), "compacted-apart", FindingSeverity.NOTE, id="compaction"),
        pytest.param(
            "extra", sides(compacted=True), "compacted-apart", FindingSeverity.NOTE, id="compaction of the source"
        ),
        pytest.param(
            "newest-missing", sides(compacted=True), "missing-records", FindingSeverity.FAIL, id="a key is missing"
        ),
        pytest.param(
            "newest-missing",
            sides(target=(9, 100), compacted=True),
            "compacted",
            FindingSeverity.ERROR,
            id="a key has expired",
        ),
        pytest.param(
            "newest-outdated", sides(compacted=True), "keys-outdated", FindingSeverity.FAIL, id="an older value"
        ),
        pytest.param(
            "newest-undeleted", sides(compacted=True), "keys-undeleted", FindingSeverity.FAIL, id="no tombstone"
        ),
        pytest.param(
            "newest-foreign",
            sides(compacted=True),
            "keys-undeleted",
            FindingSeverity.FAIL,
            id="a key only on the target",
        ),
        pytest.param(
            "newest-foreign",
            sides(source=(9, 100), compacted=True),
            "compacted",
            FindingSeverity.ERROR,
            id="expired or stray",
        ),
        pytest.param(
            "extra",
            replace(sides(), guarded=True),
            "marked-elsewhere",
            FindingSeverity.FAIL,
            id="a mark from elsewhere",
        ),
        pytest.param(
            "newest-unproven", sides(compacted=True), "compacted", FindingSeverity.ERROR, id="written on both sides"
        ),
        pytest.param(
            "newest-outdated",
            replace(sides(compacted=True), source_unread=OffsetRange(100, 120)),
            "records-not-judged",
            FindingSeverity.NOTE,
            id="an open transaction may hold the newest",
        ),
        pytest.param(
            "newest-missing",
            replace(sides(compacted=True), source_anew=True),
            "source-topic-recreated",
            FindingSeverity.FAIL,
            id="keys of a recreated source",
        ),
        pytest.param(
            "missing-tail",
            sides(compacted=True),
            "not-replicated-yet",
            FindingSeverity.FAIL,
            id="lag in a compacted topic",
        ),
        pytest.param(
            "missing",
            sides(target=(0, 0), held=0, compacted=True),
            "not-replicated-yet",
            FindingSeverity.FAIL,
            id="nothing arrived in a compacted topic",
        ),
        pytest.param(
            "missing",
            sides(compacted=True),
            "records-differ",
            FindingSeverity.FAIL,
            id="nothing is equal in a compacted topic",
        ),
    ],
)
def test_a_difference_gets_the_code_and_severity_of_its_cause(
    kind: str, given: Sides, code: str, severity: FindingSeverity
) -> None:
    (finding,) = parity_findings([Difference(ORDERS, kind, 3, 5, 7)], {ORDERS: given}, "useast", "uswest")
    assert (finding.code, finding.severity, finding.count) == (code, severity, 3)


def test_a_finding_names_topic_partition_and_offsets() -> None:
    other = TopicPartition("orders", 2)
    found = [Difference(ORDERS, "missing-hole", 3, 5, 7), Difference(other, "missing-hole", 1, 9, 9)]
    (finding,) = parity_findings(found, {ORDERS: sides(), other: sides()}, "useast", "uswest")
    assert finding.count == 4
    assert finding.message == (
        "orders: 4 records of useast are missing on uswest (partition 0 offsets 5 to 7; partition 2 offset 9)"
    )


@pytest.mark.parametrize("kind", ["extra", "extra-head"])
def test_records_of_an_open_transaction_are_not_called_extra(kind: str) -> None:
    """A connector that reads uncommitted records has replicated them; the job cannot see them on the source."""
    found, given = [Difference(ORDERS, kind, 3, 5, 7)], {ORDERS: replace(sides(), source_unread=OffsetRange(90, 100))}
    (finding,) = parity_findings(found, given, "useast", "uswest")
    assert (finding.code, finding.severity) == ("records-not-judged", FindingSeverity.NOTE)
    assert unread_on_source(found, given) == {ORDERS: OffsetRange(90, 100)}


def test_unread_offsets_are_reported_if_they_explain_a_difference() -> None:
    given = {ORDERS: replace(sides(), source_unread=OffsetRange(90, 100), target_unread=OffsetRange(70, 80))}
    lagging = [Difference(ORDERS, "missing-tail", 3, 5, 7)]
    assert unread_on_target(lagging, given) == {ORDERS: OffsetRange(70, 80)}
    assert unread_on_source(lagging, given) == {}
    assert unread_on_target([Difference(ORDERS, "extra", 3, 5, 7)], given) == {}
    assert unread_on_target(lagging, {ORDERS: sides()}) == {}


def test_many_samples_of_one_kind_do_not_hide_the_others() -> None:
    many = Difference(ORDERS, "missing-hole", 30, 0, 29, tuple((offset, 0, "AA") for offset in range(20)))
    one = Difference(ORDERS, "extra", 1, 3, 3, ((3, 0, "BB"),))
    samples = parity_samples([many, one])
    assert len(samples) == 20
    assert samples[1] == {
        "topic": "orders", "partition": 0, "kind": "extra", "offset": 3, "timestampMs": 0, "digest": "BB",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "given", "code"),
    [
        pytest.param(
            "missing", sides(target=(4, 4), held=0), "expired-on-target", id="the target has removed everything"
        ),
        pytest.param(
            "missing", sides(target=(4, 9), held=0), "not-replicated-yet", id="the target holds aborted records"
        ),
        pytest.param(
            "missing",
            replace(sides(target=(4, 9), held=0), guarded=True),
            "losses-not-visible",
            id="the target holds records of its own",
        ),
        pytest.param(
            "missing-head",
            replace(sides(target=(4, 9)), guarded=True),
            "losses-not-visible",
            id="some of the target's records are its own",
        ),
    ],
)
def test_expiry_on_the_target_is_not_assumed_if_it_may_hold_other_records(kind: str, given: Sides, code: str) -> None:
    (finding,) = parity_findings([Difference(ORDERS, kind, 4, 0, 3)], {ORDERS: given}, "useast", "uswest")
    assert finding.code == code
