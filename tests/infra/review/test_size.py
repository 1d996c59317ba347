"""`replicate size`: the fewest tasks that carry a rate, what to write into the topology, and what it stands on.

No number here comes from the delivered measurements, which every new run changes.
"""

import json
from dataclasses import replace

import pytest
import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.kafka.throughput import Case, Cost, Factors, Fitted, Measured, Measurements
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.review.size import Question, answer
from tests.builders import a_flow, a_topology
from tests.commands import replicate

COST = Cost(0, 1e-8)
COSTS = {"kafka": COST, "throughput": COST}
FITTED = Fitted(
    {"kafka": Cost(0, 4e-8), "throughput": COST}, COSTS, COSTS, 0.001, 0.001, Factors(1.5, 2.0), Factors(3.0, 1.0)
)
CELL = Case("throughput", "source", 50, 1, 8, 1_000)
MEASURED = Measurements(
    "4 cores of a laptop, Linux",
    4,
    "2026-11-01",
    {"kafka": "4.2.0", "java": "21"},
    FITTED,
    0.1,
    {
        CELL: Measured(100_000, 2.0, 1.0, 0.5, 0.1, 600.0),
        replace(CELL, round_trip_ms=0, tasks=2): Measured(100_000, 1.0, 1.0, 0.5, 0.1, 600.0),
        Case("throughput", "source", 50, 1, 1, 1_000, pace=500_000): Measured(1, 1, 1, 1, 1, 1, 80.0, 140.0),
    },
    [CELL],
)


def test_the_answer_is_the_fewest_tasks_with_a_quarter_to_spare_and_says_what_each_number_stands_on() -> None:
    # A fetch of 8 MiB takes three round trips of 50 ms: 55.9 MB/s a task.
    got = answer(Question(100_000_000, 1_000, 12, 50), MEASURED)
    assert (got.case.tasks, got.workers, got.worker_cores, got.worker_mib) == (3, 3, 1.0, 768)
    assert got.carried.limit == "fetch"
    assert dict(got.reasons) == {
        "tasks": "3 tasks carry 167.8 MB/s, limited by what the fetches of a task bring in a round trip; 100.0 MB/s "
        "and a quarter more, to catch up after a stop, are 125.0 MB/s",
        "settings": "`preset: throughput`; with Kafka's own settings, as many tasks carry 3.7 MB/s",
        "cores": "1.2 in all: 10.0 processor seconds for a gigabyte; if one of 3 workers fails, "
        "another has 2 tasks of 3",
        "brokers": "1.2 cores more in all, of both sides: 10.0 processor seconds for a gigabyte; followers of the "
        "target's partitions come on top",
        "memory": "768 MiB, of which Strimzi gives 75% to the heap: 2 tasks of 137 MiB and the worker's own 256 MiB "
        "are 531 MiB",
        "measured": "throughput, 50 ms to the source, tasks 1, partitions 8, records of 1,000 B: 50.0 MB/s, 10.0 "
        "processor seconds for a gigabyte",
        "latency": "p50 80 ms, p99 140 ms at 0.5 MB/s: throughput, 50 ms to the source, tasks 1, partitions 1, records "
        "of 1,000 B",
        "model": "typical error 10% for measurements that it was not fitted to; measured 2026-11-01 on 4 cores of a "
        "laptop, Linux, kafka 4.2.0, java 21",
    }
    assert got.not_measured == [
        "3 tasks; 1 to 2 were",
        "memory; the measured worker had a heap of 2 GiB, and shared 4 cores with both brokers",
        "more than 100.0 MB/s in all: brokers and worker shared 4 cores, and the network, the disks and the brokers' "
        "processors are assumed to be no limit",
    ]


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        pytest.param({"record_bytes": 100}, "100 B a record; 1,000 to 1,000 were", id="record"),
        pytest.param({"round_trip_ms": 200}, "200 ms of round trip; 0 to 50 were", id="round trip"),
        pytest.param({"partitions": 600}, "partitions of a task; 4 to 8 were", id="partitions of a task"),
        pytest.param({"tls": True, "exactly_once": True}, "TLS and exactly once together", id="both factors"),
        pytest.param({"near": "source"}, "50 ms of round trip; 0 to 0 were", id="round trip to the target"),
        pytest.param({"tls": True}, "TLS with more than 0.0 MB/s", id="rate with TLS"),
        pytest.param({"tls": True}, "TLS over a round trip", id="TLS over a round trip"),
        pytest.param({"link": 125_000_000}, "a link that limits", id="link"),
    ],
)
def test_what_was_not_measured_is_said(changed: dict[str, int], wanted: str) -> None:
    question = replace(Question(10_000_000, 1_000, 8, 50), **changed)  # type: ignore[arg-type]
    assert [text for text in answer(question, MEASURED).not_measured if wanted in text]


