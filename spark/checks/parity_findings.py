"""What differences between the two sides of a partition mean. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from spark.positions import OffsetRange, TopicPartition
from spark.report import SAMPLES, Finding, Scalar, Severity

#: Kinds of source records that a flow which starts at the latest offset need not have replicated (see `beginnings`).
BEFORE_START, NOT_BEGUN, UNPROVEN = "before-start", "not-begun", "unproven"


class Difference(NamedTuple):
    """Records that one side of a partition holds alone, by kind (see `transforms.differences`).

    `first` and `last` are offsets on the side that holds them; samples are (offset, time in ms, digest).
    """

    partition: TopicPartition
    kind: str
    records: int
    first: int
    last: int
    samples: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True)
class Sides:
    """Both logs of a partition, how many records both held at first, and the clusters' aliases. A log may have offsets
    and no record: transaction markers, aborted records, what compaction has removed.

    `source_unread` and `target_unread` are offsets that transactions kept from being read to the end.
    """

    source: OffsetRange
    target: OffsetRange
    source_records: int
    target_records: int
    compacted: bool
    source_alias: str = "source"
    target_alias: str = "target"
    source_unread: OffsetRange | None = None
    target_unread: OffsetRange | None = None


class _Meaning(NamedTuple):
    code: str
    severity: Severity
    text: str


_MISSING = _Meaning("missing-records", Severity.FAIL, "records of {source} are missing on {target}")
_EXTRA = _Meaning(
    "extra-records", Severity.FAIL, "records on {target} that {source} does not hold: something else wrote them"
)
_EXPIRED_ON_TARGET = _Meaning("expired-on-target", Severity.NOTE, "records that {target} has already removed")
_EXPIRED_ON_SOURCE = _Meaning("expired-on-source", Severity.NOTE, "records older than the log start on {source}")
_LAGGING = _Meaning("not-replicated-yet", Severity.FAIL, "records at the end of {source} have not reached {target}")
_DIFFERENT = _Meaning(
    "records-differ",
    Severity.FAIL,
    "records, none of which is equal on {target}: a converter or a transform changes key, value, headers or timestamp, "
    "or the topic there takes the time of arrival",
)
_ABORTED = _Meaning(
    "aborted-records",
    Severity.FAIL,
    "records on {target} are of transactions that were aborted on {source}: the source connector reads uncommitted "
    "records, and on {target} every consumer sees them. Remedy: set exactlyOnce, or source.consumer.isolation.level: "
    "read_committed in connectors.source.config",
)
# A worker that was restarted sends again what it had not committed; that must not hold back every later proof.
_DUPLICATED = _Meaning(
    "duplicated-records",
    Severity.NOTE,
    "records are on {target} more often than on {source}: delivery is at least once unless exactly-once is configured",
)
_REPEATED = _Meaning(
    "records-repeated",
    Severity.FAIL,
    "records are copies, half of what {target} holds or more: two connectors replicate the topic, or it loops",
)
_UNMARKED = _Meaning(
    "records-unmarked",
    Severity.FAIL,
    "records are on {source} and {target} with a mark on neither: a connector between them runs without its guard, and "
    "nothing keeps them from going back",
)
_COMPACTED = _Meaning(
    "compacted", Severity.NOTE, "records on one side only, not judged: each side compacts in its own time"
)
# A source connector reads uncommitted records unless its consumer is told otherwise.
_UNDECIDED = _Meaning(
    "records-not-judged",
    Severity.NOTE,
    "records on {target} may belong to a transaction that is open on {source}: not judged",
)
_BEFORE_START = _Meaning(
    "before-the-start",
    Severity.NOTE,
    "records on {source} alone lie before the first one that was replicated: the flow starts at latest",
)
_BEFORE_START_OR_EXPIRED = _Meaning(
    "before-the-start",
    Severity.NOTE,
    "records on {source} alone lie before the first one that {target} holds: the flow starts at latest, and {target} "
    "has removed records since",
)
_NOT_BEGUN = _Meaning(
    "nothing-since-the-start",
    Severity.NOTE,
    "records on {source} alone are older than all that the flow has replicated, so they lie before its start; nothing "
    "of their partitions was replicated yet, and whether it will be shows with the next record there",
)
_UNPROVEN = _Meaning(
    "start-not-proven",
    Severity.ERROR,
    "records on {source} alone are of partitions of which nothing was ever replicated: nothing tells records before "
    "the flow's start from lost ones there. Remedy: write a record to each of these partitions and validate again; if "
    "this is said again, no task replicates them",
)
_ON_TARGET_ONLY = frozenset({"extra", "extra-head"})

_UNREPLICATED = frozenset({BEFORE_START, NOT_BEGUN, UNPROVEN})
# The newest record of a key stays: that one side holds nothing of the other is not compaction's doing.
_TOLD_WHEN_COMPACTED = _UNREPLICATED | {"missing", "missing-tail", "duplicated", "aborted", "unmarked"}

_MEANINGS: Mapping[str, Callable[[Sides], _Meaning]] = {
    BEFORE_START: lambda sides: _BEFORE_START_OR_EXPIRED if sides.target.start > 0 else _BEFORE_START,
    NOT_BEGUN: lambda _: _NOT_BEGUN,
    UNPROVEN: lambda _: _UNPROVEN,
    "missing-head": lambda sides: _EXPIRED_ON_TARGET if sides.target.start > 0 else _MISSING,
    "missing-hole": lambda _: _MISSING,
    "missing-tail": lambda _: _LAGGING,
    "missing": lambda sides: _nothing_equal(sides),
    "duplicated": lambda _: _DUPLICATED,
    "aborted": lambda _: _ABORTED,
    "unmarked": lambda _: _UNMARKED,
    "extra-head": lambda sides: _EXPIRED_ON_SOURCE if sides.source.start > 0 else _EXTRA,
    "extra": lambda sides: _EXPIRED_ON_SOURCE if not sides.source_records and sides.source.start > 0 else _EXTRA,
}


def _nothing_equal(sides: Sides) -> _Meaning:
    if sides.compacted and sides.target.size and (sides.source.start > 0 or not sides.target_records):
        return _COMPACTED
    if sides.target_records:
        return _DIFFERENT
    return _EXPIRED_ON_TARGET if sides.target.start > 0 and not sides.target.size else _LAGGING


def meaning(difference: Difference, sides: Sides) -> _Meaning:
    """What a difference says, given what both logs still hold."""
    if sides.compacted and difference.kind not in _TOLD_WHEN_COMPACTED:
        return _COMPACTED
    if sides.source_unread is not None and difference.kind in _ON_TARGET_ONLY:
        return _UNDECIDED
    if difference.kind == "duplicated" and 2 * difference.records >= sides.target.size:
        return _REPEATED
    return _MEANINGS[difference.kind](sides)


def lags(differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]) -> dict[str, int]:
    """Records by topic that have not reached the target yet."""
    found: dict[str, int] = {}
    for each in differences:
        if meaning(each, sides[each.partition]) == _LAGGING:
            found[each.partition.topic] = found.get(each.partition.topic, 0) + each.records
    return found


def target_records(source_records: int, differences: Iterable[Difference]) -> int:
    """How many records the target holds for `source_records` of a partition, by the partition's differences."""
    return source_records + sum(
        -each.records if each.kind.startswith("missing") or each.kind in _UNREPLICATED | {"unmarked"} else each.records
        for each in differences
    )


