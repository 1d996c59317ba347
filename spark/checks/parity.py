"""parity: what the target holds is what the source holds, record for record.

First a count and an order-free digest of every partition, one pass over both sides. Only partitions that disagree are
compared as multisets of records. `parity_readings` says how both sides are read while they move.

A guard decides what is compared: on the source the records that it lets through, on the target those that carry its
mark, without it. Records of a flow with transforms of the user's own may differ by design; they are counted only.

The outcome counts the source's records before its judged end, and those of them that the target held when it was last
read, with what it holds beside them. Records set aside are counted by the first pass.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from spark.checks import parts
from spark.checks.foreign_topics import foreign_topic_findings
from spark.checks.loops import Loop, loop_findings
from spark.checks.open_transactions import open_transaction_findings
from spark.checks.parity_findings import (
    BEFORE_START,
    NOT_BEGUN,
    UNPROVEN,
    Difference,
    Sides,
    lags,
    parity_findings,
    parity_samples,
    target_records,
    unread_on_source,
    unread_on_target,
)
from spark.checks.parity_readings import FirstPass, compared
from spark.checks.translation import SyncHistory
from spark.flows import OpenFlow
from spark.guards import SOURCE, TARGET
from spark.parameters import GuardParameters
from spark.positions import TopicPartition
from spark.report import CheckOutcome, Finding, error, fail, note

NAME = "parity"


def check_parity(
    opened: OpenFlow,
    first: FirstPass,
    loops: Sequence[Loop] = (),
    catch_up_seconds: float = 0,
    syncs: Mapping[TopicPartition, SyncHistory] = MappingProxyType({}),
) -> CheckOutcome:
    """Compare record by record the partitions that the first pass found to disagree, and judge.

    `syncs` show where a flow that starts at latest began; `loops` are topics that go round and are left out of `opened`
    and `first`.
    """
    findings = loop_findings(loops, opened.flow.source.alias, opened.flow.target.alias)
    absent, absent_records = _absent(opened)
    findings += absent
    findings += foreign_topic_findings(
        opened.selection, opened.source_topics, opened.target_topics, opened.partitions, opened.remote_partitions
    )
    if opened.flow.guard is not None:
        findings += went_both_ways(first, opened.flow.guard, opened.flow.source.alias, opened.flow.target.alias)
    differences: list[Difference] = []
    sides: Mapping[TopicPartition, Sides] = {}
    if opened.flow.transformed:
        findings += not_compared(first)
    else:
        differences, sides = compared(opened, first, catch_up_seconds, syncs)
        findings += parity_findings(differences, sides, parts.labels(opened.flow, opened.partitions))
        findings += parts.behind(opened.flow, {**lags(differences, sides), **absent_records})
    unread = {**unread_on_source(differences, sides), **first.unread}
    findings += open_transaction_findings(unread, opened.flow.source.alias)
    hidden = unread_on_target(differences, sides)
    remote = {opened.selection.remote_partition(each): offsets for each, offsets in hidden.items()}
    findings += open_transaction_findings(remote, opened.flow.target.alias)
    if not loops and not absent and not first.unread:
        findings += nothing_to_compare(first)
    counts = _counts(opened, first, loops, differences)
    told = [each for each in differences if each.kind not in (BEFORE_START, NOT_BEGUN)]
    summary = _summary(counts, guarded=opened.flow.guard is not None)
    return CheckOutcome(NAME, summary, counts, tuple(findings), parity_samples(told))


def _summary(counts: Mapping[str, int | float], *, guarded: bool) -> str:
    summary = (
        f"{counts['sourceRecords']} source and {counts['targetRecords']} target records in {counts['partitions']} "
        f"partitions, {counts['agreeingPartitions']} of them equal"
    )
    if guarded:
        summary += f"; {counts['setAsideOnSource']} and {counts['setAsideOnTarget']} of the other direction set aside"
    if counts["unreadOffsets"]:
        summary += f"; {counts['unreadOffsets']} source offsets behind open transactions not read"
    if counts.get("beforeStart"):
        summary += f"; {counts['beforeStart']} before the flow's start"
    return summary


def went_both_ways(first: FirstPass, guard: GuardParameters, source: str, target: str) -> list[Finding]:
    """One finding a topic for records on the target that carry the marks of both directions."""
    found: dict[str, dict[int, int]] = {}
    for partition, sums in sorted(first.target.items()):
        if sums.looped:
            found.setdefault(partition.topic, {})[partition.partition] = sums.looped
    return [
        fail(
            "records-loop",
            f"{topic}: {sum(looped.values())} records on {target} carry both {guard.filter} and {guard.mark}: they "
            f"went {target} -> {source} -> {target} past the guard, which should have left them out (partitions "
            f"{', '.join(map(str, looped))})",
            sum(looped.values()),
        )
        for topic, looped in found.items()
    ]


def not_compared(first: FirstPass) -> list[Finding]:
    """What a flow whose transforms may change and drop records cannot be held to."""
    source, target = first.total(SOURCE).records, first.total(TARGET).records
    if source and not target:
        return [error("nothing-arrived", f"the target holds none of {source} source records, which the flow's own "
                      "transforms may have dropped or which never came")]  # fmt: skip
    if not first.disagreeing:
        return []
    return [
        note(
            "records-not-compared",
            f"{len(first.disagreeing)} partitions differ, as the flow's own transforms allow: {source} source and "
            f"{target} target records were counted, but not compared",
            len(first.disagreeing),
        )
    ]


def nothing_to_compare(first: FirstPass) -> list[Finding]:
    """An error when the source holds no record; a note when all that it holds came from the other direction."""
    source = first.total(SOURCE)
    if source.records:
        return []
    if source.aside:
        what = f"the source holds {source.aside} records, all from the other direction: none is to be replicated"
        return [note("nothing-of-its-own", what, source.aside)]
    return [error("empty-range", "the source holds no record in any selected partition: nothing to compare")]


_COUNTS = {
    "missing": ("missing", "missing-hole", "missing-head"),
    "lagging": ("missing-tail",),
    "duplicated": ("duplicated",),
    "extra": ("extra", "extra-head"),
    "aborted": ("aborted",),
    "unmarked": ("unmarked",),
}


def final_records(first: FirstPass, differences: Sequence[Difference]) -> dict[str, int]:
    """Records of both sides and equal partitions after the comparison, of which `differences` is the outcome.

    A partition with offsets that could not be read is not equal; one that is equal from its start on is.
    """
    found: dict[TopicPartition, list[Difference]] = {each: [] for each in first.disagreeing}
    for each in differences:
        found[each.partition].append(each)
    on_target = {
        each: target_records(sums.records, found[each]) if each in found else first.target[each].records
        for each, sums in first.source.items()
    }
    unequal = {each.partition for each in differences if each.kind != BEFORE_START} | set(first.unread)
    return {
        "sourceRecords": first.total(SOURCE).records,
        "targetRecords": sum(on_target.values()),
        "agreeingPartitions": len(first.source_logs) - len(unequal),
    }


def counted_records(first: FirstPass) -> dict[str, int]:
    """Records of both sides and equal partitions where nothing is compared after the first pass."""
    return {
        "sourceRecords": first.total(SOURCE).records,
        "targetRecords": first.total(TARGET).records,
        "agreeingPartitions": len(first.source_logs) - len({*first.disagreeing, *first.unread}),
    }


def _counts(
    opened: OpenFlow, first: FirstPass, loops: Sequence[Loop], differences: Sequence[Difference]
) -> dict[str, int | float]:
    counts: dict[str, int | float] = {
        "topics": len(opened.partitions) + len(loops),
        "partitions": len(first.source_logs),
        **(counted_records(first) if opened.flow.transformed else final_records(first, differences)),
        "comparedByRecord": 0 if opened.flow.transformed else len(first.disagreeing),
        "unreadOffsets": sum(each.size for each in first.unread.values()),
        "readSeconds": round(first.seconds, 2),
    }
    counts |= {name: _records_of(differences, kinds) for name, kinds in _COUNTS.items()}
    counts["looping"] = len(loops)
    if opened.flow.start_from == "latest":
        starts = {"beforeStart": (BEFORE_START, NOT_BEGUN), "startNotProven": (UNPROVEN,)}
        counts |= {name: _records_of(differences, kinds) for name, kinds in starts.items()}
    if opened.flow.guard is not None:
        source, target = first.total(SOURCE), first.total(TARGET)
        counts |= {"setAsideOnSource": source.aside, "setAsideOnTarget": target.aside, "looped": target.looped}
    return counts


def _records_of(differences: Sequence[Difference], kinds: Sequence[str]) -> int:
    return sum(each.records for each in differences if each.kind in kinds)


def _absent(opened: OpenFlow) -> tuple[list[Finding], dict[str, int]]:
    """Topics and partitions that the target does not have, and the source's records in those topics."""
    findings = []
    on_target = {topic: opened.remote_partitions.get(opened.selection.remote(topic)) for topic in opened.partitions}
    absent = sorted(topic for topic, count in on_target.items() if count is None)
    named = parts.labels(opened.flow, absent)
    if absent:
        names = ", ".join(named.get(topic, topic) for topic in absent)
        findings.append(
            fail("topic-not-replicated", f"on {opened.target.where} there is no copy of: {names}", len(absent))
        )
    for topic, count in sorted(opened.partitions.items()):
        remote = on_target[topic]
        if remote is not None and remote < count:
            what = f"{topic} has {count} partitions on the source and {remote} on the target"
            findings.append(fail("partitions-not-replicated", what, count - remote))
    if not parts.parts_of(opened.flow):
        return findings, {}
    logs = opened.source.offsets(
        TopicPartition(topic, number) for topic in absent for number in range(opened.partitions[topic])
    )
    records = {topic: sum(log.size for each, log in logs.items() if each.topic == topic) for topic in absent}
    return findings, records
