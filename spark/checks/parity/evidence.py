"""When an earlier comparison of a partition still counts, and where the next one may continue. Up to two positions,
both sides were equal. Kafka changes a log only at its two ends, unless it compacts the log. So it is enough to compare
what follows, as long as both logs still reach from before these positions to after them, and the topics have the same
ids. The newest proven records are compared again, which shows if a log was truncated at its end and rewritten.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.evidence import ParityEvidence, Proven, ProvenTopic
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition, by_topic
from kafka_replication.spark.checks.parity.sums import Sums
from kafka_replication.spark.read.flows import OpenFlow

REMADE = "the topic was deleted and created again"
_NOTHING_PROVEN = "the newest verdict holds no evidence for these records"
#: This many proven records are compared again.
OVERLAP = 100
#: Kinds of differences (see `pairs.differing_records`) that no longer change, whatever either side removes.
_SETTLED = frozenset({"missing-head", "extra-head"})
_DUPLICATED = "duplicated"


@dataclass(frozen=True)
class TopicIdentity:
    """A topic as it is now: Kafka's id on each side, and whether the source compacts it."""

    source_id: str
    target_id: str
    compacted: bool


@dataclass(frozen=True)
class Earlier:
    """What earlier validations have proven about a flow; `why_not` says why none of it counts, if so."""

    evidence: ParityEvidence | None = None
    why_not: str = ""
    now: Mapping[str, TopicIdentity] = field(default_factory=dict)

    def usable(
        self, source_logs: Mapping[TopicPartition, OffsetRange], target_logs: Mapping[TopicPartition, OffsetRange]
    ) -> tuple[dict[TopicPartition, Proven], dict[TopicPartition, str]]:
        """Return the partitions in which only what follows must be compared, and why the others need more."""
        proven: dict[TopicPartition, Proven] = {}
        why: dict[TopicPartition, str] = {}
        if self.evidence is None or self.why_not:
            return proven, dict.fromkeys(source_logs, self.why_not) if self.why_not else why
        for partition, source in source_logs.items():
            before = self.evidence.topics.get(partition.topic)
            reason = why_not_topic(before, self.now.get(partition.topic))
            earlier = before.partitions.get(partition.partition) if before is not None else None
            if not reason:
                reason = _NOTHING_PROVEN if earlier is None else why_not(earlier, source, target_logs[partition])
            if earlier is None or reason:
                why[partition] = reason
            else:
                proven[partition] = earlier
        return proven, why


NOTHING_EARLIER = Earlier()


def why_not_flow(flow: FlowParameters, evidence: ParityEvidence | None, why_none: str) -> str:
    """Return why no partition of the flow can continue from the evidence of its newest verdict; empty if some may, or
    if no verdict was ever published. `why_none` says why a verdict holds no evidence.
    """
    if evidence is None:
        # A flow that is always compared in full never stores any.
        return (why_never(flow) or why_none) if why_none else ""
    if evidence.digest != flow.digest:
        return "another model was deployed at the time"
    return why_never(flow)


def why_never(flow: FlowParameters) -> str:
    """Return why a flow is always compared in full; empty if it is not."""
    if flow.guard is not None:
        return "both sides hold records of their own"
    if not flow.comparable or flow.drops:
        return "the flow's transforms change or drop records"
    if flow.start_from != "earliest":
        return "the flow starts at latest"
    return ""


def why_not_topic(before: ProvenTopic | None, now: TopicIdentity | None) -> str:
    if before is None:
        return _NOTHING_PROVEN
    if now is None:
        return "the topic has no id, or the job could not read its configuration"
    if (before.source_id, before.target_id) != (now.source_id, now.target_id):
        return REMADE
    return "the topic's cleanup.policy was changed" if before.compacted != now.compacted else ""


