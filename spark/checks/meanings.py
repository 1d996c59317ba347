"""What a difference between the two sides of a partition means. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from components.contract.report import Severity
from components.kafka.positions import OffsetRange, TopicPartition

#: Kinds of source records that a flow with `startFrom: latest` need not have replicated (see `beginnings`).
BEFORE_START, NOT_BEGUN, UNPROVEN = "before-start", "not-begun", "unproven"
#: Records that both sides hold, but in another order.
REORDERED = "reordered"


#: So many restarts within what the topic of offset syncs holds are nothing unusual.
RESTARTS = 2


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
    offset after that of the newest offset sync; 0 without one. `source_anew`: the source's log is not the one of which
    records were replicated. `replaced`: as many records are surplus on the target as it lacks, and in the same place.
    `sent_again`: how often the flow began again at an earlier offset. `guarded`: the records of the target that are
    compared carry the flow's mark.
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
    source_anew: bool = False
    replaced: bool = False
    sent_again: int = 0
    guarded: bool = False

    @property
    def restarted(self) -> bool:
        """Whether a restart explains duplicates, however many. A second connector that writes the flow's offset syncs
        begins again and again."""
        return 0 < self.sent_again <= RESTARTS

    @property
    def remade(self) -> bool:
        """Whether the target's log ends before a record that the flow once wrote to it."""
        return self.target.end < self.written_end


class Meaning(NamedTuple):
    code: str
    severity: Severity
    text: str


