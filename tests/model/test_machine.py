"""The state machine finds no bug in the judging code, and finds each bug that is put into it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from components.kafka.offset_syncs import SyncHistory
from spark.checks.offsets import translation
from spark.checks.offsets.translation import Candidates
from tests.model import machine
from tests.model.machine import UNTIL_FOUND, Offsets, run

RUNS = 200

_standing_at, _owed = translation._proof_at, SyncHistory.owed


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


BUGS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "a record may be skipped": (translation, "_proof_at", one_more_may_be_skipped),
    "no record ever stands between two offsets": (Candidates, "between", lambda *_: 0),
    "a checkpoint must be one offset further than the latest sync gives": (
        SyncHistory,
        "owed",
        one_offset_too_many_is_owed,
    ),
    "retention on the source excuses every skip": (translation, "_proof_at", retention_removed_what_is_unread),
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
