"""Which tasks of a connector have not ended, as the workers' status topic shows it.

Connect reports a connector as STOPPED before its tasks have ended. A task stores its last offsets when it ends, and
only then reports UNASSIGNED. Source: AbstractWorkerSourceTask.execute, WorkerTask.doRun, KafkaStatusBackingStore.
"""

import json
from collections.abc import Iterable

_PREFIX = "status-task-"
#: What a task reports once it has stored its last offsets, or has failed and stores none.
_ENDED = frozenset({"UNASSIGNED", "FAILED"})


def unended_tasks(records: Iterable[tuple[bytes | None, bytes | None]], connector: str) -> list[int]:
    """The tasks of a connector whose last report does not say that they have ended; `records` are keys and values in
    order. A record without a value is not the task's report: the leader deletes a status, perhaps before the
    task has ended.
    """
    states: dict[int, str] = {}
    for key, value in records:
        task = _task(key or b"", connector)
        if task is not None and value is not None:
            states[task] = _state(value)
    return sorted(task for task, state in states.items() if state not in _ENDED)


def present_tasks(records: Iterable[tuple[bytes | None, bytes | None]], connector: str) -> frozenset[int]:
    """The tasks of a connector that have a status, which is what Connect's REST API lists while the connector runs.

    After a task was taken from a running connector, the leader deletes its status with the next rebalance. Source:
    DistributedHerder.updateDeletedTaskStatus, AbstractHerder.connectorStatus.
    """
    newest = {task: value for key, value in records if (task := _task(key or b"", connector)) is not None}
    return frozenset(task for task, value in newest.items() if value is not None)


def _task(key: bytes, connector: str) -> int | None:
    name, _, task = key.decode(errors="replace").removeprefix(_PREFIX).rpartition("-")
    ours = key.startswith(_PREFIX.encode()) and name == connector and task.isdecimal()
    return int(task) if ours else None


def _state(value: bytes) -> str:
    try:
        return str(json.loads(value)["state"])
    except (ValueError, KeyError, TypeError):
        return ""
