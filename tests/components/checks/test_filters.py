"""Filters and predicates that several source connectors share."""

from typing import Any

from kafka_replication.components.checks import check_topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology


def codes(pattern: str) -> list[str]:
    """The codes of the problems if two source connectors share a filter on these topics."""
    sources: dict[str, Any] = {"carts": {"topics": ["carts"]}, "views": {"topics": ["views-.*"]}}
    predicate = {"type": "TopicNameMatches", "config": {"pattern": pattern}}
    transforms = {"before": {"drop": {"type": "Filter", "predicate": predicate}}}
    flow = a_flow(topics=[], connectors={"sources": sources}, transforms=transforms)
    return [problem.code for problem in check_topology(parse_topology(a_topology(flow)))]


def test_a_filter_that_empties_only_one_of_two_source_connectors_is_accepted() -> None:
    """The filter drops no record of the other source connector."""
    assert codes(r"useast\.carts") == []


def test_a_filter_that_empties_both_source_connectors_is_refused() -> None:
    assert codes(r"useast\..*") == ["every-record-dropped"]


def test_a_predicate_that_holds_for_neither_source_connector_is_reported_once() -> None:
    assert codes("carts") == ["predicate-never-holds"]
