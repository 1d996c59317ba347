"""Which workers to start and to stop: a table of (reason, wanted, seen, steps)."""

import pytest

from kafka_replication.infra.local.operator.ledger import pause_seconds
from kafka_replication.infra.local.operator.worker_processes import (
    StartWorker,
    StopWorker,
    Worker,
    WorkerState,
    next_steps,
)

READY, STARTING = WorkerState.READY, WorkerState.STARTING
STOPPING, ENDED = WorkerState.STOPPING, WorkerState.ENDED


@pytest.mark.parametrize(
    ("replicas", "workers", "steps"),
    [
        pytest.param(2, [], [StartWorker(0), StartWorker(1)], id="none-yet"),
        pytest.param(1, [Worker(0, "new", READY)], [], id="as-wanted"),
        pytest.param(1, [Worker(0, "new", STARTING)], [], id="still-starting"),
        pytest.param(1, [Worker(0, "new", ENDED)], [StartWorker(0)], id="died"),
        pytest.param(1, [Worker(0, "new", ENDED, due=False)], [], id="died-often-and-pauses"),
        pytest.param(
            1, [Worker(0, "old", ENDED, due=False)], [StartWorker(0)], id="pause-ends-with-a-new-configuration"
        ),
        pytest.param(1, [Worker(0, "new", READY), Worker(1, "new", READY)], [StopWorker(1)], id="fewer-wanted"),
        pytest.param(0, [Worker(0, "new", READY)], [StopWorker(0)], id="none-wanted"),
        pytest.param(0, [Worker(0, "new", ENDED)], [], id="none-wanted-and-dead"),
        pytest.param(1, [Worker(0, "old", READY)], [StopWorker(0)], id="outdated"),
        pytest.param(
            2, [Worker(0, "old", READY), Worker(1, "old", READY)], [StopWorker(0)], id="outdated-one-at-a-time"
        ),
        pytest.param(
            2, [Worker(0, "old", STOPPING), Worker(1, "old", READY)], [], id="next-only-after-the-first-ended"
        ),
        pytest.param(
            2, [Worker(0, "new", STARTING), Worker(1, "old", READY)], [], id="next-only-when-the-first-serves"
        ),
        pytest.param(2, [Worker(0, "new", READY), Worker(1, "old", READY)], [StopWorker(1)], id="then-the-next"),
        pytest.param(
            2,
            [Worker(0, "old", STARTING), Worker(1, "old", READY)],
            [StopWorker(0)],
            id="the-one-that-does-not-serve-stops-first",
        ),
        pytest.param(
            2,
            [Worker(0, "old", STARTING), Worker(1, "old", STARTING)],
            [StopWorker(0), StopWorker(1)],
            id="all-stop-if-none-serves",
        ),
        pytest.param(2, [Worker(1, "old", READY)], [StartWorker(0)], id="a-missing-one-starts-before-rolling"),
        pytest.param(1, [Worker(0, "new", READY, pod=False)], [StopWorker(0)], id="its-pod-was-deleted"),
        pytest.param(
            1, [Worker(0, "old", STARTING, pod=False)], [StopWorker(0)], id="its-pod-was-deleted-stopped-once"
        ),
        pytest.param(1, [Worker(0, "new", ENDED, pod=False)], [StartWorker(0)], id="died-with-its-pod"),
        pytest.param(1, [Worker(0, "new", STOPPING, pod=False)], [], id="is-ending-with-its-pod"),
        pytest.param(
            2,
            [Worker(0, "new", READY, pod=False), Worker(1, "old", READY)],
            [StopWorker(0)],
            id="no-rolling-while-a-pod-is-missing",
        ),
    ],
)
def test_the_next_steps_start_stop_and_roll_workers(
    replicas: int, workers: list[Worker], steps: list[StartWorker | StopWorker]
) -> None:
    assert next_steps(replicas, "new", workers) == steps


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
