"""When a group's translated position is proven: the rule, applied to records that `proofs` has read. Pure.

A *position* is one (group, topic, partition) with a committed offset on the source. Its checkpoint says that a consumer
at offset `committed` on the source may continue at `downstream` on the target.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_replication.components.contract.report import Finding, error, fail
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.mirror_records import Checkpoint
from kafka_replication.components.kafka.offset_syncs import SourceGuess
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP

_SOURCE_EXPIRED = "source-expired"
_SKIPS = "offset-skips-records"
_TARGET_EMPTY = "target-empty"
_NOT_FOUND = "source-record-not-found"
#: What is found of a group that skips nothing, if the cleaner has removed the records that would show it.
_MAY_BE_COMPACTED = frozenset({_SOURCE_EXPIRED, _SKIPS, _TARGET_EMPTY, _NOT_FOUND})
#: How many offsets to read on each side of the translated one, which may be a marker or compacted away.
TARGET_REACH = 8
#: How many offsets to read on each side of the expected source offset.
SOURCE_REACH = 32
#: Two guesses of a source offset that are closer than this are read as one range.
GUESSES_NEAR = 1_024


class RecordDigest(NamedTuple):
    """A record that was read, without its content. `untimed` is its digest if it had no timestamp (-1): Connect gives
    such a record the time of its arrival.
    """

    offset: int
    time_ms: int
    digest: str
    untimed: str = ""

    def copies(self, digests: Collection[str]) -> bool:
        """Return whether this record of the target is a copy of a source record with one of the digests."""
        return self.digest in digests or self.untimed in digests


class Candidates(NamedTuple):
    """The source records of a partition that were read, and the range that was read completely for one position.
    `unread_from`: if it was looked up, no record that the group has not read is before this offset.
    """

    offsets: OffsetRange
    records: Sequence[RecordDigest]
    unread_from: int = 0

    def between(self, start: int, end: int) -> int | None:
        """Return how many unread records are at offsets [start, end); None if they were not read completely."""
        start = max(start, min(self.unread_from, end))
        if start < end and (start < self.offsets.start or end > self.offsets.end):
            return None
        return sum(start <= record.offset < end for record in self.records)

    def within(self) -> list[RecordDigest]:
        """Return the records in the range."""
        return [record for record in self.records if self.offsets.start <= record.offset < self.offsets.end]


@dataclass(frozen=True)
class Position:
    """A group's committed offset on a source partition, and what the target holds for it.

    `committed` was read after the checkpoint, so that a consuming group's checkpoint does not appear to be ahead of it.
    `on_target` is None if the group has no offset on the target. `active`: the group has members there.
    `untranslated`: the group needs no position there. `past_end`: the source's end, if the group's offset is past it.
    """

    group: str
    partition: TopicPartition
    committed: int
    checkpoint: Checkpoint | None = None
    on_target: int | None = None
    active: bool = False
    untranslated: bool = False
    past_end: int | None = None

    def __str__(self) -> str:
        return f"group {self.group} on {self.partition}"


class TranslatedRecord(NamedTuple):
    """The record at the translated offset: the first one from there on or, if `after` is true, the last one before."""

    record: RecordDigest
    after: bool


@dataclass(frozen=True)
class PositionProof:
    """The result for one position. `source_offset`: the actual source offset of a consumer at the checkpoint.
    `read_again`: at most this many records before `committed` are read a second time. `by_counting`: several source
    records are equal, and offset syncs say which of them it is. `untimed`: the record that decided has no timestamp on
    the source, so timestamps were not compared.
    """

    finding: Finding | None
    source_offset: int | None = None
    read_again: int = 0
    by_counting: bool = False
    untimed: bool = False

    @property
    def proven(self) -> bool:
        return self.source_offset is not None and self.finding is None

    @property
    def expired_on_source(self) -> bool:
        return self.finding is not None and self.finding.code == _SOURCE_EXPIRED

    @property
    def may_be_compacted(self) -> bool:
        return self.finding is not None and self.finding.code in _MAY_BE_COMPACTED


def translated_record(downstream: int, records: Sequence[RecordDigest]) -> TranslatedRecord | None:
    """Return the one of `records` that a consumer at `downstream` reads first, or else the one just before it."""
    near = [record for record in records if abs(record.offset - downstream) <= TARGET_REACH]
    following = min((digest for digest in near if digest.offset >= downstream), default=None)
    if following is not None:
        return TranslatedRecord(following, after=False)
    before = max((digest for digest in near if digest.offset < downstream), default=None)
    return TranslatedRecord(before, after=True) if before is not None else None


def source_range(guess: SourceGuess | None, by_time: int | None, committed: int, log: OffsetRange) -> OffsetRange:
    """Return the small source range in which to look for the record: around the guess, around the first record with its
    timestamp (`by_time`), or around both if they are close. If the committed offset is a little earlier, the range
    starts there, so that skipped records can be counted.
    """
    guesses = [offset for offset in (guess.offset if guess else None, by_time) if offset is not None and offset >= 0]
    if not guesses:
        return OffsetRange(log.start, log.start)
    if max(guesses) - min(guesses) > GUESSES_NEAR:
        guesses = guesses[-1:]
    if 0 <= min(guesses) - committed <= GUESSES_NEAR:
        guesses.append(committed)
    return OffsetRange(min(guesses) - SOURCE_REACH, max(guesses) + SOURCE_REACH + 1).within(log)


@dataclass(frozen=True)
class Around:
    """What was read for one position. `compacted`: the cleaner may have removed records on either side; `inexact`:
    offsets or records may have changed on the way."""

    target_log: OffsetRange
    source_log: OffsetRange
    on_target: Sequence[RecordDigest]
    candidates: Candidates
    found: TranslatedRecord | None
    guess: SourceGuess | None
    compacted: bool = False
    inexact: bool = False


def prove(position: Position, around: Around, translated: TranslatedRecord | None) -> PositionProof:
    """Prove that the record at the translated offset is a source record at or before the committed offset, or the
    first one after it.

    Equal records (same key, value, headers, timestamp) may be at several offsets. Then those that the offset syncs
    allow count; if they allow none, all of them. If only some of these skip records, nothing is proven.
    """
    assert position.checkpoint is not None
    downstream, source_log, target_log = position.checkpoint.downstream, around.source_log, around.target_log
    if downstream > target_log.end:
        return PositionProof(
            fail(
                "checkpoint-past-end",
                f"{position}: the checkpoint translates to {downstream}, but the target ends at {target_log.end}: a "
                "consumer would reset its offset or skip the next records",
            )
        )
    if downstream < target_log.start:
        return PositionProof(error("target-expired", f"{position}: the target no longer holds offset {downstream}"))
    if translated is None:
        return PositionProof(error(_TARGET_EMPTY, f"{position}: the target holds no record near offset {downstream}"))
    guess, candidates = around.guess, around.candidates
    equal = [record for record in candidates.records if translated.record.copies((record.digest,))]
    # The syncs point to an expired record. One that equals it and is still there is another one.
    if not equal or (guess is not None and guess.exact and guess.offset < source_log.start):
        return PositionProof(_not_found(position, around, translated))
    allowed = _allowed(guess, translated.record.offset, source_log, target_log)
    expected = [record for record in equal if allowed.start <= record.offset < allowed.end]
    lowest, original = min(expected or equal), max(expected or equal)
    proof = _proof_at(original.offset + translated.after, position, candidates, source_log)
    furthest_back = _proof_at(lowest.offset + translated.after, position, candidates, source_log)
    if proof.finding and not furthest_back.finding:
        what = (
            f"{position}: several source records equal the target's record at {translated.record.offset}, and the "
            "offset syncs do not show which of them it is"
        )
        return PositionProof(error(_NOT_FOUND, what))
    several = bool(expected) and len(equal) > 1
    again = furthest_back.read_again
    return replace(proof, read_again=again, by_counting=several, untimed=original.time_ms == NO_TIMESTAMP)


def _allowed(guess: SourceGuess | None, offset: int, source_log: OffsetRange, target_log: OffsetRange) -> OffsetRange:
    """Return the source offsets at which the offset syncs allow the record at the target's `offset`."""
    if guess is None or (guess.reach is None and not guess.exact):
        return OffsetRange(0, 0)
    reach = guess.reach
    if reach is None:
        # Offsets that only one of the logs has may be before the record.
        reach = source_log.end - guess.offset - (target_log.end - offset)
    return OffsetRange(guess.offset + min(0, reach) - guess.markers, guess.offset + max(0, reach) + 1)


