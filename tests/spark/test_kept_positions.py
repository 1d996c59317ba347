"""The verdict keeps the positions of groups: exact if every offset holds a record, and limited in size."""

import base64
import gzip
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.contract.evidence import (
    POSITIONS,
    Proven,
    PublishedPositions,
    SpannedTopic,
    Translated,
    packed_positions,
    read_positions,
)
from kafka_replication.components.contract.published_verdict import entries
from kafka_replication.components.contract.report import (
    CheckOutcome,
    Finding,
    FindingSeverity,
    FlowOutcome,
    error,
    fail,
)
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.evidence import TopicIdentity
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.proven import positions_to_publish, proven_topics
from kafka_replication.spark.checks.parity.sums import Sums
from kafka_replication.spark.report.publish import config_map
from tests.spark.documents import a_flow
from tests.spark.reports import flow, offsets, parity
from tests.spark.test_published_verdict import MEBIBYTE, noise, size

ORDERS = TopicPartition("orders", 0)
NOW = {"orders": TopicIdentity("S", "T", compacted=False)}
SPAN = Span(0, 200, 0, 200, dense=True)
TOPICS = {"orders": SpannedTopic("S", "T", {0: SPAN, 1: SPAN._replace(dense=False)})}


def a_pass(source: OffsetRange, target: OffsetRange, records: int, **more: Any) -> FirstPass:
    sums = Sums(records, 1, 1, first=source.start, low_placed=source.start, high_placed=source.start)
    there = replace(sums, first=target.start, low_placed=target.start, high_placed=target.start)
    return FirstPass({ORDERS: source}, {ORDERS: target}, {ORDERS: sums}, {ORDERS: there}, 1.0, **more)


def span_of(first_pass: FirstPass, **changes: Any) -> Span | None:
    _, found = proven_topics(a_flow(**changes), first_pass, RecordComparison([], {}), NOW, 0)
    return found["orders"].spans[0] if found else None


def test_a_span_is_dense_if_both_logs_are_equal_and_have_no_holes() -> None:
    first_pass = a_pass(OffsetRange(10, 110), OffsetRange(5, 105), 100)
    assert first_pass.disagreeing == []
    assert span_of(first_pass) == Span(10, 110, 5, 105, dense=True)


def test_a_span_is_not_dense_if_either_log_has_transaction_markers() -> None:
    found = span_of(a_pass(OffsetRange(10, 120), OffsetRange(5, 105), 100))
    assert found == Span(10, 120, 5, 105, dense=False)
    found = span_of(a_pass(OffsetRange(10, 110), OffsetRange(5, 115), 100))
    assert found == Span(10, 110, 5, 115, dense=False)


@pytest.mark.parametrize(
    ("before", "dense"),
    [
        pytest.param(Proven(10, 60, 5, 55, 50, 0, unmoved=False), True, id="without holes before"),
        pytest.param(Proven(10, 60, 5, 55, 49, 0, unmoved=False), False, id="with a hole on both sides before"),
        pytest.param(Proven(10, 60, 4, 55, 50, 0, unmoved=False), False, id="with a marker on the target before"),
    ],
)
def test_an_incremental_comparison_extends_the_span_of_the_earlier_one(before: Proven, dense: bool) -> None:
    read = {ORDERS: OffsetRange(60, 110)}
    first_pass = a_pass(OffsetRange(20, 110), OffsetRange(5, 105), 50, source_read=read, proven={ORDERS: before})
    assert span_of(first_pass) == Span(10, 110, before.target_start, 105, dense)


def test_a_span_covers_only_what_was_compared_and_is_equal() -> None:
    first_pass = a_pass(OffsetRange(0, 100), OffsetRange(0, 100), 100)
    assert span_of(replace(first_pass, unread={ORDERS: OffsetRange(100, 110)})) is None
    assert span_of(first_pass, startFrom="latest") is None
    assert proven_topics(a_flow(), first_pass, RecordComparison([], {}), {}, 0) == ({}, {})
    differs = replace(first_pass, target={ORDERS: Sums(99)})
    assert span_of(differs) is None
    compared = RecordComparison([], {}, {ORDERS: (90, 92, 90)}, {ORDERS: {"duplicated": 2}})
    _, found = proven_topics(a_flow(), differs, compared, NOW, 0)
    assert found["orders"].spans == {0: Span(0, 90, 0, 92, dense=False)}
    late = compared._replace(kinds={ORDERS: {"missing-tail": 2}})
    assert proven_topics(a_flow(), differs, late, NOW, 0) == ({}, {})


def outcomes(*given: Translated, parity_finding: Finding | None = None) -> tuple[CheckOutcome, ...]:
    found = parity(*([parity_finding] if parity_finding else []))
    return replace(offsets(), translated=given), replace(found, spans=TOPICS)


def test_each_group_keeps_the_furthest_position_that_is_proven() -> None:
    kept = positions_to_publish(
        "d",
        "t",
        outcomes(
            Translated("exact", "orders", 0, 150, 120, 30),
            Translated("unproven", "orders", 0, 150, None, 0),
            Translated("sparse", "orders", 1, 150, 120, 30),
            Translated("at-the-end", "orders", 1, 200, 120, 80),
            Translated("nothing", "orders", 1, 150, None, 0),
            Translated("no-span", "orders", 2, 150, 120, 30),
        ),
    )
    assert kept is not None
    assert kept.positions == {
        ("exact", "orders", 0): ProvenPosition(150, 150, 0),
        ("unproven", "orders", 0): ProvenPosition(150, 150, 0),
        ("sparse", "orders", 1): ProvenPosition(150, 120, 30),
        ("at-the-end", "orders", 1): ProvenPosition(200, 200, 0),
    }
    assert kept.left_out == 2