def why_not(proven: Proven, source: OffsetRange, target: OffsetRange) -> str:
    """Return why what was proven about a partition does not count for these logs; empty if it does."""
    sides = ((source, proven.source_start, proven.source), (target, proven.target_start, proven.target))
    for log, start, position in sides:
        if log.end < position:
            return "a log ends before the last proven record"
        if log.start > position:
            return "a log has removed the proven records and later ones"
        if log.start < start:
            return "a log begins before the first proven record"
    if proven.unmoved and (source.start, target.start) != (proven.source_start, proven.target_start):
        return "records have since been removed from a partition that holds duplicates or is compacted"
    return ""


def by_sums(
    before: Proven | None,
    logs: tuple[OffsetRange, OffsetRange],
    read: tuple[OffsetRange, OffsetRange],
    sums: tuple[Sums, Sums],
    now: int,
    *,
    compacted: bool,
) -> Proven | None:
    """Return what is proven about a partition whose sums are equal in the ranges that were `read` on source and target.
    These begin where `before` ends, or else with the `logs`. None if there is nothing to continue from.
    """
    (source, target), (here, there) = read, sums
    if before is None:
        before = Proven(logs[0].start, source.start, logs[1].start, target.start, 0, now, compacted)
    back = 0
    if here.records == source.size and there.records == target.size:
        back = min(OVERLAP, source.size)
    proven = before._replace(
        source=source.end - back, target=target.end - back, records=before.records + here.records - back
    )
    return proven if proven.records else None


def by_records(
    logs: tuple[OffsetRange, OffsetRange],
    position: tuple[int, int, int],
    differences: Mapping[str, int],
    now: int,
    *,
    compacted: bool,
) -> Proven | None:
    """Return what is proven about a partition that was compared record by record, and passed. `position` has an offset
    of the source, the target offset at which the records before it end, and their number. `differences` are the numbers
    of records by kind. None if one of these kinds may mean something else later.
    """
    source, target, records = position
    duplicates = differences.get(_DUPLICATED, 0)
    if not compacted and differences.keys() - _SETTLED - {_DUPLICATED}:
        return None
    # If there are as many copies as records, only a restart that the offset syncs still show would explain them.
    if 2 * duplicates >= logs[1].size:
        return None
    return Proven(logs[0].start, source, logs[1].start, target, records, now, compacted or duplicates > 0)


def topics_proven(
    partitions: Mapping[TopicPartition, Proven], now: Mapping[str, TopicIdentity]
) -> dict[str, ProvenTopic]:
    """Return the proven partitions by topic, without topics whose id is not known."""
    return {
        topic: ProvenTopic(now[topic].source_id, now[topic].target_id, now[topic].compacted, every)
        for topic, every in by_topic(partitions).items()
        if topic in now
    }


def still_hold(proven: Collection[tuple[Proven, OffsetRange]]) -> bool:
    """Return whether a source log certainly holds a record that was proven: compaction may remove all."""
    return any(log.start == evidence.source_start and not evidence.unmoved for evidence, log in proven)


#: The id of a topic that brokers older than Kafka 2.8 created.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def topics_now(flow: OpenFlow) -> dict[str, TopicIdentity]:
    """Return the replicated topics by their names on the source, without topics that have no id. None if the user may
    not see their configuration.
    """
    remote = {name: flow.policy.remote(name) for name in flow.partitions}
    here = flow.source.describe(list(remote))
    there = flow.target.describe([name for name in remote.values() if name in flow.remote_partitions])
    ids = {
        name: (here[name].id, there[on_target].id)
        for name, on_target in remote.items()
        if name in here and on_target in there
    }
    try:
        policies = flow.source.cleanup_policies(ids)
    except ClusterError as error:
        if error.code != "not-authorized":
            raise
        # Other checks report that. Here, nothing counts as proven.
        return {}
    return {
        name: TopicIdentity(*both, "compact" in policies.get(name, ""))
        for name, both in ids.items()
        if _NO_ID not in both
    }
