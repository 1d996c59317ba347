"""Topology -> problems, one module a theme."""

from collections.abc import Iterator

from kafka_replication.components.checks.clusters import OLDEST_STRIMZI, check_addresses, check_clusters, check_operator
from kafka_replication.components.checks.connect_clusters import check_connect_clusters, check_resources
from kafka_replication.components.checks.double_replication import (
    check_double_replication,
    check_group_offsets,
    check_offsets_both_ways,
    check_two_paths,
)
from kafka_replication.components.checks.heartbeats import check_heartbeats
from kafka_replication.components.checks.kafka_users import check_kafka_users
from kafka_replication.components.checks.loops import check_guard_markers, check_halves, check_loops
from kafka_replication.components.checks.monitoring import check_monitoring
from kafka_replication.components.checks.names import check_aliases, check_inherited_names, check_names
from kafka_replication.components.checks.production import check_production
from kafka_replication.components.checks.properties import check_properties
from kafka_replication.components.checks.property_values import check_references
from kafka_replication.components.checks.replications import (
    check_accepted_findings,
    check_mirrors,
    check_on_loss,
    declares_its_clusters,
)
from kafka_replication.components.checks.selections import check_selections
from kafka_replication.components.checks.transform_settings import check_transform_settings
from kafka_replication.components.checks.transforms import check_transforms
from kafka_replication.components.checks.tuning import check_tuning
from kafka_replication.components.checks.versions import check_versions
from kafka_replication.components.checks.worker_template import check_worker_template
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.heartbeats import Heartbeats
from kafka_replication.components.flows.operators import StrimziApi, strimzi
from kafka_replication.components.topology.model import Topology


def check_topology(topology: Topology, *, whole: bool = True) -> Iterator[Problem]:
    """Yield every problem; if the operator is not supported, only those that every supported one would have.

    Unless it is `whole`, such as the topology of one replication of a program, another part may watch its flows.
    """
    unsupported = check_operator(topology)
    if unsupported is None:
        yield from _problems(topology, whole=whole)
        return
    yield unsupported
    oldest, newest = (
        list(_problems(topology.model_copy(update={"strimzi": version}), whole=whole))
        for version in (OLDEST_STRIMZI, StrimziApi.V1)
    )
    yield from (problem for problem in oldest if problem in newest)


def _problems(topology: Topology, *, whole: bool) -> Iterator[Problem]:
    yield from check_clusters(topology)
    yield from check_addresses(topology, {})
    yield from check_mirrors(topology)
    flows = [flow for flow in expand(topology) if declares_its_clusters(topology.replications[flow.replication])]
    heartbeats = Heartbeats(flows, strimzi(topology.strimzi).api.has_heartbeat_mirrors)
    for flow in flows:
        yield from check_aliases(topology, flow)
        # An alias that no cluster has cannot be part of a name either.
        if flow.name == flow.replication or {flow.settings.source, flow.settings.target} <= topology.clusters.keys():
            yield from check_names(topology, flow)
        yield from check_selections(flow)
        yield from check_properties(flow)
        yield from check_transforms(flow, heartbeats)
        yield from check_transform_settings(flow)
        yield from check_references(flow)
        yield from check_resources(flow)
        yield from check_worker_template(flow)
        yield from check_production(flow)
        yield from check_versions(topology, flow)
        yield from check_heartbeats(topology, flow)
        yield from check_tuning(flow)
        yield from check_accepted_findings(flow)
        yield from check_on_loss(flow)
    yield from check_kafka_users(topology, flows)
    yield from check_connect_clusters(topology, flows)
    yield from check_inherited_names(topology, flows)
    yield from check_double_replication(flows)
    yield from check_two_paths(flows)
    yield from check_group_offsets(flows)
    yield from check_offsets_both_ways(flows)
    yield from check_loops(flows)
    yield from check_halves(flows)
    yield from check_guard_markers(flows)
    yield from check_monitoring(topology, flows, whole=whole)
