"""Commits offsets of consumer groups that do not run, and deletes such groups. Nothing else here writes to Kafka."""

from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from components.contract.problems import CannotRunError
from components.kafka.positions import TopicPartition as Partition
from infra.stack.kafka_login import ClientConfig

_SECONDS = 15.0
_ACTIVE = frozenset({KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP, KafkaError.REBALANCE_IN_PROGRESS})
_FORBIDDEN = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED})


class GroupWriter:
    """The groups of the cluster `alias`."""

    def __init__(self, alias: str, config: ClientConfig) -> None:
        self._alias = alias
        self._admin = AdminClient(dict(config))

    def commit(self, group: str, offsets: Mapping[Partition, int], tag: str) -> None:
        """Commit for a group without members, each offset with the tag as its metadata. Raises CannotRunError."""
        places = [TopicPartition(each.topic, each.partition, offset, metadata=tag) for each, offset in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, places)]
        try:
            future = self._admin.alter_consumer_group_offsets(request, request_timeout=_SECONDS)[group]
            answered = future.result(_SECONDS + 1).topic_partitions
        except KafkaException as error:
            raise self._refused(group, error.args[0]) from None
        except TimeoutError:
            raise self._refused(group, None) from None
        for each in answered:
            if each.error is not None:
                raise self._refused(group, each.error)

    def delete(self, group: str) -> None:
        """Delete a group without members; it need not exist. Raises CannotRunError."""
        try:
            self._admin.delete_consumer_groups([group], request_timeout=_SECONDS)[group].result(_SECONDS + 1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
                raise self._not_deleted(group, error.args[0]) from None
        except TimeoutError:
            raise self._not_deleted(group, None) from None

    def _not_deleted(self, group: str, error: KafkaError | None) -> CannotRunError:
        told = error.str() if error is not None else "no answer in time"
        why, remedy = "Kafka did not delete it.", "run the command again."
        if error is not None and error.code() in _ACTIVE:
            why, remedy = "Kafka does not delete a running group.", "find out who uses this group, and stop it."
        elif error is not None and error.code() in _FORBIDDEN:
            why = "The connectors' user needs Read and Delete on the group."
            allowed = "--operation Read --operation Delete"
            remedy = f"allow it: `kafka-acls --add --allow-principal … {allowed} --group '{group}'`."
        what = f"the group {group} was not deleted: {told}"
        return CannotRunError("delete-refused", what, self._alias, why, remedy)

    def _refused(self, group: str, error: KafkaError | None) -> CannotRunError:
        told = error.str() if error is not None else "no answer in time"
        code = error.code() if error is not None else None
        why, remedy = "Kafka did not take the offsets.", "run the command again; it finds what was committed."
        if code in _ACTIVE:
            why, remedy = "Only the members of a running group may commit for it.", "stop the group and run it again."
        elif code in _FORBIDDEN:
            why = "The connectors' user needs Read on the group and on its topics."
            remedy = f"allow it: `kafka-acls --add --allow-principal … --operation Read --group '{group}'`."
        what = f"the offsets of group {group} were not committed: {told}"
        return CannotRunError("commit-refused", what, self._alias, why, remedy)
