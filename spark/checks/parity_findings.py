"""What a difference between the two sides of a partition means. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from components.contract.report import SAMPLES, Finding, Scalar, Severity
from components.kafka.positions import OffsetRange, TopicPartition

#: Kinds of source records that a flow with `startFrom: latest` need not have replicated (see `beginnings`).
BEFORE_START, NOT_BEGUN, UNPROVEN = "before-start", "not-begun", "unproven"
#: Records that both sides hold, but in another order.
REORDERED = "reordered"


class Difference(NamedTuple):
    """Records that only one side of a partition holds, by kind (see `transforms.differences`).

    `first` and `last` are offsets on the side that holds them. Samples are (offset, time in ms, digest).
    """

    partition: TopicPartition
    kind: str
    records: int
    first: int
    last: int
    samples: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True)
class Sides:
    """Both logs of a partition, the records that each held in the first pass, and the clusters' aliases.

    A log may have offsets without a record: transaction markers, aborted records, records removed by compaction.
    `source_unread` and `target_unread` are offsets that could not be read because of open transactions. With
    `exactly_once`, the flow sends nothing twice. `written_end` is an end offset that the target's log has had: the
    offset after that of the newest offset sync; 0 without one.
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
    exactly_once: bool = False
    written_end: int = 0

    @property
    def remade(self) -> bool:
        """Whether the target's log ends before a record that the flow once wrote to it."""
        return self.target.end < self.written_end


class _Meaning(NamedTuple):
    code: str
    severity: Severity
    text: str


_MISSING = _Meaning("missing-records", Severity.FAIL, "records of {source} are missing on {target}")
_EXTRA = _Meaning(
    "extra-records",
    Severity.FAIL,
    "records on {target} do not exist on {source}: something other than the flow wrote them",
)
_EXPIRED_ON_TARGET = _Meaning("expired-on-target", Severity.NOTE, "records have already expired on {target}")
_EXPIRED_ON_SOURCE = _Meaning(
    "expired-on-source", Severity.NOTE, "records on {target} have already expired on {source}"
)
_LAGGING = _Meaning(
    "not-replicated-yet", Severity.FAIL, "records at the end of the log on {source} have not reached {target}"
)
_REMADE = _Meaning(
    "remote-topic-recreated",
    Severity.FAIL,
    "records of {source} are missing on {target}, whose log ends before records that the flow wrote there: the remote "
    "topic was deleted and created again, or truncated. The connector does not send them a second time by itself",
)
_DIFFERENT = _Meaning(
    "records-differ",
    Severity.FAIL,
    "records of {source} differ from every record on {target}: a converter or a transform changes key, value, headers "
    "or timestamp, or the remote topic sets the timestamp on arrival",
)
_ABORTED = _Meaning(
    "aborted-records",
    Severity.FAIL,
    "records on {target} belong to transactions that were aborted on {source}. The source connector reads uncommitted "
    "records, and every consumer of {target} sees them. Remedy: set exactlyOnce, or source.consumer.isolation.level: "
    "read_committed in connectors.source.config",
)
# A restarted worker sends uncommitted records again. That must not make every later proof fail.
_DUPLICATED = _Meaning(
    "duplicated-records",
    Severity.NOTE,
    "records are duplicates on {target}: delivery is at least once unless exactly-once is configured",
)
_DUPLICATED_EXACTLY_ONCE = _Meaning(
    "duplicated-exactly-once",
    Severity.ERROR,
    "records are duplicates on {target}, although the flow delivers exactly once: they are from before `exactlyOnce` "
    "was enabled, or it does not hold",
)
_REORDERED = _Meaning(
    "records-reordered",
    Severity.FAIL,
    "records stand on {target} in another order than on {source}, so no offset on {target} continues where a consumer "
    "of {source} stopped: it would skip records or read again",
)
_REPEATED = _Meaning(
    "records-repeated",
    Severity.FAIL,
    "records are duplicates, at least half of what {target} holds: two connectors replicate the topic, or it loops",
)
_UNMARKED = _Meaning(
    "records-unmarked",
    Severity.FAIL,
    "records are on both {source} and {target}, but without a mark: a connector between the clusters runs without its "
    "guard, and nothing stops the records from going back",
)
_COMPACTED = _Meaning(
    "compacted", Severity.ERROR, "records are on one side only, which is not judged: each side compacts at its own pace"
)
# A source connector reads uncommitted records unless its consumer is configured otherwise.
_UNDECIDED = _Meaning(
    "records-not-judged",
    Severity.NOTE,
    "records on {target} are not judged, because they may belong to a transaction that is open on {source}",
)
_BEFORE_START = _Meaning(
    "before-the-start",
    Severity.NOTE,
    "records are only on {source}, before the first replicated record: the flow starts at latest",
)
_BEFORE_START_OR_EXPIRED = _Meaning(
    "before-the-start",
    Severity.NOTE,
    "records are only on {source}, before the first record that {target} still holds: the flow starts at latest, and "
    "records have expired on {target} since",
)
_NOT_BEGUN = _Meaning(
    "nothing-since-the-start",
    Severity.NOTE,
    "records are only on {source}, and older than everything that the flow has replicated, so they are before its "
    "start. Their partitions have never been replicated; the next record there will show whether they are",
)
_UNPROVEN = _Meaning(
    "start-not-proven",
    Severity.ERROR,
    "records are only on {source}, in partitions that have never been replicated. The job cannot know whether they are "
    "from before the flow's start or lost. Remedy: write a record to each of these partitions and validate again; if "
    "this error returns, no task replicates them",
)
_ON_TARGET_ONLY = frozenset({"extra", "extra-head"})

