"""Model -> problems, one module a theme. May import the model, naming, problems, and from `specs` what is owned."""

from collections.abc import Iterator

from components.checks.aliases import check_aliases
from components.checks.clusters import check_clusters
from components.checks.names import check_names
from components.checks.properties import check_properties
from components.checks.selections import check_selections
from components.model import Topology
from components.problems import Problem


def check_topology(topology: Topology) -> Iterator[Problem]:
    """Every problem of a topology, over all its clusters and replications."""
    yield from check_clusters(topology)
    for name, flow in topology.replications.items():
        yield from check_aliases(topology, name, flow)
        yield from check_names(name, flow)
        yield from check_selections(name, flow)
        yield from check_properties(name, flow)
