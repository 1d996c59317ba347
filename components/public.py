"""The public surface: everything that `from components import NAME` offers, and nothing else."""

from components.contract.problems import Problem as Problem
from components.contract.problems import ReplicationError as ReplicationError
from components.render.deployments import FlowOutputs as FlowOutputs
from components.resources.replications import BidirectionalPrefixlessPair as BidirectionalPrefixlessPair
from components.resources.replications import BidirectionalPrefixlessPairArgs as BidirectionalPrefixlessPairArgs
from components.resources.replications import ConnectClusterSplit as ConnectClusterSplit
from components.resources.replications import ConnectClusterSplitArgs as ConnectClusterSplitArgs
from components.resources.replications import KafkaMirrorMaker2 as KafkaMirrorMaker2
from components.resources.replications import KafkaMirrorMaker2Args as KafkaMirrorMaker2Args
from components.resources.replications import ReplicationFlow as ReplicationFlow
from components.resources.replications import ReplicationFlowArgs as ReplicationFlowArgs
from components.resources.whole_topology import KafkaUsers as KafkaUsers
from components.resources.whole_topology import KafkaUsersArgs as KafkaUsersArgs
from components.resources.whole_topology import Monitoring as Monitoring
from components.resources.whole_topology import MonitoringArgs as MonitoringArgs
from components.topology.clusters import Cluster as Cluster
from components.topology.model import Flow as Flow
from components.topology.model import MirrorMaker2 as MirrorMaker2
from components.topology.model import PrefixlessPair as PrefixlessPair
from components.topology.model import Split as Split
from components.topology.model import Topology as Topology
