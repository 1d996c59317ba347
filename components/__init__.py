"""Components of Kafka replication on Kubernetes, importable from any Pulumi program.

The names below are the public surface. They are loaded when first used, so that what needs no Pulumi (`check`,
`render`) does not load it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.clusters import Cluster
    from components.flow import ReplicationFlow, ReplicationFlowArgs
    from components.model import Flow, PrefixlessPair, Split, Topology
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
