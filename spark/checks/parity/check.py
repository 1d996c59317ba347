"""parity: the target holds the same records as the source.

The first pass computes a count and an order-free digest of every partition on both sides. Only partitions that differ
are then compared record by record, as multisets. `first_pass` explains how both sides are read while they move.

With a guard, the check compares the source records that the guard lets through with the target records that carry its
mark, ignoring the mark. In a flow with the user's own transforms, records may differ by design, so they are only
counted, unless the transforms change nothing but headers.

The outcome counts the source records up to the judged end. For the target it counts the copies of these records that
the last reading found, and surplus records. The first pass counts records that are set aside.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from kafka_replication.components.contract.report import (
    SAMPLES,
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    error,
    note,
)
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks import division
from kafka_replication.spark.checks.loops import Loop, loop_findings, mark_findings, read_marks
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.differences import (
    BEFORE_START,
    CHANGED,
    NEWEST,
    NOT_BEGUN,
    ON_TARGET_ONLY,
    REORDERED,
    UNPROVEN,
    Difference,
    Sides,
)
from kafka_replication.spark.checks.parity.evidence import TopicIdentity
from kafka_replication.spark.checks.parity.findings import (
    final_partitions,
    lags,
    parity_findings,
    parity_samples,
    topic_rows,
    totals,
    undecided,
    unread_on_source,
    unread_on_target,
    with_meanings,
)
from kafka_replication.spark.checks.parity.first_pass import FirstPass, open_transaction_findings
from kafka_replication.spark.checks.parity.proven import (
    earlier_counts,
    earlier_summary,
    in_full_findings,
    proven_topics,
)
from kafka_replication.spark.checks.topics import absent_from_target, foreign_topic_findings
from kafka_replication.spark.read.digests import SOURCE, TARGET
from kafka_replication.spark.read.flows import OpenFlow


def check_parity(
    flow: OpenFlow,
    first_pass: FirstPass,
    comparison: RecordComparison | None,
    loops: Sequence[Loop] = (),
    topics: Mapping[str, TopicIdentity] = MappingProxyType({}),
) -> CheckOutcome:
    """Judge the partitions that differ by the record-by-record `comparison`; None if the flow's records cannot be
    compared.

    `loops` are topics that loop; `flow` and `first_pass` do not contain them. `topics` are those for which the outcome
    says what was proven.
    """
    source, target = flow.parameters.source.alias, flow.parameters.target.alias
    findings = loop_findings(loops, source, target)
    absent, absent_records = absent_from_target(flow)
    findings += absent
    findings += foreign_topic_findings(flow)
    if flow.parameters.guard is not None:
        findings += mark_findings(read_marks(flow, first_pass), flow.parameters.guard, source, target)
    if comparison is None:
        comparison = RecordComparison([], {})
        findings += not_compared(first_pass)
    else:
        findings += _headers_apart(flow.parameters.changed_headers)
        findings += times_not_compared(first_pass.untimed, source)
        findings += filtered(first_pass, source, target)
        labels = division.labels(flow.parameters, flow.partitions)
        findings += parity_findings(comparison.differences, comparison.sides, source, target, labels)
        late = lags(with_meanings(comparison.differences, comparison.sides))
        findings += division.behind(flow.parameters, {**late, **absent_records})
    differences, sides = comparison.differences, comparison.sides
    unread = {**unread_on_source(differences, sides), **first_pass.unread}
    findings += open_transaction_findings(unread, source)
    hidden = unread_on_target(differences, sides)
    remote = {flow.policy.remote_partition(partition): offsets for partition, offsets in hidden.items()}
    findings += open_transaction_findings(remote, target)
    if not loops and not absent and not first_pass.unread:
        findings += nothing_to_compare(first_pass)
    findings += in_full_findings(first_pass)
    partitions = final_partitions(first_pass, differences if flow.parameters.comparable else None)
    counts = _counts(flow, first_pass, loops, differences) | totals(partitions.values())
    relevant = [difference for difference in differences if difference.kind not in (BEFORE_START, NOT_BEGUN)]
    summary = counted(counts, guarded=flow.parameters.guard is not None) + earlier_summary(first_pass)
    coverage = _coverage(flow, first_pass, {**unread, **hidden}, differences, sides)
    samples = parity_samples(relevant)
    proven, spans = proven_topics(flow.parameters, first_pass, comparison, topics, round(time.time()))
    return CheckOutcome(
        CheckName.PARITY,
        summary,
        counts,
        tuple(findings),
        samples,
        coverage,
        topic_rows(partitions),
        proven=proven,
        spans=spans,
    )


def _coverage(
    flow: OpenFlow,
    first_pass: FirstPass,
    unread: Mapping[TopicPartition, OffsetRange],
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
) -> Coverage:
    """Return the partitions that were judged, including those that the target lacks; looping topics count as judged."""
    changed = set(first_pass.disagreeing) - unread.keys() if not flow.parameters.comparable else set()
    unknown = {difference.partition for difference in differences if difference.kind == UNPROVEN} - unread.keys()
    by_compaction = undecided(differences, sides, meanings.COMPACTED) - unread.keys() - unknown
    expired = undecided(differences, sides, meanings.EXPIRED_OR_LOST, meanings.EXPIRED_OR_NEVER_CAME)
    expired -= unread.keys() | unknown | by_compaction
    not_judged = {
        "compacted": len(by_compaction),
        "losses-not-visible": len(expired),
        "open-transaction": len(unread),
        "records-not-compared": len(changed),
        "start-not-proven": len(unknown),
    }
    return Coverage("partitions", sum(flow.partitions.values()) - sum(not_judged.values()), not_judged)


def counted(counts: Mapping[str, int | float], *, guarded: bool) -> str:
    """Return the summary: what was read, and in how many partitions both sides have the same records."""
    same = int(counts["agreeingPartitions"])
    summary = (
        f"{counts['sourceRecords']} source and {numbered(int(counts['targetRecords']), 'target record[|s]')}; "
        f"{same} of {numbered(int(counts['partitions']), 'partition[|s]')} "
        f"{agreeing(same, '[has|have]')} the same records"
    )
    if guarded:
        aside = numbered(int(counts["setAsideOnTarget"]), "target record[|s] of the other direction not compared")
        summary += f"; {counts['setAsideOnSource']} source and {aside}"
    if counts["unreadOffsets"]:
        summary += (
            f"; {numbered(int(counts['unreadOffsets']), 'source offset[|s]')} not read because of open transactions"
        )
    if counts.get("beforeStart"):
        summary += f"; {counts['beforeStart']} before the flow's start"
    return summary


def not_compared(first_pass: FirstPass) -> list[Finding]:
    """Return the findings for a flow whose transforms may change and drop records: only counts are judged."""
    source, target = first_pass.total(SOURCE).records, first_pass.total(TARGET).records
    if source and not target:
        what = (
            f"the target holds none of the {source} source records: the flow's own transforms dropped them, or they "
            "never arrived"
        )
        return [error("nothing-arrived", what)]
    if not first_pass.disagreeing:
        return []
    return [
        error(
            "records-not-compared",
            f"{numbered(len(first_pass.disagreeing), 'partition[|s] [differs|differ]')}, which the flow's own "
            "transforms may cause. The records "
            f"({source} on the source, {target} on the target) were counted, not compared",
            len(first_pass.disagreeing),
        )
    ]


def _headers_apart(changed: Sequence[str]) -> list[Finding]:
    if not changed:
        return []
    which = agreeing(len(changed), "[this header|these headers]")
    what = f"{', '.join(changed)}: not compared, because the flow's transforms insert or remove {which}"
    return [note("headers-not-compared", what, len(changed))]


def times_not_compared(untimed: Collection[TopicPartition], source_alias: str) -> list[Finding]:
    """Return a note that names the partitions in which everything but timestamps was compared."""
    if not untimed:
        return []
    named = ", ".join(map(str, sorted(untimed)[:SAMPLES])) + (", …" if len(untimed) > SAMPLES else "")
    what = (
        f"{named}: {source_alias} holds records without a timestamp (-1), which Connect replicates with the time of "
        "their arrival. Key, value and headers were compared, timestamps were not"
    )
    return [note("timestamps-not-compared", what, len(untimed))]


def filtered(first_pass: FirstPass, source_alias: str, target_alias: str) -> Iterator[Finding]:
    """Yield how many records the flow's filters drop, and an error for those that are on the target anyway."""
    source, target = first_pass.total(SOURCE).filtered, first_pass.total(TARGET).filtered
    if source:
        what = f"{numbered(source, 'record[|s]')} of {source_alias}: not compared, because the flow's filters drop "
        yield note("records-filtered", what + agreeing(source, "[it|them]"), source)
    if target:
        what = (
            f"{numbered(target, 'record[|s]')} on {target_alias} that the flow's filters drop now: "
            f"{agreeing(target, '[it was|they were]')} replicated before the filters were set, or something other than "
            f"the flow wrote {agreeing(target, '[it|them]')}"
        )
        yield error("filtered-on-target", what, target)


