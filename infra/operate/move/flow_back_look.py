"""Looks at a flow back with the identity policy, after a failover and before the flow has copied anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.clients.reader import KafkaReader
from components.contract.parameters import ClusterParameters
from components.kafka.exact_positions import NotProvenError
from components.kafka.positions import OffsetRange
from components.kafka.return_positions import Beginning, beginning
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.flow_back import FlowBackFacts
from infra.operate.move.source_only import source_only
from infra.operate.offsets.reader import OffsetsReader
from infra.operate.partition_logs import PartitionLog, Say, walk_partitions

#: How many of the old origin's last records are compared first; None is its whole log.
_LASTS = (100_000, None)


@dataclass(frozen=True)
class _Clusters:
    scene: OpenFlow

    def of(self, cluster: ClusterParameters) -> KafkaReader:
        return self.scene.reader(cluster)


def offsets_reader(scene: OpenFlow) -> OffsetsReader:
    """The offsets of the flow's source connectors."""
    return OffsetsReader(scene.flow, scene.parameters, _Clusters(scene))


def look_at_return(scene: OpenFlow, say: Say) -> FlowBackFacts:
    """Compare both clusters in every partition of the flow. Raises NoAnswerError and CannotRunError."""
    flow = scene.parameters
    new, old = scene.reader(flow.source), scene.reader(flow.target)
    reader = offsets_reader(scene)
    known = reader.known([place.name for place in reader.places])
    there = set(old.partitions({each.topic for each in known.logs}))
    shared = [each for each in known.logs if each in there]
    found = walk_partitions(flow, new, old, dict.fromkeys(shared, ()), say, walk_return)
    found |= {each: Beginning(log.start, log.size, None, None) for each, log in known.logs.items() if each not in there}
    tails = {}
    for partition, log in old.logs(shared, committed=flow.exactly_once).items():
        if isinstance(begin := found[partition], Beginning):
            tails[partition] = OffsetRange(log.start if begin.last_common is None else begin.last_common + 1, log.end)
    return FlowBackFacts(known, found, source_only(old, tails, {}, say, committed=flow.exactly_once))


def walk_return(
    new: PartitionLog, old: PartitionLog, _: Sequence[int] = (), lasts: Sequence[int | None] = _LASTS
) -> Beginning | NotProvenError:
    """Compare the old origin's last records; if they are not enough to decide, compare all of them."""
    try:
        for last in filter(None, lasts):
            if old.log.size > last and (found := _by_last(new, old, last)) is not None:
                return found
        found = beginning(old.records(old.log.start), new.records(new.log.start), new.log.start, whole=True)
    except NotProvenError as error:
        return error
    return found or NotProvenError("nothing was compared")


def _by_last(new: PartitionLog, old: PartitionLog, last: int) -> Beginning | None:
    records = list(old.records(old.log.end - last))
    if not records:
        return None
    begin = new.not_before(records[0])
    found = beginning(records, new.records(begin), begin, whole=False)
    newest_ms = max(each.time_ms for each in records)
    if found is None or old.reader.offset_at(old.partition, newest_ms + 1) is not None:
        return None
    # A record can be a copy of one that was not compared, unless it is newer than every record of the old origin.
    return found if found.oldest_ms is None or found.oldest_ms > newest_ms else None
