"""Writes to a cluster: commits for groups that do not run, deletes such groups, adds and deletes ACLs of topics, and
fills a topic of ours.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kafka_replication.components.clients.errors import ClusterError, NoAnswerError
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.reader import KafkaReader, reading_seconds
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.positions import CommittedOffset
from kafka_replication.components.kafka.positions import TopicPartition as Partition

_SECONDS = 15.0
_NO_ANSWER = KafkaError(KafkaError._TIMED_OUT, "no answer in time")


def _result(future: "Future[Any]") -> Any:
    """Return what Kafka answers. Raises KafkaException, also without an answer."""
    try:
        return future.result(_SECONDS + 1)
    except TimeoutError:
        raise KafkaException(_NO_ANSWER) from None


@dataclass(frozen=True)
class Access:
    """Every ACL of a topic, and what this login may do with them; `seen` is false if it may not see them."""

    entries: tuple[AclEntry, ...] = ()
    has_authorizer: bool = True
    may_change: bool = True
    seen: bool = True


class TopicAcls:
    """The ACLs of the cluster `alias`."""

    def __init__(self, alias: str, config: ClientConfig) -> None:
        self.alias = alias
        self._reader = KafkaReader(alias, config, _SECONDS)
        self._admin = AdminClient(dict(config))

    def access(self) -> Access:
        """Look without changing anything. Raises NoAnswerError if the cluster does not answer."""
        try:
            entries = self._reader.topic_acls(ResourcePatternType.ANY)
            return Access(tuple(entries), may_change=self._reader.may_change_acls())
        except ClusterError as error:
            if error.code == "authorizer-off":
                return Access(has_authorizer=False, may_change=False)
            if error.kafka_code == KafkaError.CLUSTER_AUTHORIZATION_FAILED:
                return Access(may_change=False, seen=False)
            raise

    def add(self, entries: Sequence[AclEntry]) -> None:
        """Add ACLs; they may already exist. Raises CannotRunError."""
        if entries:
            bindings = [AclBinding(*_words(entry)) for entry in entries]
            self._change(self._admin.create_acls(bindings, request_timeout=_SECONDS))

    def delete(self, entries: Sequence[AclEntry]) -> None:
        """Delete ACLs; they need not exist. Raises CannotRunError."""
        if entries:
            filters = [AclBindingFilter(*_words(entry)) for entry in entries]
            self._change(self._admin.delete_acls(filters, request_timeout=_SECONDS))

    def _change(self, asked: "dict[Any, Future[Any]]") -> None:
        try:
            for future in asked.values():
                _result(future)
        except KafkaException as error:
            what = f"ACLs of topics were not changed: {error.args[0].str()}"
            why = "The connectors' user needs Alter on the cluster."
            raise CannotRunError(
                "acls-refused", what, self.alias, why, "correct it, and run the command again."
            ) from None


def _words(entry: AclEntry) -> tuple[Any, ...]:
    return (
        ResourceType[entry.resource],
        entry.name,
        ResourcePatternType[entry.pattern],
        entry.principal,
        entry.host,
        AclOperation[entry.operation],
        AclPermissionType[entry.permission],
    )


_ACTIVE = frozenset({KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP, KafkaError.REBALANCE_IN_PROGRESS})
_FORBIDDEN = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED})
#: Answers of a cluster that does not say what a login may do with a group or topic.
_RIGHTS_UNKNOWN = frozenset(
    {
        KafkaError.GROUP_ID_NOT_FOUND,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNSUPPORTED_FEATURE,
    }
)


@dataclass(frozen=True)
class MissingReads:
    """The groups and topics that a user may not Read, as a commit requires; `unknown` names the groups and topics for
    which the cluster reports no rights.
    """

    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class GroupWriter:
    """The groups of the cluster `alias`."""

    def __init__(self, alias: str, config: ClientConfig) -> None:
        self._alias = alias
        self._admin = AdminClient(dict(config))

    def commit(self, group: str, offsets: Mapping[Partition, CommittedOffset]) -> None:
        """Commit for a group without members. Raises CannotRunError."""
        places = [
            TopicPartition(*partition, committed.offset, metadata=committed.metadata)
            for partition, committed in offsets.items()
        ]
        request = [ConsumerGroupTopicPartitions(group, places)]
        try:
            future = self._admin.alter_consumer_group_offsets(request, request_timeout=_SECONDS)[group]
            answered = _result(future).topic_partitions
        except KafkaException as error:
            raise self._refused(group, error.args[0]) from None
        for answer in answered:
            if answer.error is not None:
                raise self._refused(group, answer.error)

    def missing_reads(self, groups: Iterable[str], topics: Iterable[str]) -> MissingReads:
        """Return what this login lacks to commit for these groups in these topics, which need not exist.

        Raises NoAnswerError. Source: KafkaApis.handleOffsetCommitRequest; KIP-430.
        """
        # The client accepts only one group a call if it asks for operations.
        options: dict[str, Any] = {"include_authorized_operations": True, "request_timeout": _SECONDS}
        asked = {group: self._admin.describe_consumer_groups([group], **options)[group] for group in groups}
        described = self._admin.describe_topics(TopicCollection(list(topics)), **options)
        by_group = {group: self._may_read(f"group {group}", future) for group, future in asked.items()}
        by_topic = {topic: self._may_read(f"topic {topic}", future) for topic, future in described.items()}
        return MissingReads(
            tuple(group for group, may in by_group.items() if may is False),
            tuple(topic for topic, may in by_topic.items() if may is False),
            tuple(name for name, may in {**by_group, **by_topic}.items() if may is None),
        )

    def _may_read(self, what: str, future: "Future[Any]") -> bool | None:
        """Return whether this login may Read it; None if the cluster does not say."""
        try:
            rights = _result(future).authorized_operations
        except KafkaException as error:
            if error.args[0].code() in _FORBIDDEN:
                return False
            if error.args[0].code() in _RIGHTS_UNKNOWN:
                return None
            told = f"the rights on {what} could not be asked: {error.args[0].str()}"
            raise NoAnswerError(f"Kafka cluster {self._alias}: {told}") from None
        return None if rights is None else AclOperation.READ in rights

    def delete(self, group: str) -> None:
        """Delete a group without members; it need not exist. Raises CannotRunError."""
        try:
            _result(self._admin.delete_consumer_groups([group], request_timeout=_SECONDS)[group])
        except KafkaException as error:
            if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
                raise self._not_deleted(group, error.args[0]) from None

    def _not_deleted(self, group: str, error: KafkaError) -> CannotRunError:
        why, remedy = "Kafka did not delete it.", "run the command again."
        if error.code() in _ACTIVE:
            why, remedy = "Kafka does not delete a running group.", "find out who uses this group, and stop it."
        elif error.code() in _FORBIDDEN:
            why = "The connectors' user needs Read and Delete on the group."
            allowed = "--operation Read --operation Delete"
            remedy = f"allow it: `kafka-acls --add --allow-principal … {allowed} --group '{group}'`."
        what = f"the group {group} was not deleted: {error.str()}"
        return CannotRunError("delete-refused", what, self._alias, why, remedy)

    def _refused(self, group: str, error: KafkaError) -> CannotRunError:
        why, remedy = "Kafka did not take the offsets.", "run the command again; it finds what was committed."
        if error.code() in _ACTIVE:
            why, remedy = "Only the members of a running group may commit for it.", "stop the group and run it again."
        elif error.code() in _FORBIDDEN:
            why = "The connectors' user needs Read on the group and on its topics, and had it when the command began."
            remedy = "run the command again; it names every right that is missing, and how to grant it."
        what = f"the offsets of group {group} were not committed: {error.str()}"
        return CannotRunError("commit-refused", what, self._alias, why, remedy)


#: How long writing may take: a million records, as slowly as they are read. Meanwhile the earlier ones can be read.
_TRANSACTION_SECONDS = reading_seconds(1_000_000)
#: A compacted segment is small, so that a reader at night does not read a day's worth of records.
_COMPACTED = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}
#: The code of the error if another writer of the topic has begun.
REPLACED = "writer-replaced"
_REPLACED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})


class TopicWriter:
    """The only writer of a compacted topic with one partition, which it creates: Kafka refuses every earlier writer of
    this topic from the moment that a new one begins.
    """

    def __init__(self, topic: str, alias: str, config: ClientConfig) -> None:
        """Begin. Raises CannotRunError."""
        self._alias, self._topic = alias, topic
        self._create(AdminClient(dict(config)))
        own: ClientConfig = {
            "transactional.id": topic,
            "transaction.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
            "message.timeout.ms": round(_SECONDS * 1000),
        }
        self._producer = Producer({**config, **own})
        try:
            self._producer.init_transactions(_SECONDS)
        except KafkaException as error:
            raise self._refused(error.args[0]) from None

    def write(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Write all of these records or none. Raises CannotRunError."""
        until = time.monotonic() + _TRANSACTION_SECONDS
        try:
            self._producer.begin_transaction()
            for key, value in records:
                self._produce(key, value)
            self._producer.commit_transaction(_SECONDS)
        except BufferError:
            raise self._refused(_NO_ANSWER) from None
        except KafkaException as error:
            # Kafka ends a transaction that takes too long with the error that another writer has begun.
            late = error.args[0].code() in _REPLACED and time.monotonic() >= until
            raise self._refused(_NO_ANSWER if late else error.args[0]) from None

    def _produce(self, key: bytes, value: bytes | None) -> None:
        try:
            self._producer.produce(self._topic, value, key, 0)
        except BufferError:
            self._producer.flush(_SECONDS)
            self._producer.produce(self._topic, value, key, 0)

    def _create(self, admin: AdminClient) -> None:
        wanted = NewTopic(self._topic, 1, config=_COMPACTED)
        try:
            _result(admin.create_topics([wanted], request_timeout=_SECONDS)[self._topic])
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._refused(error.args[0]) from None

    def _refused(self, error: KafkaError) -> CannotRunError:
        why, remedy = "Kafka did not take the records.", "wait: it is tried again; if that lasts, see the brokers' log."
        if error.code() in _REPLACED:
            why = "Another process has begun to write this topic, and only one may."
            what = f"another keeper writes {self._topic}"
            return CannotRunError(REPLACED, what, self._alias, why, "let only one keeper run for a stack.")
        if error.code() in _FORBIDDEN or error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            why = "The keeper's user needs Create and Write on the topic, and Write on its transactional id."
            options = f"--topic {self._topic} --transactional-id {self._topic}"
            remedy = (
                f"allow it: `kafka-acls.sh --add --allow-principal … --operation Create --operation Write {options}`."
            )
        what = f"{self._topic} was not written: {error.str()}"
        return CannotRunError("not-written", what, self._alias, why, remedy)
