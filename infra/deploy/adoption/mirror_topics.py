"""Which flows copy topics that a mirror also copies. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.flows.resolved import ResolvedFlow
from components.flows.selections import topic_selection
from components.kafka.overlap import Disjoint, overlap_of_selections
from components.kafka.patterns import Selection, pattern_error
from components.kafka.topic_names import default_topics_exclude
from infra.onboard.importing.mirrors import effective_configs
from infra.onboard.importing.values import Placeholders

_EVERYTHING = ".*"

Part = Mapping[str, Any]


def flows_of_mirror(
    mirror: Part, source: Part, flows: Sequence[ResolvedFlow], placeholders: Placeholders
) -> tuple[ResolvedFlow, ...]:
    """The flows that may share a topic with the mirror; undecided cases count as sharing.

    `source` is the mirror's source cluster in the resource.
    """
    config = next((each for role, each in effective_configs(mirror, source, placeholders) if role == "source"), {})
    return tuple(each for each in flows if not isinstance(_overlap(config, each), Disjoint))


def _overlap(config: Mapping[str, str], flow: ResolvedFlow) -> object:
    default = ",".join(default_topics_exclude(flow.expanded.kafka))
    excluded = config.get("topics.exclude", config.get("topics.blacklist", default))
    selected = Selection(_patterns(config.get("topics", _EVERYTHING), (_EVERYTHING,)), _patterns(excluded, ()))
    return overlap_of_selections(selected, topic_selection(flow.settings, flow.expanded.kafka))


def _patterns(text: str, unknown: tuple[str, ...]) -> tuple[str, ...]:
    """The entries of a list, or `unknown` if it is not known, because a placeholder in it has no value here."""
    entries = tuple(each.strip() for each in text.split(",") if each.strip())
    return unknown if "${" in text or any(pattern_error(each) for each in entries) else entries
