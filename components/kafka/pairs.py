"""Which of many selections overlap, without comparing every pair. Two patterns can only overlap if they allow a common
character at every position of a name, counted from its beginning and from its end. So an index lists every pattern by
both, and a pattern is compared only with those that the index finds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_

from components.kafka.automata import Automaton, automaton, reversed_automaton
from components.kafka.characters import EVERY, UndecidableError
from components.kafka.overlap import Disjoint, SharedName, Undecided, overlap_of_patterns
from components.kafka.patterns import pattern_error
from components.kafka.selection import Selection

#: Characters from either end that the index uses; names seldom differ only beyond that.
_DEPTH = 64
#: Branches of a trie to follow at once; beyond this, everything below them counts as found.
_BREADTH = 4096


@dataclass(frozen=True)
class OverlappingPair:
    """Two selections that overlap or may overlap, and the two patterns that show it."""

    first: str
    second: str
    first_pattern: str
    second_pattern: str
    overlap: SharedName | Undecided


def pairs_that_overlap(selections: Mapping[str, Selection]) -> Iterator[OverlappingPair]:
    """Each pair of selections that overlaps or may overlap, once and in the mapping's order.

    The two patterns of a pair certainly overlap, if there are such patterns. Patterns that the checks refuse
    (`pattern_error`) are ignored.
    """
    index = _Index()
    for name, selection in selections.items():
        patterns = [pattern for pattern in dict.fromkeys(selection.patterns) if _shape(pattern) is not None]
        found: dict[str, OverlappingPair] = {}
        for pattern in patterns:
            for other, other_pattern in index.candidates(pattern):
                if other in found and isinstance(found[other].overlap, SharedName):
                    continue
                verdict = overlap_of_patterns(
                    other_pattern, pattern, (*selections[other].excluded, *selection.excluded)
                )
                if isinstance(verdict, SharedName) or (other not in found and not isinstance(verdict, Disjoint)):
                    found[other] = OverlappingPair(other, name, other_pattern, pattern, verdict)
        yield from (found[other] for other in sorted(found, key=index.order.__getitem__))
        index.add(name, patterns)


@dataclass(frozen=True)
class _Places:
    """Characters allowed at each position from one end of a name; with `ends`, every name has this length."""

    masks: tuple[int, ...]
    ends: bool


class _Index:
    """Patterns by their positions from the beginning and from the end; a set of patterns is an integer."""

    def __init__(self) -> None:
        self.order: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._patterns: list[str] = []
        self._holders: list[list[str]] = []
        self._heads = _Branch()
        self._tails = _Branch()

    def candidates(self, pattern: str) -> Iterator[tuple[str, str]]:
        """Name and pattern of every selection added so far that might overlap with this pattern."""
        shape = _shape(pattern)
        if shape is None:
            return
        numbers = self._tails.meeting(shape[1], self._heads.meeting(shape[0], (1 << len(self._patterns)) - 1))
        while numbers:
            lowest = numbers & -numbers
            number = lowest.bit_length() - 1
            numbers ^= lowest
            for holder in self._holders[number]:
                yield holder, self._patterns[number]

    def add(self, name: str, patterns: list[str]) -> None:
        self.order[name] = len(self.order)
        for pattern in patterns:
            if pattern not in self._numbers:
                self._file(pattern)
            self._holders[self._numbers[pattern]].append(name)

    def _file(self, pattern: str) -> None:
        shape = _shape(pattern)
        if shape is None:
            return
        number = self._numbers[pattern] = len(self._numbers)
        self._patterns.append(pattern)
        self._holders.append([])
        self._heads.file(shape[0], 1 << number)
        self._tails.file(shape[1], 1 << number)


@dataclass
class _Branch:
    """A node of a trie whose branches are sets of characters."""

    within: int = 0
    ending: int = 0
    going_on: int = 0
    branches: "dict[int, _Branch]" = field(default_factory=dict)

    def file(self, places: _Places, pattern: int) -> None:
        node = self
        node.within |= pattern
        for mask in places.masks:
            node = node.branches.setdefault(mask, _Branch())
            node.within |= pattern
        if places.ends:
            node.ending |= pattern
        else:
            node.going_on |= pattern

    def meeting(self, places: _Places, wanted: int) -> int:
        """The wanted patterns that allow a name allowed by these positions."""
        found = 0
        nodes = [self]
        for mask in places.masks:
            if len(nodes) > _BREADTH:
                return wanted & reduce(or_, (node.within for node in nodes), found)
            following = []
            for node in nodes:
                found |= node.going_on
                for branched, branch in node.branches.items():
                    if branched & mask and branch.within & wanted:
                        following.append(branch)
            nodes = following
        for node in nodes:
            found |= node.going_on | node.ending if places.ends else node.within
        return found & wanted


@lru_cache(maxsize=1 << 16)
def _shape(pattern: str) -> tuple[_Places, _Places] | None:
    """Positions from the beginning and from the end; None if the pattern is refused or matches no name."""
    try:
        names = automaton(pattern)
    except UndecidableError:
        anything = _Places((), ends=False)
        return None if pattern_error(pattern) else (anything, anything)
    head, tail = _places(names), _places(reversed_automaton(names))
    return None if head is None or tail is None else (head, tail)


def _places(names: Automaton) -> _Places | None:
    """Positions from the beginning up to where a name may end; None if there is no name."""
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
