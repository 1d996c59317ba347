"""Evidence: what counts as proven, what does not, and what the job publishes."""

import base64
import gzip
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.contract.evidence import (
    EVIDENCE,
    ParityEvidence,
    Proven,
    ProvenTopic,
    packed_evidence,
    read_evidence,
)
from kafka_replication.components.contract.published_verdict import verdict_data
from kafka_replication.components.contract.report import Finding, FindingSeverity, FlowOutcome, error
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity.evidence import (
    OVERLAP,
    Earlier,
    TopicIdentity,
    by_records,
    by_sums,
    still_hold,
    why_never,
    why_not,
    why_not_flow,
    why_not_topic,
)
from kafka_replication.spark.checks.parity.sums import Sums
from kafka_replication.spark.read.kubernetes import before_of
from tests.spark.documents import a_flow, a_pair
from tests.spark.reports import flow, parity
from tests.spark.test_published_verdict import MEBIBYTE, noise, size

ORDERS = TopicPartition("orders", 0)
PROVEN = Proven(10, 500, 20, 510, 490, 7, unmoved=False)
LOGS = OffsetRange(10, 600), OffsetRange(20, 610)
TOPIC = ProvenTopic("S", "T", False, {0: PROVEN})
NOW = TopicIdentity("S", "T", False)


def proven(*, findings: tuple[Any, ...] = (), topics: int = 1, partitions: int = 1, left_out: str = "") -> FlowOutcome:
    """A flow whose parity check has proven this many topics with this many partitions, at random offsets."""
    given = random.Random(1)
    offsets = [[given.randrange(10**9) for _ in range(partitions)] for _ in range(topics)]
    every = {
        f"topic-{number:05}": ProvenTopic(
            base64.b64encode(given.randbytes(16)).decode(),
            base64.b64encode(given.randbytes(16)).decode(),
            False,
            {index: Proven(0, at, 0, at + index, at, 1_795_000_000, unmoved=False) for index, at in enumerate(row)},
        )
        for number, row in enumerate(offsets)
    }
    return flow("orders", "a", "b", replace(parity(*findings), proven=every, left_out=left_out))


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        pytest.param(*LOGS, "", id="both have grown"),
        pytest.param(OffsetRange(10, 500), OffsetRange(20, 510), "", id="nothing has changed"),
        pytest.param(OffsetRange(500, 600), OffsetRange(510, 610), "", id="exactly the proven records were removed"),
        pytest.param(
            OffsetRange(501, 600), LOGS[1], "a log has removed the proven records and later ones", id="source removed"
        ),
        pytest.param(
            LOGS[0], OffsetRange(511, 610), "a log has removed the proven records and later ones", id="target removed"
        ),
        pytest.param(
            OffsetRange(10, 499), LOGS[1], "a log ends before the last proven record", id="the source was cut"
        ),
        pytest.param(
            LOGS[0], OffsetRange(20, 509), "a log ends before the last proven record", id="the target was cut"
        ),
        pytest.param(
            OffsetRange(9, 600), LOGS[1], "a log begins before the first proven record", id="another source log"
        ),
        pytest.param(
            LOGS[0], OffsetRange(19, 610), "a log begins before the first proven record", id="another target log"
        ),
    ],
)
def test_a_proof_is_dropped_if_a_log_no_longer_matches_what_was_proven(
    source: OffsetRange, target: OffsetRange, reason: str
) -> None:
    assert why_not(PROVEN, source, target) == reason


@pytest.mark.parametrize("logs", [(OffsetRange(11, 600), LOGS[1]), (LOGS[0], OffsetRange(21, 610))])
def test_a_proof_that_needs_every_record_ends_when_records_are_removed(logs: tuple[OffsetRange, OffsetRange]) -> None:
    assert why_not(PROVEN._replace(unmoved=True), *LOGS) == ""
    assert why_not(PROVEN._replace(unmoved=True), *logs).startswith("records have since been removed")


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        pytest.param(TOPIC, NOW, "", id="the same"),
        pytest.param(None, NOW, "the newest verdict holds no evidence for these records", id="a new topic"),
        pytest.param(
            TOPIC, TopicIdentity("s", "T", False), "the topic was deleted and created again", id="source recreated"
        ),
        pytest.param(
            TOPIC, TopicIdentity("S", "t", False), "the topic was deleted and created again", id="target recreated"
        ),
        pytest.param(
            TOPIC, None, "the topic has no id, or the job could not read its configuration", id="brokers without ids"
        ),
        pytest.param(
            TOPIC, TopicIdentity("S", "T", True), "the topic's cleanup.policy was changed", id="compacted since"
        ),
    ],
)
def test_a_proof_holds_while_the_id_and_cleanup_policy_of_a_topic_stay_the_same(
    before: ProvenTopic | None, now: TopicIdentity | None, reason: str
) -> None:
    assert why_not_topic(before, now) == reason


