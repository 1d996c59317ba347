"""Heartbeats over several hops, as MirrorMaker replicates them."""

from components.expansion import expand
from components.heartbeats import heartbeat_topics
from components.parsing import parse_topology
from components.resolved import resolve_flows
from components.specs.acls import flow_acls
from tests.builders import a_cluster, a_flow, a_topology


def a_chain(**last: object) -> dict[str, object]:
    clusters = {alias: a_cluster(alias, bootstrapServers=f"{alias}:9093") for alias in ("a", "b", "c")}
    replications = {"first": a_flow(source="a", target="b"), "last": a_flow(source="b", target="c", **last)}
    return a_topology(clusters=clusters, replications=replications)


def test_heartbeats_go_on_from_cluster_to_cluster_under_longer_names() -> None:
    assert heartbeat_topics(expand(parse_topology(a_chain()))) == {
        "a": {"heartbeats"},
        "b": {"heartbeats", "a.heartbeats"},
        "c": {"b.heartbeats", "b.a.heartbeats"},
    }


def test_a_ring_ends_where_a_heartbeat_would_come_home() -> None:
    topology = a_topology(
        replications={"out": a_flow(topics=["x"]), "back": a_flow(source="uswest", target="useast", topics=["y"])}
    )
    assert heartbeat_topics(expand(parse_topology(topology))) == {
        "useast": {"heartbeats", "uswest.heartbeats"},
        "uswest": {"heartbeats", "useast.heartbeats"},
    }


def test_acls_cover_the_heartbeats_of_every_cluster_upstream() -> None:
    """A task that may see a heartbeat topic and not write its copy fails, and all its partitions with it."""
    _, last = sorted(resolve_flows(parse_topology(a_chain()), None, {}), key=lambda flow: flow.name == "last")
    written = {acl.name for acl in flow_acls(last) if acl.cluster == "c" and "ALTER" in acl.operations}
    assert {"b.heartbeats", "b.a.heartbeats"} <= written


def test_a_flow_without_heartbeats_passes_none_on() -> None:
    topology = parse_topology(a_chain(replicateHeartbeats=False, connectors={"heartbeat": {"enabled": False}}))
    assert heartbeat_topics(expand(topology)).get("c", frozenset()) == frozenset()


def test_they_are_looked_for_only_when_asked_for() -> None:
    """Between many clusters they go countless ways: a topology of 200 clusters could not even be checked."""
    first, last = resolve_flows(parse_topology(a_chain()), None, {})
    assert "_held" not in vars(last.heartbeats)
    assert last.heartbeat_topics == {"heartbeats", "a.heartbeats"}
    assert "_held" in vars(first.heartbeats)
