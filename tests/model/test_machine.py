"""The state machine finds no bug in the judging code, and finds each bug that is put into it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.spark.checks.offsets import next_records, position_proof
from kafka_replication.spark.checks.offsets.position_proof import Candidates
from tests.model import machine
from tests.model.machine import UNTIL_FOUND, Offsets, run

RUNS = 200

_standing_at, _prove, _compacted_at = position_proof._proof_at, position_proof.prove, position_proof.proof_at
_by_next, _owed = next_records.proof_by_next, SyncHistory.owed


def one_more_may_be_skipped(standing: int, position: Any, *rest: Any) -> Any:
    return _standing_at(standing, replace(position, committed=position.committed + 1), *rest)


def one_offset_too_many_is_owed(history: SyncHistory, committed: int) -> int | None:
    owed = _owed(history, committed)
    return None if owed is None else owed + 1


def retention_removed_what_is_unread(standing: int, position: Any, candidates: Any, source_log: Any) -> Any:
    if source_log.start:
        position = replace(position, committed=max(position.committed, source_log.end))
    return _standing_at(standing, position, candidates, source_log)


def expiry_is_a_proof(expired: Any, *_: Any) -> Any:
    return replace(expired.proof, finding=None, source_offset=expired.position.committed)


def one_of_several_equal_records_is_enough(position: Any, around: Any, translated: Any) -> Any:
    proof, candidates = _prove(position, around, translated), around.candidates
    equal = [record for record in candidates.records if translated and translated.record.copies((record.digest,))]
    others = (
        _standing_at(record.offset + translated.after, position, candidates, around.source_log) for record in equal
    )
    return next((other for other in others if proof.finding and not other.finding), proof)


def compaction_explains_every_skip(position: Any, around: Any) -> Any:
    proof = _compacted_at(position, around)
    explained = around.compacted and proof.finding and proof.finding.code == "offset-skips-records"
    return replace(proof, finding=None) if explained else proof


def the_next_record_may_be_anywhere(unproven: Any, unread: Any, on_target: Any) -> Any:
    if unproven.next is None or not unread:
        return _by_next(unproven, unread, on_target)
    return _by_next(
        unproven, unread, [record._replace(offset=record.offset + unproven.downstream) for record in on_target]
    )


BUGS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "a record may be skipped": (position_proof, "_proof_at", one_more_may_be_skipped),
    "no record ever stands between two offsets": (Candidates, "between", lambda *_: 0),
    "a checkpoint must be one offset further than the latest sync gives": (
        SyncHistory,
        "owed",
        one_offset_too_many_is_owed,
    ),
    "retention on the source excuses every skip": (position_proof, "_proof_at", retention_removed_what_is_unread),
    "compaction explains every skip": (machine, "proof_at", compaction_explains_every_skip),
    "beside compacted records, the next one may be anywhere": (
        machine,
        "proof_by_next",
        the_next_record_may_be_anywhere,
    ),
    "one of several equal records is enough": (position_proof, "prove", one_of_several_equal_records_is_enough),
    "an expired record is enough, wherever the next one is": (machine, "proof_by_next", expiry_is_a_proof),
}


def test_no_proof_is_wrong_whatever_happens_to_the_partition() -> None:
    run(Offsets, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_judging_code_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing in wrong code proves nothing about right code."""
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises(AssertionError):
        run(Offsets, UNTIL_FOUND)
