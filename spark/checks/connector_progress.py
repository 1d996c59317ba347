"""How far the flow's source connectors have come by their own account: stored offsets, and the newest offset sync.
These numbers supplement the connectors' status and do not affect the verdict: Connect stores offsets once a minute by
default, and none for records that a transform drops. `parity` and `offsets-translate` judge what has arrived.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.report import SAMPLES, CheckOutcome, Finding, note
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.mirror_records import replicated_offsets
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.spark.read.flows import OpenFlow


@dataclass(frozen=True)
class ConnectorProgress:
    """`stored` is the offset of the last replicated record of each partition; None if the job could not look. `ends`
    are the source's end offsets, read after it. `newest_sync_ms` is None without an offset sync.
    """

    stored: Mapping[TopicPartition, int] | None
    ends: Mapping[TopicPartition, int]
    newest_sync_ms: int | None

    @property
    def behind(self) -> int:
        """Return the most offsets that the connectors may still have to read."""
        return sum(max(0, self.ends[partition] - at - 1) for partition, at in (self.stored or {}).items())

    @property
    def past_end(self) -> dict[TopicPartition, int]:
        return {partition: at for partition, at in (self.stored or {}).items() if at >= self.ends[partition]}


def read_progress(flow: OpenFlow, syncs: Mapping[TopicPartition, SyncHistory]) -> ConnectorProgress:
    """Return what the connectors have stored for the selected partitions, and their newest offset sync.

    Flows between the same clusters write their offset syncs to one topic; those of other topics are not this flow's.
    """
    ours = (history for partition, history in syncs.items() if partition.topic in flow.partitions)
    newest = max((sync.written_ms for history in ours for sync in history.syncs), default=None)
    try:
        stored = _stored(flow)
        return ConnectorProgress(stored, flow.source.ends(stored or ()), newest)
    except ClusterError:
        # The job's user may lack the permission, and these are numbers only.
        return ConnectorProgress(None, {}, newest)


def _stored(flow: OpenFlow) -> dict[TopicPartition, int] | None:
    """Return the newest stored offsets; None if their topic is not known or does not exist."""
    topic, connectors = flow.parameters.connector_offsets_topic, flow.parameters.connectors or ()
    names = [connector.connector for connector in connectors if connector.role == "source"]
    count = flow.target.topics().get(topic, 0) if topic is not None else 0
    if topic is None or not count or not names:
        return None
    logs = flow.target.logs((TopicPartition(topic, number) for number in range(count)), committed=True)
    read = flow.target.read(f"connector offsets from {topic}", logs.items())
    offsets = replicated_offsets(read, names, flow.parameters.source.alias)
    return {
        partition: at
        for partition, at in offsets.items()
        if partition.partition < flow.partitions.get(partition.topic, 0)
    }


def with_progress(outcome: CheckOutcome, movement: ConnectorProgress, now_seconds: float) -> CheckOutcome:
    """Return the outcome with these numbers. `now_seconds` is the time since 1970."""
    counts: dict[str, int | float] = {"storedOffsets": len(movement.stored or ())}
    parts = [outcome.summary, "stored offsets not read"]
    if movement.stored == {}:
        parts[1] = "no offsets stored yet"
    elif movement.stored is not None:
        counts["offsetsBehind"] = movement.behind
        of = numbered(len(movement.stored), "partition[|s]")
        parts[1] = f"stored offsets of {of}, at most {movement.behind} behind the source"
    if movement.newest_sync_ms is not None:
        counts["newestSyncSeconds"] = age = round(max(0, now_seconds - movement.newest_sync_ms / 1000))
        parts.append(f"newest offset sync {age} s old")
    findings = (*outcome.findings, *_past_end(movement))
    return replace(outcome, summary="; ".join(parts), counts={**outcome.counts, **counts}, findings=findings)


def _past_end(movement: ConnectorProgress) -> list[Finding]:
    """Return a note about stored offsets past the end: a task there starts again where its `auto.offset.reset` says."""
    if not movement.past_end:
        return []
    named = ", ".join(
        f"{partition} (stored {at}, end {movement.ends[partition]})"
        for partition, at in sorted(movement.past_end.items())[:SAMPLES]
    )
    topics = len({partition.topic for partition in movement.past_end})
    what = agreeing(
        len(movement.past_end),
        "[the stored offset is past the end of the source log|the stored offsets are past the ends of the source logs]",
    )
    why = agreeing(topics, "[the topic was|these topics were] deleted and created again, or truncated")
    return [note("stored-past-end", f"{named}: {what}: {why}", len(movement.past_end))]