def unread_on_source(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]
) -> dict[TopicPartition, OffsetRange]:
    """The source's offsets in which records may be that the target seems to hold alone."""
    return {
        each.partition: offsets
        for each in differences
        if each.kind in _ON_TARGET_ONLY and (offsets := sides[each.partition].source_unread) is not None
    }


def unread_on_target(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]
) -> dict[TopicPartition, OffsetRange]:
    """The target's offsets, by the source's partition, in which records may be that the target seems not to hold."""
    return {
        each.partition: offsets
        for each in differences
        if each.kind.startswith("missing") and (offsets := sides[each.partition].target_unread) is not None
    }


def parity_findings(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    labels: Mapping[str, str] = MappingProxyType({}),
) -> list[Finding]:
    """One finding a topic and meaning, which names partitions and offsets; `labels` say more than a topic's name."""
    grouped: dict[tuple[str, _Meaning, str], list[Difference]] = {}
    for each in differences:
        side = sides[each.partition]
        what = meaning(each, side)
        text = what.text.format(source=side.source_alias, target=side.target_alias)
        grouped.setdefault((each.partition.topic, what, text), []).append(each)
    findings = []
    for (topic, what, text), members in sorted(grouped.items(), key=lambda each: (each[0][0], each[0][1].code)):
        count = sum(member.records for member in members)
        where = "; ".join(
            f"partition {member.partition.partition} offsets {member.first} to {member.last}"
            for member in sorted(members)[:SAMPLES]
        )
        findings.append(
            Finding(what.code, what.severity, f"{labels.get(topic, topic)}: {count} {text} ({where})", count)
        )
    return findings


def parity_samples(differences: Sequence[Difference]) -> tuple[Mapping[str, Scalar], ...]:
    """Up to SAMPLES differing records, in turn from each difference, so that a large one does not hide the others."""
    turns: list[tuple[int, dict[str, Scalar], tuple[int, int, str]]] = [
        (turn, {"topic": each.partition.topic, "partition": each.partition.partition, "kind": each.kind}, sample)
        for each in differences
        for turn, sample in enumerate(each.samples)
    ]
    chosen = sorted(turns, key=lambda each: each[0])[:SAMPLES]
    return tuple(
        {**where, "offset": offset, "timestampMs": time_ms, "digest": digest}
        for _, where, (offset, time_ms, digest) in chosen
    )
