"""Proofs of translated offsets where the target has removed the record, or where the source aborted it. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from components.contract.report import error
from components.kafka.positions import OffsetRange
from spark.checks.translation import TARGET_REACH, Candidates, Guess, Landing, Position, Proof, Record, landing, prove


@dataclass(frozen=True)
class Around:
    """What was read for one position. `compacted`: the cleaner may have removed records on either side; `inexact`:
    offsets or records may have changed on the way."""

    target_log: OffsetRange
    source_log: OffsetRange
    on_target: Sequence[Record]
    candidates: Candidates
    found: Landing | None
    guess: Guess | None
    compacted: bool = False
    inexact: bool = False


def is_unknown(found: Landing | None, on_source: Collection[Record]) -> bool:
    """Whether the record is not among the committed records of the source."""
    return found is not None and all(each.digest != found.record.digest for each in on_source)


def landing_past(downstream: int, records: Sequence[Record], aborted: Collection[str]) -> Landing | None:
    """The landing on a record that the source committed: no consumer of the source has read aborted records."""
    return landing(downstream, [each for each in records if each.digest not in aborted])


def proof_at(position: Position, around: Around) -> Proof:
    """The proof of a position. In a compacted topic, a record that only the source still holds is not skipped.

    If the cleaner has removed the record at the translated offset, the one before it shows where the group is.
    """
    assert position.checkpoint is not None
    downstream = position.checkpoint.downstream
    proof = _prove(position, around, around.found)
    landed_later = around.found is not None and around.found.record.offset > downstream
    skips = proof.finding is not None and proof.finding.code == "offset-skips-records"
    if not (around.compacted and landed_later and skips):
        return proof
    before = max(
        (each for each in around.on_target if downstream - TARGET_REACH <= each.offset < downstream), default=None
    )
    if before is None or is_unknown(Landing(before, after=True), around.candidates.records):
        what = (
            f"{position}: the target is compacted and has removed the records around offset {downstream}, so they do "
            "not show where the group is"
        )
        return Proof(error("source-record-not-found", what))
    return _prove(position, around, Landing(before, after=True))


def _prove(position: Position, around: Around, found: Landing | None) -> Proof:
    inexact = around.inexact or around.compacted
    return prove(position, around.target_log, around.source_log, found, around.candidates, around.guess, inexact)
