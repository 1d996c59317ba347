"""Deletes topics and records, as an administrator and as retention do."""

from collections.abc import Iterable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, DeletedRecords  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

_CALL_SECONDS = 15
_DELETED_SECONDS = 120


def delete_topics(region: Region, topics: Iterable[str]) -> None:
    """Delete those of the topics that exist."""
    names = list(topics)
    wait_for(f"{', '.join(names)} to be deleted", partial(_delete, region, names), _DELETED_SECONDS)


def _delete(region: Region, topics: list[str]) -> None:
    admin = AdminClient(region.client_config(ADMIN))
    existing = admin.list_topics(timeout=_CALL_SECONDS).topics
    if not (wanted := [topic for topic in topics if topic in existing]):
        return
    try:
        for future in admin.delete_topics(wanted, request_timeout=_CALL_SECONDS).values():
            future.result(2 * _CALL_SECONDS)
    except KafkaException as error:
        # A client has waited a minute in vain for the controller of a healthy cluster. A new client asks again.
        if error.args[0].code() == KafkaError._TIMED_OUT:
            raise NotYetError(str(error)) from error
        raise


def remove_records(region: Region, topic: str, partition: int, before: int) -> None:
    """Delete the records before an offset, as retention does without waiting for the end of a segment."""
    admin = AdminClient(region.client_config(ADMIN))
    for future in admin.delete_records([TopicPartition(topic, partition, before)]).values():
        removed: DeletedRecords = future.result(_CALL_SECONDS)
        assert removed.low_watermark == before
