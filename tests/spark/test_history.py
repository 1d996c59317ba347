"""The history of verdicts is bounded, says what a failover would have cost, and says which verdicts were lost."""

import base64
import gzip
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_replication.components.contract.published_verdict import (
    HISTORY,
    KEPT,
    MOST_BYTES,
    MOST_CODES,
    History,
    PastVerdict,
    entries,
    packed_history,
    read_history,
)
from kafka_replication.components.contract.report import CheckName, Depth, Verdict, error, fail
from kafka_replication.spark.report.failover import past_verdict
from kafka_replication.spark.report.publish import config_map
from tests.spark.reports import flow, heartbeats, offsets, parity
from tests.spark.test_published_verdict import MEBIBYTE, noise, outcome, size


def at(minute: int) -> str:
    return (datetime(2026, 1, 2, tzinfo=UTC) + timedelta(minutes=minute)).isoformat()


def a_verdict(number: int = 0, **counts: int) -> PastVerdict:
    verdict = past_verdict(flow())
    checks = {"parity": verdict.checks["parity"].model_copy(update={"counts": counts})}
    return verdict.model_copy(update={"time": at(number), "checks": checks if counts else {}})


def data(history: History) -> dict[str, str]:
    return {HISTORY: base64.b64encode(packed_history(history)).decode()}


def history_from(document: object) -> History:
    return read_history({HISTORY: base64.b64encode(gzip.compress(json.dumps(document).encode())).decode()})


def test_a_verdict_keeps_what_a_failover_would_cost_and_what_was_counted() -> None:
    found = past_verdict(flow())
    assert (found.verdict, found.depth, found.digest) == (Verdict.PASS, Depth.FULL, "sha256:0f")
    assert (found.loses, found.reads_again, found.skips, found.codes) == (0.9, 14, 0, ())
    assert found.count(CheckName.HEARTBEATS, "latencyMaxMs") == heartbeats().counts["latencyMaxMs"]
    assert found.count(CheckName.PARITY, "sourceRecords") == 1_254_400
    assert found.count(CheckName.DIVISION, "parts") is None
    assert found.checks[CheckName.OFFSETS].verdict is Verdict.PASS


def test_a_verdict_keeps_the_codes_that_decided_it_and_no_unproven_number() -> None:
    failed = past_verdict(
        flow("orders", "a", "b", parity(fail("missing-records", "3"), error("compacted", "1")), offsets())
    )
    assert (failed.codes, failed.loses, failed.reads_again, failed.skips) == (("missing-records",), None, 14, None)
    assert past_verdict(flow("o", "a", "b", offsets(error("target-expired", "…")))).codes == ("target-expired",)
    unreachable = past_verdict(flow("o", "a", "b", failure=error("unreachable", "…")))
    assert (unreachable.codes, unreachable.reads_again, unreachable.checks) == (("unreachable",), None, {})
    many = tuple(fail(f"code-{each}", "…") for each in range(MOST_CODES + 5))
    assert len(past_verdict(flow("o", "a", "b", parity(*many))).codes) == MOST_CODES


def test_each_publication_adds_its_verdict_to_the_history() -> None:
    before: dict[str, str] = {}
    for minute in range(3):
        published = config_map(replace(flow(), checked_at=f"2026-01-02T03:0{minute}:00+00:00"), before)
        before = entries({"data": published.data, "binaryData": published.binary_data})
    history = read_history(before)
    assert [each.time[14:16] for each in history.verdicts] == ["00", "01", "02"]
    assert history.verdicts[0] == past_verdict(replace(flow(), checked_at="2026-01-02T03:00:00+00:00"))
    assert (history.dropped, history.losses) == (0, ())


def test_the_oldest_verdicts_are_dropped_and_counted() -> None:
    history = History()
    for number in range(KEPT + 7):
        history = history.followed_by(a_verdict(number))
    read = read_history(data(history))
    assert (len(read.verdicts), read.dropped) == (KEPT, 7)
    assert read.verdicts[0].time == at(7)


