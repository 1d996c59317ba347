"""Commits offsets as a group that has no members."""

from confluent_kafka import Consumer, TopicPartition

from kafka_replication.infra.local.acls import retried
from kafka_replication.infra.local.endpoints import APP, Region
from kafka_replication.infra.local.traffic import Positions


def commit(region: Region, group: str, offsets: Positions) -> None:
    """Commit the offsets, whether or not the records exist."""
    consumer = Consumer({**region.client_config(APP), "group.id": group, "enable.auto.commit": False})
    places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    try:
        retried(lambda: consumer.commit(offsets=places, asynchronous=False))
    finally:
        consumer.close()
