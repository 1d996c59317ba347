"""What a comparison of both sides has proven: where the next validation may continue, and where groups would continue
if the source were lost. Nothing more is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from kafka_replication.components.contract.evidence import Proven, ProvenTopic, PublishedPositions, SpannedTopic
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import SAMPLES, CheckName, CheckOutcome, Finding, Verdict, note
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition, by_topic
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span, TargetPlace, further, place_in
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.evidence import TopicIdentity, by_records, by_sums, topics_proven, why_never
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.sums import Sums


def proven_topics(
    flow: FlowParameters,
    first_pass: FirstPass,
    comparison: RecordComparison,
    topics: Mapping[str, TopicIdentity],
    now_seconds: int,
) -> tuple[dict[str, ProvenTopic], dict[str, SpannedTopic]]:
    """Return where the next validation may continue if this one passes, and the spans of the partitions that were found
    equal, as far as the topics' ids are known. `now_seconds` is the time since 1970.
    """
    if why_never(flow):
        return {}, {}
    differ, proofs, spans = set(first_pass.disagreeing), {}, dict[TopicPartition, Span]()
    for partition, source in first_pass.source_logs.items():
        topic, logs = topics.get(partition.topic), (source, first_pass.target_logs[partition])
        if topic is None or partition in first_pass.unread:
            continue
        if partition in differ:
            position = comparison.reached.get(partition)
            kinds = comparison.kinds.get(partition, {})
            proven = by_records(logs, position, kinds, now_seconds, compacted=topic.compacted) if position else None
            if proven is not None:
                spans[partition] = Span(*proven[:4], dense=False)
        else:
            before = first_pass.proven.get(partition)
            target = logs[1].after(before.target) if before else logs[1]
            read = first_pass.source_read.get(partition, source), target
            sums = first_pass.source[partition], first_pass.target[partition]
            spans[partition] = _equal(before, logs[1], read, sums)
            proven = by_sums(before, logs, read, sums, now_seconds, compacted=topic.compacted)
        if proven is not None:
            proofs[partition] = proven
    spanned = {
        name: SpannedTopic(topics[name].source_id, topics[name].target_id, every)
        for name, every in by_topic(spans).items()
    }
    return topics_proven(proofs, topics), spanned


def earlier_counts(first_pass: FirstPass) -> dict[str, int]:
    """Return how many source records earlier validations have compared, and what both sides have removed since."""
    proven = first_pass.proven
    return {
        "provenPartitions": len(proven),
        "provenRecords": sum(evidence.records for evidence in proven.values()),
        "removedSinceOnSource": sum(
            first_pass.source_logs[at].start - evidence.source_start for at, evidence in proven.items()
        ),
        "removedSinceOnTarget": sum(
            first_pass.target_logs[at].start - evidence.target_start for at, evidence in proven.items()
        ),
    }


def earlier_summary(first_pass: FirstPass) -> str:
    """Return what the outcome relies on besides what was compared now; empty if nothing."""
    counts = earlier_counts(first_pass)
    if not first_pass.proven:
        return ""
    since = datetime.fromtimestamp(min(evidence.since for evidence in first_pass.proven.values()), UTC)
    sentence = (
        f"; {numbered(counts['provenRecords'], 'source record[|s]')} of "
        f"{numbered(counts['provenPartitions'], 'partition[|s]')} proven before, since "
        f"{since.isoformat(timespec='seconds')}, and not compared again"
    )
    if removed := counts["removedSinceOnSource"] + counts["removedSinceOnTarget"]:
        sentence += f"; since then {numbered(removed, 'offset[|s] of both sides [was|were]')} removed"
    return sentence


def in_full_findings(first_pass: FirstPass) -> Iterator[Finding]:
    """Notes that say why partitions were compared in full although the newest verdict had proven something."""
    for why, partitions in grouped((why, partition) for partition, why in sorted(first_pass.in_full.items())).items():
        named = ", ".join(map(str, partitions[:SAMPLES])) + (", …" if len(partitions) > SAMPLES else "")
        was = agreeing(len(partitions), "[was|were]")
        yield note("compared-in-full", f"{named}: {was} compared in full, because {why}", len(partitions))


def positions_to_publish(digest: str, time: str, checks: Sequence[CheckOutcome]) -> PublishedPositions | None:
    """Return the positions to publish from these outcomes; None if `parity` or `offsets-translate` did not run, or
    parity did not pass. Without parity, it is not known that the target holds the records in the same order.
    """
    by_name = {check.name: check for check in checks}
    parity, offsets = by_name.get(CheckName.PARITY), by_name.get(CheckName.OFFSETS)
    if offsets is None or parity is None or parity.verdict is not Verdict.PASS or parity.accepted:
        return None
    if not parity.spans:
        # For example, the topics' ids cannot be read: that is no reason to discard what is known.
        return None
    positions = {}
    for position in offsets.translated:
        topic = parity.spans.get(position.topic)
        if topic is None or (span := topic.spans.get(position.partition)) is None:
            continue
        translated = TargetPlace(position.offset, position.read_again) if position.offset is not None else None
        if place := further(place_in(span, position.committed), translated):
            positions[position.group, position.topic, position.partition] = ProvenPosition(position.committed, *place)
    return PublishedPositions(digest, time, parity.spans, positions, len(offsets.translated) - len(positions))


def _equal(
    before: Proven | None, target_log: OffsetRange, read: tuple[OffsetRange, OffsetRange], sums: tuple[Sums, Sums]
) -> Span:
    """Return the span of a partition whose sums are equal in what was `read` of source and target, and in what earlier
    validations have proven about it.
    """
    (source, target), (here, there) = read, sums
    begin, dense = (source.start, target_log.start), (here.records, there.records) == (source.size, target.size)
    if before is not None:
        begin = (before.source_start, before.target_start)
        dense = dense and before.dense and before.records == before.target - before.target_start
    return Span(begin[0], max(begin[0], source.end), begin[1], max(begin[1], target_log.end), dense)