def test_a_worker_has_the_cores_for_as_many_tasks_as_it_runs_if_one_fails() -> None:
    """One core in all for three tasks: one of two workers runs two of them."""
    got = answer(Question(80_000_000, 1_000, 3, 50), MEASURED)
    assert (got.case.tasks, got.workers, got.worker_cores) == (3, 3, 1.0)


def test_tls_and_exactly_once_need_more_cores() -> None:
    plain, both = (
        answer(Question(200_000_000, 1_000, 32, 0, tls=more, exactly_once=more), MEASURED) for more in (False, True)
    )
    assert plain.workers * plain.worker_cores < both.workers * both.worker_cores
    assert ", with a factor of 1.50 for TLS, with a factor of 2.00 for exactly once" in dict(both.reasons)["cores"]
    assert ", with a factor of 3.00 for TLS, with a factor of 1.00 for exactly once" in dict(both.reasons)["brokers"]
    assert both.brokers_cores == pytest.approx(3 * plain.brokers_cores)
    assert "factor" not in dict(plain.reasons)["cores"]
    assert both.settings["exactlyOnce"] == "enabled"
    assert "exactlyOnce" not in plain.settings


def test_workers_have_at_most_four_cores_and_one_may_fail() -> None:
    got = answer(Question(1_000_000_000, 1_000, 64, 0), MEASURED)
    assert (got.workers, got.worker_cores) == (5, 4.0)


def test_beside_the_source_the_producer_waits_for_the_round_trip() -> None:
    far = answer(Question(20_000_000, 1_000, 1, 50, near="source"), MEASURED)
    assert (far.case.far, far.carried.limit) == ("target", "produce")
    assert far.settings["tuning"] == {
        "preset": "throughput",
        "roundTripMilliseconds": 50,
        "bytesPerSecondPerPartition": 20_000_000,
    }


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        pytest.param(
            Question(200_000_000, 1_000, 4, 80),
            ["4 tasks carry 139.8 MB/s of 4 partitions", "250.0 MB/s", "fetches", "at least 8 partitions"],
            id="too few partitions",
        ),
        pytest.param(
            Question(100_000_000, 1_000, 12, 50, tasks=1),
            ["1 task carries 55.9 MB/s of 12 partitions", "leave out `--tasks`: 3 tasks carry it."],
            id="too few tasks",
        ),
        pytest.param(Question(200_000_000, 1_000, 4, 80, tasks=2), ["at least 8 partitions"], id="both"),
    ],
)
def test_a_rate_that_cannot_be_carried_is_refused_with_what_limits_it(question: Question, wanted: list[str]) -> None:
    with pytest.raises(RefusedError) as refused:
        answer(question, MEASURED)
    assert refused.value.code == "rate-too-high"
    for text in wanted:
        assert text in str(refused.value)


@pytest.mark.parametrize("near", ["source", "target"])
def test_the_settings_to_write_pass_the_check(near: str) -> None:
    question = Question(100_000_000, 1_000, 48, 80, exactly_once=True, near=near)  # type: ignore[arg-type]
    settings = answer(question, MEASURED).settings
    flow = a_flow(**{key: value for key, value in settings.items() if key != "exactlyOnce"})
    assert not list(check_topology(parse_topology(a_topology(flow))))


