"""One Kafka cluster, asked by confluent-kafka. Every question has a deadline and only reads.

Every method raises NoAnswerError. Its text is Kafka's own; it holds no credential.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_all
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka import ConsumerGroupTopicPartitions as GroupPartitions
from confluent_kafka import IsolationLevel as Isolation
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # not re-exported by its stubs

from components.clients.errors import NoAnswerError
from components.clients.login import ClientConfig
from components.clients.streams import HARMLESS, NO_ANSWER, STREAM_CONFIG, RecordStream
from components.kafka.positions import OffsetRange
from components.kafka.positions import TopicPartition as Partition

#: Client errors if the broker accepts the connection but refuses the login or the certificate.
_REFUSED_LOGIN = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})
#: With TLS 1.3 a broker refuses a certificate after the client's handshake: librdkafka then reports an error of the
#: transport.
_TLS_ALERT = "SSL alert number"
#: A broker's answers to a login without the necessary permission.
_REFUSED_RIGHT = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)

#: Seconds for one request, and for reading one of MirrorMaker's own topics.
REQUEST_SECONDS, READ_SECONDS = 5.0, 10.0
_POLL_SECONDS, _BATCH = 0.2, 10_000
_EARLIEST, _LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]  # they have no types

_URL_SAFE = str.maketrans("+/", "-_", "=")

T = TypeVar("T")


@dataclass(frozen=True)
class Read:
    """A record; `time_ms` is its timestamp in ms since 1970."""

    partition: Partition
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[str, ...]
    time_ms: int


class KafkaReader:
    """The cluster `alias`. Safe to share between threads: they ask for its topics once."""

    def __init__(self, alias: str, config: ClientConfig) -> None:
        self.alias = alias
        self._config = config
        self._last_error, self._refusal = "", ""
        self._lock = threading.Lock()
        self._topics: dict[str, int] | NoAnswerError | None = None
        try:
            self._admin = AdminClient(self._heard_config({"socket.timeout.ms": round(REQUEST_SECONDS * 1000)}))
        except KafkaException as error:
            raise self._unasked("the client's configuration is not accepted", error) from None

    def forget(self) -> None:
        """Forget which topics there were, and why the cluster did not answer."""
        with self._lock:
            self._topics, self._last_error, self._refusal = None, "", ""

    def topics(self) -> dict[str, int]:
        """Number of partitions of every topic that the user may describe. A cluster that is down is asked only once."""
        with self._lock:
            if self._topics is None:
                try:
                    listed = self._asked("topics", lambda: self._admin.list_topics(timeout=REQUEST_SECONDS)).topics
                    self._topics = {name: len(each.partitions) for name, each in listed.items()}
                except NoAnswerError as error:
                    self._topics = error
            if isinstance(self._topics, NoAnswerError):
                raise self._topics
            return self._topics

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Kafka's id of each of the topics that exist, as its own tools print it."""
        names = sorted(self.topics().keys() & set(topics))
        if not names:
            return {}
        asked = self._admin.describe_topics(TopicCollection(names), request_timeout=REQUEST_SECONDS)
        # This client writes base64 with `+` and `/`; Kafka's own write `-` and `_` instead.
        ids = {name: str(self._result(f"topic {name}", future).topic_id) for name, future in asked.items()}
        return {name: each.translate(_URL_SAFE) for name, each in ids.items()}

    def partitions(self, topics: Iterable[str]) -> list[Partition]:
        """Every partition of those topics that exist."""
        counts = self.topics()
        return [Partition(topic, number) for topic in sorted(topics) for number in range(counts.get(topic, 0))]

    def logs(self, partitions: Iterable[Partition], *, committed: bool = False) -> dict[Partition, OffsetRange]:
        """Log start and high watermark of each partition; with `committed`, the last stable offset as its end."""
        wanted = list(partitions)
        starts = self._offsets(wanted, _EARLIEST, committed=committed)
        ends = self._offsets(wanted, _LATEST, committed=committed)
        return {each: OffsetRange(starts[each], ends[each]) for each in wanted}

    def offset_at(self, partition: Partition, time_ms: int) -> int | None:
        """The first offset of a record with this timestamp (ms since 1970) or a later one; None if there is none."""
        at = OffsetSpec.for_timestamp(time_ms)
        found = self._offsets([partition], at, committed=False)[partition]
        return found if found >= 0 else None

    @contextmanager
    def stream(self, *, committed: bool) -> Iterator[RecordStream]:
        """Reads ranges of partitions one after the other, without holding their records."""
        isolation = "read_committed" if committed else "read_uncommitted"
        own: ClientConfig = {**STREAM_CONFIG, "isolation.level": isolation}
        with closing(Consumer(self._heard_config(own))) as consumer:
            # A consumer that knows all topics starts on the next one at once; otherwise it waits a second.
            self._asked("topics", lambda: consumer.list_topics(timeout=REQUEST_SECONDS))
            yield RecordStream(consumer, self._unasked)

    def groups(self) -> list[str]:
        """Every consumer group that the user may describe."""
        self.topics()
        doing = "consumer groups"
        found = self._result(doing, self._admin.list_consumer_groups(request_timeout=REQUEST_SECONDS))
        if found.errors:
            raise self._unasked(f"{doing} could not be asked", found.errors[0])
        return sorted(each.group_id for each in found.valid)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Committed offsets by group; empty for a group that does not exist."""
        self.topics()
        futures: dict[str, Future[Any]] = {}
        for group in groups:
            asked = self._admin.list_consumer_group_offsets([GroupPartitions(group)], request_timeout=REQUEST_SECONDS)
            futures |= asked
        wait_for_all(futures.values(), REQUEST_SECONDS)
        return {group: self._commits(group, future) for group, future in futures.items()}

    def members(self, groups: Iterable[str]) -> dict[str, int]:
        """Number of members by group; 0 for a group that does not exist."""
        names = list(groups)
        found = dict.fromkeys(names, 0)
        # Whether a group that does not exist is an error depends on the version of Kafka.
        if existing := sorted({*names} & {*self.groups()}):
            asked = self._admin.describe_consumer_groups(existing, request_timeout=REQUEST_SECONDS)
            for group, future in asked.items():
                found[group] = len(self._result(f"members of {group}", future).members)
        return found

    def _commits(self, group: str, future: "Future[Any]") -> dict[Partition, int]:
        found = self._result(f"committed offsets of {group}", future).topic_partitions
        for each in found:
            if each.error is not None:
                raise self._unasked(f"committed offsets of {group} could not be asked", each.error)
        return {Partition(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def records(self, topic: str, *, newest: int | None = None) -> list[Read]:
        """All committed records of one of MirrorMaker's own topics, or the newest of each partition.

        The records of a partition are in order. A topic that does not exist has none.
        """
        logs = self.logs(self.partitions([topic]), committed=True)
        ranges = {
            each: OffsetRange(log.start if newest is None else max(log.start, log.end - newest), log.end)
            for each, log in logs.items()
        }
        return self.read(f"records of {topic}", ranges)

    def read(self, what: str, ranges: Mapping[Partition, OffsetRange]) -> list[Read]:
        """Every committed record of the ranges; `what` names them in an error."""
        found: list[Read] = []

        def take(read: Read) -> bool:
            found.append(read)
            return False

        self._read(what, ranges, take)
        return found

    def first_records(
        self, ranges: Mapping[Partition, OffsetRange], counts: Callable[[Read], bool], *, committed: bool
    ) -> dict[Partition, Read]:
        """The first record of each range for which `counts` is true; partitions without such a record are missing."""
        found: dict[Partition, Read] = {}

        def take(read: Read) -> bool:
            if counts(read):
                found.setdefault(read.partition, read)
            return read.partition in found

        self._read("the records to replicate", ranges, take, committed=committed)
        return found

    def _read(
        self,
        what: str,
        ranges: Mapping[Partition, OffsetRange],
        take: Callable[[Read], bool],
        *,
        committed: bool = True,
    ) -> None:
        """Pass the records of each partition to `take`, until it returns True or the range ends."""
        left = {each: offsets for each, offsets in ranges.items() if offsets.size}
        if not left:
            return
        isolation = "read_committed" if committed else "read_uncommitted"
        own: ClientConfig = {"group.id": "replicate-status", "enable.auto.commit": False, "enable.partition.eof": True}
        consumer = Consumer(self._heard_config({**own, "isolation.level": isolation}))
        ends = time.monotonic() + READ_SECONDS
        with closing(consumer):
            consumer.assign([TopicPartition(each.topic, each.partition, log.start) for each, log in left.items()])
            while left:
                if time.monotonic() >= ends:
                    raise self._unasked(f"{what} could not be read within {READ_SECONDS:g} s", None)
                for message in consumer.consume(_BATCH, _POLL_SECONDS):
                    self._take(what, message, left, take)

    def _take(
        self, what: str, message: Message, left: dict[Partition, OffsetRange], take: Callable[[Read], bool]
    ) -> None:
        error, place = message.error(), Partition(message.topic() or "", message.partition() or 0)
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                left.pop(place, None)
            elif error.code() not in HARMLESS | NO_ANSWER:
                raise self._unasked(f"{what} could not be read", error)
            return
        if place not in left:
            return
        offset = message.offset() or 0
        if offset >= left[place].end or take(_as_read(message, place)) or offset + 1 >= left[place].end:
            left.pop(place, None)

    def _offsets(self, partitions: list[Partition], spec: OffsetSpec, *, committed: bool) -> dict[Partition, int]:
        if not partitions:
            return {}
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
        wanted = {TopicPartition(each.topic, each.partition): spec for each in partitions}
        asked = self._admin.list_offsets(wanted, isolation_level=isolation, request_timeout=REQUEST_SECONDS)
        futures = {Partition(each.topic, each.partition): future for each, future in asked.items()}
        return {each: self._result(f"offsets of {each}", future).offset for each, future in futures.items()}

    def _result(self, what: str, future: "Future[Any]") -> Any:
        return self._asked(what, lambda: future.result(REQUEST_SECONDS + 1))

    def _asked(self, what: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except KafkaException as error:
            raise self._unasked(f"{what} could not be asked", error.args[0]) from None
        except TimeoutError:
            raise self._unasked(f"{what} could not be asked", None) from None

    def _unasked(self, what: str, error: Any) -> NoAnswerError:
        """The refusal in Kafka's words. A cluster that cannot be reached gives the same reason for every question."""
        told = error.str() if isinstance(error, KafkaError) else str(error or "no answer in time")
        if isinstance(error, KafkaError) and error.code() in NO_ANSWER:
            # Only then does the client report why it cannot reach a broker or is refused.
            self._admin.poll(0)
            if self._refusal:
                return NoAnswerError(f"Kafka cluster {self.alias} refuses the login: {self._refusal}", refused=True)
            why = self._last_error or f"no broker answered within {REQUEST_SECONDS:g} s"
            return NoAnswerError(f"Kafka cluster {self.alias} does not answer: {why}")
        refused = isinstance(error, KafkaError) and error.code() in _REFUSED_RIGHT
        return NoAnswerError(f"Kafka cluster {self.alias}: {what}: {told}", refused=refused)

    def _heard_config(self, own: ClientConfig) -> dict[str, Any]:
        return {**self._config, **own, "error_cb": self._heard}

    def _heard(self, error: KafkaError) -> None:
        if error.code() in _REFUSED_LOGIN or _TLS_ALERT in error.str():
            # A broker that refuses is more informative than one that is down.
            self._refusal = _short(error.str())
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._last_error = _short(error.str())


def _short(text: str) -> str:
    """librdkafka's sentence without the broker's connection and the age of the state, which differ each time."""
    return text.partition(": ")[2].partition(" (after ")[0] or text


def _as_read(message: Message, place: Partition) -> Read:
    headers = tuple(str(each[0]) for each in message.headers() or ())
    key, value = message.key(), message.value()
    return Read(place, message.offset() or 0, _bytes(key), _bytes(value), headers, message.timestamp()[1])


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