def _proof_at(source_offset: int, position: Position, candidates: Candidates, source_log: OffsetRange) -> PositionProof:
    assert position.checkpoint is not None
    # Records that retention removed before the group read them are lost to it on the source as well, so the target
    # skips nothing there.
    waiting = max(position.committed, source_log.start)
    if source_offset <= waiting:
        # A commit past the source's end comes from a topic that was recreated or lost its end.
        return PositionProof(None, source_offset, max(0, min(position.committed, source_log.end) - source_offset))
    # Offsets in between may be markers, aborted records, or compacted away: nothing that a consumer would read.
    counted = candidates.between(waiting, source_offset)
    if counted == 0:
        return PositionProof(None, source_offset)
    skipped, at_most = (source_offset - waiting, "up to ") if counted is None else (counted, "")
    finding = fail(
        _SKIPS,
        f"{position}: committed {position.committed}, but translated offset {position.checkpoint.downstream} is source "
        f"offset {source_offset}: the group would skip {at_most}{numbered(skipped, 'record[|s]')}",
        skipped,
    )
    return PositionProof(finding, source_offset)


def is_counted(position: Position, proof: PositionProof, around: Around) -> bool:
    """Return whether every record that the group would skip was read, and not only its offset counted."""
    if proof.source_offset is None:
        return True
    first = max(position.committed, around.source_log.start)
    return first >= proof.source_offset or around.candidates.between(first, proof.source_offset) is not None