def test_a_history_that_does_not_compress_is_cut_to_its_size_limit() -> None:
    given = random.Random(1)
    long = tuple(
        a_verdict(number, **{f"c{each}": given.randrange(10**12) for each in range(100)}) for number in range(KEPT)
    )
    packed = packed_history(History(long))
    assert MOST_BYTES / 2 < len(packed) <= MOST_BYTES
    read = read_history({HISTORY: base64.b64encode(packed).decode()})
    assert read.verdicts == long[-len(read.verdicts) :]
    assert read.dropped == KEPT - len(read.verdicts)


def test_a_history_and_a_large_report_fit_into_one_config_map() -> None:
    given = random.Random(1)
    long = History(
        tuple(a_verdict(at, **{f"c{each}": given.randrange(10**12) for each in range(100)}) for at in range(KEPT))
    )
    published = config_map(outcome(*noise(3_000)), data(long))
    found = entries({"data": published.data, "binaryData": published.binary_data})
    assert size(found) < MEBIBYTE
    assert len(read_history(found).verdicts) > 10


def test_a_report_of_any_length_leaves_room_for_the_history() -> None:
    """From reports that fit in full to reports that leave findings out."""
    given = random.Random(1)
    long = data(
        History(
            tuple(a_verdict(at, **{f"c{each}": given.randrange(10**12) for each in range(100)}) for at in range(KEPT))
        )
    )
    for count in range(1_800, 2_400, 40):
        published = config_map(outcome(*noise(count)), long)
        found = entries({"data": published.data, "binaryData": published.binary_data})
        assert size(found) < MEBIBYTE, count
        assert read_history(found).verdicts


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        pytest.param("!", "the history cannot be unpacked", id="not base64"),
        pytest.param("aGVsbG8=", "the history cannot be unpacked", id="not compressed"),
        pytest.param(base64.b64encode(b"\x1f\x8b\x08\x00").decode(), "the history cannot be unpacked", id="cut off"),
        pytest.param(
            base64.b64encode(gzip.compress(b"[" * 100_000)).decode(), "the history cannot be unpacked", id="too deep"
        ),
        pytest.param(
            base64.b64encode(gzip.compress(b"[]")).decode(), "the content of the history is invalid", id="a list"
        ),
        pytest.param(
            base64.b64encode(gzip.compress(b'{"version": 9, "verdicts": []}')).decode(),
            "another release of the job wrote the history",
            id="another release",
        ),
        pytest.param(
            base64.b64encode(gzip.compress(b'{"version": 9, "runs": {}}')).decode(),
            "another release of the job wrote the history",
            id="another release with another layout",
        ),
        pytest.param(
            base64.b64encode(gzip.compress(b'{"version": 1, "verdicts": {}}')).decode(),
            "the content of the history is invalid",
            id="this release without a list",
        ),
    ],
)
def test_a_damaged_history_is_reported_and_the_verdict_is_still_published(damaged: str, why: str) -> None:
    lost = f"all earlier verdicts are lost: {why}"
    assert read_history({HISTORY: damaged}).losses == (lost,)
    published = config_map(flow(), {HISTORY: damaged})
    after = read_history(entries({"data": published.data, "binaryData": published.binary_data}))
    assert [each.time for each in after.verdicts] == [flow().checked_at]
    assert after.losses == (f"noticed at {flow().checked_at}: {lost}",)


def test_an_unreadable_verdict_does_not_lose_the_other_verdicts() -> None:
    good = a_verdict(1).document()
    wrong = [
        {},
        {**good, "time": "yesterday"},
        {**good, "time": "2026-01-02T03:04:05"},
        {**good, "verdict": "unknown"},
        {**good, "loses": "NaN"},
        3,
        {**good, "checks": {"parity": []}},
    ]
    document = {"version": 1, "dropped": -1, "lost": [3, "before"], "verdicts": [*wrong, good]}
    history = history_from(document)
    assert history.verdicts == (a_verdict(1),)
    assert history.dropped == 0
    assert history.losses == ("before", "7 earlier verdicts are lost, because the history was damaged")


def test_only_the_newest_losses_are_remembered() -> None:
    history = History()
    for number in range(9):
        history = replace(history, damage=f"damage {number}").followed_by(a_verdict(number))
    assert len(history.losses) == 5
    assert history.losses[-1].endswith("damage 8")