def nothing_to_compare(first_pass: FirstPass) -> list[Finding]:
    """Return an error if the source holds no records; a note if all its records came from the other direction."""
    source = first_pass.total(SOURCE)
    if source.records or first_pass.proven:
        return []
    if source.filtered:
        what = f"the flow's filters drop all {numbered(source.filtered, 'record[|s]')} that the source holds"
        return [error("empty-range", f"{what}: there is nothing to compare")]
    if source.aside:
        what = (
            f"the source holds {numbered(source.aside, 'record[|s]')}, all from the other direction: there "
            "is nothing to replicate"
        )
        return [note("nothing-of-its-own", what, source.aside)]
    if spanned := sum(log.size for log in first_pass.source_logs.values()):
        what = (
            f"the source's partitions have {numbered(spanned, 'offset[|s]')}, but no record to compare: compaction "
            "removed the records meanwhile, or their transactions were aborted"
        )
        return [error("empty-range", what, spanned)]
    return [error("empty-range", "the source holds no records in any selected partition: there is nothing to compare")]


_COUNTS = {
    "missing": ("missing", "missing-hole", "missing-head", "missing-surplus", CHANGED),
    "lagging": ("missing-tail",),
    "duplicated": ("duplicated",),
    "extra": tuple(ON_TARGET_ONLY),
    "aborted": ("aborted",),
    "unmarked": ("unmarked",),
    "reordered": (REORDERED,),
    "keysDiffering": tuple(NEWEST),
}


