"""Flows that replicate no heartbeats, and what then goes unnoticed. Pure."""

from collections.abc import Iterable

from components.flows.resolved import ResolvedFlow
from components.kafka.replication_policy import HEARTBEATS_TOPIC


def without_heartbeats(flows: Iterable[ResolvedFlow]) -> tuple[str, ...]:
    """The names of the flows that replicate no heartbeats of their source."""
    return tuple(
        flow.name
        for flow in flows
        if HEARTBEATS_TOPIC not in flow.heartbeat_topics or not flow.settings.replicate_heartbeats
    )


def said_of(flows: Iterable[str]) -> str:
    """A message: what goes unnoticed in these flows, and how to change that; "" if there are none."""
    names = ", ".join(flows)
    return names and (
        f"No heartbeats: {names}. Nothing here writes heartbeats to the source and replicates them. So the alert "
        "MirrorHeartbeatSilent does not exist, and a validation has no heartbeats to check. While no records are "
        "produced, nothing shows that replication works. Remedy: once this project runs the flow, set "
        "`connectors.heartbeat.enabled: true` (and `replicateHeartbeats: true`, if it is false), and add the ACLs that "
        "`replicate acls` then lists. A KafkaMirrorMaker2 of `v1beta2` writes heartbeats only to the target; a `flow` "
        "replicates those of the source."
    )
