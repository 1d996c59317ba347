"""What a task carries over a round trip, by numbers that a reader can check by hand."""

from dataclasses import replace

import pytest

from kafka_replication.components.kafka.throughput import (
    Case,
    Cost,
    Factors,
    Fitted,
    carried,
    measurements,
    memory_of_task,
    nearest,
)

MIB = 1024 * 1024
CONSUMER = {
    "max.partition.fetch.bytes": MIB,
    "fetch.max.bytes": 50 * MIB,
    "receive.buffer.bytes": 65_536,
    "max.poll.records": 500,
}
PRODUCER = {
    "batch.size": 16_384,
    "max.in.flight.requests.per.connection": 1,
    "buffer.memory": 32 * MIB,
    "max.request.size": MIB,
    "send.buffer.bytes": 131_072,
}
#: A task that processes 100 MB/s, and requests that take no time besides the round trip.
COSTS = {"kafka": Cost(0, 1e-8)}
FAST = Fitted(COSTS, COSTS, COSTS, 0.001, 0.001, Factors(2.0, 3.0), Factors())
OVER_100_MS = Case("kafka", "source", 100, 1, 2, 1_000)


def rate(case: Case, **changed: int) -> float:
    consumer = {**CONSUMER, **{key: value for key, value in changed.items() if key in CONSUMER}}
    producer = {**PRODUCER, **{key: value for key, value in changed.items() if key in PRODUCER}}
    return carried(case, consumer, producer, FAST).rate


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        pytest.param({}, MIB / 1.7, id="16 windows of 64 KiB and the answer's header take 17 round trips"),
        pytest.param(
            {"max.partition.fetch.bytes": 65_535}, 65_535 / 0.1, id="a fetch that fits into a window takes one"
        ),
        pytest.param({"receive.buffer.bytes": -1}, MIB / 0.1, id="the operating system's window holds a whole fetch"),
        pytest.param(
            {"receive.buffer.bytes": -1, "max.partition.fetch.bytes": 8 * MIB},
            8 * MIB / 0.3,
            id="8 MiB are more than two of the operating system's windows",
        ),
        pytest.param(
            {"receive.buffer.bytes": -1, "max.partition.fetch.bytes": 8 * MIB, "fetch.max.bytes": 2 * MIB},
            2 * MIB / 0.1,
            id="all partitions of a fetch share fetch.max.bytes",
        ),
    ],
)
def test_a_task_fetches_one_answer_after_another(changed: dict[str, int], wanted: float) -> None:
    assert rate(OVER_100_MS, **changed) == pytest.approx(wanted, rel=0.01)


def test_a_task_with_one_partition_processes_all_but_the_last_poll_before_it_fetches_again() -> None:
    alone = replace(OVER_100_MS, partitions=1)
    assert rate(alone, **{"batch.size": MIB}) == pytest.approx(MIB / (1.7 + (MIB - 500_000) * 1e-8), rel=0.01)
    assert rate(alone, **{"batch.size": MIB, "max.poll.records": 2_000}) == pytest.approx(MIB / 1.7, rel=0.01)


