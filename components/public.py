"""The public surface: everything that `from kafka_replication import NAME` offers, and nothing else."""

from kafka_replication.components.contract.problems import Problem as Problem
from kafka_replication.components.contract.problems import ReplicationError as ReplicationError
from kafka_replication.components.render.deployments import FlowOutputs as FlowOutputs
from kafka_replication.components.resources.replications import (
    BidirectionalPrefixlessPair as BidirectionalPrefixlessPair,
)
from kafka_replication.components.resources.replications import (
    BidirectionalPrefixlessPairArgs as BidirectionalPrefixlessPairArgs,
)
from kafka_replication.components.resources.replications import ConnectClusterSplit as ConnectClusterSplit
from kafka_replication.components.resources.replications import ConnectClusterSplitArgs as ConnectClusterSplitArgs
from kafka_replication.components.resources.replications import KafkaMirrorMaker2 as KafkaMirrorMaker2
from kafka_replication.components.resources.replications import KafkaMirrorMaker2Args as KafkaMirrorMaker2Args
from kafka_replication.components.resources.replications import ReplicationFlow as ReplicationFlow
from kafka_replication.components.resources.replications import ReplicationFlowArgs as ReplicationFlowArgs
from kafka_replication.components.resources.whole_topology import KafkaUsers as KafkaUsers
from kafka_replication.components.resources.whole_topology import KafkaUsersArgs as KafkaUsersArgs
from kafka_replication.components.resources.whole_topology import Monitoring as Monitoring
from kafka_replication.components.resources.whole_topology import MonitoringArgs as MonitoringArgs
from kafka_replication.components.topology.clusters import Cluster as Cluster
from kafka_replication.components.topology.model import Flow as Flow
from kafka_replication.components.topology.model import MirrorMaker2 as MirrorMaker2
from kafka_replication.components.topology.model import PrefixlessPair as PrefixlessPair
from kafka_replication.components.topology.model import Split as Split
from kafka_replication.components.topology.model import Topology as Topology