@pytest.mark.parametrize(
    ("near", "wanted"),
    [
        pytest.param("target", "let producers on the source compress", id="fetched as it was produced"),
        pytest.param("source", "let the connector's producer compress", id="produced over the link"),
    ],
)
def test_a_link_that_is_too_slow_is_refused_with_what_would_compress(near: Side, wanted: str) -> None:
    with pytest.raises(RefusedError) as refused:
        answer(Question(100_000_000, 1_000, 48, 80, link=125_000_000, near=near), MEASURED)
    assert refused.value.code == "link-too-slow"
    assert "the link carries 122.4 MB/s of records that are not compressed" in str(refused.value)
    assert wanted in str(refused.value)


@pytest.mark.parametrize("limited", [{"tasks": 2}, {"partitions": 2}], ids=["tasks", "partitions"])
def test_more_partitions_are_no_remedy_for_a_link_that_is_too_slow(limited: dict[str, int]) -> None:
    question = Question(200_000_000, 1_000, 48, 80, link=150_000_000)
    with pytest.raises(RefusedError) as refused:
        answer(replace(question, **limited), MEASURED)  # type: ignore[arg-type]
    assert refused.value.code == "link-too-slow"


def test_a_link_with_room_changes_nothing() -> None:
    question = Question(100_000_000, 1_000, 12, 50)
    assert answer(replace(question, link=1_250_000_000), MEASURED).carried == answer(question, MEASURED).carried


ASKED = ("size", "--rate", "2MB/s", "--record", "1kB", "--partitions", "8", "--round-trip", "20ms")


def test_the_command_prints_reasons_and_settings_as_yaml() -> None:
    got = replicate(*ASKED)
    assert (got.returncode, got.stderr) == (0, "")
    head, _, settings = got.stdout.partition("# Write into the flow\n")
    assert head.startswith("✓ 1 task, 3 workers with ")
    assert yaml.safe_load(settings)["tuning"]["bytesPerSecondPerPartition"] == 250_000


def test_json_has_the_settings_the_reasons_and_what_was_not_measured() -> None:
    got = json.loads(replicate(*ASKED, "--json").stdout)
    assert got["version"] == 1
    assert got["settings"]["connectors"] == {"source": {"tasksMax": got["tasks"]}}
    assert {"tasks", "cores", "memory", "measured", "latency", "model"} <= got["reasons"].keys()
    assert isinstance(got["notMeasured"], list)


@pytest.mark.parametrize(
    ("option", "given", "wanted"),
    [
        pytest.param("--rate", "5Mb/s", "write a number and one of B/s, kB/s, MB/s", id="bits"),
        pytest.param("--rate", "0MB/s", "it is less than 1 B/s", id="no rate"),
        pytest.param("--rate", "200", "such as 200MB/s", id="no unit"),
        pytest.param("--link", "1Gbit/s", "such as 125MB/s", id="bits of a link"),
        pytest.param("--record", "0.1B", "it is less than 1 B", id="no record"),
        pytest.param("--round-trip", "-5ms", "such as 80ms", id="negative"),
        pytest.param("--partitions", "0", "greater than or equal to 1", id="no partition"),
        pytest.param("--tasks", "9", "8 partitions keep at most as many tasks busy", id="more tasks than partitions"),
    ],
)
def test_bad_input_is_refused_with_what_to_write(option: str, given: str, wanted: str) -> None:
    got = replicate(*ASKED, option, given)
    assert got.returncode == 2
    assert wanted in " ".join(got.stderr.replace("│", " ").split())


def test_a_rate_that_is_too_high_ends_with_1() -> None:
    got = replicate(*ASKED, "--rate", "90GB/s")
    assert got.returncode == 1
    assert "rate-too-high" in got.stderr
