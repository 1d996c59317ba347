"""Patterns as automata over the characters of topic names; a set of characters is an integer, one bit for each."""

import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import chain
from typing import Any

from kafka_replication.components.kafka.patterns import in_python, pattern_error
from kafka_replication.components.kafka.topic_names import LONGEST_NAME, TOPIC_CHARACTERS, has_topic_characters_only

#: The set of all characters.
EVERY = (1 << len(TOPIC_CHARACTERS)) - 1

BITS = {character: 1 << index for index, character in enumerate(TOPIC_CHARACTERS)}
IGNORECASE = int(re.IGNORECASE)


class UndecidableError(Exception):
    """A question about a pattern cannot be answered; the message is a clause that says why."""


def character_set(characters: str) -> int:
    return sum(BITS[character] for character in characters)


@lru_cache(maxsize=1 << 12)
def character_range(bounds: tuple[int, int], flags: int) -> int:
    first, last = bounds
    if not flags & IGNORECASE:
        return character_set("".join(character for character in TOPIC_CHARACTERS if first <= ord(character) <= last))
    if last > 127:
        raise UndecidableError("Java and Python disagree about letters outside ASCII if case is ignored")
    cases = {character: (ord(character.lower()), ord(character.upper())) for character in TOPIC_CHARACTERS}
    return character_set("".join(one for one in TOPIC_CHARACTERS if any(first <= code <= last for code in cases[one])))


def character_category(name: object, _flags: int) -> int:
    mask = _CATEGORIES[str(name).replace("_NOT", "")]
    return EVERY & ~mask if "_NOT" in str(name) else mask


#: Java's and Python's classes agree on the characters of topic names.
_CATEGORIES = {
    "CATEGORY_DIGIT": character_set(string.digits),
    "CATEGORY_SPACE": 0,
    "CATEGORY_WORD": character_set(string.ascii_letters + string.digits + "_"),
}
MEMBERS: dict[str, Callable[[Any, int], int]] = {
    "LITERAL": lambda code, flags: character_range((code, code), flags),
    "RANGE": character_range,
    "CATEGORY": character_category,
}


_LOOKAROUNDS = ("ASSERT", "ASSERT_NOT")
#: More states than any sensible pattern needs. Without a limit, nested repetitions would take minutes.
_STATES = 5_000

_parser = import_module("re._parser")
#: An operation and its argument, as the standard library's parser returns them: `(LITERAL, 97)`.
Node = tuple[Any, Any]
#: The characters that a step accepts, and the state that it leads to.
Edge = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Automaton:
    """Accepts every name that a pattern matches; if it is not exact, it may accept others.

    State 0 is the start. `edges` holds the steps from each state, `accepting` the states in which a name may end. The
    pattern does not match the names that `without` accepts (`orders-(?!tmp).*`). `loose` names a construct that was
    left out, so that the automaton may accept too much; empty if there is none.
    """

    edges: tuple[tuple[Edge, ...], ...]
    accepting: frozenset[int]
    without: tuple["Automaton", ...] = ()
    loose: str = ""

    @property
    def is_exact(self) -> bool:
        return not self.loose and not self.without


@lru_cache(maxsize=1 << 16)
def automaton(pattern: str) -> Automaton:
    """Return the automaton of a pattern; raises UndecidableError if the pattern is refused or too large."""
    if has_topic_characters_only(pattern) and "." not in pattern:
        return Automaton(
            (*(((BITS[one], place + 1),) for place, one in enumerate(pattern)), ()), frozenset({len(pattern)})
        )
    if refused := pattern_error(pattern):
        raise UndecidableError(f"`{pattern}` cannot be evaluated: {refused.reason}")
    try:
        parsed = _parser.parse(in_python(pattern))
        if parsed.state.flags & re.VERBOSE:
            raise UndecidableError("Java has other rules for its flag `x`")
        builder = _Builder()
        end = builder.sequence(_without_lookarounds(parsed), 0, parsed.state.flags)
        without = tuple(_taken_away(parsed, parsed.state.flags, builder))
    except UndecidableError as error:
        raise UndecidableError(f"`{pattern}` cannot be compared: {error}") from error
    return builder.finish(end, without)


