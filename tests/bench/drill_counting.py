"""What groups of a drill skip and read again, counted by consumers: every record has a unique mark."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from confluent_kafka import Consumer, KafkaError, TopicPartition

from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.traffic import end_offsets
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_shapes import PARTITIONS, Shape
from tests.local.moving import stand_at
from tests.local.observed import Headers, committed, trace

#: The share of its partitions that each group has consumed.
SHARES = {"0": 0.0, "50": 0.5, "93": 0.93, "100": 1.0}
#: MirrorMaker syncs offsets once a second in the drills: after so long without a change, it is done.
QUIET_SECONDS = 4.0
#: The longest time until it first commits an offset for a group.
PATIENCE_SECONDS = 30.0
_DEADLINE_SECONDS = 180.0

#: Offsets by topic and partition.
Offsets: TypeAlias = Mapping[tuple[str, int], int]
#: The records of each partition in order: their offsets and marks.
Log: TypeAlias = dict[tuple[str, int], list[tuple[int, bytes]]]


@dataclass(frozen=True)
class Count:
    """The number of records that a group never got, that it had consumed before, and that it got repeatedly."""

    skipped: int = 0
    again: int = 0
    twice: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.skipped + other.skipped, self.again + other.again, self.twice + other.twice)


def count(consumed: Counter[bytes], every: Counter[bytes], read: Counter[bytes]) -> Count:
    """The count of a group that had consumed some of `every` record that exists, and has now read these."""
    left = every - consumed
    again = sum(number for each, number in read.items() if each in consumed)
    twice = sum(number - 1 for each, number in read.items() if each in left)
    return Count((left - read).total(), again, twice)


def stand(region: Region, shape: Shape, mode: str, run: int) -> dict[str, Offsets]:
    """Commit offsets for new groups at their shares of the source's partitions; returns the offsets.

    `run` is part of their names, so no group consumed on the target in an earlier run.
    """
    ends = {topic: ends_of(region, topic) for topic in shape.topics}
    found: dict[str, Offsets] = {}
    for name, share in SHARES.items():
        group = f"{shape.prefix}{mode}-{run}-{name}"
        for topic, each in ends.items():
            stand_at(region, group, topic, {number: int(end * share) for number, end in each.items()})
        found[group] = {
            (topic, number): int(end * share) for topic, each in ends.items() for number, end in each.items()
        }
    return found


def read_log(region: Region, topics: Iterable[str]) -> Log:
    """Every committed record of topics, with its offset."""
    places = list(end_offsets(region, topics))
    found: Log = {place: [] for place in places}
    unread = set(places)
    config = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({**region.client_config(ADMIN), **config})

    def read() -> None:
        for message in consumer.consume(1000, timeout=0.2):
            place = (message.topic() or "", message.partition() or 0)
            if (error := message.error()) is None:
                found[place].append((message.offset() or 0, trace(cast(Headers, message.headers() or []))))
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(place)
        if unread:
            raise NotYetError(f"the ends of {sorted(unread)} are not reached")

    try:
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in places])
        wait_for("the end of the topics", read, _DEADLINE_SECONDS, interval_seconds=0.01)
    finally:
        consumer.close()
    return found


def everything(log: Log) -> Counter[bytes]:
    return Counter(mark for each in log.values() for _, mark in each)


def since(log: Log, offsets: Offsets) -> Counter[bytes]:
    """What a consumer reads that starts at these offsets, and at the first record where there is no offset."""
    return Counter(mark for place, each in log.items() for offset, mark in each if offset >= offsets.get(place, 0))


def before(log: Log, offsets: Offsets) -> Counter[bytes]:
    """The records before these offsets."""
    return Counter(mark for place, each in log.items() for offset, mark in each if offset < offsets.get(place, 0))


def positions(target: Region, shape: Shape, group: str) -> dict[tuple[str, int], int]:
    """The offsets of a group in the remote topics."""
    remote = [shape.remote(topic) for topic in shape.topics]
    return {(topic, each): offset for topic in remote for each, offset in committed(target, group, topic).items()}


def without_offset(shape: Shape, known: Offsets) -> int:
    """The number of partitions in which a group has no offset on the target."""
    places = [(shape.remote(topic), number) for topic in shape.topics for number in range(PARTITIONS)]
    return sum(place not in known for place in places)


def synced(target: Region, shape: Shape, groups: Mapping[str, Offsets]) -> dict[str, Offsets]:
    """The offsets that MirrorMaker itself has committed on the target, once it commits no others.

    If it leaves out partitions, the wait ends after a while. In a pair it commits none.
    """
    names, began = list(groups), time.monotonic()
    seen: tuple[dict[str, Offsets], float] = ({}, time.monotonic())

    def expect_quiet() -> dict[str, Offsets]:
        nonlocal seen
        now: dict[str, Offsets] = {name: positions(target, shape, name) for name in names}
        if now != seen[0]:
            seen = now, time.monotonic()
        missing = not shape.back and any(without_offset(shape, now[name]) for name in names)
        patience = PATIENCE_SECONDS if missing else QUIET_SECONDS
        if time.monotonic() - max(seen[1], began) < patience:
            raise NotYetError("offsets are still synced")
        return now

    return wait_for("MirrorMaker to sync offsets", expect_quiet, _DEADLINE_SECONDS, 0.5)


def ends_of(region: Region, topic: str) -> dict[int, int]:
    """The end of each partition of a topic."""
    return {partition: end for (_, partition), end in end_offsets(region, [topic]).items()}
