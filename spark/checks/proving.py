"""What a comparison of both sides has proven, and how much of it relies on earlier ones. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime

from components.contract.evidence import ProvenTopic
from components.contract.parameters import FlowParameters
from components.contract.report import SAMPLES, Finding, note
from components.contract.wording import agreeing, numbered
from components.kafka.positions import TopicPartition
from spark.checks.comparison import Comparison
from spark.checks.evidence import TopicNow, by_records, by_sums, topics_proven, why_never
from spark.checks.first_pass import FirstPass


def proven_topics(
    flow: FlowParameters,
    first_pass: FirstPass,
    comparison: Comparison,
    now: Mapping[str, TopicNow],
    now_seconds: int,
) -> dict[str, ProvenTopic]:
    """Where the next validation may continue if this one passes. `now_seconds` is the time since 1970."""
    if why_never(flow):
        return {}
    differ, found = set(first_pass.disagreeing), {}
    for each, source in first_pass.source_logs.items():
        topic, logs = now.get(each.topic), (source, first_pass.target_logs[each])
        if topic is None or each in first_pass.unread:
            continue
        if each in differ:
            position = comparison.reached.get(each)
            kinds = comparison.kinds.get(each, {})
            proven = by_records(logs, position, kinds, now_seconds, compacted=topic.compacted) if position else None
        else:
            before = first_pass.proven.get(each)
            target = logs[1].after(before.target) if before else logs[1]
            proven = by_sums(
                before,
                logs,
                (first_pass.source_read.get(each, source), target),
                (first_pass.source[each], first_pass.target[each]),
                now_seconds,
                compacted=topic.compacted,
            )
        if proven is not None:
            found[each] = proven
    return topics_proven(found, now)


def earlier_counts(first_pass: FirstPass) -> dict[str, int]:
    """How many source records earlier validations have compared, and what both sides have removed since."""
    proven = first_pass.proven
    return {
        "provenPartitions": len(proven),
        "provenRecords": sum(each.records for each in proven.values()),
        "removedSinceOnSource": sum(
            first_pass.source_logs[at].start - each.source_start for at, each in proven.items()
        ),
        "removedSinceOnTarget": sum(
            first_pass.target_logs[at].start - each.target_start for at, each in proven.items()
        ),
    }


def earlier_summary(first_pass: FirstPass) -> str:
    """What the outcome relies on besides what was compared now; empty if nothing."""
    counts = earlier_counts(first_pass)
    if not first_pass.proven:
        return ""
    since = datetime.fromtimestamp(min(each.since for each in first_pass.proven.values()), UTC)
    said = (
        f"; {numbered(counts['provenRecords'], 'source record[|s]')} of "
        f"{numbered(counts['provenPartitions'], 'partition[|s]')} proven before, since "
        f"{since.isoformat(timespec='seconds')}, and not compared again"
    )
    if removed := counts["removedSinceOnSource"] + counts["removedSinceOnTarget"]:
        said += f"; since then {numbered(removed, 'offset[|s] of both sides [was|were]')} removed"
    return said


def in_full_findings(first_pass: FirstPass) -> list[Finding]:
    """Notes that say why partitions were compared in full although the newest verdict had proven something."""
    by_reason: dict[str, list[TopicPartition]] = {}
    for each, why in sorted(first_pass.in_full.items()):
        by_reason.setdefault(why, []).append(each)
    found = []
    for why, partitions in by_reason.items():
        named = ", ".join(map(str, partitions[:SAMPLES])) + (", …" if len(partitions) > SAMPLES else "")
        was = agreeing(len(partitions), "[was|were]")
        found.append(note("compared-in-full", f"{named}: {was} compared in full, because {why}", len(partitions)))
    return found