def union(automata: Iterable[Automaton]) -> Automaton:
    """Accepts every name that one of several exact automata accepts."""
    edges: list[tuple[Edge, ...]] = [()]
    accepting: set[int] = set()
    for one in automata:
        offset = len(edges)
        edges += [tuple((mask, target + offset) for mask, target in steps) for steps in one.edges]
        edges[0] += edges[offset]
        accepting |= {state + offset for state in one.accepting}
    return Automaton(tuple(edges), frozenset(accepting))


def reversed_automaton(names: Automaton) -> Automaton:
    """Accepts the same names, spelled backwards."""
    edges: list[list[Edge]] = [[] for _ in range(len(names.edges) + 1)]
    for state, steps in enumerate(names.edges):
        for mask, target in steps:
            edges[target + 1].append((mask, state + 1))
            if target in names.accepting:
                edges[0].append((mask, state + 1))
    return Automaton(tuple(map(tuple, edges)), frozenset({1}))


def _without_lookarounds(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if str(node[0]) not in _LOOKAROUNDS]


def _taken_away(parsed: Any, flags: int, builder: "_Builder") -> Iterable[Automaton]:
    """Return what `P(?!X)…` and `…(?<!X)S` do not match, for P and S of fixed length: `PX.*` and `.*XS`.

    Any other look-around makes the automaton loose, because its place in a name is not known.
    """
    for index, (operation, argument) in enumerate(parsed):
        if str(operation) not in _LOOKAROUNDS:
            continue
        direction, looked_for = argument
        beside = parsed[:index] if direction > 0 else parsed[index + 1 :]
        shortest, longest = beside.getwidth()
        inner = _Builder()
        plain = _without_lookarounds(beside)
        if direction > 0:
            end = inner.anything(inner.sequence(looked_for, inner.sequence(plain, 0, flags), flags))
        else:
            end = inner.sequence(plain, inner.sequence(looked_for, inner.anything(0), flags), flags)
        if str(operation) == "ASSERT" or shortest != longest or inner.loose:
            builder.loose = "a look-around"
        else:
            yield inner.finish(end, ())


