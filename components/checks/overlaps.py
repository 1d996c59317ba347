"""Overlaps: a topic that two source connectors of one direction select is replicated twice."""

from collections.abc import Iterator, Sequence

from components.checks.overlap import Overlaps, Selection, Undecided, selection_of
from components.checks.overlapping_pairs import OverlappingPair, overlapping_pairs
from components.checks.selections import topic_lists
from components.expansion import NamedFlow
from components.problems import Problem, Severity


def check_overlaps(flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """A problem for every two source connectors of one direction whose selections meet, or may meet."""
    directions: dict[tuple[str, str], dict[str, Selection]] = {}
    for named in flows:
        chosen = directions.setdefault((named.flow.source, named.flow.target), {})
        for key, topics in topic_lists(named.flow).items():
            chosen[named.where(key)] = selection_of(named.flow, topics)
    for (source, target), selections in directions.items():
        for pair in overlapping_pairs(selections):
            yield _problem(source, target, pair)


def _problem(source: str, target: str, pair: OverlappingPair) -> Problem:
    both = f"`{pair.second_pattern}` and `{pair.first_pattern}` of {pair.first}"
    why = "Each record of a topic that both select would be written twice; only one source connector may have a topic."
    match pair.overlap:
        case Overlaps(example):
            return Problem(
                pair.second,
                "topics-overlap",
                f"{both} both select `{example}` from {source} to {target}",
                why,
                "narrow one of the two patterns, or add the topic to one's `topicsExclude`.",
            )
        case Undecided(reason):
            return Problem(
                pair.second,
                "topics-may-overlap",
                f"whether {both} select a topic in common could not be decided: {reason}",
                why,
                "write one of the two without that construct, or see to it that no topic matches both.",
                Severity.WARNING,
            )
        case _:
            raise ValueError(f"{both} are disjoint")
