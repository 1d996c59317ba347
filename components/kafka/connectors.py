"""MirrorMaker's connectors: their roles and classes, what Connect reports about them and their tasks, and the offsets
that it stores for them.

Connect's REST interface reports a connector's status, which Strimzi copies into its resources. It reports a connector
as STOPPED before its tasks have ended. A task stores its last offsets when it ends, and only then reports UNASSIGNED in
the workers' status topic. Connect stores the offset of the last replicated record, so a connector resumes at the one
after it. Without a stored offset it begins where its consumer's `auto.offset.reset` says.
Source: KafkaConnectorStatus.connectorStatus, KafkaMirrorMaker2Status.connectors; AbstractWorkerSourceTask.execute,
WorkerTask.doRun, KafkaStatusBackingStore; KIP-875, MirrorSourceTask.initializeConsumer.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition

ConnectorRole = Literal["source", "checkpoint", "heartbeat"]

CONNECTOR_CLASSES: dict[ConnectorRole, str] = {
    "source": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "checkpoint": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    "heartbeat": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
}
#: Role of each connector by its class name without the package, which is also the end of a mirror's connector name.
ROLE_OF_CLASS: dict[str, ConnectorRole] = {
    connector_class.rpartition(".")[2]: role for role, connector_class in CONNECTOR_CLASSES.items()
}

#: Switches that leave a running connector without a task.
#: Source: MirrorCheckpointConnector.taskConfigs, MirrorHeartbeatConnector.taskConfigs.
EMIT_CHECKPOINTS = "emit.checkpoints.enabled"
EMIT_HEARTBEATS = "emit.heartbeats.enabled"


_CAUSE = "Caused by: "


@dataclass(frozen=True)
class Failure:
    """A connector, or with `task` one of its tasks, that Connect reports as FAILED."""

    task: int | None
    trace: str

    @property
    def reason(self) -> str:
        """Return the first line of the trace, and the innermost cause, which names a refused login or permission."""
        lines = [line.strip() for line in self.trace.strip().splitlines()] or ["no trace"]
        causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
        return "; caused by ".join(dict.fromkeys([lines[0], *causes[-1:]]))

    def of(self, connector: str) -> str:
        """Return the failure as a sentence about the connector of this name."""
        return f"{connector}{'' if self.task is None else f' task {self.task}'} failed: {self.reason}"


def reported_connectors(live: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the status of a resource's connectors, as Connect reported it when the operator last asked."""
    status = live.get("status") or {}
    own = status.get("connectorStatus")
    return [*(status.get("connectors") or []), *([own] if own else [])]


def failures(connector: Mapping[str, Any]) -> Iterator[Failure]:
    """Yield what failed in a connector."""
    parts = [(None, connector.get("connector") or {}), *((task["id"], task) for task in connector.get("tasks") or [])]
    for task, state in parts:
        if state.get("state") == "FAILED":
            yield Failure(task, str(state.get("trace") or ""))


def is_observed(live: Mapping[str, Any]) -> bool:
    """Return whether the status is about the newest generation of the spec."""
    return bool((live.get("status") or {}).get("observedGeneration") == live["metadata"].get("generation"))


_PREFIX = "status-task-"
#: What a task reports once it has stored its last offsets, or has failed and stores none.
_ENDED = frozenset({"UNASSIGNED", "FAILED"})


def unended_tasks(records: Iterable[tuple[bytes | None, bytes | None]], connector: str) -> list[int]:
    """Return the tasks of a connector whose last report does not say that they have ended; `records` are keys and
    values in order. A record without a value is not the task's report: the leader deletes a status, perhaps before the
    task has ended.
    """
    states: dict[int, str] = {}
    for key, value in records:
        task = _task(key or b"", connector)
        if task is not None and value is not None:
            states[task] = _state(value)
    return sorted(task for task, state in states.items() if state not in _ENDED)


def present_tasks(records: Iterable[tuple[bytes | None, bytes | None]], connector: str) -> frozenset[int]:
    """Return the tasks of a connector that have a status, which is what Connect's REST API lists while the connector
    runs.

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


#: Connectors commit their offsets once a minute, so even a healthy flow sometimes seems this far behind.
BEHIND_SECONDS = 120


def next_record(stored: int | None, log: OffsetRange, start_from: str) -> int:
    """Return the offset of the next record that a connector replicates.

    If the log lacks the record after `stored`, because retention deleted it or the topic was recreated, the consumer
    begins where it would without a stored offset.
    """
    if stored is None or not is_within(stored, log):
        return log.start if start_from == "earliest" else log.end
    return stored + 1


def is_within(stored: int, log: OffsetRange) -> bool:
    """Return whether the log has the record after `stored`, or ends there."""
    return log.start <= stored + 1 <= log.end


def can_resume_at(offset: int, start_from: str) -> bool:
    """Return whether a connector can resume at `offset`. No stored offset is negative, so 0 needs none."""
    return offset > 0 or start_from == "earliest"


def stored_for(offset: int) -> int | None:
    """Return what to store so that the record at `offset` is next; None means no stored offset."""
    return offset - 1 if offset else None


def offsets_document(alias: str, offsets: Mapping[TopicPartition, int | None]) -> dict[str, Any]:
    """Return the body of Connect's `PATCH /connectors/<name>/offsets` for these stored offsets of one source."""
    return {
        "offsets": [
            {
                "partition": {"cluster": alias, "topic": partition.topic, "partition": partition.partition},
                "offset": None if stored is None else {"offset": stored},
            }
            for partition, stored in sorted(offsets.items())
        ]
    }