_MISSING = Meaning("missing-records", Severity.FAIL, "records of {source} are missing on {target}")
EXTRA = Meaning(
    "extra-records",
    Severity.FAIL,
    "records on {target} do not exist on {source}: something other than the flow wrote them",
)
_MARKED_ELSEWHERE = Meaning(
    "marked-elsewhere",
    Severity.FAIL,
    "records on {target} carry the mark of {source}, which has no such record. The guard of the other direction takes "
    "them for copies, so they never cross to {source}",
)
_EXPIRED_ON_TARGET = Meaning("expired-on-target", Severity.NOTE, "records have already expired on {target}")
_EXPIRED_ON_SOURCE = Meaning("expired-on-source", Severity.NOTE, "records on {target} have already expired on {source}")
LAGGING = Meaning(
    "not-replicated-yet", Severity.FAIL, "records at the end of the log on {source} have not reached {target}"
)
_REMADE = Meaning(
    "remote-topic-recreated",
    Severity.FAIL,
    "records of {source} are missing on {target}, whose log ends before records that the flow wrote there: the remote "
    "topic was deleted and created again, or truncated. The connector does not send them a second time by itself",
)
_DIFFERENT = Meaning(
    "records-differ",
    Severity.FAIL,
    "records of {source} differ on {target} in key, value, headers or timestamp: a converter or a transform changes "
    "them, the remote topic sets the timestamp on arrival, or somebody replaced them",
)
_NOT_OF_NEW_SOURCE = Meaning(
    "source-topic-recreated",
    Severity.FAIL,
    "records of {source} are missing on {target}: the topic was deleted and created again on {source}, and the "
    "connector went on at the offset where it had stopped",
)
_OF_OLD_SOURCE = Meaning(
    "source-topic-recreated",
    Severity.FAIL,
    "records on {target} are from before the topic was deleted and created again on {source}: a consumer that moves "
    "reads them in front of the new ones",
)
_ABORTED = Meaning(
    "aborted-records",
    Severity.FAIL,
    "records on {target} belong to transactions that were aborted on {source}. The source connector reads uncommitted "
    "records, and every consumer of {target} sees them. Remedy: set exactlyOnce, or source.consumer.isolation.level: "
    "read_committed in connectors.source.config",
)
# A restarted worker sends uncommitted records again. That must not make every later proof fail.
_DUPLICATED = Meaning(
    "duplicated-records",
    Severity.NOTE,
    "records are duplicates on {target}: delivery is at least once unless exactly-once is configured",
)
_DUPLICATED_EXACTLY_ONCE = Meaning(
    "duplicated-exactly-once",
    Severity.ERROR,
    "records are duplicates on {target}, although the flow delivers exactly once: they are from before `exactlyOnce` "
    "was enabled, or it does not hold",
)
_REORDERED = Meaning(
    "records-reordered",
    Severity.FAIL,
    "records stand on {target} in another order than on {source}, so no offset on {target} continues where a consumer "
    "of {source} stopped: it would skip records or read again",
)
# Of records that were sent again, retention or compaction may have removed the first copies of some only.
_ORDER_NOT_PROVEN = Meaning(
    "order-not-proven",
    Severity.ERROR,
    "records stand on {target} in another order than on {source}. The flow was restarted and sent records again, and "
    "{target} has removed records since, which may explain it",
)
_REPEATED = Meaning(
    "records-repeated",
    Severity.FAIL,
    "records are duplicates, at least half of what {target} holds: two connectors replicate the topic, or it loops",
)
_UNMARKED = Meaning(
    "records-unmarked",
    Severity.FAIL,
    "records are on both {source} and {target}, but without a mark: a connector between the clusters runs without its "
    "guard, and nothing stops the records from going back",
)
COMPACTED = Meaning(
    "compacted",
    Severity.ERROR,
    "keys of a compacted topic have another newest record on {target} than on {source}, which is not judged: records "
    "were also deleted by age or by hand, the key is written on both sides, or the flow's start is unknown",
)
_COMPACTED_APART = Meaning(
    "compacted-apart",
    Severity.NOTE,
    "older records of keys are on one side only, because each side compacts at its own pace. The newest record of each "
    "key was compared",
)
_NEWEST_MISSING = Meaning(
    "missing-records",
    Severity.FAIL,
    "records of {source} are missing on {target}, each the newest of its key in a compacted topic",
)
_NEWEST_OUTDATED = Meaning(
    "keys-outdated",
    Severity.FAIL,
    "keys have another value on {target} than on {source}: the newest record of each key, which compaction never "
    "removes, is not the same",
)
_NEWEST_UNDELETED = Meaning(
    "keys-undeleted",
    Severity.FAIL,
    "keys still have a value on {target}, although {source} has deleted them: their tombstones never arrived",
)
_NEWEST_FOREIGN = Meaning(
    "keys-undeleted",
    Severity.FAIL,
    "keys have a value on {target}, although {source} has no record of them: their tombstones never arrived and have "
    "expired on {source}, or something other than the flow wrote the keys",
)
# A source connector reads uncommitted records unless its consumer is configured otherwise.
_UNDECIDED = Meaning(
    "records-not-judged",
    Severity.NOTE,
    "records on {target} are not judged, because they may belong to a transaction that is open on {source}",
)
_BEFORE_START = Meaning(
    "before-the-start",
    Severity.NOTE,
    "records are only on {source}, before the first replicated record: the flow starts at latest",
)
_BEFORE_START_OR_EXPIRED = Meaning(
    "before-the-start",
    Severity.NOTE,
    "records are only on {source}, before the first record that {target} still holds: the flow starts at latest, and "
    "records have expired on {target} since",
)
_NOT_BEGUN = Meaning(
    "nothing-since-the-start",
    Severity.NOTE,
    "records are only on {source}, and older than everything that the flow has replicated, so they are before its "
    "start. Their partitions have never been replicated; the next record there will show whether they are",
)
_UNPROVEN = Meaning(
    "start-not-proven",
    Severity.ERROR,
    "records are only on {source}, in partitions that have never been replicated. The job cannot know whether they are "
    "from before the flow's start or lost. Remedy: write a record to each of these partitions and validate again; if "
    "this error returns, no task replicates them",
)
#: What a difference means if the source topic was made anew.
_OF_ANOTHER_SOURCE: Mapping[Meaning, Meaning] = {
    **dict.fromkeys((_MISSING, _DIFFERENT, _NEWEST_MISSING), _NOT_OF_NEW_SOURCE),
    **dict.fromkeys((EXTRA, _NEWEST_OUTDATED, _NEWEST_UNDELETED, _NEWEST_FOREIGN), _OF_OLD_SOURCE),
}
ON_TARGET_ONLY = frozenset({"extra", "extra-head"})
REPLACED = frozenset({"missing", "missing-head", "missing-hole"})

