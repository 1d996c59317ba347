"""What a translated consumer offset means, judged from records that were read. Pure.

A *position* is one (group, topic, partition) with a committed offset on the source. Its checkpoint says that a consumer
that stood at `committed` on the source may go on at `downstream` on the target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spark.positions import OffsetRange, TopicPartition
from spark.report import Finding, fail, note

#: Offsets read on the target on each side of the translated one: it may be a transaction marker or compacted away.
TARGET_REACH = 8
#: Offsets read on the source on each side of the expected one.
SOURCE_REACH = 32
#: Two guesses of a source offset that are nearer than this are covered by one range.
GUESSES_NEAR = 1_024


class Sync(NamedTuple):
    """An offset sync: the record at `upstream` on the source was written at `downstream` on the target."""

    upstream: int
    downstream: int
    written_ms: int = 0


class Checkpoint(NamedTuple):
    upstream: int
    downstream: int


class Record(NamedTuple):
    """A record that was read, without its content."""

    offset: int
    time_ms: int
    digest: str


class Candidates(NamedTuple):
    """The source records of a partition that were read, and the range of one position that was read whole."""

    offsets: OffsetRange
    records: Sequence[Record]

    def between(self, start: int, end: int) -> int | None:
        """How many records stand at offsets [start, end); None when these were not read whole."""
        if start < self.offsets.start or end > self.offsets.end:
            return None
        return sum(start <= each.offset < end for each in self.records)


class Guess(NamedTuple):
    """Where on the source a record of the target came from. `exact`: no record lies between the syncs around it that
    is not accounted for, so that not finding the record there means that it is another record."""

    offset: int
    exact: bool


@dataclass(frozen=True)
class Position:
    """A group's committed offset on the source partition `partition`, and what the target says about it.

    `committed` is read after the checkpoint, so that a group which goes on consuming cannot look as if its checkpoint
    were ahead of it. `on_target` is None when the group has no offset there, `active` when it has members there.
    """

    group: str
    partition: TopicPartition
    committed: int
    checkpoint: Checkpoint | None = None
    on_target: int | None = None
    active: bool = False

    def __str__(self) -> str:
        return f"group {self.group} on {self.partition}"


@dataclass(frozen=True)
class SyncHistory:
    """The offset syncs of one partition in the order in which they were written."""

    syncs: tuple[Sync, ...] = ()

    @property
    def latest(self) -> Sync | None:
        return self.syncs[-1] if self.syncs else None

    @property
    def oldest_upstream(self) -> int:
        return min(sync.upstream for sync in self.syncs)

    @property
    def translates_from(self) -> int:
        """The least source offset that the checkpoint connector can translate. It forgets every sync when the source's
        offsets fall: a task that starts again reads from where it last committed, before its newest sync.

        Source: OffsetSyncStore.updateSyncArray.
        """
        begin = 0
        for index in range(1, len(self.syncs)):
            if self.syncs[index].upstream < self.syncs[index - 1].upstream:
                begin = index
        return self.syncs[begin].upstream

    @property
    def first_upstream(self) -> int:
        """The source offset of the first record that was replicated, by the oldest sync: where replication started, if
        the target began empty and took one offset a record."""
        return self.syncs[0].upstream - self.syncs[0].downstream

    def owed(self, committed: int) -> int | None:
        """The least downstream offset that the latest sync owes a group at `committed`; None when it owes nothing.

        Only the latest sync is sure to be remembered by the checkpoint connector: of older ones it keeps 64, ever more
        sparsely. Source: OffsetSyncStore.translateDownstream.
        """
        if self.latest is None or committed < self.latest.upstream:
            return None
        return self.latest.downstream + (1 if committed > self.latest.upstream else 0)

    def guess(self, downstream: int) -> Guess | None:
        """The source offset of the target's record at `downstream`; None without any sync."""
        current = self._since_the_target_began_anew()
        below = max((each for each in current if each.downstream <= downstream), default=None, key=_downstream)
        above = min((each for each in current if each.downstream > downstream), default=None, key=_downstream)
        if below is not None:
            offset = below.upstream + downstream - below.downstream
            same = above is None or above.upstream - above.downstream == below.upstream - below.downstream
            return Guess(offset, same or below.downstream == downstream)
        if above is not None:
            return Guess(max(0, above.upstream - (above.downstream - downstream)), False)
        return None

    def _since_the_target_began_anew(self) -> Sequence[Sync]:
        """The syncs after the last one whose downstream offset fell: the remote topic was deleted and made again."""
        begin = 0
        for index in range(1, len(self.syncs)):
            if self.syncs[index].downstream < self.syncs[index - 1].downstream:
                begin = index
        return self.syncs[begin:]


def _downstream(sync: Sync) -> int:
    return sync.downstream


