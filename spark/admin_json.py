"""Transfers answers of Kafka's admin client to Python as one text, however many partitions or groups they cover. Each
call into the JVM takes time, and reading such an answer from Python would take several calls for each offset.
"""

from collections.abc import Callable

from components.kafka.positions import TopicPartition
from spark.java_json import JavaJson
from spark.read.kafka_errors import JavaObject

_COMMON = "org.apache.kafka.common"
#: In a topic's description, only the number of each partition is read.
_NOT_NEEDED = ("leader", "replicas", "isr", "elr", "lastKnownElr")


def admin_json(java: Callable[[str], JavaObject]) -> JavaJson:
    """`java` gives a class of the JVM by its full name. Ids and optional values arrive as Java prints them."""
    none = java("java.util.ArrayList")()
    partition = java(f"{_COMMON}.TopicPartitionInfo")(0, None, none, none)
    as_text = (java("java.util.Optional").empty(), java(f"{_COMMON}.Uuid").ZERO_UUID)
    return JavaJson(java, [(partition, _NOT_NEEDED)], as_text)


def partition_of(name: str) -> TopicPartition:
    """The partition in Java's printed form."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
