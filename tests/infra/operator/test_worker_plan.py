"""Which workers to start and to stop: a table of (reason, wanted, seen, indexes)."""

import pytest

from kafka_replication.infra.local.operator.ledger import pause_seconds
from kafka_replication.infra.local.operator.worker_processes import (
    Worker,
    WorkerState,
    next_steps,
)

READY, STARTING = WorkerState.READY, WorkerState.STARTING
STOPPING, ENDED = WorkerState.STOPPING, WorkerState.ENDED


@pytest.mark.parametrize(
    ("replicas", "workers", "start", "stop"),
    [
        pytest.param(2, [], [0, 1], [], id="none-yet"),
        pytest.param(1, [Worker(0, "new", READY)], [], [], id="as-wanted"),
        pytest.param(1, [Worker(0, "new", STARTING)], [], [], id="still-starting"),
        pytest.param(1, [Worker(0, "new", ENDED)], [0], [], id="died"),
        pytest.param(1, [Worker(0, "new", ENDED, due=False)], [], [], id="died-often-and-pauses"),
        pytest.param(1, [Worker(0, "old", ENDED, due=False)], [0], [], id="pause-ends-with-a-new-configuration"),
        pytest.param(1, [Worker(0, "new", READY), Worker(1, "new", READY)], [], [1], id="fewer-wanted"),
        pytest.param(0, [Worker(0, "new", READY)], [], [0], id="none-wanted"),
        pytest.param(0, [Worker(0, "new", ENDED)], [], [], id="none-wanted-and-dead"),
        pytest.param(1, [Worker(0, "old", READY)], [], [0], id="outdated"),
        pytest.param(2, [Worker(0, "old", READY), Worker(1, "old", READY)], [], [0], id="outdated-one-at-a-time"),
        pytest.param(
            2, [Worker(0, "old", STOPPING), Worker(1, "old", READY)], [], [], id="next-only-after-the-first-ended"
        ),
        pytest.param(
            2, [Worker(0, "new", STARTING), Worker(1, "old", READY)], [], [], id="next-only-when-the-first-serves"
        ),
        pytest.param(2, [Worker(0, "new", READY), Worker(1, "old", READY)], [], [1], id="then-the-next"),
        pytest.param(
            2,
            [Worker(0, "old", STARTING), Worker(1, "old", READY)],
            [],
            [0],
            id="the-one-that-does-not-serve-stops-first",
        ),
        pytest.param(
            2,
            [Worker(0, "old", STARTING), Worker(1, "old", STARTING)],
            [],
            [0, 1],
            id="all-stop-if-none-serves",
        ),
        pytest.param(2, [Worker(1, "old", READY)], [0], [], id="a-missing-one-starts-before-rolling"),
        pytest.param(1, [Worker(0, "new", READY, pod=False)], [], [0], id="its-pod-was-deleted"),
        pytest.param(1, [Worker(0, "old", STARTING, pod=False)], [], [0], id="its-pod-was-deleted-stopped-once"),
        pytest.param(1, [Worker(0, "new", ENDED, pod=False)], [0], [], id="died-with-its-pod"),
        pytest.param(1, [Worker(0, "new", STOPPING, pod=False)], [], [], id="is-ending-with-its-pod"),
        pytest.param(
            2,
            [Worker(0, "new", READY, pod=False), Worker(1, "old", READY)],
            [],
            [0],
            id="no-rolling-while-a-pod-is-missing",
        ),
    ],
)
def test_the_next_steps_start_stop_and_roll_workers(
    replicas: int, workers: list[Worker], start: list[int], stop: list[int]
) -> None:
    assert next_steps(replicas, "new", workers) == (start, stop)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        pytest.param(0, 0, id="it-served-before"),
        pytest.param(1, 2, id="first"),
        pytest.param(4, 16, id="fourth"),
        pytest.param(5, 30, id="longest"),
        pytest.param(5000, 30, id="never-longer"),
    ],
)
def test_the_pause_grows_with_each_failure_up_to_a_limit(failures: int, seconds: float) -> None:
    assert pause_seconds(failures) == seconds
