"""How many records each excuse explains at most. An excuse is a reason for which a difference between two sides is no
fault, such as retention, compaction or an open transaction. It explains as many records as its evidence shows: those
that a side has removed, or the offsets that could not be read. The others are judged as if there were no excuse.

The excuse that a restart has sent records again is bounded by `Sides.resent`.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.differences import (
    CHANGED,
    CHANGED_COPY,
    NEWEST_ON_TARGET,
    NEWEST_SURPLUS,
    ON_TARGET_ONLY,
    Difference,
    Sides,
    meaning,
)


class PartitionEvidence(NamedTuple):
    """The differences of a partition, its logs, and the offset syncs that belong to them."""

    differences: Sequence[Difference]
    sides: Sides
    history: SyncHistory

    def records(self, *kinds: str) -> int:
        return sum(difference.records for difference in self.differences if difference.kind in kinds)


def expired_on_target(evidence: PartitionEvidence) -> int:
    """Return at most how many records that the source holds the target has removed."""
    sides = evidence.sides
    return evidence.history.records_copied(sides.source.start, sides.target.start, markers=sides.exactly_once)


def expired_on_source(evidence: PartitionEvidence) -> int:
    """Return at most how many records that the target holds the source has removed, without second copies."""
    sides = evidence.sides
    return max(0, sides.source.start - evidence.history.oldest_source(sides.target.start))


def unread(evidence: PartitionEvidence) -> int:
    """Return at most how many records that the target holds are at source offsets that could not be read."""
    offsets = evidence.sides.source_unread
    return expired_on_source(evidence) + (offsets.size if offsets is not None else 0)


def compacted_on_target(evidence: PartitionEvidence) -> int:
    """Return at most how many records that the source holds the target has compacted away: each has taken an offset."""
    sides = evidence.sides
    first = evidence.history.first_copy(sides.source.start, markers=sides.exactly_once)
    arrived = sides.source_records - evidence.records("missing-tail")
    lacking = evidence.records("missing-head", "missing-hole")
    return lacking - max(0, arrived - (sides.target.end - first - evidence.records("duplicated")))


def compacted_on_source(evidence: PartitionEvidence) -> int:
    """Return at most how many records that the target holds the source has compacted away, or the job could not read:
    each has or had an offset there.
    """
    sides = evidence.sides
    end = sides.source.end if sides.source_unread is None else sides.source_unread.end
    oldest = evidence.history.oldest_source(sides.target.start)
    held = sides.target_records - evidence.records("duplicated")
    return evidence.records(*ON_TARGET_ONLY) - max(0, held - (end - oldest))


#: By what the records mean, and whether only the target holds them.
BOUNDS: Mapping[tuple[meanings.Meaning, bool], Callable[[PartitionEvidence], int]] = {
    (meanings.EXPIRED_ON_TARGET, False): expired_on_target,
    (meanings.EXPIRED_ON_SOURCE, True): expired_on_source,
    (meanings.COMPACTED_APART, False): compacted_on_target,
    (meanings.COMPACTED_APART, True): compacted_on_source,
    (meanings.COMPACTED, False): expired_on_target,
    (meanings.COMPACTED, True): expired_on_source,
    (meanings.UNDECIDED, True): unread,
}
#: Kinds whose meaning no excuse changes. A key that is written on both sides, or may be filtered, is not counted.
_SURPLUS = {
    **dict.fromkeys(("missing", "missing-head", "missing-hole"), "missing-surplus"),
    **dict.fromkeys(ON_TARGET_ONLY, "extra-surplus"),
    **NEWEST_SURPLUS,
}


def with_surplus(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    syncs: Mapping[TopicPartition, SyncHistory],
) -> list[Difference]:
    """Split `differences` that an excuse explains only in part, and give changed records kinds of their own."""
    result: list[Difference] = []
    for partition, members in grouped((difference.partition, difference) for difference in differences).items():
        side = sides[partition]
        # Syncs of an earlier topic, and those that count records of the target's own, show nothing.
        foreign = side.guarded or side.remade
        history = SyncHistory() if foreign else syncs.get(partition, SyncHistory())
        if not side.source_anew:
            members = _split(PartitionEvidence(members, side, history))
        if not (side.source_anew or side.compacted):
            # What is missing although nothing is in its place may have expired.
            members = _split(PartitionEvidence(_changed(members, replace(side, guarded=False)), side, history))
        result += members
    return result


def _split(evidence: PartitionEvidence) -> list[Difference]:
    left: dict[tuple[meanings.Meaning, bool], int] = {}
    parts: list[Difference] = []
    for difference in evidence.differences:
        side = replace(evidence.sides, guarded=False)
        excuse = meaning(difference, side), difference.kind in ON_TARGET_ONLY or difference.kind in NEWEST_ON_TARGET
        if excuse not in BOUNDS or difference.kind not in _SURPLUS:
            parts.append(difference)
            continue
        explained = min(difference.records, max(0, left.setdefault(excuse, BOUNDS[excuse](evidence))))
        left[excuse] -= explained
        surplus = difference.records - explained
        if explained:
            parts.append(difference._replace(records=explained))
        if surplus:
            parts.append(difference._replace(kind=_SURPLUS[difference.kind], records=surplus))
    return parts


#: Kinds of records that may be changed ones, together. The surplus of the target has no kind of its own at the end.
_MAY_BE_CHANGED = (
    ("missing-hole", "missing-tail"),
    *(("missing-head",), ("missing-hole",), ("missing-tail",), ("missing-surplus",)),
)


def _changed(members: Sequence[Difference], side: Sides) -> Sequence[Difference]:
    """Return the members, where missing records and as many surplus records of the target in their place are the same
    records, changed on the way. If the two sides have no record in common, any of them may be.
    """
    surplus = [one for one in members if meaning(one, side) == meanings.EXTRA]
    undecided = any(meaning(one, side) == meanings.UNDECIDED for one in members)
    if not (surplus or undecided):
        return members
    for one in members:
        if one.kind == "missing" and meaning(one, side) == meanings.DIFFERENT:
            return _in_number(members, one, surplus)
    kind_of: dict[Difference, str] = {}
    absent = [one for one in members if meaning(one, side) in (meanings.MISSING, meanings.LAGGING)]
    for kinds, one in itertools.product(_MAY_BE_CHANGED, surplus):
        here = [difference for difference in absent if difference.kind in kinds and difference not in kind_of]
        if here and one not in kind_of and _place(here, side.source) == _place([one], side.target):
            kind_of |= {**dict.fromkeys(here, CHANGED), one: CHANGED_COPY}
    return [one._replace(kind=kind_of.get(one, one.kind)) for one in members]


def _in_number(
    members: Sequence[Difference], missing: Difference, surplus: Sequence[Difference]
) -> Sequence[Difference]:
    """Return the members, with as many `missing` records as `surplus` ones changed; others are missing or expired."""
    left = missing.records
    parts = {missing: [missing._replace(kind=CHANGED, records=min(left, sum(one.records for one in surplus)))]}
    for one in surplus:
        changed = min(left, one.records)
        left -= changed
        parts[one] = [one._replace(kind=CHANGED_COPY, records=changed), one._replace(records=one.records - changed)]
    parts[missing].append(missing._replace(kind="missing-head", records=left))
    return [part for one in members for part in parts.get(one, [one]) if part.records]


def _place(differences: Sequence[Difference], log: OffsetRange) -> tuple[int, int, int]:
    """Return where these records are in their log, and how many they are."""
    first, last = min(one.first for one in differences), max(one.last for one in differences)
    return first - log.start, last - log.start, sum(one.records for one in differences)
