"""Model -> problems, one module a theme. May import the model, naming, problems, and from `specs` what is owned."""

from collections.abc import Iterator

from components.checks.aliases import check_aliases
from components.checks.clusters import check_clusters
from components.checks.connect_clusters import check_connect_clusters
from components.checks.group_offsets import check_group_offsets
from components.checks.heartbeat_clients import check_heartbeat_clients
from components.checks.heartbeats import check_heartbeats
from components.checks.kafka_users import check_kafka_users
from components.checks.loops import check_halves, check_loops
from components.checks.mirrors import check_mirrors, says_its_clusters
from components.checks.names import check_names
from components.checks.namespaces import check_namespaces
from components.checks.overlaps import check_overlaps
from components.checks.properties import check_properties
from components.checks.resources import check_resources
from components.checks.selections import check_selections
from components.checks.transforms import check_transforms
from components.checks.tuning import check_tuning
from components.checks.versions import check_versions
from components.expansion import expand
from components.model import Topology
from components.problems import Problem


def check_topology(topology: Topology) -> Iterator[Problem]:
    """Every problem of a topology, over all its clusters and replications."""
    yield from check_clusters(topology)
    yield from check_mirrors(topology)
    flows = [named for named in expand(topology) if says_its_clusters(topology.replications[named.replication])]
    for named in flows:
        yield from check_aliases(topology, named)
        yield from check_names(named)
        yield from check_selections(named)
        yield from check_properties(topology, named)
        yield from check_transforms(named)
        yield from check_resources(named)
        yield from check_versions(topology, named)
        yield from check_heartbeat_clients(topology, named)
        yield from check_tuning(topology, named)
        yield from check_heartbeats(topology, named)
    yield from check_kafka_users(topology, flows)
    yield from check_connect_clusters(topology, flows)
    yield from check_namespaces(topology, flows)
    yield from check_overlaps(flows)
    yield from check_group_offsets(flows)
    yield from check_loops(flows)
    yield from check_halves(flows)
