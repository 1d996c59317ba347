"""A user's transforms must not touch the headers that loop guards depend on."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

CLUSTERS = {
    alias: a_cluster(region, bootstrapServers=f"kafka.{alias}.example.com:9093")
    for alias, region in (("useast", "us-east-1"), ("uswest", "us-west-2"), ("eu", "eu-west-1"))
}
PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["orders"]}


def dropping(*headers: str) -> dict[str, Any]:
    return {"type": "DropHeaders", "config": {"headers": ", ".join(headers)}}


def inserting(header: str) -> dict[str, Any]:
    return {"type": "InsertHeader", "config": {"header": header, "value.literal": "null"}}


def copying(*headers: str) -> dict[str, Any]:
    listed = {"fields": ",".join("abc"[: len(headers)]), "headers": ",".join(headers), "operation": "move"}
    return {"type": "org.apache.kafka.connect.transforms.HeaderFrom$Value", "config": listed}


def a_leg(source: str, target: str, **overrides: Any) -> dict[str, Any]:
    return a_flow(source=source, target=target, topics=["orders"], policy="identity", **overrides)


def markers_found(**replications: Any) -> list[Problem]:
    topology = {**a_topology(clusters=CLUSTERS), "replications": replications}
    return [problem for problem in check_topology(parse_topology(topology)) if problem.code == "guard-marker-touched"]


TOUCHING = {
    "drops it": dropping("trace", "replicated-from-useast"),
    "inserts it": inserting(" replicated-from-useast "),
    "copies a field into it": copying("who", "replicated-from-useast"),
}
LEAVING = {
    "another header": dropping("trace"),
    "another case": dropping("Replicated-From-useast"),
    "a longer name": dropping("replicated-from-useast-2"),
    "a cluster without a guard": dropping("replicated-from-eu"),
}


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("name", TOUCHING)
def test_a_transform_that_touches_a_marker_of_its_own_flow_is_refused(name: str, place: str) -> None:
    (problem,) = markers_found(orders={**PAIR, "transforms": {place: {"own": TOUCHING[name]}}})
    assert problem.where == f"replications.orders.transforms.{place}.own"
    assert "`replicated-from-useast`" in problem.what


@pytest.mark.parametrize(
    ("place", "alias", "said"),
    [
        ("after", "useast", "It adds the header itself, so no transform needs to write it."),
        (
            "before",
            "useast",
            "Records that did not come from `useast` would be dropped too, so `useast` would lack them.",
        ),
        (
            "before",
            "uswest",
            "Records that did not come from `uswest` would be dropped too, so `uswest` would lack them.",
        ),
    ],
)
def test_a_pair_that_writes_a_marker_is_told_what_follows(place: str, alias: str, said: str) -> None:
    (problem,) = markers_found(orders={**PAIR, "transforms": {place: {"own": inserting(f"replicated-from-{alias}")}}})
    assert problem.why.endswith(said)


def test_a_flow_that_writes_its_marker_by_hand_is_told_of_the_loop_guard() -> None:
    out = a_leg("useast", "uswest", transforms={"after": {"own": inserting("replicated-from-useast")}})
    (problem,) = markers_found(out=out, back=a_leg("uswest", "useast", loopGuard=True))
    assert problem.why.endswith("With `loopGuard: true`, this flow adds the header itself.")


@pytest.mark.parametrize("name", LEAVING)
def test_a_transform_may_touch_other_headers(name: str) -> None:
    assert markers_found(orders={**PAIR, "transforms": {"after": {"own": LEAVING[name]}}}) == []


def test_a_transform_that_touches_both_markers_is_reported_for_each() -> None:
    both = dropping("replicated-from-useast", "replicated-from-uswest")
    problems = markers_found(orders={**PAIR, "transforms": {"before": {"own": both}}})
    assert [problem.what[-24:] for problem in problems] == ["`replicated-from-useast`", "`replicated-from-uswest`"]


def test_a_transform_of_one_source_connector_is_reported_at_its_path() -> None:
    sources = {"eu": {"topics": ["orders"], "transforms": {"after": {"own": dropping("replicated-from-useast")}}}}
    flow = {**a_leg("useast", "uswest", loopGuard=True, connectors={"sources": sources}), "topics": []}
    (problem,) = markers_found(orders=flow)
    assert problem.where == "replications.orders.connectors.sources.eu.transforms.after.own"


def test_a_flow_must_keep_the_marker_that_a_later_loop_guard_reads() -> None:
    """In a ring, the guard of the last flow recognizes records by the marker that the first flow adds."""
    middle = a_leg("uswest", "eu", transforms={"after": {"own": dropping("replicated-from-useast")}})
    first, last = a_leg("useast", "uswest", loopGuard=True), a_leg("eu", "useast", loopGuard=True)
    (problem,) = markers_found(first=first, middle=middle, last=last)
    assert "The loop guard of replications.last drops records with this header" in problem.why


def test_a_flow_into_a_cluster_with_no_way_back_may_drop_markers() -> None:
    lake = a_leg("useast", "eu", transforms={"after": {"own": dropping("replicated-from-uswest")}})
    assert markers_found(orders=PAIR, lake=lake) == []


def test_a_flow_of_other_topics_may_drop_the_marker() -> None:
    other = {**a_leg("useast", "uswest"), "topics": ["audit"]}
    assert (
        markers_found(
            orders=PAIR, other={**other, "transforms": {"after": {"own": dropping("replicated-from-useast")}}}
        )
        == []
    )
