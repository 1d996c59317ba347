"""Reads one Kafka cluster: its topics, offsets, groups, ACLs and records. Every question has a deadline."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicCollection
from confluent_kafka import IsolationLevel as Isolation
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not re-exported by its stubs
    ConfigResource,
    ConfigSource,
    OffsetSpec,
)

from kafka_replication.components.clients.acls import AclAdmin
from kafka_replication.components.clients.admin import REQUEST_SECONDS
from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.groups import GroupAdmin
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.streams import (
    RANGES_CONFIG,
    STREAM_CONFIG,
    HeaderNameError,
    RangeReader,
    RecordStream,
    SilentError,
)
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.components.kafka.topic_sync import TopicSetting

#: Seconds for reading a topic of MirrorMaker's or of a keeper. A larger one gets more time, by its number of records: a
#: keeper's topic has one for each group and partition.
READ_SECONDS, SLOWEST_PER_SECOND = 10.0, 10_000
_EARLIEST, _LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]  # they have no types
_URL_SAFE = str.maketrans("+/", "-_", "=")


def reading_seconds(records: int) -> float:
    """Return how many seconds it may take to read so many records."""
    return max(READ_SECONDS, records / SLOWEST_PER_SECOND)


class TopicDescription(NamedTuple):
    """`id` is unique: a topic that is deleted and created again has another one."""

    partitions: int
    id: str


class KafkaReader(GroupAdmin, AclAdmin):
    """Reads the cluster `alias`; see ClusterAdmin for its arguments. Safe to share between threads. Every method raises
    ClusterError.
    """

    def __init__(self, alias: str, config: ClientConfig, seconds: float = REQUEST_SECONDS) -> None:
        super().__init__(alias, config, seconds)
        self._idle: dict[bool, list[RangeReader]] = {True: [], False: []}

    def close(self) -> None:
        """Close the connections. The reader cannot be used afterwards."""
        for readers in self._idle.values():
            while readers:
                readers.pop().close()
        del self._admin

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        """Return each topic's description. Leaves out topics that do not exist; raises for a topic that is
        forbidden.
        """
        names = sorted(set(topics))
        if not names:
            return {}
        asked = self._admin.describe_topics(TopicCollection(names), request_timeout=self._seconds)
        described = {}
        for name, future in asked.items():
            try:
                topic = self._result(f"topic {name}", future)
            except ClusterError as error:
                if error.code != "topic-gone":
                    raise
                continue
            # This client writes base64 with `+` and `/`; Kafka's own write `-` and `_` instead.
            described[name] = TopicDescription(len(topic.partitions), str(topic.topic_id).translate(_URL_SAFE))
        return described

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return Kafka's id of each of these topics that exists, as Kafka's own tools print it."""
        return {name: topic.id for name, topic in self.describe(topics).items()}

    def settings(self, topics: Collection[str]) -> dict[str, dict[str, TopicSetting]]:
        """Return the settable properties of each topic, by name."""
        return {
            topic: {
                entry.name: TopicSetting(entry.value, ConfigSource(entry.source).name)
                for entry in entries.values()
                if not (entry.is_read_only or entry.is_sensitive)
            }
            for topic, entries in self._configs(ConfigResource.Type.TOPIC, sorted(topics)).items()
        }

    def cleanup_policies(self, topics: Collection[str]) -> dict[str, str]:
        """Return `cleanup.policy` by topic."""
        configs = self._configs(ConfigResource.Type.TOPIC, sorted(topics))
        return {topic: str(entries["cleanup.policy"].value) for topic, entries in configs.items()}

    def brokers_set(self, name: str) -> bool:
        """Return whether the brokers' configuration sets the property. False also if the user may not see the
        configuration.

        Kafka hides the values of properties that it does not define itself, such as those of an authorizer.
        """
        try:
            cluster = self._result("brokers", self._admin.describe_cluster(request_timeout=self._seconds))
            broker = cluster.nodes[0].id_string
            return name in self._configs(ConfigResource.Type.BROKER, [broker])[broker]
        except ClusterError as error:
            if error.code != "not-authorized":
                raise
            return False

    def logs(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, OffsetRange]:
        """Return each partition's log, up to the high watermark or, with `committed`, up to the last stable offset."""
        wanted = list(partitions)
        starts, ends = (
            self._offsets(dict.fromkeys(wanted, _EARLIEST), committed=committed),
            self.ends(wanted, committed=committed),
        )
        return {
            partition: OffsetRange(starts[partition], max(starts[partition], ends[partition])) for partition in wanted
        }

    def ends(self, partitions: Iterable[TopicPartition], *, committed: bool = False) -> dict[TopicPartition, int]:
        """Return the high watermark by partition; with `committed`, the last stable offset, which is lower while a
        transaction is open.
        """
        return self._offsets(dict.fromkeys(partitions, _LATEST), committed=committed)

    def offset_at(self, partition: TopicPartition, time_ms: int) -> int | None:
        """Return the first offset of a record with this timestamp (ms since 1970) or a later one; None if there is
        none.
        """
        offset = self.offsets_at({partition: time_ms})[partition]
        return offset if offset >= 0 else None

    def offsets_at(
        self, times_ms: Mapping[TopicPartition, int], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        """Return the first offset with this time (ms since 1970) or a later one, by partition; -1 if there is none."""
        # Kafka takes the time -1, that of a record without a timestamp, for the log's end.
        wanted = {
            partition: OffsetSpec.for_timestamp(time_ms) if time_ms >= 0 else _EARLIEST
            for partition, time_ms in times_ms.items()
        }
        return self._offsets(wanted, committed=committed)

    @contextmanager
    def stream(self, *, committed: bool) -> Iterator[RecordStream]:
        """Provide a stream that reads ranges of partitions one after the other, without holding their records."""
        with closing(self._consumer(STREAM_CONFIG, committed)) as consumer:
            yield RecordStream(consumer, self._errors)

    def records(self, topic: str, *, newest: int | None = None) -> list[KafkaRecord]:
        """Return all committed records of a small topic, such as MirrorMaker's own, or the `newest` of each partition.

        The records of a partition are in order. A topic that does not exist has none.
        """
        logs = self.logs(self.partitions([topic]), committed=True)
        ranges = {
            partition: OffsetRange(log.start if newest is None else max(log.start, log.end - newest), log.end)
            for partition, log in logs.items()
        }
        within = reading_seconds(sum(offsets.size for offsets in ranges.values()))
        return list(self.read(f"records of {topic}", ranges.items(), within_seconds=within))

    def first_records(
        self, ranges: Mapping[TopicPartition, OffsetRange], counts: Callable[[KafkaRecord], bool], *, committed: bool
    ) -> dict[TopicPartition, KafkaRecord]:
        """Return the first record of each range for which `counts` is true; partitions without such a record are
        missing.
        """
        records = self.read(
            "the records to replicate", ranges.items(), committed=committed, is_last=counts, within_seconds=READ_SECONDS
        )
        return {record.partition: record for record in records if counts(record)}

    def read(
        self,
        what: str,
        ranges: Iterable[tuple[TopicPartition, OffsetRange]],
        *,
        committed: bool = True,
        is_last: Callable[[KafkaRecord], bool] = lambda _: False,
        within_seconds: float = math.inf,
    ) -> Iterator[KafkaRecord]:
        """Yield the records of ranges that are small in total, as `RangeReader.records` reads them; `what` names them
        in an error.
        """
        wanted = [(partition, offsets) for partition, offsets in ranges if offsets.size]
        if not wanted:
            return
        with self._range_reader(committed) as reader:
            try:
                yield from reader.records(wanted, is_last, within_seconds)
            except KafkaException as error:
                raise self._errors.error(f"{what} could not be read", error.args[0]) from None
            except TimeoutError:
                raise self._errors.error(f"{what} could not be read within {within_seconds:g} s", None) from None
            except HeaderNameError as error:
                raise self._errors.unreadable_header(str(error)) from None
            except SilentError as error:
                topics = {partition.topic for partition, _ in wanted}
                if missing := topics - self.describe(topics).keys():
                    raise self._errors.gone(missing) from None
                raise self._errors.silent(str(error), what, self._seconds) from None

    @contextmanager
    def _range_reader(self, committed: bool) -> Iterator[RangeReader]:
        """Provide a reader that nobody else uses meanwhile. A later read uses it again, unless this one fails."""
        idle = self._idle[committed]
        try:
            reader = idle.pop()
        except IndexError:
            reader = RangeReader(self._consumer(RANGES_CONFIG, committed), self._seconds)
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        idle.append(reader)

    def _consumer(self, own: ClientConfig, committed: bool) -> Consumer:
        isolation = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(self._heard_config({**own, "isolation.level": isolation}))
        # A consumer that knows all topics starts on the next one at once; otherwise it waits a second.
        self._asked("topics", lambda: consumer.list_topics(timeout=self._seconds))
        return consumer

    def _offsets(self, wanted: Mapping[TopicPartition, OffsetSpec], *, committed: bool) -> dict[TopicPartition, int]:
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED

        def ask(partitions: Collection[TopicPartition]) -> "Iterator[tuple[TopicPartition, Future[Any]]]":
            request = {Place(*partition): wanted[partition] for partition in partitions}
            asked = self._admin.list_offsets(request, isolation_level=isolation, request_timeout=self._seconds)
            yield from ((TopicPartition(place.topic, place.partition), future) for place, future in asked.items())

        return self._repeated(
            wanted, ask, lambda partition: f"offsets of {partition}", lambda _, answer: int(answer.offset)
        )
