"""One Kafka cluster: its topics, offsets, groups, ACLs and records. Every question has a deadline and only reads."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection
from confluent_kafka import ConsumerGroupState as State
from confluent_kafka import ConsumerGroupTopicPartitions as GroupPartitions
from confluent_kafka import IsolationLevel as Isolation
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not re-exported by its stubs
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ConfigSource,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramMechanism,
)

from kafka_replication.components.clients.errors import PASSING, ClusterError, ClusterErrors
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.streams import (
    RANGES_CONFIG,
    STREAM_CONFIG,
    HeaderNameError,
    KafkaRecord,
    RangeReader,
    RecordStream,
    SilentError,
)
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.positions import CommittedOffset, OffsetRange, TopicPartition
from kafka_replication.components.kafka.topic_sync import TopicSetting

#: Seconds for one request, and for reading one of MirrorMaker's own topics: longer for more than READ_SECONDS *
#: SLOWEST_PER_SECOND records. A keeper's topic has one for each group and partition.
REQUEST_SECONDS, READ_SECONDS, SLOWEST_PER_SECOND = 5.0, 10.0, 10_000
#: How long an answer about topics counts, and how long a cluster that did not answer is not asked for them again.
TOPICS_SECONDS, SILENCE_SECONDS = 2.0, 10.0
_AGAIN_SECONDS = 0.2
#: Groups whose coordinators are asked for at once, and requests for their offsets that await an answer at once: the
#: client decodes thousands of partitions slowly, and meanwhile the time of the others runs. Partitions that one request
#: names: with 2,000, half of the time is spent looking for each of them in a list.
_GROUPS_AT_ONCE, _IN_FLIGHT, _NAMED_AT_ONCE = 200, 20, 250
_EARLIEST, _LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]  # they have no types
_AUTHORIZER = "authorizer.class.name"
_ANY: Any = None  # The client's stubs do not know that this means every name.
#: States of a group without members. MirrorMaker writes a group's offsets only in these states.
_IDLE = frozenset({State.EMPTY, State.DEAD, State.UNKNOWN})
#: What the older request for groups calls a group of any newer type.
_DEAD = "Dead"
#: Source: org.apache.kafka.common.internals.Topic.
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_URL_SAFE = str.maketrans("+/", "-_", "=")

T = TypeVar("T")
K = TypeVar("K")


def reading_seconds(records: int) -> float:
    """Return how many seconds it may take to read so many records."""
    return max(READ_SECONDS, records / SLOWEST_PER_SECOND)


class TopicDescription(NamedTuple):
    """`id` is unique: a topic that is deleted and created again has another one."""

    partitions: int
    id: str


class KafkaReader:
    """The cluster `alias`. Safe to share between threads. Every method raises ClusterError.

    `seconds` is how long one request may take.
    """

    def __init__(self, alias: str, config: ClientConfig, seconds: float = REQUEST_SECONDS) -> None:
        self.alias = alias
        self._seconds, self._config = seconds, config
        self._errors = ClusterErrors(alias, str(config.get("bootstrap.servers", "")))
        self.where = self._errors.where
        self._lock = threading.Lock()
        self._topics: dict[str, int] | ClusterError = {}
        self._topics_until = 0.0
        self._idle: dict[bool, list[RangeReader]] = {True: [], False: []}
        try:
            self._admin = self._new_admin()
        except KafkaException as error:
            raise self._errors.error("the client's configuration is not accepted", error.args[0]) from None

    def close(self) -> None:
        """Close the connections; the reader is not used any more."""
        for readers in self._idle.values():
            while readers:
                readers.pop().close()
        del self._admin

    def forget(self) -> None:
        """Ask again for topics, even if the cluster did not answer before."""
        with self._lock:
            self._topics_until = 0.0
            self._errors.forget()

    def topics(self) -> dict[str, int]:
        """Number of partitions of every topic that the user may describe, except Kafka's internal ones.

        The answer may be TOPICS_SECONDS old. A cluster that is down is asked once in SILENCE_SECONDS.
        """
        with self._lock:
            if time.monotonic() >= self._topics_until:
                try:
                    listed = self._asked("topics", lambda: self._admin.list_topics(timeout=self._seconds)).topics
                    self._topics = {
                        name: len(topic.partitions) for name, topic in listed.items() if name not in _INTERNAL
                    }
                    self._topics_until = time.monotonic() + TOPICS_SECONDS
                except ClusterError as error:
                    self._topics = error
                    self._topics_until = time.monotonic() + SILENCE_SECONDS
            if isinstance(self._topics, ClusterError):
                raise self._topics
            return self._topics

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return every partition of those topics that exist."""
        counts = self.topics()
        return [TopicPartition(topic, number) for topic in sorted(topics) for number in range(counts.get(topic, 0))]

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
        """Kafka's id of each of the topics that exist, as its own tools print it."""
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
        """`cleanup.policy` by topic."""
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
        """Log start and high watermark of each partition; with `committed`, the last stable offset as its end."""
        wanted = list(partitions)
        starts, ends = (
            self._offsets(dict.fromkeys(wanted, _EARLIEST), committed=committed),
            self.ends(wanted, committed=committed),
        )
        return {
            partition: OffsetRange(starts[partition], max(starts[partition], ends[partition])) for partition in wanted
        }

    def ends(self, partitions: Iterable[TopicPartition], *, committed: bool = False) -> dict[TopicPartition, int]:
        """High watermark by partition; with `committed`, the last stable offset, which is lower while a transaction is
        open.
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
        """Offset of the first record at or after a time (ms since 1970) by partition; -1 if there is none."""
        # Kafka takes the time -1, that of a record without a timestamp, for the log's end.
        wanted = {
            partition: OffsetSpec.for_timestamp(time_ms) if time_ms >= 0 else _EARLIEST
            for partition, time_ms in times_ms.items()
        }
        return self._offsets(wanted, committed=committed)

    def groups(self) -> list[str]:
        """Return every consumer group that the user may describe."""
        return sorted(group.group_id for group in self._listed_groups())

    def other_groups(self) -> list[str]:
        """Return every group that is no consumer group and has no members of the classic protocol either: a streams
        group (KIP-1071) or a share group (KIP-932).

        librdkafka leaves such groups out of its list of consumer groups, and describes them as dead.
        """
        # Deprecated, but `list_consumer_groups` knows no types but consumer and classic (confluent-kafka 2.16).
        every = self._once_loaded("groups", lambda: self._admin.list_groups(timeout=self._seconds))
        dead = {str(group.id) for group in every if group.state == _DEAD}
        return sorted(dead - set(self.groups())) if dead else []

    def groups_with_members(self) -> frozenset[str]:
        return frozenset(group.group_id for group in self._listed_groups() if group.state not in _IDLE)

    def _listed_groups(self) -> Any:
        self.topics()

        def ask() -> Any:
            listed = self._admin.list_consumer_groups(request_timeout=self._seconds).result(self._seconds + 1)
            if listed.errors:
                raise KafkaException(listed.errors[0])
            self._errors.reached = True
            return listed.valid

        return self._once_loaded("consumer groups", ask)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        """Committed offsets by group; empty for a group that does not exist."""
        return {
            group: {partition: commit.offset for partition, commit in commits.items()}
            for group, commits in self.commits(groups).items()
        }

    def commits(
        self, groups: Iterable[str], among: Sequence[TopicPartition] = ()
    ) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        """Committed offsets by group, with their metadata; empty for a group that does not exist. `among` leaves out
        other partitions; it is faster for groups that have committed in most of these.
        """
        self.topics()
        named = [Place(*partition) for partition in among]
        parts: list[list[Place] | None] = [
            named[first : first + _NAMED_AT_ONCE] for first in range(0, len(named), _NAMED_AT_ONCE)
        ]
        parts = parts or [None]

        def ask(left: "Collection[tuple[str, int]]") -> "Iterator[tuple[tuple[str, int], Future[Any]]]":
            # Only then does the client know the coordinators of now: librdkafka ends the process if it asks another
            # broker for committed offsets (its issue 5040).
            self._described("committed offsets", list(dict.fromkeys(group for group, _ in left)))
            asked: deque[tuple[tuple[str, int], Future[Any]]] = deque()
            for group, part in left:
                request = [GroupPartitions(group, parts[part])]
                (future,) = self._admin.list_consumer_group_offsets(request, request_timeout=self._seconds).values()
                asked.append(((group, part), future))
                if len(asked) == _IN_FLIGHT:
                    yield asked.popleft()
            yield from asked

        wanted = list(groups)
        commits: dict[str, dict[TopicPartition, CommittedOffset]] = {group: {} for group in wanted}
        for first in range(0, len(wanted), _GROUPS_AT_ONCE):
            some = [(group, part) for group in wanted[first : first + _GROUPS_AT_ONCE] for part in range(len(parts))]
            for (group, _), offsets in self._repeated(
                some,
                ask,
                lambda key: f"committed offsets of {key[0]}",
                lambda key, answer: self._commits(key[0], answer),
            ).items():
                commits[group] |= offsets
        return commits

    def _commits(self, group: str, answer: Any) -> dict[TopicPartition, CommittedOffset]:
        offsets = {}
        for place in answer.topic_partitions:
            if place.error is not None:
                raise self._errors.error(f"committed offsets of {group} could not be asked", place.error)
            if place.offset >= 0:
                offsets[TopicPartition(place.topic, place.partition)] = CommittedOffset(
                    place.offset, place.metadata or ""
                )
        return offsets

    def members(self, groups: Iterable[str]) -> dict[str, int]:
        """Number of members by group; 0 for a group that does not exist."""
        return {
            group: len(description.members) if description else 0
            for group, description in self._described("members", list(groups)).items()
        }

    def _described(self, what: str, groups: Collection[str]) -> dict[str, Any]:
        """Return the description of each group by its coordinator; None or a dead group if it does not exist.

        A client remembers a coordinator for as long as somebody asks for the group. Only a new one looks for it again.
        """
        described: dict[str, Any] = {}
        left, until = list(groups), time.monotonic() + self._seconds
        while left:
            again = []
            asked = self._admin.describe_consumer_groups(left, request_timeout=self._seconds)
            for group, future in asked.items():
                try:
                    described[group] = self._result(f"{what} of {group}", future)
                except ClusterError as error:
                    if error.kafka_code == KafkaError.GROUP_ID_NOT_FOUND:
                        described[group] = None
                    elif error.kafka_code in PASSING and time.monotonic() < until:
                        again.append(group)
                    else:
                        raise
            if left := again:
                threading.Event().wait(_AGAIN_SECONDS)
                self._admin = self._new_admin()
        return described

    def acls(self, principals: Collection[str]) -> list[AclEntry]:
        """Return every ACL that names one of `principals`; needs DESCRIBE on the cluster."""
        return [entry for principal in sorted(principals) for entry in self._acls(principal=principal)]

    def topic_acls(self, pattern: ResourcePatternType = ResourcePatternType.LITERAL) -> list[AclEntry]:
        """Return every ACL of one topic by its name, or by another pattern; needs DESCRIBE on the cluster."""
        return self._acls(ResourceType.TOPIC, pattern=pattern)

    def every_acl(self) -> list[AclEntry]:
        """Return every ACL; needs DESCRIBE on the cluster."""
        return self._acls()

    def scram_mechanisms(self) -> dict[str, frozenset[str]]:
        """Return the mechanisms of each user's SCRAM credentials; needs DESCRIBE on the cluster."""
        if AclOperation.DESCRIBE not in (self._described_cluster().authorized_operations or ()):
            # librdkafka ends the process if a broker refuses this question (confluent-kafka 2.16).
            refused = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)
            raise self._errors.error("SCRAM users could not be asked", refused)
        asked: Any = self._admin.describe_user_scram_credentials(request_timeout=self._seconds)
        users = self._result("SCRAM users", asked)
        return {
            name: frozenset(
                ScramMechanism(info.mechanism).name.replace("_", "-") for info in described.scram_credential_infos
            )
            for name, described in users.items()
        }

    def has_acl(self, resource: str, name: str) -> bool:
        """Return whether any ACL applies to the resource, by its name, a prefix or a wildcard."""
        return bool(self._acls(ResourceType[resource], name, ResourcePatternType.MATCH))

    def may_change_acls(self) -> bool:
        """Return whether the user has the right to change ACLs."""
        return AclOperation.ALTER in (self._described_cluster().authorized_operations or ())

    def _acls(
        self,
        resource: ResourceType = ResourceType.ANY,
        name: str = _ANY,
        pattern: ResourcePatternType = ResourcePatternType.ANY,
        principal: str = _ANY,
    ) -> list[AclEntry]:
        wanted = AclBindingFilter(resource, name, pattern, principal, _ANY, AclOperation.ANY, AclPermissionType.ANY)
        asked = self._admin.describe_acls(wanted, request_timeout=self._seconds)
        bindings = self._result("ACLs", asked)
        if not bindings:
            self._require_acls_are_shown()
        return [_acl_entry(binding) for binding in bindings]

    def _require_acls_are_shown(self) -> None:
        """Raise the refusal that librdkafka drops: a user without DESCRIBE, or of a cluster without an authorizer, gets
        an empty list.
        """
        cluster = self._described_cluster()
        rights = cluster.authorized_operations or ()
        reason = None
        if AclOperation.DESCRIBE not in rights:
            reason = KafkaError.CLUSTER_AUTHORIZATION_FAILED
        elif AclOperation.DESCRIBE_CONFIGS in rights:
            broker = str(cluster.nodes[0].id)
            authorizer = self._configs(ConfigResource.Type.BROKER, [broker])[broker].get(_AUTHORIZER)
            if authorizer is not None and not authorizer.value:
                reason = KafkaError.SECURITY_DISABLED
        if reason is not None:
            raise self._errors.error("ACLs could not be asked", KafkaError(reason))

    def _described_cluster(self) -> Any:
        asked = self._admin.describe_cluster(include_authorized_operations=True, request_timeout=self._seconds)
        return self._result("the user's rights", asked)

    @contextmanager
    def stream(self, *, committed: bool) -> Iterator[RecordStream]:
        """Reads ranges of partitions one after the other, without holding their records."""
        with closing(self._consumer(STREAM_CONFIG, committed)) as consumer:
            yield RecordStream(consumer, self._errors)

    def records(self, topic: str, *, newest: int | None = None) -> list[KafkaRecord]:
        """Return all committed records of one of MirrorMaker's own topics, or the newest of each partition.

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
        """Provide a reader whose consumer nobody else uses; the next read takes it again, unless this one fails."""
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

    def _configs(self, kind: Any, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        resources = [ConfigResource(kind, name) for name in names]
        if not resources:
            return {}
        asked = self._admin.describe_configs(resources, request_timeout=self._seconds)
        return {resource.name: self._result(f"configuration of {resource.name}", asked[resource]) for resource in asked}

    def _offsets(self, wanted: Mapping[TopicPartition, OffsetSpec], *, committed: bool) -> dict[TopicPartition, int]:
        isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED

        def ask(partitions: Collection[TopicPartition]) -> "Iterator[tuple[TopicPartition, Future[Any]]]":
            request = {Place(*partition): wanted[partition] for partition in partitions}
            asked = self._admin.list_offsets(request, isolation_level=isolation, request_timeout=self._seconds)
            yield from ((TopicPartition(place.topic, place.partition), future) for place, future in asked.items())

        return self._repeated(
            wanted, ask, lambda partition: f"offsets of {partition}", lambda _, answer: int(answer.offset)
        )

    def _repeated(
        self,
        wanted: Collection[K],
        ask: "Callable[[Collection[K]], Iterable[tuple[K, Future[Any]]]]",
        named: Callable[[K], str],
        read: Callable[[K, Any], T],
    ) -> dict[K, T]:
        """Return what is read from the answer for each of `wanted`, while the next ones are awaited. What a broker
        cannot answer only for a moment is asked again.
        """
        answers: dict[K, T] = {}
        left, until = list(wanted), time.monotonic() + self._seconds
        while left:
            again = []
            for key, future in ask(left):
                try:
                    answer = self._result(named(key), future)
                except ClusterError as error:
                    if error.kafka_code not in PASSING or time.monotonic() >= until:
                        raise
                    again.append(key)
                else:
                    answers[key] = read(key, answer)
            if left := again:
                threading.Event().wait(_AGAIN_SECONDS)
        return answers

    def _once_loaded(self, what: str, ask: Callable[[], T]) -> T:
        """Return the answer. Brokers that have just started or taken groups over are asked again for a moment."""
        until = time.monotonic() + self._seconds
        while True:
            try:
                return self._asked(what, ask)
            except ClusterError as error:
                if error.kafka_code not in PASSING or time.monotonic() >= until:
                    raise
            threading.Event().wait(_AGAIN_SECONDS)

    def _result(self, what: str, future: "Future[Any]") -> Any:
        answer = self._asked(what, lambda: future.result(self._seconds + 1))
        self._errors.reached = True
        return answer

    def _asked(self, what: str, ask: Callable[[], T]) -> T:
        try:
            answer = ask()
        except KafkaException as error:
            # Only then does the client report why it cannot reach a broker or is refused.
            self._admin.poll(0)
            raise self._errors.error(f"{what} could not be asked", error.args[0]) from None
        except TimeoutError:
            self._admin.poll(0)
            raise self._errors.error(f"{what} could not be asked", None) from None
        self._errors.answered = True
        return answer

    def _new_admin(self) -> AdminClient:
        return AdminClient(self._heard_config({"socket.timeout.ms": round(self._seconds * 1000)}))

    def _heard_config(self, own: ClientConfig) -> dict[str, Any]:
        return {**self._config, **own, "error_cb": self._errors.hear}


def _acl_entry(binding: AclBinding) -> AclEntry:
    return AclEntry(
        binding.principal,
        ResourceType(binding.restype).name,
        ResourcePatternType(binding.resource_pattern_type).name,
        binding.name,
        AclOperation(binding.operation).name,
        AclPermissionType(binding.permission_type).name,
        binding.host,
    )
