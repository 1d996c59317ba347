"""Decides which workers to start and stop. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

LONGEST_PAUSE_SECONDS = 30.0


class WorkerState(Enum):
    """READY serves its REST interface, STARTING runs but does not serve yet, ENDED has to be started again."""

    READY = "ready"
    STARTING = "starting"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True)
class Worker:
    """One worker as the plan sees it.

    `digest` identifies what it was started with. `due` says whether an ended one may start again now, and `pod` whether
    its Pod exists.
    """

    index: int
    digest: str
    state: WorkerState
    due: bool = True
    pod: bool = True


@dataclass(frozen=True)
class Start:
    index: int


@dataclass(frozen=True)
class Stop:
    index: int


def next_steps(replicas: int, digest: str, workers: Sequence[Worker]) -> list[Start | Stop]:
    """What to do now. Outdated workers that serve are stopped one at a time, and only while all others serve.

    A worker whose Pod was deleted is stopped, as a kubelet would do, and starts again.
    """
    known = {worker.index: worker for worker in workers}
    running = (WorkerState.READY, WorkerState.STARTING)
    steps: list[Start | Stop] = [
        Stop(each.index) for each in workers if each.state in running and (each.index >= replicas or not each.pod)
    ]
    kept = [known[index] for index in range(replicas) if index in known]
    for index in range(replicas):
        worker = known.get(index)
        if worker is None or (worker.state is WorkerState.ENDED and (worker.due or worker.digest != digest)):
            steps.append(Start(index))
    outdated = [each for each in kept if each.digest != digest and each.state in running and each.pod]
    not_serving = [each for each in outdated if each.state is WorkerState.STARTING]
    if not_serving:
        # Stopping workers that do not serve loses nothing, and a correction must not wait until they serve.
        return steps + [Stop(each.index) for each in not_serving]
    if outdated and len(kept) == replicas and all(each.state is WorkerState.READY and each.pod for each in kept):
        steps.append(Stop(outdated[0].index))
    return steps


def pause_seconds(failures: int) -> float:
    """The pause before a worker starts again after it ended this often in a row without having served."""
    return min(2.0 ** min(failures, 10), LONGEST_PAUSE_SECONDS) if failures else 0.0
