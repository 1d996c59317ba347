"""The topics and groups that a file or a stack's clusters name, and what the stack's lists select from them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka_replication.components.checks.listed_names import (
    ClusterNames,
    check_listed_names,
    selected_names,
    uncovered_topics,
)
from kafka_replication.components.clients.login import Purpose
from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.flows.expansion import expand
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.yaml_files import load_yaml, placed, shown

_WHY = "`--topics cluster` reads the names of topics and groups with the login of the validation job."
_PURPOSE = Purpose(_WHY, ", or give `--topics` a file")


def names_in_clusters(stack: OpenStack) -> dict[str, ClusterNames]:
    """Ask every source cluster of a stack's flows. Raises CannotRunError if one cannot be asked."""
    clusters = {flow.settings.source: stack.parameters(flow).source for flow in stack.flows}
    # A check without this option must not wait for the client to load.
    from kafka_replication.components.clients.errors import NoAnswerError
    from kafka_replication.components.clients.reader import KafkaReader

    names = {}
    for alias, cluster in clusters.items():
        reader = stack.kafka(KafkaReader, cluster, _PURPOSE)
        try:
            names[alias] = ClusterNames(tuple(sorted(reader.topics())), tuple(reader.groups()))
        except NoAnswerError as error:
            remedy = "correct it, run the command where the cluster can be reached, or give `--topics` a file."
            raise CannotRunError(
                "not-answered", f"its names could not be read: {error}", f"cluster {alias}", _WHY, remedy
            ) from None
    return names


#: A comment, and a key or brackets, which only a YAML file has.
_COMMENT = re.compile(r"(^|\s)#.*")
_OF_YAML = re.compile(r":(\s|$)|[{}\[\]]")
#: The number of names that a line shows.
_SHOWN = 20


def read_names(path: Path, aliases: set[str]) -> dict[str, ClusterNames]:
    """Read the names of each cluster from a file. A plain list applies to every cluster; a mapping has, by alias, a
    list of topics, or `topics` and `groups`. Raises CannotRunError for any other form."""
    if not path.is_file():
        what, why = "there is no such file", "`--topics` names a file with the topics that exist."
        remedy = "write it with `kafka-topics.sh --list`, one topic a line."
        raise CannotRunError("no-topic-list", what, shown(path), why, remedy)
    lines = [_COMMENT.sub("", line).strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    if not any(map(_OF_YAML.search, lines)):
        return dict.fromkeys(
            aliases, ClusterNames(tuple(dict.fromkeys(line.removeprefix("- ") for line in lines if line)))
        )
    data = load_yaml(path)
    if isinstance(data, list):
        return dict.fromkeys(aliases, _of_cluster(data, path))
    if not isinstance(data, Mapping):
        raise _no_list(path, "it is neither a list of topics nor a mapping of clusters")
    return {str(alias): _of_cluster(value, path) for alias, value in data.items()}


def _of_cluster(value: object, path: Path) -> ClusterNames:
    given: Any = {"topics": value} if isinstance(value, list) else value
    lists = isinstance(given, Mapping) and all(isinstance(names, list) for names in given.values())
    if not lists or not {"topics"} <= set(given) <= {"topics", "groups"}:
        raise _no_list(path, "it is not a list of names")
    groups = tuple(map(str, given["groups"])) if "groups" in given else None
    return ClusterNames(tuple(map(str, given["topics"])), groups)


def refuse_unknown(names: Mapping[str, ClusterNames], aliases: set[str], path: Path) -> None:
    """Raise a CannotRunError if a file has names of a cluster that no topology has."""
    if unknown := sorted(str(alias) for alias in names if alias not in aliases):
        why = "No flow reads from such a cluster, so these names would have no effect."
        remedy = f"name one of these: {', '.join(sorted(aliases))}."
        raise CannotRunError("unknown-alias", f"the topology has no cluster `{unknown[0]}`", shown(path), why, remedy)


def _no_list(path: Path, what: str) -> CannotRunError:
    why = "A cluster has a list of topics, or `topics` and `groups`."
    remedy = "write one topic a line, or `ALIAS: {topics: [NAME], groups: [NAME]}`."
    return CannotRunError("no-topic-list", what, shown(path), why, remedy)


def listed_problems(settings: StackSettings, names: Mapping[str, ClusterNames]) -> list[Problem]:
    """Return every problem that the names of the source clusters reveal, sorted by where."""
    return sorted(set(placed(check_listed_names(expand(settings.topology), names), settings.topology_file)))


def selection_lines(settings: StackSettings, names: Mapping[str, ClusterNames]) -> Iterator[str]:
    """Yield the lines that show what each entry of the stack's flows selects, and which topics no flow replicates."""
    flows = expand(settings.topology)
    for alias in dict.fromkeys(flow.settings.source for flow in flows):
        if alias not in names:
            yield f"{alias}: its topics are not known"
            continue
        of_source = [flow for flow in flows if flow.settings.source == alias]
        yield f"{alias}: {number(len(names[alias].topics), 'topic')}"
        for selected in (entry for flow in of_source for entry in selected_names(flow, names[alias])):
            what = f"selects {_named(selected.names)}" if selected.judged else "is not judged"
            yield f"  {selected.where} `{selected.entry}` {what}"
        yield f"  replicated by no flow: {_named(uncovered_topics(of_source, names[alias]))}"


def _named(names: tuple[str, ...]) -> str:
    return f"{len(names)}: {named(names, _SHOWN)}" if names else "none"