def unless_dropped(position: Position, proof: PositionProof) -> PositionProof:
    """Return the proof for a flow that may drop records. If the skipped ones were not read, they may all be dropped
    ones, so the proof does not show that the group skips any.
    """
    if proof.finding is None or proof.finding.code != _SKIPS:
        return proof
    count = numbered(proof.finding.count, "record[|s]")
    what = (
        f"{position}: committed {position.committed}, but the group would continue at source offset "
        f"{proof.source_offset}. It would skip {count}, unless the flow's transforms drop them, which nothing shows"
    )
    return replace(proof, finding=error(_NOT_FOUND, what, proof.finding.count))


def _not_found(position: Position, around: Around, translated: TranslatedRecord) -> Finding:
    assert position.checkpoint is not None
    guess, inexact = around.guess, around.inexact or around.compacted
    if guess is not None and guess.offset - guess.markers < around.source_log.start:
        return error(
            _SOURCE_EXPIRED,
            f"{position}: translated offset {position.checkpoint.downstream} is source offset {guess.offset}, which "
            "the source no longer holds, and the record that the group would read next was not found on the target "
            "at or after that offset",
        )
    if guess is None or not guess.exact or guess.markers > SOURCE_REACH or inexact:
        return error(
            _NOT_FOUND,
            f"{position}: the target's record at {translated.record.offset} was not found on the source. Where to look "
            "is not certain, because of transactions, compaction, duplicates, transforms or records of other producers",
        )
    return fail(
        "translated-record-differs",
        f"{position}: no source record around {guess.offset} has the key, value, headers and timestamp of the target's "
        f"record at {translated.record.offset}",
    )


def is_unknown(translated: TranslatedRecord | None, on_source: Collection[RecordDigest]) -> bool:
    """Return whether the record is not among the committed records of the source."""
    return translated is not None and not translated.record.copies({record.digest for record in on_source})


def committed_record(
    downstream: int, records: Sequence[RecordDigest], aborted: Collection[str]
) -> TranslatedRecord | None:
    """Return the record at the translated offset as if the target had no aborted ones: no group of the source has read
    those.
    """
    return translated_record(downstream, [record for record in records if not record.copies(aborted)])


def proof_at(position: Position, around: Around) -> PositionProof:
    """Return the proof of a position. In a compacted topic, a group skips nothing by passing over records that only the
    source still holds.

    If the target's cleaner may have removed the unread records before the translated offset, the last record before
    them shows where the group is. The cleaner cannot have removed more records than the target's log has offsets there.
    """
    assert position.checkpoint is not None
    downstream, found = position.checkpoint.downstream, around.found
    proof = prove(position, around, found)
    skips = proof.finding is not None and proof.finding.code == _SKIPS
    if found is None or found.after or not (around.compacted and skips):
        return proof
    before = max(
        (record for record in around.on_target if downstream - TARGET_REACH <= record.offset < downstream), default=None
    )
    assert proof.source_offset is not None
    unread = around.candidates.between(max(position.committed, around.source_log.start), proof.source_offset)
    removed = found.record.offset - (0 if before is None else before.offset + 1)
    if unread is not None and unread > removed:
        return proof
    if before is None or unread is None or is_unknown(TranslatedRecord(before, after=True), around.candidates.records):
        what = (
            f"{position}: the target is compacted and has removed the records around offset {downstream}, so they do "
            "not show where the group is"
        )
        return PositionProof(error(_NOT_FOUND, what))
    return prove(position, around, TranslatedRecord(before, after=True))