def test_the_reason_why_a_whole_flow_is_compared_in_full_is_given() -> None:
    assert why_not_flow(a_flow(), ParityEvidence("sha256:0f", {}), "") == ""
    assert why_not_flow(a_flow(), ParityEvidence("sha256:1e", {}), "") == "another model was deployed at the time"
    assert why_never(a_pair()[0]) == "both sides hold records of their own"
    assert why_never(a_flow(startFrom="latest")) == "the flow starts at latest"
    for changes in ({"transformed": True}, {"transformed": True, "drops": [{"by": "tombstone"}]}):
        assert why_never(a_flow(**changes)) == "the flow's transforms change or drop records"


def test_a_flow_that_never_stores_evidence_gives_that_as_the_reason() -> None:
    """Not that its newest verdict lacks evidence, which would suggest that a later verdict may have some."""
    pair = a_pair()[0]
    assert why_not_flow(pair, None, "the newest verdict has none") == "both sides hold records of their own"
    assert why_not_flow(a_flow(), None, "the newest verdict has none") == "the newest verdict has none"
    assert why_not_flow(pair, None, "") == "", "no verdict was ever published"


def test_each_partition_says_why_it_is_compared_in_full() -> None:
    logs = {ORDERS: LOGS[0], TopicPartition("orders", 1): LOGS[0]}
    on_target = dict.fromkeys(logs, LOGS[1])
    earlier = Earlier(ParityEvidence("d", {"orders": TOPIC}), now={"orders": NOW})
    assert earlier.usable(logs, on_target) == (
        {ORDERS: PROVEN},
        {TopicPartition("orders", 1): "the newest verdict holds no evidence for these records"},
    )
    refused = Earlier(ParityEvidence("d", {"orders": TOPIC}), "why", {"orders": NOW})
    assert refused.usable(logs, on_target) == ({}, dict.fromkeys(logs, "why"))
    assert Earlier().usable(logs, on_target) == ({}, {})


def test_the_newest_proven_records_are_compared_again() -> None:
    dense = Sums(1000, 1, 1), Sums(1000, 1, 1)
    logs = OffsetRange(0, 1000), OffsetRange(7, 1007)
    first = by_sums(None, logs, logs, dense, 3, compacted=False)
    assert first == Proven(0, 1000 - OVERLAP, 7, 1007 - OVERLAP, 1000 - OVERLAP, 3, unmoved=False)
    assert first is not None
    assert first.dense
    read = OffsetRange(first.source, 1050), OffsetRange(first.target, 1057)
    grown = (OffsetRange(0, 1050), OffsetRange(7, 1057))
    then = by_sums(first, grown, read, (Sums(150, 1, 1), Sums(150, 1, 1)), 9, compacted=False)
    assert then == Proven(0, 1050 - OVERLAP, 7, 1057 - OVERLAP, 1050 - OVERLAP, 3, unmoved=False)


def test_a_proof_of_logs_with_gaps_reaches_to_their_ends() -> None:
    logs = OffsetRange(0, 1000), OffsetRange(0, 900)
    found = by_sums(None, logs, logs, (Sums(900, 1, 1), Sums(900, 1, 1)), 3, compacted=True)
    assert found == Proven(0, 1000, 0, 900, 900, 3, unmoved=True)
    assert found is not None
    assert not found.dense


def test_a_log_with_few_records_is_compared_in_full_each_time() -> None:
    logs = OffsetRange(0, OVERLAP), OffsetRange(0, OVERLAP)
    sums = Sums(OVERLAP, 1, 1), Sums(OVERLAP, 1, 1)
    assert by_sums(None, logs, logs, sums, 3, compacted=False) is None


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        pytest.param({"missing-head": 5, "extra-head": 3}, PROVEN, id="both sides have removed records"),
        pytest.param({"duplicated": 294}, PROVEN._replace(unmoved=True), id="fewer than half are duplicates"),
        pytest.param({"duplicated": 295}, None, id="a second connector, or a restart that will be forgotten"),
        pytest.param({"extra": 1}, None, id="it expired behind a restart that will be forgotten"),
        pytest.param({"missing-hole": 1}, None, id="a hole"),
    ],
)
def test_records_are_proven_only_if_their_differences_will_be_judged_the_same_later(
    kinds: Mapping[str, int], found: Proven | None
) -> None:
    assert by_records(LOGS, (500, 510, 490), kinds, 7, compacted=False) == found


def test_a_compacted_topic_is_proven_while_no_more_records_are_removed() -> None:
    found = by_records(LOGS, (500, 510, 400), {"missing-hole": 5, "newest-missing": 1}, 7, compacted=True)
    assert found == Proven(10, 500, 20, 510, 400, 7, unmoved=True)