_UNREPLICATED = frozenset({BEFORE_START, NOT_BEGUN, UNPROVEN})
# Compaction keeps the newest record of each key, so it does not explain these kinds.
_JUDGED_WHEN_COMPACTED = _UNREPLICATED | {"missing", "missing-tail", "duplicated", "aborted", "unmarked", REORDERED}

_MEANINGS: Mapping[str, Callable[[Sides], _Meaning]] = {
    BEFORE_START: lambda sides: _BEFORE_START_OR_EXPIRED if sides.target.start > 0 else _BEFORE_START,
    NOT_BEGUN: lambda _: _NOT_BEGUN,
    UNPROVEN: lambda _: _UNPROVEN,
    "missing-hole": lambda _: _MISSING,
    "missing-tail": lambda sides: _REMADE if sides.remade else _LAGGING,
    "missing": lambda sides: _nothing_equal(sides),
    "duplicated": lambda _: _DUPLICATED,
    "aborted": lambda _: _ABORTED,
    "unmarked": lambda _: _UNMARKED,
    REORDERED: lambda _: _REORDERED,
    "extra-head": lambda sides: _EXPIRED_ON_SOURCE if sides.source.start > 0 else _EXTRA,
    "extra": lambda sides: _EXPIRED_ON_SOURCE if not sides.source_records and sides.source.start > 0 else _EXTRA,
}


def _missing_head(difference: Difference, sides: Sides) -> _Meaning:
    """Whether the missing records have expired on the target: each took one of the offsets before its log start."""
    return _EXPIRED_ON_TARGET if difference.records <= sides.target.start else _MISSING


def _nothing_equal(sides: Sides) -> _Meaning:
    if sides.compacted and sides.target.size and (sides.source.start > 0 or not sides.target_records):
        return _COMPACTED
    if sides.target_records:
        return _DIFFERENT
    if sides.remade:
        return _REMADE
    return _EXPIRED_ON_TARGET if sides.target.start > 0 and not sides.target.size else _LAGGING


def meaning(difference: Difference, sides: Sides) -> _Meaning:
    """What a difference means, given what both logs still hold."""
    if sides.compacted and difference.kind not in _JUDGED_WHEN_COMPACTED:
        return _COMPACTED
    if sides.source_unread is not None and difference.kind in _ON_TARGET_ONLY:
        return _UNDECIDED
    if difference.kind == "missing-head":
        return _missing_head(difference, sides)
    if difference.kind == "duplicated" and 2 * difference.records >= sides.target.size:
        return _REPEATED
    if difference.kind == "duplicated" and sides.exactly_once:
        return _DUPLICATED_EXACTLY_ONCE
    return _MEANINGS[difference.kind](sides)


def compacted(differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]) -> set[TopicPartition]:
    """The partitions with records that are not judged because of compaction."""
    return {each.partition for each in differences if meaning(each, sides[each.partition]) == _COMPACTED}


def lags(differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]) -> dict[str, int]:
    """The number of records per topic that have not reached the target yet."""
    found: dict[str, int] = {}
    for each in differences:
        if meaning(each, sides[each.partition]) == _LAGGING:
            found[each.partition.topic] = found.get(each.partition.topic, 0) + each.records
    return found


def target_records(source_records: int, differences: Iterable[Difference]) -> int:
    """How many records the target holds of a partition with `source_records` and these differences."""
    return source_records + sum(
        -each.records if each.kind.startswith("missing") or each.kind in _UNREPLICATED | {"unmarked"} else each.records
        for each in differences
        if each.kind != REORDERED
    )


def unread_on_source(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]
) -> dict[TopicPartition, OffsetRange]:
    """Unreadable source offsets that may hold records which seem to be only on the target."""
    return {
        each.partition: offsets
        for each in differences
        if each.kind in _ON_TARGET_ONLY and (offsets := sides[each.partition].source_unread) is not None
    }


def unread_on_target(
    differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]
) -> dict[TopicPartition, OffsetRange]:
    """By source partition, unreadable target offsets that may hold records which seem to be missing there."""
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
    """One finding per topic and meaning, which names partitions and offsets. `labels` replace names of topics."""
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
    """Up to SAMPLES differing records, taken in turn from each difference, so that a large one does not hide others."""
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
