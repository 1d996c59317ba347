"""The `mirrorMaker2` of an import -> a `flow` for each of its mirrors, to which `replicate adopt --from` moves it."""

from collections.abc import Iterator
from dataclasses import replace

from components.topology.clusters import is_label
from infra.onboard.importing.flows import Imported
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.names import Names

#: Keys that name workers: a flow has its own workers, beside those that it takes over from.
_OF_WORKERS = frozenset({"name", "groupId", "storageTopics"})


def as_flows(imported: Imported, names: Names) -> Iterator[Imported]:
    """A flow for each mirror of an imported KafkaMirrorMaker2, on workers of its own; `names` are those of others."""
    (read,) = imported.read
    normal = ends_of_mirrors(read)
    mirrors = normal[1] if isinstance(normal, tuple) else []
    shared = {key: value for key, value in imported.replication.items() if key not in ("kind", "sources")}
    shared["connect"] = {key: value for key, value in shared["connect"].items() if key not in _OF_WORKERS}
    sources = imported.replication.get("sources")
    wanted = {} if sources is None else {alias: f"{imported.name}-from-{alias}" for alias in sources}
    # An alias that gives a valid name keeps that name, even if another alias comes first.
    taken = {alias: names.free(name) for alias, name in sorted(wanted.items(), key=lambda each: not is_label(each[1]))}
    for index, _, source in mirrors:
        alias = str(source.get("alias"))
        yield replace(
            imported,
            name=taken.get(alias, imported.name),
            wanted=wanted.get(alias, imported.wanted),
            replication={"kind": "flow", **shared, **({"source": alias, **sources[alias]} if sources else {})},
            clusters={each: imported.clusters[each] for each in (alias, shared["target"])},
            left_out=imported.left_out if index == 0 else [],
            moves_from=index,
        )
