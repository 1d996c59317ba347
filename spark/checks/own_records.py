"""What MirrorMaker's and Connect's own records say about a flow. Pure.

Records come in the order of each partition. A record of another format counts as undecodable, never as an offset.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from components.kafka import mirror_records
from components.kafka.positions import TopicPartition
from spark.checks.offsets.translation import Checkpoint, Sync, SyncHistory
from spark.small_reads import KafkaRecord

#: How many changes of the offset delta to keep per partition. With transactions, nearly every sync changes it.
SEGMENTS = 2_000


class Heartbeat(NamedTuple):
    """A decoded heartbeat on the target. `emitted_ms` is the time in its value, in ms since 1970."""

    emitted_ms: int
    partition: int
    offset: int


class HeartbeatsSeen(NamedTuple):
    """This flow's heartbeats, ascending, and the numbers of those of other flows and of undecodable records."""

    ours: list[Heartbeat]
    others: int
    undecodable: int


def heartbeats_seen(records: Iterable[KafkaRecord], source_alias: str, target_alias: str) -> HeartbeatsSeen:
    ours, others, undecodable = [], 0, 0
    for each in records:
        beat = mirror_records.heartbeat(each.key, each.value)
        if beat is None:
            undecodable += 1
        elif (beat.source, beat.target) == (source_alias, target_alias):
            ours.append(Heartbeat(beat.emitted_ms, each.partition.partition, each.offset))
        else:
            others += 1
    return HeartbeatsSeen(sorted(ours), others, undecodable)


@dataclass(frozen=True)
class CheckpointsFound:
    """The newest checkpoint and its own offset by group and remote partition, and how many records are no
    checkpoints."""

    newest: Mapping[tuple[str, TopicPartition], tuple[int, Checkpoint]] = field(default_factory=dict)
    undecodable: int = 0

    def get(self, group: str, partition: TopicPartition) -> Checkpoint | None:
        found = self.newest.get((group, partition))
        return None if found is None else found[1]


def latest_checkpoints(records: Iterable[KafkaRecord], before: CheckpointsFound | None = None) -> CheckpointsFound:
    """The newest checkpoint by group and remote partition, even if its offset is lower. `before` has those of the
    preceding records.
    """
    known = before or CheckpointsFound()
    found, undecodable = dict(known.newest), known.undecodable
    for each in records:
        decoded = mirror_records.checkpoint(each.key, each.value)
        if decoded is None:
            undecodable += 1
            continue
        newest = each.offset, Checkpoint(decoded.upstream, decoded.downstream)
        key = decoded.group, decoded.partition
        found[key] = max(newest, found.get(key, newest), key=lambda at: at[0])
    return CheckpointsFound(found, undecodable)


def newest_stored(
    records: Iterable[KafkaRecord], connectors: Collection[str], source_alias: str
) -> dict[TopicPartition, int]:
    """The newest offset that `connectors` have stored for each partition of the source. A partition whose offset was
    deleted is left out."""
    # Connectors may have stored in several partitions of the topic, which have no common order.
    newest: dict[tuple[str, TopicPartition, int], int | None] = {}
    for each in records:
        stored = mirror_records.connect_offset(each.key, each.value)
        if stored is not None and stored.connector in connectors and stored.source == source_alias:
            newest[stored.connector, stored.partition, each.partition.partition] = stored.offset
    found: dict[TopicPartition, int] = {}
    for (_, partition, _), offset in newest.items():
        if offset is not None:
            found[partition] = max(offset, found.get(partition, offset))
    return found


def sync_histories(
    records: Iterable[KafkaRecord], before: Mapping[TopicPartition, SyncHistory] | None = None
) -> dict[TopicPartition, SyncHistory]:
    """The offset syncs of each source partition at which upstream minus downstream changes. `before` has those of the
    preceding records. The result has the first and the last sync of each stretch. Between them every record was
    replicated one to one, so they say as much as all syncs. Apart from the first sync, only the newest SEGMENTS are
    kept.
    """
    kept = {partition: list(history.syncs) for partition, history in (before or {}).items()}
    for each in records:
        decoded = mirror_records.offset_sync(each.key, each.value)
        if decoded is None:
            continue
        syncs = kept.setdefault(decoded.partition, [])
        sync = Sync(decoded.upstream, decoded.downstream, each.time_ms)
        if len(syncs) > 1 and _goes_on(syncs[-2], syncs[-1]) and _goes_on(syncs[-1], sync):
            syncs.pop()
        syncs.append(sync)
        if len(syncs) > SEGMENTS + 1:
            del syncs[1]
    return {partition: SyncHistory(tuple(syncs)) for partition, syncs in kept.items()}


def _goes_on(before: Sync, after: Sync) -> bool:
    """Whether every record between two syncs was replicated one to one."""
    same = before.upstream - before.downstream == after.upstream - after.downstream
    return same and before.downstream <= after.downstream