class _Builder:
    """Thompson's construction: each part leads from one state to another; anchors are empty steps at the ends."""

    def __init__(self) -> None:
        self.steps: list[list[Edge]] = [[]]
        self.silent: list[list[int]] = [[]]
        self.at_beginning: dict[int, list[int]] = {}
        self.at_end: dict[int, list[int]] = {}
        self.loose = ""

    def sequence(self, nodes: Iterable[Node], state: int, flags: int) -> int:
        for operation, argument in nodes:
            name = str(operation)
            if name not in _BUILDERS:
                raise UndecidableError(f"it has a construct that is not supported here ({name.lower()})")
            state = _BUILDERS[name](self, argument, state, flags)
        return state

    def state(self) -> int:
        if len(self.steps) >= _STATES:
            raise UndecidableError("its repetitions make it too large")
        self.steps.append([])
        self.silent.append([])
        return len(self.steps) - 1

    def step(self, mask: int, state: int) -> int:
        target = self.state()
        if mask:
            self.steps[state].append((mask, target))
        return target

    def anything(self, state: int) -> int:
        return self.repeat((0, LONGEST_NAME + 1, [(_parser.ANY, None)]), state, 0)

    def branch(self, argument: tuple[None, list[Iterable[Node]]], state: int, flags: int) -> int:
        end = self.state()
        for alternative in argument[1]:
            self.silent[self.sequence(alternative, state, flags)].append(end)
        return end

    def group(self, argument: tuple[int | None, int, int, Iterable[Node]], state: int, flags: int) -> int:
        _, added, removed, nodes = argument
        return self.sequence(nodes, state, (flags | added) & ~removed)

    def repeat(self, argument: tuple[int, int, Iterable[Node]], state: int, flags: int) -> int:
        """More than 249 repetitions count as unlimited, because no name is longer."""
        least, most, nodes = argument
        for _ in range(min(least, LONGEST_NAME + 1)):
            state = self.sequence(nodes, state, flags)
        end = self.state()
        self.silent[state].append(end)
        if most > LONGEST_NAME:
            self.silent[self.sequence(nodes, end, flags)].append(end)
            return end
        for _ in range(most - least):
            state = self.sequence(nodes, state, flags)
            self.silent[state].append(end)
        return end

    def possessive_repeat(self, argument: tuple[int, int, Iterable[Node]], state: int, flags: int) -> int:
        self.loose = "a possessive repetition"
        return self.repeat(argument, state, flags)

    def atomic(self, argument: Iterable[Node], state: int, flags: int) -> int:
        self.loose = "an atomic group"
        return self.sequence(argument, state, flags)

    def back_reference(self, _argument: int, state: int, _flags: int) -> int:
        self.loose = "a back reference"
        return self.anything(state)

    def anchor(self, argument: object, state: int, _flags: int) -> int:
        target = self.state()
        place = str(argument)
        if place in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            self.at_beginning.setdefault(state, []).append(target)
        elif place in ("AT_END", "AT_END_STRING"):
            self.at_end.setdefault(state, []).append(target)
        else:
            self.loose = "a word boundary"
            self.silent[state].append(target)
        return target

    def look_around(self, _argument: object, state: int, _flags: int) -> int:
        """A look-around within a group; `_taken_away` handles those at the top of a pattern."""
        self.loose = "a look-around within a group"
        return state

    def one_of(self, members: list[Node], state: int, flags: int) -> int:
        mask = 0
        for operation, argument in members:
            if str(operation) != "NEGATE":
                mask |= MEMBERS[str(operation)](argument, flags)
        return self.step(EVERY & ~mask if str(members[0][0]) == "NEGATE" else mask, state)

    def finish(self, end: int, without: tuple[Automaton, ...]) -> Automaton:
        """Return the automaton without empty steps; only states that a character leads to remain."""
        numbers = {0: 0}
        edges: list[tuple[Edge, ...]] = []
        accepting: set[int] = set()
        pending = [0]
        for state in pending:
            jumps = [self.at_beginning] if state == 0 else []
            reachable = self._reach(state, jumps)
            masks: dict[int, int] = {}
            for reached in reachable:
                for mask, target in self.steps[reached]:
                    masks[target] = masks.get(target, 0) | mask
            for target in masks:
                if target not in numbers:
                    numbers[target] = len(numbers)
                    pending.append(target)
            edges.append(tuple((mask, numbers[target]) for target, mask in masks.items()))
            if end in (self._reach(state, [*jumps, self.at_end]) if self.at_end else reachable):
                accepting.add(numbers[state])
        return Automaton(tuple(edges), frozenset(accepting), without, self.loose)

    def _reach(self, state: int, jumps: list[dict[int, list[int]]]) -> set[int]:
        reached = {state}
        pending = [state]
        for one in pending:
            beyond = chain(self.silent[one], *(jump.get(one, ()) for jump in jumps)) if jumps else self.silent[one]
            for target in beyond:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        return reached


_BUILDERS: dict[str, Callable[[_Builder, Any, int, int], int]] = {
    "LITERAL": lambda names, code, state, flags: names.step(character_range((code, code), flags), state),
    "NOT_LITERAL": lambda names, code, state, flags: names.step(EVERY & ~character_range((code, code), flags), state),
    "ANY": lambda names, _argument, state, _flags: names.step(EVERY, state),
    "IN": _Builder.one_of,
    "BRANCH": _Builder.branch,
    "SUBPATTERN": _Builder.group,
    "MAX_REPEAT": _Builder.repeat,
    "MIN_REPEAT": _Builder.repeat,
    "POSSESSIVE_REPEAT": _Builder.possessive_repeat,
    "ATOMIC_GROUP": _Builder.atomic,
    "GROUPREF": _Builder.back_reference,
    "AT": _Builder.anchor,
    "ASSERT": _Builder.look_around,
    "ASSERT_NOT": _Builder.look_around,
    "FAILURE": lambda names, _argument, _state, _flags: names.state(),
}
