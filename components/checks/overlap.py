"""Whether two topic selections meet: decided for every name, shown by an example, or said to be undecided.

May import the model, naming, and from the checks the patterns and automata.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from components.checks.automata import Automaton, automaton, union
from components.checks.characters import ALPHABET, EVERY, LONGEST_NAME, UndecidableError
from components.checks.patterns import pattern_error, selects
from components.model import Flow, Policy
from components.naming import HEARTBEATS_TOPIC, excluded_groups, excluded_topics

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
#: What no topic is named. Source: org.apache.kafka.common.internals.Topic.validate
_NO_TOPICS = (r"\.{1}", r"\.{2}")
#: What no selection replicates. Source: ReplicationPolicy.isInternalTopic
_NEVER_REPLICATED = (r"\..*", "__.*", r".*[\-\.]internal")

#: Pairs of states to look at before giving up: some tenths of a second.
_PAIRS = 50_000
#: Examples to try where a construct was left out of the automaton.
_EXAMPLES = 200


@dataclass(frozen=True)
class Disjoint:
    """No topic name matches both."""


@dataclass(frozen=True)
class Overlaps:
    """The example, a shortest topic name, matches both."""

    example: str


@dataclass(frozen=True)
class Undecided:
    """It could not be found out; the reason is a clause without a full stop."""

    reason: str


Overlap = Disjoint | Overlaps | Undecided


@dataclass(frozen=True)
class Selection:
    """Topic names and patterns that a source connector selects, less those that it excludes."""

    patterns: tuple[str, ...]
    excluded: tuple[str, ...] = ()


def selection_of(flow: Flow, topics: tuple[str, ...]) -> Selection:
    """What a source connector of a flow replicates because its topics select it.

    Heartbeats pass every selection, and under the default policy what came from the target is never sent back. Patterns
    that are refused (`pattern_error`) are left out: they are problems of their own. Source:
    MirrorSourceConnector.shouldReplicateTopic, isCycle.
    """
    separator, last = re.escape(flow.separator), re.escape(flow.separator[-1])
    by_itself = [f"(.*{separator})?{HEARTBEATS_TOPIC}"]
    if flow.policy is Policy.DEFAULT:
        by_itself.append(f"(.*{separator})?{re.escape(flow.target)}{separator}.*[^{last}]")
    return Selection(_accepted(topics), (*_accepted(excluded_topics(flow)), *by_itself))


def group_selection_of(flow: Flow) -> Selection:
    """Groups whose offsets a flow translates, without the patterns that are refused. Source: DefaultGroupFilter."""
    return Selection(_accepted(flow.groups), _accepted(excluded_groups(flow)))


def _accepted(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pattern for pattern in patterns if pattern_error(pattern) is None)


def selects_nothing(topic: str, excluded: tuple[str, ...]) -> bool:
    """Whether MirrorMaker surely replicates no topic by a pattern, or not the topic of this name.

    Whoever writes a name means that name, though its full stops match any character.
    """
    if _NAME.fullmatch(topic):
        return topic in {".", ".."} or not selects((".*",), _all_excluded(excluded, ()), topic)
    return isinstance(pattern_overlap(topic, ".*", excluded, ()), Disjoint)


def overlap(first: str, second: str) -> Overlap:
    """Whether some topic name matches both patterns as a whole."""
    return _decide(first, second, _NO_TOPICS)


def pattern_overlap(
    first: str, second: str, first_excluded: tuple[str, ...], second_excluded: tuple[str, ...]
) -> Overlap:
    """Whether MirrorMaker would replicate some topic by both patterns, neither being excluded."""
    return _decide(first, second, _all_excluded(first_excluded, second_excluded))


def selections_overlap(first: Selection, second: Selection) -> Overlap:
    """Whether MirrorMaker would replicate some topic by both selections; an example is a topic that it would."""
    undecided: Undecided | None = None
    for one in first.patterns:
        for other in second.patterns:
            found = pattern_overlap(one, other, first.excluded, second.excluded)
            if isinstance(found, Overlaps):
                return found
            if isinstance(found, Undecided):
                undecided = undecided or found
    return undecided or Disjoint()


@lru_cache(maxsize=1 << 12)
def _all_excluded(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*_NEVER_REPLICATED, *first, *second}))


@lru_cache(maxsize=1 << 18)
def _decide(first: str, second: str, excluded: tuple[str, ...]) -> Overlap:
    """Decide from the automata alone, then with what is taken away; only examples that Python's matcher confirms count.

    An automaton matches at least what its pattern does, and what is taken away is exact: so no common name is proof.
    """
    try:
        one, other = automaton(first), automaton(second)
        shortest = next(_common_names(one, other, None), None)
        if shortest is None:
            return Disjoint()
        if _is_common(first, second, excluded, shortest):
            return Overlaps(shortest)
        outside, loose = _taken_away(excluded)
        found = False
        for example in islice(_common_names(one, other, union((outside, *one.without, *other.without))), _EXAMPLES):
            found = True
            if _is_common(first, second, excluded, example):
                return Overlaps(example)
    except UndecidableError as error:
        return Undecided(str(error))
    if not found:
        return Disjoint()
    return Undecided(_reason((first, one.loose), (second, other.loose), *loose))


def _is_common(first: str, second: str, excluded: tuple[str, ...], name: str) -> bool:
    return selects((first,), excluded, name) and selects((second,), (), name)


def _reason(*loose: tuple[str, str]) -> str:
    named = [f"`{pattern}` has {construct}" for pattern, construct in loose if construct]
    return f"{' and '.join(named) or 'the search found no example'}, which is not decided in general"


@lru_cache(maxsize=1 << 12)
def _taken_away(excluded: tuple[str, ...]) -> tuple[Automaton, tuple[tuple[str, str], ...]]:
    """What exclusions take away, and those that are not exact, with the construct; they are tried on examples only."""
    exact: list[Automaton] = []
    loose: list[tuple[str, str]] = []
    for pattern in excluded:
        try:
            one = automaton(pattern)
        except UndecidableError:
            loose.append((pattern, "a construct that cannot be compared"))
            continue
        if one.is_exact:
            exact.append(one)
        else:
            loose.append((pattern, one.loose or "a look-around"))
    return union(exact), tuple(loose)


def _common_names(first: Automaton, second: Automaton, without: Automaton | None) -> Iterator[str]:
    """Names of both but not of a third, shortest first, one for each pair of states that they may end in."""
    outside = _Outside(without)
    start = (0, 0, outside.start)
    came_from: dict[tuple[int, int, int], tuple[tuple[int, int, int], str] | None] = {start: None}
    level = [start]
    for _ in range(LONGEST_NAME):
        following: list[tuple[int, int, int]] = []
        for state in level:
            if len(came_from) > _PAIRS:
                raise UndecidableError("there are too many ways to match both")
            for mask, reached in _steps(first, second, outside, state):
                if reached in came_from:
                    continue
                came_from[reached] = (state, ALPHABET[(mask & -mask).bit_length() - 1])
                following.append(reached)
                if reached[0] in first.accepting and reached[1] in second.accepting and not outside.matches(reached[2]):
                    yield _spelled(came_from, reached)
        level = following


def _steps(
    first: Automaton, second: Automaton, outside: "_Outside", state: tuple[int, int, int]
) -> list[tuple[int, tuple[int, int, int]]]:
    """Steps from a pair of states, those over the characters that read best first."""
    steps = []
    for one, one_target in first.edges[state[0]]:
        for other, other_target in second.edges[state[1]]:
            if common := one & other:
                for part, after in outside.parts(state[2]):
                    if mask := common & part:
                        steps.append((mask, (one_target, other_target, after)))
    return sorted(steps, key=lambda step: step[0] & -step[0])


def _spelled(
    came_from: dict[tuple[int, int, int], tuple[tuple[int, int, int], str] | None], state: tuple[int, int, int]
) -> str:
    characters = []
    while step := came_from[state]:
        state, character = step
        characters.append(character)
    return "".join(reversed(characters))


class _Outside:
    """What is taken away, made deterministic as far as it is walked: a set of states is an integer with a bit each."""

    def __init__(self, taken_away: Automaton | None) -> None:
        self.edges = taken_away.edges if taken_away else ()
        self.start = 1 if taken_away else 0
        self._accepting = sum(1 << state for state in taken_away.accepting) if taken_away else 0
        self._parts: dict[int, list[tuple[int, int]]] = {}

    def matches(self, states: int) -> bool:
        return bool(states & self._accepting)

    def parts(self, states: int) -> list[tuple[int, int]]:
        """The characters, parted by the set of states that they lead to."""
        if states not in self._parts:
            parts = {EVERY: 0}
            for state in (index for index in range(states.bit_length()) if states >> index & 1):
                for mask, target in self.edges[state]:
                    parts = {
                        part: after | (1 << target if inside else 0)
                        for whole, after in parts.items()
                        for part, inside in ((whole & mask, True), (whole & ~mask, False))
                        if part
                    }
            self._parts[states] = list(parts.items())
        return self._parts[states]
