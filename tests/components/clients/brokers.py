"""Brokers that librdkafka runs in this process: they speak Kafka's protocol and keep 5 MB of each partition."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.writer import GroupWriter
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.positions import CommittedOffset, TopicPartition
from kafka_replication.components.kafka.topic_sync import TopicSetting

#: The number of a record, and the name of its mark header; without a mark, the name is empty.
NumberedRecord = tuple[int, str]


class Cluster:
    """A broker in this process."""

    def __init__(self) -> None:
        self.producer = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 2})
        (broker,) = self.producer.list_topics(timeout=10).brokers.values()
        self.config: ClientConfig = {"bootstrap.servers": f"{broker.host}:{broker.port}", "log_level": 2}

    def hold(self, topic: str, records: Sequence[NumberedRecord]) -> None:
        """Write records to partition 0, each with its own timestamp."""
        for number, mark in records:
            headers: list[tuple[str, str | bytes | None]] = [
                ("trace", b"%d" % number),
                *([(mark, None)] if mark else []),
            ]
            self.producer.produce(topic, b"value", b"key", 0, headers=headers, timestamp=1_000 + number)
        assert self.producer.flush(10) == 0

    def commit(self, group: str, offsets: Mapping[TopicPartition, int], metadata: str = "") -> None:
        """Commit for a group without members."""
        GroupWriter("mock", self.config).commit(
            group, {partition: CommittedOffset(offset, metadata) for partition, offset in offsets.items()}
        )


class Reader(KafkaReader):
    """Answers what these brokers cannot: offsets by time, the list of groups, and their members."""

    def __init__(self, alias: str, config: ClientConfig, groups: Mapping[str, int] | None = None) -> None:
        """`groups` maps each group to its number of members."""
        super().__init__(alias, config)
        self._of_brokers, self._groups = config, dict(groups or {})

    def offset_at(self, partition: TopicPartition, time_ms: int) -> int | None:
        with self.stream(committed=False) as stream:
            for record in stream.records(partition, self.logs([partition])[partition]):
                if record.time_ms >= time_ms:
                    return record.offset
        return None

    def groups(self) -> list[str]:
        return sorted(self._groups)

    def members(self, groups: Iterable[str]) -> dict[str, int]:
        return {each: self._groups.get(each, 0) for each in groups}

    def other_groups(self) -> list[str]:
        return []

    def every_acl(self) -> list[AclEntry]:
        what = "no authorizer is configured"
        raise ClusterError("authorizer-off", what, self.alias, "There are no ACLs.", "configure one.")

    def scram_mechanisms(self) -> dict[str, frozenset[str]]:
        return {}

    def brokers_set(self, name: str) -> bool:  # noqa: ARG002
        return False

    def settings(self, topics: Collection[str]) -> dict[str, dict[str, TopicSetting]]:
        kept = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}
        return {
            topic: {name: TopicSetting(value, "DEFAULT_CONFIG") for name, value in kept.items()} for topic in topics
        }

    def commits(
        self, groups: Iterable[str], among: Sequence[TopicPartition] = ()
    ) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        partitions = among or self.partitions(self.topics())
        found = {}
        for group in groups:
            with closing(Consumer({**self._of_brokers, "group.id": group})) as consumer:
                answered = consumer.committed([Place(*each) for each in partitions], timeout=10)
            found[group] = {
                TopicPartition(each.topic, each.partition): CommittedOffset(each.offset, each.metadata or "")
                for each in answered
                if each.offset >= 0
            }
        return found
