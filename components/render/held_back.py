"""A KafkaConnector that copies nothing until it has its offsets. Pure. `state: stopped` alone is not enough: up to
Strimzi 1.2, the operator creates a connector, which starts to run, and only then stops it.
Source: AbstractConnectOperator.createOrUpdateConnector, Strimzi issue 11754.
"""

from components.kafka.mirror_connectors import ROLE_OF_CLASS
from components.render.planned_objects import Manifest

ANNOTATION = "kafka-replication/waits-for-offsets-of"
_SELECTS_NOTHING = {"topics.exclude": ".*", "heartbeats.replication.enabled": "false"}
#: Another filter need not read `topics.exclude`.
_FILTER = "topic.filter.class"


def held_back(connector: Manifest, mirror: str) -> Manifest:
    """A rendered KafkaConnector, stopped; a source connector also selects nothing. `mirror` has its offsets."""
    metadata, spec = connector["metadata"], connector["spec"]
    source = ROLE_OF_CLASS.get(spec["class"].rpartition(".")[2]) == "source"
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: mirror}
    config = spec["config"]
    if source:
        config = {**{key: value for key, value in config.items() if key != _FILTER}, **_SELECTS_NOTHING}
    return {
        **connector,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "state": "stopped", "config": config},
    }


def is_held_back(live: Manifest) -> bool:
    """Whether a KafkaConnector still waits for the offsets of a mirror."""
    return ANNOTATION in (live["metadata"].get("annotations") or {})
