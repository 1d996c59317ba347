"""How many records each excuse explains at most. An excuse is a reason for which a difference between two sides is no
fault, such as retention, compaction or an open transaction. It explains as many records as its evidence shows: those
that a side has removed, or the offsets that could not be read. The others are judged as if there were no excuse.

The excuse that a restart has sent records again is bounded by `Sides.resent`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from components.kafka.offset_syncs import SyncHistory
from components.kafka.positions import TopicPartition
from spark.checks.parity import meanings
from spark.checks.parity.differences import NEWEST_ON_TARGET, NEWEST_SURPLUS, ON_TARGET_ONLY, Difference, Sides, meaning


class Evidence(NamedTuple):
    """The differences of a partition, its logs, and the offset syncs that belong to them."""

    differences: Sequence[Difference]
    sides: Sides
    history: SyncHistory

    def records(self, *kinds: str) -> int:
        return sum(difference.records for difference in self.differences if difference.kind in kinds)


def expired_on_target(evidence: Evidence) -> int:
    """Return at most how many records that the source holds the target has removed: their copies came after those of
    the records that the source has removed as well.
    """
    sides = evidence.sides
    first = evidence.history.first_copy(sides.source.start, markers=sides.exactly_once)
    return max(0, sides.target.start - first)


def expired_on_source(evidence: Evidence) -> int:
    """Return at most how many records that the target holds the source has removed, without second copies."""
    sides = evidence.sides
    return max(0, sides.source.start - evidence.history.oldest_source(sides.target.start))


def unread(evidence: Evidence) -> int:
    """Return at most how many records that the target holds are at source offsets that could not be read."""
    offsets = evidence.sides.source_unread
    return expired_on_source(evidence) + (offsets.size if offsets is not None else 0)


def compacted_on_target(evidence: Evidence) -> int:
    """Return at most how many records that the source holds the target has compacted away: each has taken an offset."""
    sides = evidence.sides
    first = evidence.history.first_copy(sides.source.start, markers=sides.exactly_once)
    arrived = sides.source_records - evidence.records("missing-tail")
    lacking = evidence.records("missing-head", "missing-hole")
    return lacking - max(0, arrived - (sides.target.end - first - evidence.records("duplicated")))


def compacted_on_source(evidence: Evidence) -> int:
    """Return at most how many records that the target holds the source has compacted away: each had an offset there."""
    sides = evidence.sides
    oldest = evidence.history.oldest_source(sides.target.start)
    held = sides.target_records - evidence.records("duplicated")
    return evidence.records(*ON_TARGET_ONLY) - max(0, held - (sides.source.end - oldest))


#: By what the records mean, and whether only the target holds them.
BOUNDS: Mapping[tuple[meanings.Meaning, bool], Callable[[Evidence], int]] = {
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
    """`differences`, where those that an excuse explains only in part are split in two."""
    by_partition: dict[TopicPartition, list[Difference]] = {}
    for difference in differences:
        by_partition.setdefault(difference.partition, []).append(difference)
    result: list[Difference] = []
    for partition, members in by_partition.items():
        side = sides[partition]
        # Syncs of an earlier topic, and those that count records of the target's own, show nothing.
        foreign = side.guarded or side.remade
        history = SyncHistory() if foreign else syncs.get(partition, SyncHistory())
        result += members if side.source_anew else _split(Evidence(members, side, history))
    return result


def _split(evidence: Evidence) -> list[Difference]:
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
