"""KafkaMirrorMaker2: its clusters are declared in exactly one way, and its selections in exactly one place."""

from collections.abc import Iterator

from components.contract.problems import Problem
from components.topology.clusters import Model
from components.topology.model import MirrorMaker2, MirrorSource, Topology

_WAYS = (frozenset({"source", "target"}), frozenset({"between"}), frozenset({"sources", "target"}))


def check_mirrors(topology: Topology) -> Iterator[Problem]:
    """Every KafkaMirrorMaker2 has one set of mirrors, and every mirror one selection."""
    for name, replication in topology.replications.items():
        if isinstance(replication, MirrorMaker2):
            yield from _check_clusters(name, replication)
            yield from _check_selections(name, replication)


def declares_its_clusters(replication: Model) -> bool:
    """Whether a replication can be expanded into flows; if not, there is nothing else to check."""
    return not isinstance(replication, MirrorMaker2) or _given(replication) in _WAYS


def _given(replication: MirrorMaker2) -> frozenset[str]:
    return frozenset(key for key in ("source", "target", "between", "sources") if getattr(replication, key))


def _check_clusters(name: str, replication: MirrorMaker2) -> Iterator[Problem]:
    if not declares_its_clusters(replication):
        given = ", ".join(f"`{key}`" for key in sorted(_given(replication))) or "nothing"
        yield Problem(
            f"replications.{name}",
            "mirror-clusters",
            f"the mirrors' clusters are declared by {given}",
            "A KafkaMirrorMaker2 runs its workers beside one target, so its mirrors must be declared in exactly one "
            "way.",
            "set `source` and `target` (one mirror), `between` (one each way), or `sources` and `target` (several).",
        )


def _check_selections(name: str, replication: MirrorMaker2) -> Iterator[Problem]:
    if not replication.sources:
        return
    for key, field in MirrorSource.model_fields.items():
        if key in replication.model_fields_set and key != "transforms":
            yield Problem(
                f"replications.{name}.{field.alias}",
                "mirror-selection-in-two-places",
                f"both `{field.alias}` and `sources` are set",
                f"Each of the sources has its own `{field.alias}`, so this one would have no effect.",
                f"move `{field.alias}` to the entries of `sources` that it is meant for.",
            )
