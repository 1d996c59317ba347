"""KafkaMirrorMaker2: a replication says in one way which clusters its mirrors join, and in one place what they take."""

from collections.abc import Iterator

from components.clusters import Model
from components.model import MirrorMaker2, MirrorSource, Topology
from components.problems import Problem

_WAYS = (frozenset({"source", "target"}), frozenset({"between"}), frozenset({"sources", "target"}))


def check_mirrors(topology: Topology) -> Iterator[Problem]:
    for name, replication in topology.replications.items():
        if isinstance(replication, MirrorMaker2):
            yield from _check_clusters(name, replication)
            yield from _check_selections(name, replication)


def says_its_clusters(replication: Model) -> bool:
    """Whether flows can be made of a replication; without it nothing else can be said of them."""
    return not isinstance(replication, MirrorMaker2) or _given(replication) in _WAYS


def _given(replication: MirrorMaker2) -> frozenset[str]:
    return frozenset(key for key in ("source", "target", "between", "sources") if getattr(replication, key))


def _check_clusters(name: str, replication: MirrorMaker2) -> Iterator[Problem]:
    if not says_its_clusters(replication):
        given = ", ".join(f"`{key}`" for key in sorted(_given(replication))) or "none of them"
        yield Problem(
            f"replications.{name}",
            "mirror-clusters",
            f"of `source`, `target`, `between` and `sources` it has {given}",
            "The workers of a KafkaMirrorMaker2 belong to its target; which mirrors they run must be said in one way.",
            "set `source` and `target` (active/passive), or `between` (active/active), or `sources` and `target`.",
        )


def _check_selections(name: str, replication: MirrorMaker2) -> Iterator[Problem]:
    if not replication.sources:
        return
    for key, field in MirrorSource.model_fields.items():
        if key in replication.model_fields_set:
            yield Problem(
                f"replications.{name}.{field.alias}",
                "mirror-selection-in-two-places",
                f"`{field.alias}` is given beside `sources`",
                "Each of several sources has its own; what is said for all of them would be nobody's.",
                f"move `{field.alias}` to each of `sources` that it is meant for.",
            )
