"""Components of Kafka replication on Kubernetes, importable from any Pulumi program.

The names below are the public surface. They are loaded when first used, so that what needs no Pulumi (`check`,
`render`) does not load it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.clusters import Cluster
    from components.flow import ReplicationFlow, ReplicationFlowArgs
    from components.kafka_users import KafkaUsers, KafkaUsersArgs
    from components.mirror_maker2 import KafkaMirrorMaker2, KafkaMirrorMaker2Args
    from components.model import Flow, MirrorMaker2, PrefixlessPair, Split, Topology
    from components.prefixless_pair import BidirectionalPrefixlessPair, BidirectionalPrefixlessPairArgs
    from components.problems import Problem, ReplicationError
    from components.split import ConnectClusterSplit, ConnectClusterSplitArgs

__all__ = [
    "BidirectionalPrefixlessPair",
    "BidirectionalPrefixlessPairArgs",
    "Cluster",
    "ConnectClusterSplit",
    "ConnectClusterSplitArgs",
    "Flow",
    "KafkaMirrorMaker2",
    "KafkaMirrorMaker2Args",
    "KafkaUsers",
    "KafkaUsersArgs",
    "MirrorMaker2",
    "PrefixlessPair",
    "Problem",
    "ReplicationError",
    "ReplicationFlow",
    "ReplicationFlowArgs",
    "Split",
    "Topology",
]

_HOMES = {
    "BidirectionalPrefixlessPair": "components.prefixless_pair",
    "BidirectionalPrefixlessPairArgs": "components.prefixless_pair",
    "Cluster": "components.clusters",
    "ConnectClusterSplit": "components.split",
    "ConnectClusterSplitArgs": "components.split",
    "Flow": "components.model",
    "KafkaMirrorMaker2": "components.mirror_maker2",
    "KafkaMirrorMaker2Args": "components.mirror_maker2",
    "KafkaUsers": "components.kafka_users",
    "KafkaUsersArgs": "components.kafka_users",
    "MirrorMaker2": "components.model",
    "PrefixlessPair": "components.model",
    "Problem": "components.problems",
    "ReplicationError": "components.problems",
    "ReplicationFlow": "components.flow",
    "ReplicationFlowArgs": "components.flow",
    "Split": "components.model",
    "Topology": "components.model",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
