"""Records of a guarded flow that carry a mark, but did not get it from the guard of the other direction."""

from collections.abc import Mapping, Sequence

from components.contract.parameters import GuardParameters
from components.contract.report import SAMPLES, Finding, Severity
from components.contract.wording import numbered
from components.kafka.positions import TopicPartition
from spark import readers
from spark.checks.both_sides import both_clusters, both_sides
from spark.checks.first_pass import FirstPass
from spark.checks.meanings import Difference
from spark.checks.words import Meaning
from spark.flows import OpenFlow
from spark.local_frames import frame_of
from spark.marked import MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND, marked_elsewhere

_MEANINGS: Mapping[str, Meaning] = {
    MARKED_ON_SOURCE: Meaning(
        "marked-elsewhere",
        Severity.FAIL,
        "record[|s] on {source} [carries|carry] the mark of {target} ({filter}), but {target} has no such record. The "
        "guard treats [it as a copy, so it is never replicated|them as copies, so they are never replicated] to "
        "{target}",
    ),
    MARKED_ON_TARGET: Meaning(
        "marked-elsewhere",
        Severity.FAIL,
        "record[|s] on {target} [carries|carry] both {filter} and {mark}, but {source} has no such record. The guard "
        "of the other direction treats [it as a copy, so it is never replicated|them as copies, so they are never "
        "replicated] to {source}",
    ),
    WENT_ROUND: Meaning(
        "records-loop",
        Severity.FAIL,
        "record[|s] on {target} [carries|carry] both {filter} and {mark}. [It|They] went {target} -> {source} -> "
        "{target}, although the guard should have dropped [it|them]",
    ),
}


def read_marks(flow: OpenFlow, first_pass: FirstPass) -> list[Difference]:
    """The records with a mark, in partitions where not all of them came from the other direction."""
    partitions = first_pass.with_other_marks
    if flow.parameters.guard is None or not partitions:
        return []
    flow.progress(f"{flow.name}: comparing the marked records of {numbered(len(partitions), 'partition[|s]')}")
    source = {each: first_pass.source_logs[each] for each in partitions}
    target = {each: first_pass.target_logs[each] for each in partitions}
    starts = frame_of(
        flow.spark.session,
        [(each.topic, each.partition, source[each].start, target[each].start) for each in partitions],
        "topic string, partition int, source_start bigint, target_start bigint",
    )
    frame = marked_elsewhere(both_sides(flow, source, target), starts)
    return [
        Difference(TopicPartition(row.topic, row.partition), row.kind, row.records, row.first, row.last)
        for row in readers.rows(frame, both_clusters(flow), "comparing marked records")
    ]


def mark_findings(marked: Sequence[Difference], guard: GuardParameters, source: str, target: str) -> list[Finding]:
    """One finding per topic and kind. `source` and `target` are aliases."""
    grouped: dict[tuple[str, str], list[Difference]] = {}
    for each in sorted(marked):
        grouped.setdefault((each.partition.topic, each.kind), []).append(each)
    findings = []
    for (topic, kind), members in grouped.items():
        what = _MEANINGS[kind]
        count = sum(each.records for each in members)
        sentence = what.sentence(count, source=source, target=target, filter=guard.filter, mark=guard.mark)
        where = "; ".join(each.place for each in members[:SAMPLES])
        findings.append(Finding(what.code, what.severity, f"{topic}: {sentence} ({where})", count))
    return findings