def _counts(
    flow: OpenFlow, first_pass: FirstPass, loops: Sequence[Loop], differences: Sequence[Difference]
) -> dict[str, int | float]:
    counts: dict[str, int | float] = {
        "topics": len(flow.partitions) + len(loops),
        "partitions": len(first_pass.source_logs),
        "comparedByRecord": len(first_pass.disagreeing) if flow.parameters.comparable else 0,
        "unreadOffsets": sum(offsets.size for offsets in first_pass.unread.values()),
        "readSeconds": round(first_pass.seconds, 2),
    }
    counts |= {name: _records_of(differences, kinds) for name, kinds in _COUNTS.items()}
    counts |= earlier_counts(first_pass)
    counts["looping"] = len(loops)
    if flow.parameters.start_from == "latest":
        starts = {"beforeStart": (BEFORE_START, NOT_BEGUN), "startNotProven": (UNPROVEN,)}
        counts |= {name: _records_of(differences, kinds) for name, kinds in starts.items()}
    if flow.parameters.guard is not None:
        source, target = first_pass.total(SOURCE), first_pass.total(TARGET)
        counts |= {"setAsideOnSource": source.aside, "setAsideOnTarget": target.aside, "looped": target.looped}
    return counts


def _records_of(differences: Sequence[Difference], kinds: Sequence[str]) -> int:
    return sum(difference.records for difference in differences if difference.kind in kinds)
