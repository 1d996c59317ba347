"""What a change did to a running flow: Connect's own logs, the records of topics, offsets of groups."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.operator.connect_rest import ConnectRest, RestError, RunningConnector
from kafka_replication.infra.local.operator.ledger import WorkerRecord
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.traffic import Positions, end_offsets
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

_CALL_SECONDS = 60.0
_CREATED = re.compile(r" INFO Creating connector (\S+) of type ")
_TASK_CREATED = re.compile(r" INFO Creating task (\S+) ")
_TASK_STOPPED = re.compile(r" INFO Stopping task-thread-(\S+) took ")

Headers = Sequence[tuple[str, bytes | None]]

#: A record's key, value and headers as they are.
RecordBytes = tuple[bytes | None, bytes | None, Headers]

#: The records of each partition in order; the unique header `trace` stands for a record.
Contents = dict[int, list[bytes]]


@dataclass(frozen=True)
class Happened:
    """What Connect did: connectors and tasks that a worker created, workers that ended, and how many started."""

    connectors: frozenset[str]
    tasks: frozenset[str]
    ended: frozenset[str]
    began: int


class Watch:
    """Workers of a flow and their logs, from now on."""

    def __init__(self, *flows: str) -> None:
        self._flows = flows
        self._before = {each.pid: (each.name, len(_log(each))) for each in self._alive()}

    def happened(self) -> Happened:
        now = {each.pid: each for each in self._alive()}
        lines = [_log(each)[self._before.get(pid, ("", 0))[1] :] for pid, each in now.items()]
        return Happened(
            frozenset(name for log in lines for name in _CREATED.findall(log)),
            frozenset(name for log in lines for name in _TASK_CREATED.findall(log)),
            frozenset(name for pid, (name, _) in self._before.items() if pid not in now),
            len(set(now) - set(self._before)),
        )

    def expect_made(self, connectors: frozenset[str]) -> None:
        """Raise NotYetError until Connect has created these connectors and all their tasks again.

        Until then a task copies records with the old configuration, although its connector has the new one.
        """
        happened, running = self.happened(), self.running()
        # As the logs name them.
        tasks = {f"{name}-{task['id']}" for name in connectors & set(running) for task in running[name].status["tasks"]}
        missing = (connectors - happened.connectors) or (tasks - happened.tasks)
        if missing:
            raise NotYetError(f"{sorted(missing)} go on as they were")

    def expect_stopped(self, tasks: frozenset[str]) -> None:
        """Raise NotYetError until these tasks of MirrorMaker have ended.

        They copy records until then, although their connector is STOPPED.
        """
        now = {each.pid: each for each in self._alive()}
        lines = (_log(each)[self._before.get(pid, ("", 0))[1] :] for pid, each in now.items())
        if missing := tasks - {name for log in lines for name in _TASK_STOPPED.findall(log)}:
            raise NotYetError(f"{sorted(missing)} go on")

    def tasks(self, connector: str) -> frozenset[str]:
        """The tasks of a connector, as the logs name them."""
        running = self.running()
        return frozenset(f"{connector}-{task['id']}" for task in running[connector].status["tasks"])

    def running(self) -> dict[str, RunningConnector]:
        """Connectors by name as Connect shows them now; raises NotYetError while a worker does not answer."""
        found: dict[str, RunningConnector] = {}
        for port in {each.port for each in self._alive()}:
            rest = ConnectRest(port)
            try:
                found |= rest.connectors()
            except RestError as error:
                raise NotYetError(str(error)) from error
        return found

    def _alive(self) -> list[WorkerRecord]:
        started = tuple(f"{flow}-" for flow in self._flows)
        return [
            each
            for each in operator_part.workers()
            if processes.alive(each) and each.name.split("/")[1].startswith(started)
        ]


def _log(worker: WorkerRecord) -> str:
    return worker.log.read_text(errors="replace") if worker.log and worker.log.exists() else ""


def contents(region: Region, topic: str, since: Positions | None = None) -> Contents:
    """The header `trace` of every committed record of a topic, from offset 0 or `since`; empty without the topic."""
    found = records(region, topic, since)
    return {partition: [trace(headers) for _, _, headers in each] for partition, each in found.items()}


def records(region: Region, topic: str, since: Positions | None = None) -> dict[int, list[RecordBytes]]:
    """Every committed record of a topic in order, from offset 0 or `since`, by partition; empty without the topic."""
    try:
        starts = since or dict.fromkeys(end_offsets(region, [topic]), 0)
    except KeyError:
        return {}
    found: dict[int, list[RecordBytes]] = {partition: [] for _, partition in starts}
    unread = set(found)
    config = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({**region.client_config(ADMIN), **config})

    def read() -> None:
        for message in consumer.consume(1000, timeout=0.2):
            error, partition = message.error(), message.partition() or 0
            if error is None:
                headers = cast(Headers, message.headers() or [])
                found[partition].append((message.key(), message.value(), headers))
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(partition)
        if unread:
            raise NotYetError(f"the ends of partitions {sorted(unread)} are not reached")

    try:
        consumer.assign([TopicPartition(topic, partition, start) for (_, partition), start in starts.items()])
        wait_for(f"the end of {topic}", read, _CALL_SECONDS, interval_seconds=0.01)
    finally:
        consumer.close()
    return found


def trace(headers: Headers) -> bytes:
    """The value of the first header `trace` of a record, which is unique in its topic."""
    return next(value for name, value in headers if name == "trace" and value is not None)


def expect_records(region: Region, topic: str, wanted: int) -> None:
    """Raise NotYetError until a topic exists and holds at least so many records."""
    try:
        found = sum(end_offsets(region, [topic]).values())
    except KeyError as error:
        raise NotYetError("no such topic") from error
    if found < wanted:
        raise NotYetError(f"{found} of {wanted} records")


def committed(region: Region, group: str, topic: str) -> dict[int, int]:
    """Offsets that a group has committed for a topic, by partition."""
    admin = AdminClient(region.client_config(ADMIN))
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=_CALL_SECONDS)
    places = answer[group].result().topic_partitions or []
    return {each.partition: each.offset for each in places if each.topic == topic and each.offset >= 0}