@pytest.mark.parametrize(
    ("partitions", "changed", "wanted"),
    [
        pytest.param(1, {}, 16_000 / 0.1, id="a batch of 16 KiB holds 16 records of 1 kB"),
        pytest.param(4, {}, 4 * 16_000 / 0.1, id="a request has a batch of each partition"),
        pytest.param(1, {"batch.size": 500}, 1_000 / 0.1, id="a batch holds at least one record"),
        pytest.param(
            1, {"max.in.flight.requests.per.connection": 5}, 5 * 16_000 / 0.1, id="five batches are in flight"
        ),
        pytest.param(64, {}, 131_072 / 0.1, id="all partitions share the window of a connection"),
    ],
)
def test_a_producer_waits_for_acknowledgements(partitions: int, changed: dict[str, int], wanted: float) -> None:
    case = Case("kafka", "target", 100, 1, partitions, 1_000)
    got = carried(case, {**CONSUMER, "receive.buffer.bytes": -1}, {**PRODUCER, **changed}, FAST)
    assert got.limit == "produce"
    assert got.rate == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize(
    ("tasks", "partitions", "times"),
    [
        pytest.param(4, 8, 4, id="each task has a connection of its own"),
        pytest.param(16, 8, 8, id="a task without a partition carries nothing"),
        pytest.param(3, 8, 8 / 3, id="the busiest of three tasks has three of eight partitions"),
    ],
)
def test_tasks_carry_as_much_as_the_busiest_one_lets_them(tasks: int, partitions: int, times: float) -> None:
    one = rate(replace(OVER_100_MS, partitions=max(2, -(-partitions // tasks))))
    if tasks >= partitions:
        one = rate(replace(OVER_100_MS, partitions=1), **{"batch.size": MIB})
    got = rate(replace(OVER_100_MS, tasks=tasks, partitions=partitions), **{"batch.size": MIB})
    assert got == pytest.approx(times * one, rel=0.01)


def test_without_a_round_trip_the_processor_is_the_limit_and_tls_and_transactions_cost_more() -> None:
    near = {**CONSUMER, "receive.buffer.bytes": -1}, {**PRODUCER, "batch.size": MIB, "send.buffer.bytes": -1}
    plain = carried(Case("kafka", partitions=8), *near, FAST)
    assert plain == (1e8, "processor")
    assert carried(Case("kafka", partitions=8, tls=True), *near, FAST).rate == 5e7
    assert carried(Case("kafka", partitions=8, tls=True, exactly_once=True), *near, FAST).rate == pytest.approx(1e8 / 6)


def test_all_tasks_share_a_link_which_carries_what_records_need_besides_their_bytes() -> None:
    near = {**CONSUMER, "receive.buffer.bytes": -1}, {**PRODUCER, "batch.size": MIB, "send.buffer.bytes": -1}
    case = Case("kafka", tasks=4, partitions=8, record_bytes=1_000, link=25_000_000)
    got = carried(case, *near, FAST)
    assert got.limit == "link"
    assert got.rate == pytest.approx(25e6 * 1_000 / 1_021)
    assert carried(replace(case, link=10**10), *near, FAST) == (4e8, "processor")


def test_a_buffer_that_is_a_placeholder_is_no_limit() -> None:
    unknown = {**CONSUMER, "receive.buffer.bytes": None}
    assert carried(OVER_100_MS, unknown, {**PRODUCER, "batch.size": MIB}, FAST).rate == pytest.approx(
        MIB / 0.1, rel=0.02
    )


def test_a_task_may_hold_two_fetches_a_poll_and_its_producers_buffer() -> None:
    assert memory_of_task(Case(partitions=4), CONSUMER, PRODUCER) == (2 * 4 + 32) * MIB + 500_000
    assert memory_of_task(Case(partitions=100, record_bytes=MIB), CONSUMER, PRODUCER) == (3 * 50 + 32) * MIB


def test_the_nearest_cell_has_the_same_settings_then_the_same_side_then_similar_sizes() -> None:
    cells = [
        Case("kafka", "source", 55, 1, 8, 900),
        Case("throughput", "target", 50, 1, 1, 1_000),
        Case("throughput", "source", 100, 1, 1, 1_000),
        Case("throughput", "source", 50, 1, 8, 1_000),
        Case("throughput", "source", 50, 1, 8, 1_000, pace=1),
        Case("throughput", "source", 55, 6, 48, 900, link=1),
    ]
    assert nearest(Case("throughput", "source", 55, 6, 48, 900), cells) == cells[3]
    assert nearest(Case("throughput", "source", 90, 6, 6, 900), cells) == cells[2]
    assert nearest(Case("throughput", "target", 90, 6, 48, 900), cells) == cells[1]


def test_the_delivered_measurements_have_both_settings_and_only_known_cells_are_held_back() -> None:
    measured = measurements()
    assert measured.fitted.task.keys() == measured.fitted.worker.keys() == {"kafka", "throughput"}
    assert set(measured.held_back) <= measured.cells.keys()
    assert (measured.error is None) == (not measured.held_back)
