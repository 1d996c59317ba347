"""Aliases: a flow's source and target exist, differ, and make topic names that Kafka and the policy understand."""

import difflib
import re
from collections.abc import Iterator

from components.expansion import NamedFlow
from components.model import Topology
from components.problems import Problem

#: Characters of a topic name. Source: org.apache.kafka.common.internals.Topic.
_TOPIC_CHARACTERS = re.compile(r"[a-zA-Z0-9._-]+")


def check_aliases(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    flow = named.flow
    for key, alias in (("source", flow.source), ("target", flow.target)):
        if alias not in topology.clusters:
            yield _unknown_alias(named.where(key), alias, sorted(topology.clusters))
    if flow.source == flow.target:
        yield Problem(
            named.where("target"),
            "equal-aliases",
            f"source and target are both `{flow.source}`",
            "A flow onto its own cluster replicates its own remote topics, without end under the identity policy.",
            "name another cluster's alias.",
        )
    yield from _check_separator(named)


def _check_separator(named: NamedFlow) -> Iterator[Problem]:
    flow = named.flow
    if not _TOPIC_CHARACTERS.fullmatch(flow.separator):
        yield Problem(
            named.where("separator"),
            "separator-breaks-topic-names",
            f"the separator is {flow.separator!r}",
            "Topic names take ASCII letters, digits, `.`, `_` and `-` only.",
            "set `separator: '.'`.",
        )
    for key, alias in (("source", flow.source), ("target", flow.target)):
        if not _TOPIC_CHARACTERS.fullmatch(alias) or flow.separator in alias:
            yield Problem(
                named.where(key),
                "alias-breaks-topic-names",
                f"the alias is `{alias}`, the separator `{flow.separator}`",
                "The replication policy reads the source's alias as what stands before the first separator of a remote "
                "topic; cycles and upstream topics would be told wrong.",
                "use an alias of letters and digits (and `-` or `_`) without the separator.",
            )


def _unknown_alias(where: str, alias: str, known: list[str]) -> Problem:
    near = difflib.get_close_matches(alias, known, n=1)
    return Problem(
        where,
        "unknown-alias",
        f"no cluster has the alias `{alias}`",
        f"Clusters are: {', '.join(known) or 'none'}.",
        f"did you mean `{near[0]}`?" if near else "name one of these, or add the cluster under `clusters`.",
    )
