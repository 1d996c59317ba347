"""Heartbeats over several hops, as MirrorMaker replicates them."""

import pytest

from kafka_replication.components.flows.expansion import expand
from kafka_replication.components.flows.heartbeats import MOST_NAMES, heartbeat_topics
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.flow_acls import flow_acls
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology


def a_chain(**last: object) -> dict[str, object]:
    clusters = {alias: a_cluster(alias, bootstrapServers=f"{alias}:9093") for alias in ("a", "b", "c")}
    replications = {"first": a_flow(source="a", target="b"), "last": a_flow(source="b", target="c", **last)}
    return a_topology(clusters=clusters, replications=replications)


def test_heartbeats_gain_a_prefix_on_each_hop_of_a_chain() -> None:
    assert heartbeat_topics(expand(parse_topology(a_chain()))) == {
        "a": {"heartbeats"},
        "b": {"heartbeats", "a.heartbeats"},
        "c": {"b.heartbeats", "b.a.heartbeats"},
    }


def test_heartbeats_in_a_ring_do_not_return_to_their_own_cluster() -> None:
    topology = a_topology(
        replications={"out": a_flow(topics=["x"]), "back": a_flow(source="uswest", target="useast", topics=["y"])}
    )
    assert heartbeat_topics(expand(parse_topology(topology))) == {
        "useast": {"heartbeats", "uswest.heartbeats"},
        "uswest": {"heartbeats", "useast.heartbeats"},
    }


def test_acls_cover_the_heartbeats_of_every_cluster_upstream() -> None:
    """A task that can read a heartbeat topic but not write its copy fails with all its partitions."""
    _, last = sorted(resolve_flows(parse_topology(a_chain()), None, {}), key=lambda flow: flow.name == "last")
    written = {acl.name for acl in flow_acls(last) if acl.cluster == "c" and "ALTER" in acl.operations}
    assert {"b.heartbeats", "b.a.heartbeats"} <= written


def test_a_flow_without_heartbeats_passes_none_on() -> None:
    topology = parse_topology(a_chain(replicateHeartbeats=False, connectors={"heartbeat": {"enabled": False}}))
    assert heartbeat_topics(expand(topology)).get("c", frozenset()) == frozenset()


def test_heartbeat_topics_are_computed_only_when_asked_for() -> None:
    """A topology of 200 clusters is checked without computing them."""
    first, last = resolve_flows(parse_topology(a_chain()), None, {})
    assert "_held" not in vars(last.heartbeats)
    assert last.heartbeat_topics == {"heartbeats", "a.heartbeats"}
    assert "_held" in vars(first.heartbeats)


def a_mesh(size: int) -> Topology:
    """Every cluster replicates to every other."""
    aliases = [f"c{number}" for number in range(size)]
    clusters = {alias: a_cluster(alias, bootstrapServers=f"{alias}:9093") for alias in aliases}
    directions = [(source, target) for source in aliases for target in aliases if source != target]
    flows = {f"{source}-to-{target}": a_flow(source=source, target=target) for source, target in directions}
    return parse_topology(a_topology(clusters=clusters, replications=flows))


@pytest.mark.parametrize(("size", "names"), [(3, 5), (4, 16), (5, 65)])
def test_every_heartbeat_topic_of_a_small_mesh_is_listed(size: int, names: int) -> None:
    held = heartbeat_topics(expand(a_mesh(size)))
    assert {len(topics) for topics in held.values()} == {names}
    assert not any("*" in topic for topics in held.values() for topic in topics)
    assert names <= MOST_NAMES


def test_heartbeat_topics_of_a_dense_mesh_are_summarized_by_their_last_hop() -> None:
    """Each of twelve clusters would have over a hundred million heartbeat topics."""
    held = heartbeat_topics(expand(a_mesh(12)))
    assert held["c0"] == {"heartbeats", *(f"c{number}.*" for number in range(1, 12))}
    assert {len(topics) for topics in held.values()} == {12}


def test_summarized_heartbeat_topics_are_granted_by_prefix() -> None:
    flow = next(flow for flow in resolve_flows(a_mesh(12), None, {}) if flow.name == "c1-to-c0")
    granted = {(acl.cluster, acl.pattern, acl.name) for acl in flow_acls(flow) if acl.resource == "topic"}
    assert granted >= {
        ("c1", "literal", "heartbeats"),
        ("c1", "prefixed", "c2."),
        ("c0", "literal", "c1.heartbeats"),
        ("c0", "prefixed", "c1.c2."),
    }
    assert len(granted) < 60


def test_heartbeat_topics_downstream_of_a_dense_mesh_are_summarized_by_prefix() -> None:
    mesh = a_mesh(12)
    document = mesh.model_dump(mode="json", by_alias=True, exclude_unset=True)
    document["clusters"]["far"] = a_cluster("far", bootstrapServers="far:9093")
    document["replications"]["out"] = a_flow(source="c0", target="far")
    held = heartbeat_topics(expand(parse_topology(document)))
    assert held["far"] == {"c0.heartbeats", *(f"c0.c{number}.*" for number in range(1, 12))}
