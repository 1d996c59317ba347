"""Consumer groups that move, and what they read: each record has a unique header `trace`."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.local.flows import ARRIVAL_SECONDS, Deployed
from tests.local.observed import committed, contents, trace
from tests.repository import ROOT

_CALL_SECONDS = 60.0


def failover_command(deployed: Deployed, flow: str, *options: str) -> list[str]:
    """The command as a user calls it."""
    code = "from kafka_replication.infra.commands.app import main; main()"
    named = ["failover", deployed.settings.stack, flow, *options, "--stacks", str(deployed.settings.stacks)]
    return [sys.executable, "-c", code, *named]


def fail_over(deployed: Deployed, flow: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run the command in a pipe, and show what it printed."""
    answer = subprocess.run(
        failover_command(deployed, flow, *options),
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=ARRIVAL_SECONDS,
        check=False,
    )
    print(f"$ replicate failover {deployed.settings.stack} {flow} {' '.join(options)}\n{answer.stdout}{answer.stderr}")
    return answer


def stand_at(region: Region, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit exactly these offsets, by partition, for a group that is not running."""
    places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    admin = AdminClient(region.client_config(ADMIN))
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(_CALL_SECONDS)


def forget(region: Region, groups: Iterable[str]) -> None:
    """Delete groups that are not running; the client must live until it has its answers."""
    names = list(groups)
    admin = AdminClient(region.client_config(ADMIN))
    for future in admin.delete_consumer_groups(names).values():
        future.result(_CALL_SECONDS)


def read_on(region: Region, group: str, topic: str, ends: Mapping[int, int]) -> Counter[bytes]:
    """What a consumer of the group reads from its offsets to the ends; a partition without an offset is an error."""
    starts = committed(region, group, topic)
    assert set(starts) == set(ends), f"{group} has no position in {sorted(set(ends) - set(starts))} of {topic}"
    # A transaction ends with a marker, which is no record: only the end of the partition is reported there.
    config = {
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
    }
    consumer = Consumer({**region.client_config(ADMIN), **config})
    found: Counter[bytes] = Counter()
    reached = dict(starts)

    def read() -> None:
        for message in consumer.consume(1000, timeout=0.5):
            error, partition, offset = message.error(), message.partition() or 0, message.offset() or 0
            if error is None:
                found[trace(message.headers() or [])] += 1  # type: ignore[arg-type]
                reached[partition] = offset + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                reached[partition] = offset
        if behind := {each: end for each, end in ends.items() if reached[each] < end}:
            raise NotYetError(f"{group} is at {reached}, before {behind}")

    try:
        consumer.subscribe([topic])
        wait_for(f"{group} to read {topic}", read, _CALL_SECONDS, interval_seconds=0.01)
    finally:
        consumer.close()
    return found


def skipped_and_again(source: Region, offsets: Mapping[int, int], topic: str, read: Counter[bytes]) -> tuple[int, int]:
    """How many records a group with `offsets` on the source skipped, and how many it read again."""
    every = contents(source, topic)
    rest = contents(source, topic, {(topic, partition): offset for partition, offset in offsets.items()})
    left = Counter(each for partition in rest.values() for each in partition)
    consumed = Counter(each for partition in every.values() for each in partition) - left
    return sum((left - read).values()), sum(count for each, count in read.items() if each in consumed)
