"""The part of a file with mistakes in its form that can still be checked. Imports the model and parsing only."""

import copy
import functools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.topology.clusters import Model
from kafka_replication.components.topology.known_keys import Path, unknown_key
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import file_path, form_problems

#: Entries of a topology are two keys deep: `clusters.ALIAS`, `replications.NAME`.
_ENTRY = 2
_WORKERS = ("connect", "quota")


@dataclass(frozen=True)
class PartialTopology:
    """A topology without its mistakes in form.

    `certain` lacks each replication with a mistake, in itself or in one of its clusters; `alone` has each of those
    separately, as far as it is known. `given` is the known part of the file, `unknown` has the other paths. `further`
    has the mistakes in form below misspelt keys.
    """

    certain: Topology
    alone: tuple[Topology, ...]
    given: Mapping[str, Any]
    unknown: tuple[Path, ...]
    further: tuple[Problem, ...] = ()

    def is_certain(self, where: str) -> bool:
        """Return whether a problem at a dotted path stands however the unknown parts are corrected. In an entry with a
        mistake, only what the file says is certain: a missing key may be the misspelt one.
        """
        if any(_overlap(where, _dotted(path)) for unknown in self.unknown for path in _spoilt(unknown)):
            return False
        # A cluster decides whether heartbeats need workers of their own.
        if set(_WORKERS) & set(where.split(".")) and any(path[0] == "clusters" for path in self.unknown):
            return False
        wrong = [_dotted(path[:_ENTRY]) for path in self.unknown]
        return not any(_overlap(where, entry) for entry in wrong) or _is_given(self.given, where)


def partial_topology(data: object) -> PartialTopology | None:
    """Return what can be checked of a topology file; None if nothing can, for example without `strimzi`."""
    if (left := without_mistakes(Topology, data)) is None or any(len(path) < _ENTRY for path in left.unknown):
        return None
    return replace(_divided(left.given, left.unknown), further=left.further)


@dataclass(frozen=True)
class PartialFile:
    """A file's data without its mistakes in form, the paths that are unknown without them, and the mistakes in form
    below misspelt keys.
    """

    given: Mapping[str, Any]
    unknown: tuple[Path, ...]
    further: tuple[Problem, ...]

    def is_certain(self, where: str) -> bool:
        """Return whether nothing that is unknown decides about a problem at a dotted path."""
        return not any(_overlap(where, _dotted(path)) for path in self.unknown)


def without_mistakes(model: type[Model], data: object) -> PartialFile | None:
    """Return what can be checked of a file; None if nothing can."""
    given: Any = copy.deepcopy(data)
    unknown: list[Path] = []
    renamed: dict[Path, Path] = {}
    further: list[Problem] = []
    while details := _mistakes(model, given):
        further += _below(model, renamed, details, given)
        before = copy.deepcopy(given)
        mistakes = [(_existing(before, file_path(detail, before)), detail) for detail in details]
        # From the last to the first, so that the entries of a list keep their places.
        for path, detail in sorted(mistakes, key=lambda mistake: _order(mistake[0]), reverse=True):
            # A key that is missing because it is misspelt is there now.
            if _exists(given, path) and file_path(detail, before) not in renamed:
                unknown += _repair(model, given, path, detail, renamed)
        if given == before:
            return None
    return PartialFile(given, tuple(unknown), tuple(further))


def _below(
    model: type[Model], renamed: Mapping[Path, Path], details: list[ErrorDetails], given: object
) -> Iterator[Problem]:
    """Yield the mistakes below misspelt keys, which are read under their right names, with their paths in the file."""
    for meant, written in renamed.items():
        here = [detail for detail in details if file_path(detail, given)[: len(meant)] == meant]
        for problem in form_problems(here, given, model):
            yield replace(problem, where=f"{_dotted(written)}{problem.where.removeprefix(_dotted(meant))}")


def _mistakes(model: type[Model], data: object) -> list[ErrorDetails]:
    try:
        model.model_validate(data)
    except ValidationError as error:
        return error.errors()
    return []


def _order(path: Path) -> list[tuple[bool, int, str]]:
    return [(isinstance(part, int), part if isinstance(part, int) else 0, str(part)) for part in path]


def _repair(model: type[Model], data: Any, path: Path, detail: ErrorDetails, renamed: dict[Path, Path]) -> list[Path]:
    """Take a mistake out of the data; return the path that is now unknown, or nothing if the meaning is clear."""
    if not path:
        return [path]
    parent, key = functools.reduce(operator.getitem, path[:-1], data), path[-1]
    match detail["type"], parent[key]:
        case "extra_forbidden", value if meant := unknown_key(model, path, data).meant:
            entries = {meant if name == key else name: parent[name] for name in parent}
            parent.clear()
            parent.update(entries | {meant: value})
            renamed[(*path[:-1], meant)] = path
        case "string_type", float() as value if path == ("strimzi",):
            parent[key] = str(value)
        case "tuple_type" | "list_type", str() as value:
            parent[key] = [entry.strip() for entry in value.split(",")]
        case "extra_forbidden", _ if len(path) < _ENTRY:
            del parent[key]
        case _:
            del parent[key]
            # The keys of a cluster depend on each other: a given login may need the misspelt key.
            if path[0] == "clusters":
                return [path[:_ENTRY]]
            return [path[:-1] if isinstance(parent, list) else path]
    return []


def _existing(data: Any, path: Path) -> Path:
    """Return the longest prefix of a path that exists in the data."""
    return next(path[:length] for length in range(len(path), -1, -1) if _exists(data, path[:length]))


def _exists(data: Any, path: Path) -> bool:
    for part in path:
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if not (part in data if isinstance(data, Mapping) else in_list):
            return False
        data = data[part]
    return True


def _divided(given: Mapping[str, Any], unknown: tuple[Path, ...]) -> PartialTopology:
    topology = Topology.model_validate(given)
    wrong = {path[1] for path in unknown if path[0] == "replications"}
    clusters = {str(path[1]) for path in unknown if path[0] == "clusters"}
    apart = {
        name
        for name, replication in topology.replications.items()
        if name in wrong or clusters & set(_aliases(replication.model_dump()))
    }
    lost = clusters - set(topology.clusters)
    alone = [
        topology.model_copy(update={"replications": {name: replication}})
        for name, replication in topology.replications.items()
        if name in apart and not lost & set(_aliases(replication.model_dump()))
    ]
    rest = {name: replication for name, replication in topology.replications.items() if name not in apart}
    return PartialTopology(topology.model_copy(update={"replications": rest}), tuple(alone), given, unknown)


def _aliases(replication: Mapping[str, Any]) -> Iterator[str]:
    """Yield the clusters that a replication names, whatever its kind."""
    yield from (str(replication[key]) for key in ("source", "target") if replication.get(key))
    yield from replication.get("between") or ()
    yield from replication.get("sources") or {}


def _spoilt(unknown: Path) -> Iterator[Path]:
    """Yield the paths that are uncertain because one is unknown, with workers and the quota that they must fit in."""
    yield unknown
    for index, part in enumerate(unknown):
        # The last part may be a key that was meant to be one of them.
        if part in _WORKERS or index == len(unknown) - 1:
            yield from ((*unknown[:index], workers) for workers in _WORKERS)


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)


def _overlap(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _is_given(data: Any, where: str) -> bool:
    """Return whether the data has a value at a dotted path; keys contain dots, too."""
    if not where:
        return True
    entries = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    return any(
        _is_given(value, where[len(str(key)) + 1 :])
        for key, value in entries
        if where == str(key) or where.startswith(f"{key}.")
    )
