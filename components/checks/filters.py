"""The user's own filters that drop every record."""

import re
from collections.abc import Iterator

from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow
from components.flows.naming import replication_policy
from components.flows.selections import topic_selection
from components.flows.sources import each_source, source_key
from components.kafka.dropped_records import filters_of_everything
from components.kafka.plugins import simple_name
from components.kafka.topic_names import is_name
from components.kafka.transform_chains import chain_of
from components.render.connector_config import transform_properties
from components.topology.model import Flow
from components.topology.transforms import Transform


def check_filters(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every filter lets some record pass."""
    dropping: dict[str, Problem | None] = {}
    for part, settings in each_source(flow.settings):
        chains = {"before": settings.transforms.before, "after": settings.transforms.after}
        always = _filters_of_everything(settings, flow.kafka) if any(chains.values()) else []
        for place, chain in chains.items():
            for name, transform in chain.items():
                where = flow.where(source_key(flow.settings, part, f"transforms.{place}.{name}"))
                # Several source connectors with different topics can share a transform.
                if name not in always or (transform.predicate is None and transform.negate):
                    dropping[where] = None
                else:
                    dropping.setdefault(where, _drops_everything(where, name, transform))
    yield from (problem for problem in dropping.values() if problem is not None)


def _filters_of_everything(flow: Flow, kafka: str) -> list[str]:
    policy = replication_policy(flow)
    excluded = () if policy.prefix_of("") else topic_selection(flow, kafka, ()).excluded
    topics = [
        policy.remote(each) if is_name(each) else f"{re.escape(policy.prefix_of(each))}({each})" for each in flow.topics
    ]
    return filters_of_everything(chain_of(transform_properties(flow)), topics, excluded)


def _drops_everything(where: str, name: str, transform: Transform) -> Problem:
    why, remedy = "It has no predicate", "add a `predicate` that selects the records to drop."
    if transform.predicate is not None:
        asked = simple_name(transform.predicate.type)
        why = f"{asked} holds for {'none' if transform.negate else 'each'} of them"
        remedy = "correct `predicate` or `negate`, so that only the records to drop are selected."
    return Problem(
        where,
        "every-record-dropped",
        f"the filter `{name}` drops every record that reaches it",
        f"{why}, so the flow would replicate nothing, and no error would show it.",
        remedy,
    )
