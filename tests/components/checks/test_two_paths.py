"""A record that reaches one topic by two paths is written twice there; names, selections and filters keep one off."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

IDENTITY: dict[str, Any] = {"policy": "identity"}
GUARDED = {**IDENTITY, "loopGuard": True}
DEFAULT: dict[str, Any] = {}
PAIR = {"kind": "prefixlessPair", "topics": ["orders"]}


def having(predicate: str, **config: str) -> dict[str, Any]:
    predicates = {"type": f"org.apache.kafka.connect.transforms.predicates.{predicate}", "config": config}
    return {"before": {"Other": {"type": "org.apache.kafka.connect.transforms.Filter", "predicate": predicates}}}


def dropping(source: str) -> dict[str, Any]:
    return {"transforms": having("HasHeaderKey", name=f"replicated-from-{source}")}


def reported(ways: str, *kinds: dict[str, Any]) -> list[Problem]:
    """Return what is reported for these replications, whose clusters `ways` has as `a-b`."""
    replications = {}
    for way, settings in zip(ways.split(), kinds, strict=True):
        source, target = way.split("-")
        ends = {"between": [source, target]} if "kind" in settings else {"source": source, "target": target}
        replications[way.replace("-", "")] = {
            **({} if "kind" in settings else a_flow(topics=[".*"])),
            **settings,
            **ends,
        }
    clusters = {alias: a_cluster(bootstrapServers=f"{alias}.example.com:9093") for alias in "abcde" if alias in ways}
    problems = check_topology(parse_topology(a_topology(clusters=clusters, replications=replications)))
    return [problem for problem in problems if problem.code == "two-paths"]


def said(problems: list[Problem]) -> list[str]:
    return [f"{problem.severity}: {problem.what.partition(' by two paths: ')[2]}" for problem in problems]


DIAMOND = "a-b a-c b-d c-d"
MESH = "a-b b-c a-c"


@pytest.mark.parametrize(
    ("ways", "kinds", "expected"),
    [
        pytest.param(DIAMOND, [IDENTITY] * 4, ["error: a -> b -> d and a -> c -> d"], id="a diamond"),
        pytest.param(
            DIAMOND, [GUARDED] * 4, ["error: a -> b -> d and a -> c -> d"], id="guards stop only what returns"
        ),
        pytest.param(
            MESH, [IDENTITY] * 3, ["error: a -> c and a -> b -> c"], id="directly and through another cluster"
        ),
        pytest.param(
            MESH,
            [PAIR] * 3,
            ["error: a -> b and a -> c -> b", "error: b -> a and b -> c -> a", "error: c -> b and c -> a -> b"],
            id="a mesh of pairs",
        ),
        pytest.param(
            MESH,
            [PAIR, IDENTITY, IDENTITY],
            ["error: a -> c and a -> b -> c", "error: b -> c and b -> a -> c"],
            id="a pair and its common standby",
        ),
        pytest.param(
            "a-b b-c c-d a-e e-d",
            [IDENTITY] * 5,
            ["error: a -> e -> d and a -> b -> c -> d"],
            id="paths of different lengths",
        ),
        pytest.param(
            MESH,
            [DEFAULT, IDENTITY, DEFAULT],
            ["error: a -> c and a -> b -> c"],
            id="one prefix at the beginning of both",
        ),
        pytest.param(
            MESH,
            [
                {**IDENTITY, "topics": []}
                | {"connectors": {"sources": {"x": {"topics": ["x"]}, "y": {"topics": ["y"]}}}},
                {**IDENTITY, "topics": ["y"]},
                IDENTITY,
            ],
            ["error: a -> c and a -> b -> c"],
            id="one of several source connectors",
        ),
        pytest.param(
            MESH,
            [PAIR, {**PAIR, **dropping("a")}, PAIR],
            ["error: b -> a and b -> c -> a", "error: c -> b and c -> a -> b"],
            id="a filter on one of three pairs",
        ),
        pytest.param(
            MESH,
            [GUARDED, {**IDENTITY, **dropping("a")}, {**GUARDED, "topics": ["x", "a"]}],
            [],
            id="a filter of what the guard marked",
        ),
        pytest.param(
            MESH,
            [IDENTITY, {**IDENTITY, **dropping("a")}, IDENTITY],
            ["warning: a -> c and a -> b -> c"],
            id="a filter of what no guard marks",
        ),
        pytest.param(
            MESH,
            [IDENTITY, {**IDENTITY, "transforms": having("TopicNameMatches", pattern="x.*")}, IDENTITY],
            ["warning: a -> c and a -> b -> c"],
            id="a filter of topics",
        ),
        pytest.param(
            MESH,
            [IDENTITY, {**IDENTITY, "transforms": having("RecordIsTombstone")}, IDENTITY],
            ["error: a -> c and a -> b -> c"],
            id="a filter of tombstones",
        ),
        pytest.param(
            MESH,
            [{**IDENTITY, "topics": ["[ab]+xc?b"]}, {**IDENTITY, "topics": [r"(a|b)+x\1"]}, IDENTITY],
            ["warning: a -> c and a -> b -> c"],
            id="patterns that cannot be compared",
        ),
    ],
)
def test_records_that_reach_a_topic_by_two_paths_are_reported(
    ways: str, kinds: list[dict[str, Any]], expected: list[str]
) -> None:
    assert said(reported(ways, *kinds)) == expected


@pytest.mark.parametrize(
    ("ways", "kinds"),
    [
        pytest.param(DIAMOND, [DEFAULT] * 4, id="each path has a prefix of its own"),
        pytest.param(DIAMOND, [IDENTITY, IDENTITY, DEFAULT, DEFAULT], id="prefixes of the last clusters"),
        pytest.param(MESH, [DEFAULT, IDENTITY, {"separator": "_"}], id="prefixes with different separators"),
        pytest.param(
            DIAMOND,
            [IDENTITY, IDENTITY, {**IDENTITY, "topics": ["x"]}, {**IDENTITY, "topics": ["y"]}],
            id="other topics",
        ),
        pytest.param(DIAMOND, [IDENTITY, IDENTITY, IDENTITY, {**IDENTITY, "topicsExclude": [".*"]}], id="an exclusion"),
        pytest.param("a-b b-c c-d", [IDENTITY] * 3, id="a chain"),
        pytest.param("a-d b-d c-d", [IDENTITY] * 3, id="several sources of one target"),
        pytest.param("a-b a-c a-d", [PAIR] * 3, id="a star of pairs"),
        pytest.param(
            MESH,
            [{**PAIR, **dropping("c")}, {**PAIR, **dropping("a")}, {**PAIR, **dropping("b")}],
            id="each pair drops what came from the third cluster",
        ),
        pytest.param(
            MESH, [{**PAIR, "topics": [topic]} for topic in ("x", "y", "z")], id="each pair has a topic of its own"
        ),
    ],
)
def test_records_that_reach_each_topic_by_one_path_are_not_reported(ways: str, kinds: list[dict[str, Any]]) -> None:
    assert said(reported(ways, *kinds)) == []
