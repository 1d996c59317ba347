"""What each source connector of a flow replicates, and how: the flow's settings with the connector's own."""

from collections.abc import Iterator
from typing import Any

from components.topology.model import Flow


def source_parts(flow: Flow) -> list[str]:
    """Names of a flow's source connectors; the only one of a flow that is not divided has an empty name."""
    return list(flow.connectors.sources) or [""]


def source_settings(flow: Flow, part: str) -> Flow:
    """The flow as if the source connector `part` were its only one.

    Only the first one replicates heartbeats; two would write each of them twice.
    """
    if not part:
        return flow
    own = flow.connectors.sources[part]
    changes: dict[str, Any] = {
        "topics": own.topics,
        "topics_exclude": (*flow.topics_exclude, *(own.topics_exclude or ())),
        "replicate_heartbeats": flow.replicate_heartbeats and part == source_parts(flow)[0],
        "connectors": flow.connectors.model_copy(update={"sources": {}}),
    }
    if own.start_from is not None:
        changes["start_from"] = own.start_from
    if own.transforms is not None:
        changes["transforms"] = own.transforms
    if own.offset_syncs is not None:
        changes["offset_syncs"] = flow.offset_syncs.model_copy(update={"lag_max": own.offset_syncs.lag_max})
    return flow.model_copy(update=changes)


def each_source(flow: Flow) -> Iterator[tuple[str, Flow]]:
    """Every source connector of a flow by name, with its settings."""
    for part in source_parts(flow):
        yield part, source_settings(flow, part)


def source_key(flow: Flow, part: str, key: str) -> str:
    """The key of the flow that decides a setting of a source connector: the connector's own, or the flow's."""
    top = key.partition(".")[0]
    own = flow.connectors.sources.get(part)
    given = {str(type(own).model_fields[name].alias) for name in own.model_fields_set} if own is not None else set()
    # Only the flow decides whether and where offset syncs are written.
    is_own = top in given and (top != "offsetSyncs" or key == "offsetSyncs.lagMax")
    return f"connectors.sources.{part}.{key}" if is_own else key
