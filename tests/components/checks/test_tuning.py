"""Warnings if a partition cannot carry the declared rate, and if records may lose their order."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology

MIB = 1024 * 1024


def problems(config: dict[str, Any] | None = None, **flow: Any) -> list[Problem]:
    whole = a_flow(**{"connectors": {"source": {"config": config or {}}}, **flow})
    return list(check_topology(parse_topology(a_topology(whole))))


def tuning(rate: int, round_trip: int = 100, **more: Any) -> dict[str, Any]:
    return {"roundTripMilliseconds": round_trip, "bytesPerSecondPerPartition": rate, **more}


@pytest.mark.parametrize(
    ("config", "settings", "wanted"),
    [
        pytest.param({}, {}, [], id="nothing is declared"),
        pytest.param({}, {"roundTripMilliseconds": 500}, [], id="no rate is declared"),
        pytest.param({}, tuning(100_000), [], id="Kafka's defaults carry it"),
        pytest.param({}, tuning(600_000), ["produce-ceiling"], id="one batch of 16 KiB per round trip is too slow"),
        pytest.param(
            {}, tuning(600_000, acknowledgeMilliseconds=5), [], id="one batch is enough if the target is near"
        ),
        pytest.param(
            {},
            tuning(5_000_000),
            ["fetch-ceiling", "produce-ceiling"],
            id="a window of 64 KiB per round trip is too slow",
        ),
        pytest.param({}, tuning(20 * MIB, preset="throughput"), [], id="the preset carries 20 MiB a second"),
        pytest.param(
            {},
            tuning(200 * MIB, preset="throughput"),
            ["fetch-ceiling", "produce-ceiling"],
            id="the preset does not carry 200 MiB a second",
        ),
        pytest.param(
            {},
            tuning(30 * MIB, preset="throughput", acknowledgeMilliseconds=5),
            ["fetch-ceiling"],
            id="8 MiB take three round trips of the operating system's window",
        ),
        pytest.param(
            {"source.consumer.max.partition.fetch.bytes": 4_000_000},
            tuning(30 * MIB, preset="throughput", acknowledgeMilliseconds=5),
            [],
            id="a fetch that fits into the window takes one",
        ),
        pytest.param(
            {"source.consumer.max.partition.fetch.bytes": MIB},
            tuning(20 * MIB, preset="throughput"),
            ["fetch-ceiling"],
            id="the user's own setting is lower than the preset's",
        ),
        pytest.param(
            {"consumer.max.partition.fetch.bytes": MIB},
            tuning(20 * MIB, preset="throughput"),
            [],
            id="the longer prefix of the preset wins",
        ),
        pytest.param(
            {"producer.override.batch.size": "${secret:mirror-orders/tuning:batch}"},
            tuning(600_000),
            [],
            id="a placeholder is not judged",
        ),
    ],
)
def test_a_ceiling_below_the_declared_rate_is_a_warning(
    config: dict[str, Any], settings: dict[str, Any], wanted: list[str]
) -> None:
    assert sorted(problem.code for problem in problems(config, tuning=settings)) == wanted


def test_a_warning_shows_the_numbers_and_what_to_set() -> None:
    (problem,) = problems(tuning=tuning(600_000))
    assert problem.severity == "warning"
    assert "163,840 bytes a second" in problem.what
    assert "the declared rate is 600,000" in problem.what
    assert "`batch.size` of 16,384 bytes, 1 in flight," in problem.why
    assert "`producer.override.batch.size` to at least 12000" in problem.remedy
    assert "`tuning.preset: throughput`" in problem.remedy


def test_a_window_is_said_to_be_that_of_a_connection() -> None:
    """Several partitions of a task share it, so each may carry less than the warning says."""
    fetch, produce = problems(tuning=tuning(5_000_000))
    assert (
        "`receive.buffer.bytes` of 65,536 bytes, which all partitions of a connection share, allows fewer" in fetch.why
    )
    assert "share" not in produce.why


def test_a_fetch_of_several_windows_is_made_smaller_or_spread() -> None:
    (three,) = problems(tuning=tuning(30_000_000, preset="throughput", acknowledgeMilliseconds=5))
    assert "at most 27,962,020 bytes a second" in three.what
    assert "8,388,608 bytes, which take 3 round trips of the operating system's window of 4 MiB, allows" in three.why
    assert three.remedy == (
        "set `source.consumer.max.partition.fetch.bytes` to at least 3000000 and less than 4194304."
    )
    (more,) = problems(tuning=tuning(50_000_000, preset="throughput", acknowledgeMilliseconds=5))
    assert more.remedy == "spread the records over more partitions and lower `tuning.bytesPerSecondPerPartition`."


@pytest.mark.parametrize(
    ("settings", "objectives", "wanted"),
    [
        pytest.param(tuning(2_000_000_000, 1, preset="throughput"), {}, False, id="no objective"),
        pytest.param(tuning(500_000, preset="throughput"), {"lagSeconds": 30}, False, id="a rate that is carried"),
        pytest.param({"preset": "throughput"}, {"lagSeconds": 30}, False, id="no rate and no round trip"),
        pytest.param(tuning(35_000_000), {"lagSeconds": 30}, False, id="a ceiling is reported, with what to set"),
        pytest.param(
            tuning(2_000_000_000, 1, preset="throughput"), {"lagSeconds": 30}, True, id="no task processes as much"
        ),
    ],
)
def test_an_objective_that_the_measured_model_cannot_meet_is_a_warning(
    settings: dict[str, Any], objectives: dict[str, Any], wanted: bool
) -> None:
    codes = [problem.code for problem in problems(tuning=settings, objectives=objectives)]
    assert ("objective-unreachable" in codes) == wanted


def test_an_objective_is_not_judged_by_a_placeholder() -> None:
    config = {"source.consumer.max.poll.records": "${secret:mirror-orders/tuning:polls}"}
    fast = tuning(2_000_000_000, 1, preset="throughput")
    found = problems(config, tuning=fast, objectives={"lagSeconds": 30})
    assert "objective-unreachable" not in [problem.code for problem in found]


def test_following_the_remedies_removes_the_warnings() -> None:
    remedied = {
        "source.consumer.receive.buffer.bytes": -1,
        "source.consumer.max.partition.fetch.bytes": 2_000_000,
        "producer.override.batch.size": 400_000,
        "producer.override.max.in.flight.requests.per.connection": 5,
        "producer.override.enable.idempotence": True,
        "producer.override.send.buffer.bytes": -1,
    }
    remedies = [problem.remedy for problem in problems(tuning=tuning(20_000_000))]
    assert all(
        any(f"`{key}` to" in remedy and str(value).lower() in remedy for remedy in remedies)
        for key, value in remedied.items()
    )
    assert not problems(remedied, tuning=tuning(20_000_000))


def test_the_workers_own_producer_settings_count() -> None:
    worker = {"config": {"producer.batch.size": 100_000}}
    assert not problems(tuning=tuning(600_000), connect=worker)


def test_each_of_several_source_connectors_is_judged_by_itself() -> None:
    bulk = {"topics": ["logs"], "config": {"producer.override.batch.size": 65536}}
    connectors = {"sources": {"fast": {"topics": ["orders"]}, "bulk": bulk}}
    (problem,) = problems(topics=[], connectors=connectors, tuning=tuning(600_000))
    assert "`fast`" in problem.what


FLIGHT = "producer.override.max.in.flight.requests.per.connection"
IDEMPOTENT = "producer.override.enable.idempotence"


@pytest.mark.parametrize(
    ("config", "flow", "wanted"),
    [
        pytest.param({FLIGHT: 5}, {}, ["records-may-reorder"], id="Connect turns idempotence off"),
        pytest.param({FLIGHT: 5, IDEMPOTENT: True}, {}, [], id="idempotence keeps order"),
        pytest.param({FLIGHT: 6, IDEMPOTENT: True}, {}, ["idempotence-refused"], id="at most five with idempotence"),
        pytest.param(
            {IDEMPOTENT: False}, {"tuning": {"preset": "latency"}}, ["records-may-reorder"], id="off over a preset"
        ),
        pytest.param(
            {"producer.override.acks": 1}, {"tuning": {"preset": "latency"}}, ["idempotence-refused"], id="acks of one"
        ),
    ],
)
def test_settings_that_lose_order_or_that_idempotence_forbids_are_reported(
    config: dict[str, Any], flow: dict[str, Any], wanted: list[str]
) -> None:
    assert [problem.code for problem in problems(config, **flow)] == wanted


@pytest.mark.parametrize(
    ("delivery", "wanted"),
    [
        pytest.param(30_005, [], id="enough for both"),
        pytest.param(30_004, ["delivery-timeout-too-short"], id="one millisecond too short"),
    ],
)
def test_the_delivery_timeout_must_cover_linger_and_the_request_timeout(delivery: int, wanted: list[str]) -> None:
    config = {"request.timeout.ms": 30_000, "linger.ms": 5, "delivery.timeout.ms": delivery}
    assert [problem.code for problem in problems({f"producer.override.{key}": config[key] for key in config})] == wanted
