"""The `mirrorMaker2` of an import -> a `flow` for each of its mirrors, to which `replicate adopt --from` moves it."""

from collections.abc import Iterator
from dataclasses import replace

from infra.importing.flows import Imported
from infra.importing.mirrors import ends_of_mirrors

#: What names workers: a flow has workers of its own, beside those that it takes over from.
_OF_WORKERS = frozenset({"name", "groupId", "storageTopics"})


def as_flows(imported: Imported) -> Iterator[Imported]:
    """A flow for each mirror of an imported KafkaMirrorMaker2, on workers of its own."""
    (read,) = imported.read
    normal = ends_of_mirrors(read)
    mirrors = normal[1] if isinstance(normal, tuple) else []
    shared = {key: value for key, value in imported.replication.items() if key not in ("kind", "sources")}
    shared["connect"] = {key: value for key, value in shared["connect"].items() if key not in _OF_WORKERS}
    sources = imported.replication.get("sources")
    for index, _, source in mirrors:
        alias = str(source.get("alias"))
        yield replace(
            imported,
            name=imported.name if sources is None else f"{imported.name}-from-{alias}",
            replication={"kind": "flow", **shared, **({"source": alias, **sources[alias]} if sources else {})},
            clusters={each: imported.clusters[each] for each in (alias, shared["target"])},
            left_out=imported.left_out if index == 0 else [],
            moves_from=index,
        )