@pytest.mark.parametrize(
    ("before", "log", "held"),
    [
        (PROVEN, OffsetRange(10, 500), True),
        (PROVEN, OffsetRange(11, 500), False),
        (PROVEN._replace(unmoved=True), OffsetRange(10, 500), False),
    ],
    ids=["nothing removed", "something removed", "compaction may have removed all"],
)
def test_a_source_that_may_have_removed_everything_proves_nothing(
    before: Proven, log: OffsetRange, *, held: bool
) -> None:
    assert still_hold([(before, log)]) is held


@pytest.mark.parametrize(("topics", "partitions"), [(2_000, 1), (20, 100), (1, 2_000)])
def test_the_evidence_of_two_thousand_partitions_fits_and_is_read_back(topics: int, partitions: int) -> None:
    given = proven(topics=topics, partitions=partitions)
    data = verdict_data(given, None)
    assert size(data) < MEBIBYTE // 4
    assert read_evidence(data) == given.evidence


def test_evidence_that_does_not_fit_is_left_out_and_the_next_run_says_so() -> None:
    data = verdict_data(proven(findings=noise(2_000), topics=4_000, partitions=2), None)
    assert EVIDENCE not in data
    assert size(data) < MEBIBYTE
    assert "the evidence did not fit into the ConfigMap" in before_of(data).why_not


def test_only_a_comparison_that_passes_without_accepted_findings_is_evidence() -> None:
    assert proven().evidence is not None
    trusted = Finding("compacted", FindingSeverity.ACCEPTED, "…", 1, "why")
    assert proven(findings=(error("compacted", "…"),)).evidence is None
    assert proven(findings=(trusted,)).evidence is None
    assert proven(left_out="not compared: all").evidence is None


def a_document(**changes: Any) -> dict[str, Any]:
    row = [10, 500, 20, 510, 490, 7, False]
    topic = {"source_id": "S", "target_id": "T", "compacted": False, "partitions": {"0": row}}
    return {"version": 1, "digest": "d", "topics": {"orders": topic}} | changes


def with_row(*row: Any, number: str = "0", **changes: Any) -> dict[str, Any]:
    topic = {"source_id": "S", "target_id": "T", "compacted": False, "partitions": {number: list(row)}} | changes
    return a_document(topics={"orders": topic})


def packed(document: object) -> str:
    return base64.b64encode(gzip.compress(json.dumps(document).encode())).decode()


WHOLE = packed_evidence(ParityEvidence("d", {"orders": TOPIC}))
DAMAGED = {
    "not base64": ("!", "it cannot be unpacked"),
    "not gzip": (base64.b64encode(b"hello").decode(), "it cannot be unpacked"),
    "cut off": (base64.b64encode(WHOLE[:-9]).decode(), "it cannot be unpacked"),
    "one byte differs": (
        base64.b64encode(WHOLE[:-12] + bytes([WHOLE[-12] ^ 1]) + WHOLE[-11:]).decode(),
        "it cannot be unpacked",
    ),
    "not JSON": (base64.b64encode(gzip.compress(b"{")).decode(), "it cannot be unpacked"),
    "of a later release": (packed(a_document(version=2)), "another release of the job wrote it"),
    "without a version": (packed({"digest": "d", "topics": {}}), "another release of the job wrote it"),
    "a list": (packed([]), "its content is invalid"),
    "with an extra key": (packed(a_document(more=1)), "its content is invalid"),
    "an offset is text": (packed(with_row("10", 500, 20, 510, 490, 7, False)), "its content is invalid"),
    "an offset is negative": (packed(with_row(-1, 500, 20, 510, 490, 7, False)), "its content is invalid"),
    "an offset is a fraction": (packed(with_row(10, 500.5, 20, 510, 490, 7, False)), "its content is invalid"),
    "it ends before it begins": (packed(with_row(501, 500, 20, 510, 490, 7, False)), "its content is invalid"),
    "more records than offsets": (packed(with_row(10, 500, 20, 510, 491, 7, False)), "its content is invalid"),
    "zero records": (packed(with_row(10, 500, 20, 510, 0, 7, False)), "its content is invalid"),
    "a field is missing": (packed(with_row(10, 500, 20, 510, 490, 7)), "its content is invalid"),
    "a negative partition": (packed(with_row(10, 500, 20, 510, 490, 7, False, number="-1")), "its content is invalid"),
    "without an id": (packed(with_row(10, 500, 20, 510, 490, 7, False, source_id=None)), "its content is invalid"),
}


@pytest.mark.parametrize(("data", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_evidence_that_is_damaged_or_unknown_is_not_used(data: str, reason: str) -> None:
    found = before_of({EVIDENCE: data})
    assert found.evidence is None
    assert found.why_not == f"the evidence in the newest verdict cannot be used: {reason}"


def test_the_format_of_the_evidence_does_not_change() -> None:
    assert read_evidence({EVIDENCE: packed(a_document())}) == ParityEvidence("d", {"orders": TOPIC})
    assert read_evidence({EVIDENCE: base64.b64encode(WHOLE).decode()}) == ParityEvidence("d", {"orders": TOPIC})
    assert read_evidence({}) is None