UNREPLICATED = frozenset({BEFORE_START, NOT_BEGUN, UNPROVEN})
#: Kinds of keys of a compacted topic, by the newest record of each key (see `newest`).
NEWEST: Mapping[str, Callable[[Sides], Meaning]] = {
    "newest-missing": lambda sides: COMPACTED if sides.target.start > 0 else _NEWEST_MISSING,
    "newest-outdated": lambda _: _NEWEST_OUTDATED,
    "newest-undeleted": lambda _: _NEWEST_UNDELETED,
    "newest-foreign": lambda sides: COMPACTED if sides.source.start > 0 else _NEWEST_FOREIGN,
    "newest-unproven": lambda _: COMPACTED,
}
_NEWEST_ON_TARGET = NEWEST.keys() - {"newest-missing"}
# Compaction keeps the newest record of each key, so it does not explain these kinds.
_JUDGED_WHEN_COMPACTED = UNREPLICATED | {"missing", "missing-tail", "duplicated", "aborted", "unmarked", REORDERED}

_MEANINGS: Mapping[str, Callable[[Sides], Meaning]] = {
    BEFORE_START: lambda sides: _BEFORE_START_OR_EXPIRED if sides.target.start > 0 else _BEFORE_START,
    NOT_BEGUN: lambda _: _NOT_BEGUN,
    UNPROVEN: lambda _: _UNPROVEN,
    "missing-hole": lambda _: _MISSING,
    "missing-tail": lambda sides: _REMADE if sides.remade else LAGGING,
    "missing": lambda sides: _nothing_equal(sides),
    "duplicated": lambda _: _DUPLICATED,
    "aborted": lambda _: _ABORTED,
    "unmarked": lambda _: _UNMARKED,
    REORDERED: lambda _: _REORDERED,
    "extra-head": lambda sides: _EXPIRED_ON_SOURCE if sides.source.start > 0 else EXTRA,
    "extra": lambda sides: _EXPIRED_ON_SOURCE if not sides.source_records and sides.source.start > 0 else EXTRA,
}


def _missing_head(difference: Difference, sides: Sides) -> Meaning:
    """Whether the missing records have expired on the target: each took one of the offsets before its log start."""
    return _EXPIRED_ON_TARGET if difference.records <= sides.target.start else _MISSING


def _nothing_equal(sides: Sides) -> Meaning:
    if sides.target_records:
        return _DIFFERENT
    if sides.remade:
        return _REMADE
    return _EXPIRED_ON_TARGET if sides.target.start > 0 and not sides.target.size else LAGGING


def _of_newest(difference: Difference, sides: Sides) -> Meaning:
    if sides.source_unread is not None and difference.kind in _NEWEST_ON_TARGET:
        return _UNDECIDED
    if sides.remade and difference.kind == "newest-missing":
        return _REMADE
    return NEWEST[difference.kind](sides)


def meaning(difference: Difference, sides: Sides) -> Meaning:
    """What a difference means, given what both logs still hold, and what explains it."""
    found = _of_both_logs(difference, sides)
    if sides.source_anew:
        return _OF_ANOTHER_SOURCE.get(found, found)
    if sides.guarded and found == EXTRA:
        return _MARKED_ELSEWHERE
    return _DIFFERENT if sides.replaced and found == _MISSING else found


def _of_both_logs(difference: Difference, sides: Sides) -> Meaning:
    if difference.kind in NEWEST:
        return _of_newest(difference, sides)
    if sides.compacted and difference.kind not in _JUDGED_WHEN_COMPACTED:
        return _COMPACTED_APART
    if sides.source_unread is not None and difference.kind in ON_TARGET_ONLY:
        return _UNDECIDED
    if difference.kind == "missing-head":
        return _missing_head(difference, sides)
    if difference.kind == "duplicated" and 2 * difference.records >= sides.target.size and not sides.restarted:
        return _REPEATED
    if difference.kind == REORDERED and sides.restarted and (sides.compacted or sides.target.start > 0):
        return _ORDER_NOT_PROVEN
    if difference.kind == "duplicated" and sides.exactly_once:
        return _DUPLICATED_EXACTLY_ONCE
    return _MEANINGS[difference.kind](sides)
