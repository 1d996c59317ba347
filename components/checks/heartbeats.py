"""Heartbeats that an older Kafka replicates by every source connector, whatever it is told."""

from collections.abc import Iterator

from components.expansion import NamedFlow
from components.kafka_version import kafka_version
from components.model import Topology
from components.problems import Problem, Severity
from components.resolved import strimzi
from components.specs.connector_layers import chooses_heartbeats


def check_heartbeats(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    """A flow that leaves heartbeats to another flow, or to one of its several source connectors."""
    version = kafka_version(named.flow.connect, strimzi(topology.strimzi))
    several = len(named.flow.connectors.sources) > 1
    if chooses_heartbeats(version) or (named.flow.replicate_heartbeats and not several):
        return
    yield Problem(
        named.where("connectors.sources" if several else "replicateHeartbeats"),
        "heartbeats-replicated-anyway",
        f"every source connector of Kafka {version} replicates heartbeats",
        "It has no `heartbeats.replication.enabled`, and passes heartbeats by its topic filter: the target gets each "
        "heartbeat once from each source connector of this source.",
        "set `connect.version` to 4.0.0 or later where the operator has it, or count distinct timestamps.",
        Severity.WARNING,
    )