def test_no_position_is_kept_unless_parity_passed() -> None:
    given = Translated("exact", "orders", 0, 150, 120, 30)
    trusted = Finding("compacted", FindingSeverity.ACCEPTED, "…", 1, "why")
    for finding in (fail("missing-records", "…"), error("compacted", "…"), trusted):
        assert positions_to_publish("d", "t", outcomes(given, parity_finding=finding)) is None
    translated, equal = outcomes(given)
    assert positions_to_publish("d", "t", (translated, replace(equal, spans={}))) is None
    assert positions_to_publish("d", "t", outcomes(given)[:1]) is None
    assert positions_to_publish("d", "t", outcomes(given)[1:]) is None


def many(groups: int, partitions: int) -> PublishedPositions:
    """Each group has offsets of its own and has some records to read again."""
    given = random.Random(1).randrange
    topics = {"orders": SpannedTopic("S", "T", dict.fromkeys(range(partitions), SPAN))}
    positions = {
        (f"checkout-{group:04}", "orders", number): ProvenPosition(at := given(10**9), at + 10**6, given(100))
        for group in range(groups)
        for number in range(partitions)
    }
    return PublishedPositions("sha256:0f", "2026-01-02T03:04:05+00:00", topics, positions)


def published(outcome: FlowOutcome, before: dict[str, str] | None = None) -> dict[str, str]:
    found = config_map(outcome, before or {})
    return entries({"data": found.data, "binaryData": found.binary_data})


def test_positions_of_1000_groups_on_100_partitions_fit_and_are_read_back() -> None:
    kept = many(1_000, 100)
    data = published(replace(flow(), positions=kept))
    assert size(data) < MEBIBYTE
    assert read_positions(data) == kept


def test_if_space_is_short_the_positions_that_read_most_again_are_kept_and_the_rest_counted() -> None:
    kept = many(100, 100)
    packed = packed_positions(kept, 30_000)
    assert packed is not None
    found = read_positions({POSITIONS: base64.b64encode(packed).decode()})
    assert found is not None
    assert found.left_out + len(found.positions) == 10_000
    assert len(packed) > 15_000
    assert dict(kept.worst()[: len(found.positions)]) == found.positions
    assert found.topics == kept.topics
    assert packed_positions(kept, 100) is None
    data = published(replace(flow("orders", "a", "b", parity(*noise(3_000))), positions=kept))
    assert size(data) < MEBIBYTE


def test_the_report_lists_the_positions_that_read_most_again() -> None:
    document: Any = replace(flow(), positions=many(10, 10)).document()["positions"]
    assert len(document["rows"]) == 50
    assert document["rowsLeftOut"] == 50
    assert document["rows"][0]["readAgain"] >= document["rows"][49]["readAgain"]
    assert flow().document()["positions"] is None


def test_a_run_that_proves_nothing_keeps_the_earlier_positions_unless_it_contradicts_them() -> None:
    """The first validation after the loss of the source must not remove what a failover relies on."""
    first = published(replace(flow(), positions=many(2, 2)))
    unreachable = published(flow("orders", "a", "b", failure=error("unreachable", "…")), first)
    assert unreachable[POSITIONS] == first[POSITIONS]
    assert POSITIONS not in published(flow("orders", "a", "b", parity(fail("missing-records", "3"))), first)
    assert POSITIONS not in published(replace(flow(), digest="sha256:other"), first)
    assert POSITIONS not in published(flow(), {**first, POSITIONS: "aGVsbG8="})
    newer = published(replace(flow(), positions=many(1, 1)), first)
    assert newer[POSITIONS] != first[POSITIONS]


def packed(change: Any) -> dict[str, str]:
    data = packed_positions(many(2, 1), MEBIBYTE)
    assert data is not None
    document = json.loads(gzip.decompress(data))
    change(document, document["topics"]["orders"]["partitions"]["0"])
    return {POSITIONS: base64.b64encode(gzip.compress(json.dumps(document).encode())).decode()}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(lambda document, _: document.update(version=2), "another release", id="another release"),
        pytest.param(lambda document, _: document.update(time="now"), "content is invalid", id="no time"),
        pytest.param(
            lambda document, _: document.update(time="2026-01-02T03:04:05"), "content is invalid", id="no zone"
        ),
        pytest.param(
            lambda document, _: document.update(groups=["one"]), "content is invalid", id="a group without a name"
        ),
        pytest.param(lambda _, each: each["committed"].pop(), "content is invalid", id="a missing number"),
        pytest.param(
            lambda _, each: each.update(shifts=[-(10**10)] * 2), "content is invalid", id="a negative position"
        ),
        pytest.param(lambda _, each: each.update(span=[5, 4, 0, 0, False]), "content is invalid", id="a reversed span"),
        pytest.param(
            lambda _, each: each.update(span=[0, 4, 0, 5, True]), "content is invalid", id="a span of two lengths"
        ),
        pytest.param(lambda _, each: each.update(again=["1", 2]), "content is invalid", id="a text for a number"),
    ],
)
def test_positions_that_were_damaged_are_refused(change: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_positions(packed(change))
    for data in ("!", "aGVsbG8="):
        with pytest.raises(ValueError, match="cannot be unpacked"):
            read_positions({POSITIONS: data})
    assert read_positions({}) is None
