"""Two paths of flows on which records of one cluster reach one topic of another cluster, and are written twice there.

Loop guards do not help, because they drop only what returns to a cluster that it came from. A prefix helps, unless both
paths begin with the same one. A filter of a guard's header helps.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from kafka_replication.components.kafka.cycles import Leg, LegsBySource, legs_by_source, prefixed
from kafka_replication.components.kafka.overlap import SharedName, pairs_that_overlap
from kafka_replication.components.kafka.topic_names import is_name
from kafka_replication.components.kafka.transform_chains import DropsBy, Effects

Path = tuple[Leg, ...]
#: A topic that two legs share, by the names of both legs, as their targets call it; "" if that is undecided.
_Shared = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class TwoPaths:
    """Two paths that have only their ends in common, the longer one last. `topic` is an example that the selections of
    both contain, "" if none was found. `is_certain` if records of the example certainly take both.
    """

    paths: tuple[Path, Path]
    topic: str
    is_certain: bool


def two_paths(legs: Iterable[Leg], transforms: Mapping[str, Effects | None]) -> Iterator[TwoPaths]:
    """Yield the shortest two paths that begin with each two legs and meet, if there are some; certain ones first.

    `transforms` has the effects of users' own transforms by leg; None if they are unknown.
    """
    every = list(legs)
    markers = {leg.guard.adds for leg in every if leg.guard is not None}
    in_circles = _in_circles(every)
    beginnings = list(_beginnings(in_circles))
    if not beginnings:
        return
    shared: dict[str, dict[str, str]] = {leg.flow: {} for leg in in_circles}
    for pair in pairs_that_overlap({leg.flow: prefixed(leg.topics, leg.prefix) for leg in in_circles}):
        example = pair.overlap.example if isinstance(pair.overlap, SharedName) else ""
        shared[pair.first][pair.second] = shared[pair.second][pair.first] = example
    keeping = legs_by_source(leg for leg in in_circles if not leg.prefix)
    for one, other in beginnings:
        meeting = _meeting(_paths(one, keeping, shared), _paths(other, keeping, shared), shared)
        yield from _first_certain(_judged(paths, shared, transforms, markers) for paths in meeting)


def _beginnings(legs: list[Leg]) -> Iterator[tuple[Leg, Leg]]:
    """Yield each two legs from one cluster to different ones that may give a topic the same name."""
    for first in legs_by_source(legs).values():
        by_flow = {leg.flow: leg for leg in first}
        for pair in pairs_that_overlap({leg.flow: leg.topics for leg in first}):
            one, other = by_flow[pair.first], by_flow[pair.second]
            if one.target != other.target and one.prefix == other.prefix:
                yield one, other


def _in_circles(legs: list[Leg]) -> list[Leg]:
    """Return the legs between clusters that have two neighbors each; no two paths pass the others."""
    neighbors: dict[str, set[str]] = {}
    for leg in legs:
        neighbors.setdefault(leg.source, set()).add(leg.target)
        neighbors.setdefault(leg.target, set()).add(leg.source)
    rest = [leg for leg in legs if min(len(neighbors[leg.source]), len(neighbors[leg.target])) > 1]
    return rest if len(rest) == len(legs) else _in_circles(rest)


def _paths(first: Leg, keeping: LegsBySource, shared: _Shared) -> list[Path]:
    """Return a shortest path to each leg, by legs that keep the names of topics and may share topics."""
    taken = {first.flow}
    paths: list[Path] = [(first,)]
    for path in paths:
        passed = {first.source, *(leg.target for leg in path)}
        for leg in keeping.get(path[-1].target, ()):
            if leg.flow not in taken and leg.target not in passed and _may_share([*path, leg], shared):
                taken.add(leg.flow)
                paths.append((*path, leg))
    return paths


def _may_share(legs: Iterable[Leg], shared: _Shared) -> bool:
    return all(other.flow in shared[one.flow] for one, other in combinations(legs, 2))


def _meeting(ones: list[Path], others: list[Path], shared: _Shared) -> list[tuple[Path, Path]]:
    """Return the paths that meet at their ends only and may share topics, the shortest first."""
    by_target: dict[str, list[Path]] = {}
    for path in others:
        by_target.setdefault(path[-1].target, []).append(path)
    meeting = [
        (min(one, other, key=len), max(other, one, key=len))
        for one in ones
        for other in by_target.get(one[-1].target, ())
        if not {leg.target for leg in one[:-1]} & {leg.target for leg in other[:-1]}
        and _may_share((*one, *other), shared)
    ]
    return sorted(meeting, key=lambda paths: len(paths[0]) + len(paths[1]))


def _judged(
    paths: tuple[Path, Path], shared: _Shared, transforms: Mapping[str, Effects | None], markers: set[str]
) -> TwoPaths | None:
    """Return the paths with a topic that takes both; None if a filter keeps its records off one."""
    filtered = [_is_filtered(path, transforms, markers) for path in paths]
    legs = [*paths[0], *paths[1]]
    names = {shared[one.flow][other.flow] for one, other in combinations(legs, 2)}
    names |= {leg.prefix + topic for leg in legs for topic in leg.topics.patterns if is_name(topic)}
    topic = next((name for name in sorted(names) if name and all(_carries(path, name) for path in paths)), "")
    return None if True in filtered else TwoPaths(paths, topic, bool(topic) and None not in filtered)


def _carries(path: Path, name: str) -> bool:
    topics = (name.removeprefix(path[0].prefix), *[name] * (len(path) - 1))
    return all(
        topic in leg.topics and leg.policy.remote(topic) == name for leg, topic in zip(path, topics, strict=True)
    )


def _is_filtered(path: Path, transforms: Mapping[str, Effects | None], markers: set[str]) -> bool | None:
    """Return whether filters drop records that come from the beginning of a path; None if that is unknown."""
    is_unknown = False
    added: set[str] = set()
    for leg in path:
        effects = transforms[leg.flow]
        for drop in effects.drops if effects is not None else ():
            if drop.by is DropsBy.HEADER and drop.value in markers:
                if (drop.value in added) is not drop.negate:
                    return True
            elif drop.by is not DropsBy.TOMBSTONE:
                is_unknown = True
        is_unknown |= effects is None
        added |= {leg.guard.adds} if leg.guard is not None else set()
    return None if is_unknown else False


def _first_certain(judged: Iterable[TwoPaths | None]) -> list[TwoPaths]:
    """Return the first certain paths, or else the first ones, if there are any."""
    found: list[TwoPaths] = []
    for paths in filter(None, judged):
        if paths.is_certain:
            return [paths]
        found = found or [paths]
    return found