class Landing(NamedTuple):
    """What a consumer meets at the translated offset: the first record from there on, or, `after`, the last before."""

    record: Record
    after: bool


@dataclass(frozen=True)
class Proof:
    """What was shown for one position. `source_offset`: where a consumer at the checkpoint really stands on the source;
    `read_again`: records before `committed` that it gets a second time, at most."""

    finding: Finding | None
    source_offset: int | None = None
    read_again: int = 0

    @property
    def proven(self) -> bool:
        return self.source_offset is not None and self.finding is None


def landing(downstream: int, records: Sequence[Record]) -> Landing | None:
    """The record that a consumer at `downstream` gets first, else the one just before, among the records near it."""
    near = [each for each in records if abs(each.offset - downstream) <= TARGET_REACH]
    following = min((each for each in near if each.offset >= downstream), default=None)
    if following is not None:
        return Landing(following, after=False)
    before = max((each for each in near if each.offset < downstream), default=None)
    return Landing(before, after=True) if before is not None else None


def source_range(guess: Guess | None, by_time: int | None, committed: int, log: OffsetRange) -> OffsetRange:
    """The one small range on the source in which the record is looked for: around the guess, around the first record of
    its timestamp (`by_time`), or around both when they are near each other; and from the committed offset on, if that
    is near before it, to tell records that would be skipped from offsets without one."""
    guesses = [each for each in (guess.offset if guess else None, by_time) if each is not None and each >= 0]
    if not guesses:
        return OffsetRange(log.start, log.start)
    if max(guesses) - min(guesses) > GUESSES_NEAR:
        guesses = guesses[-1:]
    if 0 <= min(guesses) - committed <= GUESSES_NEAR:
        guesses.append(committed)
    return OffsetRange(min(guesses) - SOURCE_REACH, max(guesses) + SOURCE_REACH + 1).within(log)


def prove(
    position: Position,
    target_log: OffsetRange,
    source_log: OffsetRange,
    found: Landing | None,
    candidates: Candidates,
    guess: Guess | None,
    inexact: bool,
) -> Proof:
    """Whether the record at the translated offset is a source record at or before the committed offset, or the first
    one after it.

    `candidates` are the source records read for this partition. Equal records (same key, value, headers, timestamp) may
    stand at several offsets: the expected one counts, else the furthest, which claims the most. `inexact`: compaction
    or transforms keep offsets or records from being what they were.
    """
    assert position.checkpoint is not None
    downstream = position.checkpoint.downstream
    if downstream > target_log.end:
        return Proof(
            fail(
                "checkpoint-past-end",
                f"{position}: the checkpoint translates to {downstream}, but the target ends at {target_log.end}: a "
                "consumer there would reset or skip what comes next",
            )
        )
    if downstream < target_log.start:
        return Proof(note("target-expired", f"{position}: the target no longer holds offset {downstream}"))
    if found is None:
        return Proof(note("target-empty", f"{position}: the target holds no record near offset {downstream}"))
    equal = [each.offset for each in candidates.records if each.digest == found.record.digest]
    if not equal:
        return Proof(_not_found(position, found, source_log, guess, inexact))
    offset = guess.offset if guess is not None and guess.offset in equal else max(equal)
    return _standing_at(offset + 1 if found.after else offset, position, candidates, source_log)


def _standing_at(standing: int, position: Position, candidates: Candidates, source_log: OffsetRange) -> Proof:
    assert position.checkpoint is not None
    if standing <= position.committed:
        # A commit past the source's end is of a topic that was made again or lost its end.
        return Proof(None, standing, max(0, min(position.committed, source_log.end) - standing))
    # Offsets between the two may be transaction markers, aborted records, or compacted away: nothing to consume.
    skipped = candidates.between(position.committed, standing)
    if skipped is None:
        skipped = standing - position.committed
    if not skipped:
        return Proof(None, standing)
    finding = fail(
        "offset-skips-records",
        f"{position}: committed {position.committed}, but translated offset {position.checkpoint.downstream} is source "
        f"offset {standing}: {skipped} records would never be consumed",
        skipped,
    )
    return Proof(finding, standing)


def _not_found(
    position: Position, found: Landing, source_log: OffsetRange, guess: Guess | None, inexact: bool
) -> Finding:
    if guess is not None and guess.offset < source_log.start:
        return note("source-expired", f"{position}: the source no longer holds offset {guess.offset}")
    if guess is None or not guess.exact or inexact:
        return note(
            "source-record-not-found",
            f"{position}: the target's record at {found.record.offset} was not found near its place on the source, "
            "which transactions, compaction, duplicates or transforms keep from being exact",
        )
    return fail(
        "translated-record-differs",
        f"{position}: the target's record at {found.record.offset} equals no source record around {guess.offset} in "
        "key, value, headers and timestamp",
    )
