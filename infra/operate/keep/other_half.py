"""What the keeper of a prefixless pair learns from the pair's other half: how far the target's own records are on the
source.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kafka_replication.components.clients.reader import KafkaReader, reading_seconds
from kafka_replication.components.contract.parameters import OffsetSyncParameters
from kafka_replication.components.kafka.log_ends import CopiedBack, Ends
from kafka_replication.components.kafka.mirror_records import OffsetSync, offset_sync
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.operate.flow_access import FlowAccess, Readers

#: At most about so many records of the target are read in a look.
_SCANNED = 200_000


def syncs_of_other_half(opened: FlowAccess) -> OffsetSyncParameters | str:
    """Return where the other half's offset syncs are; their `cluster` is a side of this flow. A string says why there
    are none.
    """
    ours, flows = opened.parameters, [flow_parameters(flow) for flow in opened.reverse_flows()]
    half = next((flow for flow in flows if flow.guard is not None and set(flow.topics) == set(ours.topics)), None)
    if half is None:
        return f"no flow from {ours.target.alias} to {ours.source.alias} with a loop guard has the same topics"
    if not half.offset_syncs.enabled:
        return f"{half.name} has no offset syncs: set `offsetSyncs: {{enabled: true}}`"
    topic, cluster = half.offset_syncs.topic, half.offset_syncs.cluster
    # All halves of pairs keep the names of topics; another flow's syncs would be of partitions with other names.
    for flow in flows:
        if flow.guard is None and flow.offset_syncs.enabled and flow.offset_syncs.topic == topic:
            return f"{flow.name} writes its offset syncs to {topic}, too, where they cannot be told apart"
    side: Side = "target" if cluster == "source" else "source"
    return half.offset_syncs.model_copy(update={"cluster": side})


@dataclass
class OtherHalf:
    """What was read of the other half's offset syncs, and of the target's log. `mark` is the header of copies there.

    `read` is the offset of the next sync.
    """

    syncs: OffsetSyncParameters
    mark: str
    read: int = 0
    _syncs: dict[TopicPartition, list[OffsetSync]] = field(default_factory=dict)
    _partitions: dict[TopicPartition, CopiedBack] = field(default_factory=dict)

    def read_syncs(self, readers: Readers) -> None:
        """Read what is new; it must be before the ends of the target are asked for, which hold those records then."""
        reader = readers[self.syncs.cluster]
        topic = TopicPartition(self.syncs.topic, 0)
        if topic not in reader.partitions([topic.topic]):
            return
        log = reader.logs([topic])[topic]
        new = OffsetRange(self.read if log.start <= self.read <= log.end else log.start, log.end)
        records = list(reader.read("offset syncs", [(topic, new)], within_seconds=reading_seconds(new.size)))
        for partition, sync in filter(None, map(offset_sync, records)):
            self._syncs.setdefault(partition, []).append(sync)
        self.read = log.end

    def look(
        self,
        target: KafkaReader,
        ends: Mapping[TopicPartition, Ends],
        earlier: Mapping[TopicPartition, Iterable[Ends]],
        anew: Collection[TopicPartition],
    ) -> None:
        """Take in the syncs, and read the newest records of the target. Partitions begin with positions that were
        derived `earlier`. Those in `anew`, which were created or truncated on a side, begin with the whole log.
        """
        new = (ends.keys() - self._partitions.keys()) | set(anew)
        for partition, log in target.logs(new).items():
            if partition in anew:
                self._syncs.pop(partition, None)
            seen = () if partition in anew else earlier.get(partition, ())
            self._partitions[partition] = CopiedBack.beginning(seen, log.start)
        for partition, newest in ends.items():
            for sync in self._syncs.pop(partition, ()):
                # It would be of another log: the topic was created again, or lost the end of its log.
                if sync.upstream < newest.target:
                    self._partitions[partition].add(sync)
        self._scan(target, ends)

    def _scan(self, target: KafkaReader, ends: Mapping[TopicPartition, Ends]) -> None:
        most = max(1_000, _SCANNED // max(1, len(ends)))
        ranges = {
            partition: OffsetRange(known.scanned, min(ends[partition].target, known.scanned + most))
            for partition, known in self._partitions.items()
            if partition in ends and not known.pauses and known.scanned < ends[partition].target
        }
        own: dict[TopicPartition, list[int]] = {partition: [] for partition in ranges}
        within = reading_seconds(sum(offsets.size for offsets in ranges.values()))
        for record in target.read("new records", ranges.items(), committed=False, within_seconds=within):
            if self.mark not in record.header_names:
                own[record.partition].append(record.offset)
        for partition, offsets in ranges.items():
            self._partitions[partition].scan(own[partition], offsets.end)

    def before(self, partition: TopicPartition, committed: int) -> int:
        """Return how far a group at this offset of the source may continue."""
        known = self._partitions.get(partition)
        return 0 if known is None else known.before(committed)
