"""Predicates of transforms that no replicated topic can meet."""

import re
from collections.abc import Iterator

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow
from components.flows.naming import replication_policy
from components.flows.sources import each_source, source_key
from components.kafka.overlap import Disjoint, overlap_of_patterns
from components.kafka.patterns import matches, pattern_error
from components.kafka.plugins import TOPIC_NAME_MATCHES
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from components.topology.model import Flow


def check_predicates(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every pattern of topics in a predicate matches a topic that the transform sees."""
    useless: dict[str, Problem | None] = {}
    for part, settings in each_source(flow.settings):
        for place, chain in (("before", settings.transforms.before), ("after", settings.transforms.after)):
            for name, transform in chain.items():
                key = f"transforms.{place}.{name}.predicate.config.pattern"
                where = flow.where(source_key(flow.settings, part, key))
                predicate = transform.predicate
                if predicate is None or predicate.type != TOPIC_NAME_MATCHES:
                    continue
                pattern = str(predicate.config.get("pattern", ""))
                # Several source connectors with different topics can share a transform.
                if not _matches_none(settings, pattern):
                    useless[where] = None
                else:
                    useless.setdefault(where, _never_holds(where, settings, pattern, negate=transform.negate))
    yield from (problem for problem in useless.values() if problem is not None)


def _matches_none(flow: Flow, pattern: str) -> bool:
    """Whether the pattern certainly matches no topic of the flow under its name on the target."""
    policy = replication_policy(flow)
    if pattern_error(pattern) or matches(pattern, policy.remote(HEARTBEATS_TOPIC)) or not flow.topics:
        return False
    if any(pattern_error(entry) for entry in flow.topics):
        return False
    seen = [f"{re.escape(policy.prefix_of(entry))}({entry})" for entry in flow.topics]
    return all(isinstance(overlap_of_patterns(pattern, each), Disjoint) for each in seen)


def _never_holds(where: str, flow: Flow, pattern: str, *, negate: bool) -> Problem:
    policy = replication_policy(flow)
    prefix = policy.prefix_of(flow.topics[0])
    return Problem(
        where,
        "predicate-never-holds",
        f"`{pattern}` matches no topic that the transform sees",
        f"A transform sees a topic under its name on the target, such as `{policy.remote(flow.topics[0])}`. So this "
        f"one is applied to {'every record' if negate else 'no record'}.",
        f"begin the pattern with `{re.escape(prefix)}`." if prefix else "correct the pattern.",
        Severity.WARNING,
    )
