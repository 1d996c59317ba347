"""What one look of `replicate exporter` costs this machine, for a flow of 2,000 partitions and 500 groups.

librdkafka runs the brokers within this process, so the bench counts the work of the exporter and of the brokers, but no
network. These brokers keep no groups, so the groups' committed offsets are given. `make bench` runs it.
"""

import json
import resource
import struct
import sys
import time
from collections.abc import Iterable, Iterator

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.flows.naming import storage_topic_name
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.status.exporter import Newest
from kafka_replication.infra.operate.status.facts import FlowFacts
from kafka_replication.infra.operate.status.flow_status import flow_status
from kafka_replication.infra.operate.status.kafka_facts import (
    KafkaLook,
    heartbeat_ms,
    read_source,
    read_syncs,
    read_target,
)
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster
from tests.infra.operate.status.exported import a_document, scraped

#: Brokers within a process create topics with four partitions.
_PARTITIONS_EACH = 4
_RECORDS, _BEHIND = 5, 2
_WORST = 20
_LOOKS = 3


class Known(KafkaReader):
    """A cluster whose groups are given: each has read every replicated record of one topic."""

    def __init__(self, alias: str, cluster: Cluster, groups: int, topics: list[str]) -> None:
        super().__init__(alias, cluster.config)
        self._of_groups = {
            f"checkout-{number}": {
                TopicPartition(topics[number % len(topics)], each): _RECORDS - _BEHIND
                for each in range(_PARTITIONS_EACH)
            }
            for number in range(groups)
        }

    def groups(self) -> list[str]:
        return sorted(self._of_groups)

    def other_groups(self) -> list[str]:
        return []

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        return {each: self._of_groups[each] for each in groups}


def main() -> int:
    print("partitions  groups  a look s  processor s  MiB  series")
    for topics, groups in ((2, 3), (500, 500)):
        source, target = Cluster(), Cluster()
        flow = a_resolved_flow(topics=["orders-.*"], groups=["checkout-.*"])
        names = [f"orders-{number}" for number in range(topics)]
        _fill(flow, source, target, names, groups)
        for _ in range(_LOOKS):
            sides = Known("useast", source, groups, names), Known("uswest", target, groups, _remote(names))
            began, worked = time.perf_counter(), _worked()
            newest = Newest(_WORST, every_seconds=60)
            status = flow_status(flow_parameters(flow), _facts(flow, *sides), listed=None)
            newest.take(a_document(status), {"prod": {}})
            text = scraped(newest)
            took, worked = time.perf_counter() - began, _worked() - worked
        assert status.lag is not None
        assert status.lag.behind == topics * _PARTITIONS_EACH
        assert status.read_again is not None
        assert status.read_again.groups == groups
        series = sum(not line.startswith("#") for line in text.splitlines())
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{topics * _PARTITIONS_EACH:10d} {groups:7d} {took:9.2f} {worked:12.2f} {used:4d} {series:7d}")
    return 0


def _worked() -> float:
    """Seconds of processor time of this process, including its brokers."""
    return time.process_time()


def _remote(names: list[str]) -> list[str]:
    return [f"useast.{each}" for each in names]


def _facts(flow: ResolvedFlow, source: KafkaReader, target: KafkaReader) -> FlowFacts:
    """What a look asks of Kafka, in its order."""
    parameters: FlowParameters = flow_parameters(flow)
    beat = heartbeat_ms(parameters, target)
    on_target = read_target(flow, parameters, target)
    syncs = read_syncs(parameters, source)
    on_source = read_source(parameters, source)
    seen = KafkaLook(parameters, on_source, on_target, syncs)
    return FlowFacts(time.time_ns() // 1_000_000, (), beat, seen.lag(source), seen.groups(), None)


def _fill(flow: ResolvedFlow, source: Cluster, target: Cluster, names: list[str], groups: int) -> None:
    """Fill each partition on the source, all but the last record on the target, and MirrorMaker's own topics."""
    parameters = flow_parameters(flow)
    for cluster, topics, count in ((source, names, _RECORDS), (target, _remote(names), _RECORDS - _BEHIND)):
        for topic in topics:
            for partition in range(_PARTITIONS_EACH):
                for _ in range(count):
                    cluster.producer.produce(topic, b"value", b"key", partition)
        assert cluster.producer.flush(60) == 0
    offsets = storage_topic_name(flow.workers, flow.settings, "offsets")
    for key, value in _offsets(names):
        target.producer.produce(offsets, value, key)
    for key, value in _checkpoints(names, groups):
        target.producer.produce(parameters.checkpoints.topic, value, key)
    beat = _text("useast") + _text("uswest"), struct.pack(">hq", 0, time.time_ns() // 1_000_000)
    target.producer.produce(parameters.heartbeats.target_topic, beat[1], beat[0])
    for topic in names:
        for partition in range(_PARTITIONS_EACH):
            key = _text(topic) + struct.pack(">i", partition)
            source.producer.produce(parameters.offset_syncs.topic, struct.pack(">qq", 0, 0), key)
    assert source.producer.flush(60) == target.producer.flush(60) == 0


def _offsets(names: list[str]) -> Iterator[tuple[bytes, bytes]]:
    """Offsets of a connector that has committed everything that is replicated."""
    for topic in names:
        for partition in range(_PARTITIONS_EACH):
            where = {"cluster": "useast", "topic": topic, "partition": partition}
            yield json.dumps(["orders-source", where]).encode(), b'{"offset": %d}' % (_RECORDS - _BEHIND - 1)


def _checkpoints(names: list[str], groups: int) -> Iterator[tuple[bytes, bytes]]:
    for number in range(groups):
        topic = f"useast.{names[number % len(names)]}"
        for partition in range(_PARTITIONS_EACH):
            key = _text(f"checkout-{number}") + _text(topic) + struct.pack(">i", partition)
            yield key, struct.pack(">hqq", 0, 3, 3) + _text("")


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


if __name__ == "__main__":
    sys.exit(main())
