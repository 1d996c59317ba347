"""What a change did to a running flow: Connect's own logs, the records of topics, offsets of groups."""

import re
from dataclasses import dataclass
from typing import cast

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from infra.local import operator_part, processes
from infra.local.endpoints import Region
from infra.local.operator.connect_rest import ConnectRest, RestError, RunningConnector
from infra.local.traffic import end_offsets
from infra.local.users import ADMIN
from infra.local.waiting import NotYetError, wait_for

_CALL_SECONDS = 20.0
_CREATED = re.compile(r" INFO Creating connector (\S+) of type ")
_TASK_CREATED = re.compile(r" INFO Creating task (\S+) ")

#: Records of a topic in order, each by a header that no other has, by partition.
Contents = dict[int, list[bytes]]


@dataclass(frozen=True)
class Happened:
    """What Connect did: connectors and tasks that a worker made anew, workers that ended, and how many began."""

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
        """Raise NotYetError until Connect made these connectors and every task of them anew.

        A task copies records by the old configuration until then, though its connector has the new one.
        """
        happened, running = self.happened(), self.running()
        # As the logs name them.
        tasks = {f"{name}-{task['id']}" for name in connectors & set(running) for task in running[name].tasks}
        missing = (connectors - happened.connectors) or (tasks - happened.tasks)
        if missing:
            raise NotYetError(f"{sorted(missing)} go on as they were")

    def running(self) -> dict[str, RunningConnector]:
        """Connectors by name as Connect shows them now; raises NotYetError while a worker does not answer."""
        found: dict[str, RunningConnector] = {}
        for port in {each.port for each in self._alive()}:
            rest = ConnectRest(port)
            try:
                found |= rest.connectors()
            except RestError as error:
                raise NotYetError(str(error)) from error
            finally:
                rest.close()
        return found

    def _alive(self) -> list[operator_part.WorkerRecord]:
        started = tuple(f"{flow}-" for flow in self._flows)
        return [
            each
            for each in operator_part.workers()
            if processes.alive(each) and each.name.split("/")[1].startswith(started)
        ]


def _log(worker: operator_part.WorkerRecord) -> str:
    return worker.log.read_text(errors="replace") if worker.log and worker.log.exists() else ""


def contents(region: Region, topic: str) -> Contents:
    """Every record of a topic, by its header `trace`; none of a topic that is not there."""
    try:
        ends = end_offsets(region, [topic])
    except KeyError:
        return {}
    found: Contents = {partition: [] for _, partition in ends}
    consumer = Consumer({**region.client_config(ADMIN), "group.id": "unused", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in found])

        def read() -> None:
            for message in consumer.consume(1000, timeout=0.2):
                if message.error() is None:
                    found[message.partition() or 0].append(_trace(message))
            places = consumer.position([TopicPartition(topic, partition) for partition in found])
            if any(ends[topic, each.partition] > max(each.offset, 0) for each in places):
                raise NotYetError(f"{topic} is read up to {places} of {ends}")

        wait_for(f"the end of {topic}", read, _CALL_SECONDS, interval_seconds=0.01)
    finally:
        consumer.close()
    return found


def _trace(message: Message) -> bytes:
    headers = cast(list[tuple[str, bytes]], message.headers() or [])
    return next(value for name, value in headers if name == "trace")


def committed(region: Region, group: str, topic: str) -> dict[int, int]:
    """Offsets that a group has committed for a topic, by partition."""
    admin = AdminClient(region.client_config(ADMIN))
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=_CALL_SECONDS)
    places = answer[group].result().topic_partitions or []
    return {each.partition: each.offset for each in places if each.topic == topic and each.offset >= 0}
