"""Whether two patterns or two selections have a topic name in common, and which of many selections do.

The answer is a proof for all names, an example, or the reason why it is undecided. Many selections are compared without
trying every pair: two patterns can only overlap if they allow a common character at every position of a name, counted
from its beginning and from its end. So an index lists every pattern by both, and a pattern is compared only with those
that the index finds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import islice
from operator import or_

from kafka_replication.components.kafka.automata import (
    EVERY,
    Automaton,
    UndecidableError,
    automaton,
    reversed_automaton,
    union,
)
from kafka_replication.components.kafka.patterns import Selection, matches, matches_any, pattern_error
from kafka_replication.components.kafka.topic_names import LONGEST_NAME, TOPIC_CHARACTERS, is_name, is_topic_name

#: Texts that match a pattern such as `.*` but cannot be topic names. Source: Topic.validate.
_NO_TOPICS = (r"\.{1}", r"\.{2}")

#: Pairs of states to visit before giving up, which takes a few tenths of a second.
_PAIRS = 50_000
#: How many examples to try if the automaton had to leave out a construct.
_EXAMPLES = 200


@dataclass(frozen=True)
class Disjoint:
    """The two have no topic name in common."""


@dataclass(frozen=True)
class SharedName:
    """Both have this name, and no shorter one."""

    example: str


@dataclass(frozen=True)
class Undecided:
    """It could not be decided; the reason is a clause without a full stop."""

    reason: str


Overlap = Disjoint | SharedName | Undecided


def selects_no_topic(entry: str, excluded: tuple[str, ...]) -> bool:
    """Return whether a name or pattern certainly selects no topic, given what is excluded."""
    if is_name(entry):
        return not is_topic_name(entry) or matches_any(excluded, entry)
    return isinstance(overlap_of_patterns(entry, ".*", excluded), Disjoint)


def overlap_of_patterns(first: str, second: str, excluded: Iterable[str] = ()) -> Overlap:
    """Return whether some topic name matches both patterns and is not excluded."""
    return _decide(first, second, _distinct(tuple(excluded)))


def overlap_of_selections(first: Selection, second: Selection) -> Overlap:
    """Return whether both selections contain some topic name."""
    excluded = (*first.excluded, *second.excluded)
    undecided: Undecided | None = None
    for one in first.patterns:
        for other in second.patterns:
            overlap = overlap_of_patterns(one, other, excluded)
            if isinstance(overlap, SharedName):
                return overlap
            if isinstance(overlap, Undecided):
                undecided = undecided or overlap
    return undecided or Disjoint()


@lru_cache(maxsize=1 << 12)
def _distinct(excluded: tuple[str, ...]) -> tuple[str, ...]:
    """Return the exclusions in one order, together with the texts that cannot be topic names."""
    return tuple(sorted({*_NO_TOPICS, *excluded}))


@lru_cache(maxsize=1 << 18)
def _decide(first: str, second: str, excluded: tuple[str, ...]) -> Overlap:
    """First compare the automata alone, then without the excluded names.

    An automaton accepts at least the names that its pattern matches, and only exact exclusions are taken away. So if no
    common name is found, there is none. A name counts only if Python's matcher confirms it.
    """
    try:
        one, other = automaton(first), automaton(second)
        shortest = next(_common_names(one, other, None), None)
        if shortest is None:
            return Disjoint()
        if _is_common(first, second, excluded, shortest):
            return SharedName(shortest)
        outside, loose = _taken_away(excluded)
        examined = False
        for example in islice(_common_names(one, other, union((outside, *one.without, *other.without))), _EXAMPLES):
            examined = True
            if _is_common(first, second, excluded, example):
                return SharedName(example)
    except UndecidableError as error:
        return Undecided(str(error))
    if not examined:
        return Disjoint()
    constructs = ((first, one.loose), (second, other.loose), *loose)
    named = [f"`{pattern}` has {construct}" for pattern, construct in constructs if construct]
    why = " and ".join(named) or "the search found no example"
    return Undecided(f"{why}, which cannot be decided in general")


def _is_common(first: str, second: str, excluded: tuple[str, ...], name: str) -> bool:
    return matches(first, name) and matches(second, name) and not matches_any(excluded, name)


@lru_cache(maxsize=1 << 12)
def _taken_away(excluded: tuple[str, ...]) -> tuple[Automaton, tuple[tuple[str, str], ...]]:
    """Return the union of the exact exclusions, and the inexact ones, which are only applied to examples."""
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
    """Yield the names that two automata accept and a third does not, shortest first, one for each pair of states they
    end in.
    """
    outside = _Outside(without)
    start = (0, 0, outside.start)
    met, level = {start}, [(start, "")]
    for _ in range(LONGEST_NAME):
        following: list[tuple[tuple[int, int, int], str]] = []
        for state, begun in level:
            if len(met) > _PAIRS:
                raise UndecidableError("there are too many ways to match both")
            for mask, reached in _steps(first, second, outside, state):
                if reached in met:
                    continue
                met.add(reached)
                name = begun + TOPIC_CHARACTERS[(mask & -mask).bit_length() - 1]
                following.append((reached, name))
                if reached[0] in first.accepting and reached[1] in second.accepting and not outside.matches(reached[2]):
                    yield name
        level = following


def _steps(
    first: Automaton, second: Automaton, outside: "_Outside", state: tuple[int, int, int]
) -> list[tuple[int, tuple[int, int, int]]]:
    """Return the steps from a pair of states; those over characters that read well in an example come first."""
    steps = []
    for one, one_target in first.edges[state[0]]:
        for other, other_target in second.edges[state[1]]:
            if common := one & other:
                for part, after in outside.parts(state[2]):
                    if mask := common & part:
                        steps.append((mask, (one_target, other_target, after)))
    return sorted(steps, key=lambda step: step[0] & -step[0])


class _Outside:
    """The names to take away, as an automaton made deterministic while it is walked. State sets are bit masks."""

    def __init__(self, taken_away: Automaton | None) -> None:
        self.edges = taken_away.edges if taken_away else ()
        self.start = 1 if taken_away else 0
        self._accepting = sum(1 << state for state in taken_away.accepting) if taken_away else 0
        self._parts: dict[int, list[tuple[int, int]]] = {}

    def matches(self, states: int) -> bool:
        return bool(states & self._accepting)

    def parts(self, states: int) -> list[tuple[int, int]]:
        """Return the characters, grouped by the set of states that they lead to."""
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


#: Characters from either end that the index uses; names seldom differ only beyond that.
_DEPTH = 64


@dataclass(frozen=True)
class OverlappingPair:
    """Two selections that overlap or may overlap, and the two patterns that show it."""

    first: str
    second: str
    first_pattern: str
    second_pattern: str
    overlap: SharedName | Undecided


def pairs_that_overlap(selections: Mapping[str, Selection]) -> Iterator[OverlappingPair]:
    """Yield each pair that overlaps or may, with two patterns that show it; refused patterns are ignored."""
    index, order = _Index(), {name: place for place, name in enumerate(selections)}
    for name, selection in selections.items():
        shapes = {pattern: shape for pattern in selection.patterns if (shape := _shape(pattern)) is not None}
        pairs: dict[str, OverlappingPair] = {}
        for pattern, shape in shapes.items():
            for other, other_pattern in index.candidates(shape):
                if other in pairs and isinstance(pairs[other].overlap, SharedName):
                    continue
                verdict = overlap_of_patterns(
                    other_pattern, pattern, (*selections[other].excluded, *selection.excluded)
                )
                if isinstance(verdict, SharedName) or (other not in pairs and not isinstance(verdict, Disjoint)):
                    pairs[other] = OverlappingPair(other, name, other_pattern, pattern, verdict)
        yield from (pairs[other] for other in sorted(pairs, key=order.__getitem__))
        index.add(name, shapes)


@dataclass(frozen=True)
class _Places:
    """Characters allowed at each position from one end of a name; with `ends`, every name has this length."""

    masks: tuple[int, ...]
    ends: bool


#: The positions of a pattern from the beginning and from the end.
_Shape = tuple[_Places, _Places]


class _Index:
    """Patterns by their positions from the beginning and from the end; a set of patterns is an integer."""

    def __init__(self) -> None:
        self._holders: dict[str, list[str]] = {}
        self._patterns: list[str] = []
        self._from_beginning = _Positions()
        self._from_end = _Positions()

    def candidates(self, shape: _Shape) -> Iterator[tuple[str, str]]:
        """Name and pattern of every selection added so far that might overlap with a pattern of this shape."""
        numbers = self._from_beginning.meeting(shape[0], (1 << len(self._patterns)) - 1)
        numbers = self._from_end.meeting(shape[1], numbers)
        while numbers:
            lowest = numbers & -numbers
            numbers ^= lowest
            pattern = self._patterns[lowest.bit_length() - 1]
            yield from ((holder, pattern) for holder in self._holders[pattern])

    def add(self, name: str, shapes: Mapping[str, _Shape]) -> None:
        for pattern, (from_beginning, from_end) in shapes.items():
            if pattern not in self._holders:
                self._from_beginning.add(from_beginning, 1 << len(self._patterns))
                self._from_end.add(from_end, 1 << len(self._patterns))
                self._patterns.append(pattern)
            self._holders.setdefault(pattern, []).append(name)


class _Positions:
    """Which patterns allow which characters at each position from one end."""

    def __init__(self) -> None:
        self._allowing: list[dict[int, int]] = [{} for _ in range(_DEPTH)]
        #: Those that allow anything from a position on.
        self._open = [0] * (_DEPTH + 1)

    def add(self, places: _Places, pattern: int) -> None:
        for mask, allowing in zip(places.masks, self._allowing, strict=False):
            allowing[mask] = allowing.get(mask, 0) | pattern
        if not places.ends:
            self._open[len(places.masks)] |= pattern

    def meeting(self, places: _Places, wanted: int) -> int:
        """Return the wanted patterns that allow a name allowed by these positions."""
        unrestricted = 0
        for mask, allowing, begin in zip(places.masks, self._allowing, self._open, strict=False):
            unrestricted |= begin
            wanted &= reduce(or_, (those for allowed, those in allowing.items() if allowed & mask), unrestricted)
            if not wanted:
                return 0
        return wanted & ~reduce(or_, self._allowing[len(places.masks)].values(), 0) if places.ends else wanted


@lru_cache(maxsize=1 << 16)
def _shape(pattern: str) -> _Shape | None:
    """Return the shape of a pattern; None if the pattern is refused or matches no name."""
    try:
        names = automaton(pattern)
    except UndecidableError:
        anything = _Places((), ends=False)
        return None if pattern_error(pattern) else (anything, anything)
    head, tail = _places(names), _places(reversed_automaton(names))
    return None if head is None or tail is None else (head, tail)


def _places(names: Automaton) -> _Places | None:
    """Return the positions from the beginning up to where a name may end; None if there is no name."""
    masks: list[int] = []
    states = {0}
    while len(masks) < _DEPTH:
        mask = 0
        following = set()
        for state in states:
            for characters, target in names.edges[state]:
                mask |= characters
                following.add(target)
        may_end = bool(masks) and not states.isdisjoint(names.accepting)
        if not mask:
            return _Places(tuple(masks), ends=True) if may_end else None
        if may_end:
            break
        masks.append(mask)
        states = following
    while masks and masks[-1] == EVERY:
        masks.pop()
    return _Places(tuple(masks), ends=False)
