"""The state machine finds no bug in the code that judges a partition's records, and finds each bug put into it."""

import sys
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks import retention
from kafka_replication.spark.checks.parity import excuses, meanings
from kafka_replication.spark.checks.parity.differences import COPIED_AT_END, Difference, Sides
from kafka_replication.spark.checks.retention import Replicated, Unequal
from tests.model import logs
from tests.model.machine import UNTIL_FOUND, run
from tests.model.parity_machine import Parity


def nothing_is_lost(_: Any) -> Any:
    return retention.judge([])


def directly_before(replicated: Replicated, before: OffsetSync, after: OffsetSync) -> OffsetRange:
    """As if MirrorMaker had written a sync for each record that follows a gap."""
    skipped = after.upstream - before.upstream - after.downstream + before.downstream
    first = after.upstream - skipped
    return OffsetRange(first, max(first, min(after.upstream, replicated.source.start)))


def everything_that_follows(*_: Any) -> int:
    return sys.maxsize


def not_at_end(differences: Sequence[Difference]) -> list[Difference]:
    return [one for one in differences if one.kind != COPIED_AT_END]


#: The replaced function, its replacement, and the kind of history that shows the bug.
BUGS: dict[str, tuple[object, str, object, str]] = {
    "a restart is a second connector": (Sides, "resent", property(lambda _: 0), "none"),
    "a restart explains any number of duplicates": (Sides, "resent", property(lambda _: sys.maxsize), "repeated"),
    "a block at the end may always be a restarted task": (logs, "without_time_to_continue", not_at_end, "copied"),
    "a stray record counts as expired": (meanings, "EXTRA", meanings.EXPIRED_ON_SOURCE, "stray"),
    "equal sums mean equal order": (logs, "same_places", lambda *_: True, "swapped"),
    "keys of a compacted topic always agree": (logs, "by_key", lambda *_: [], "dropped"),
    "no record is ever lost to retention": (logs, "judge", nothing_is_lost, "lost"),
    "a loss is directly before the later sync": (Replicated, "removed_between", directly_before, "lost"),
    "any record after the newest sync is a copy of a removed one": (
        Unequal,
        "surplus_from",
        everything_that_follows,
        "lost",
    ),
}


def unbounded(*_: Any) -> int:
    return sys.maxsize


#: The excuse, whether only the target holds the records that it explains, and the fault that it must not hide.
EXCUSES: dict[str, tuple[meanings.Meaning, bool, str]] = {
    "expired on the target": (meanings.EXPIRED_ON_TARGET, False, "dropped"),
    "expired on the source": (meanings.EXPIRED_ON_SOURCE, True, "stray"),
    "compacted on the target": (meanings.COMPACTED_APART, False, "dropped"),
    "compacted on the source": (meanings.COMPACTED_APART, True, "stray"),
    "keys that expired on the target": (meanings.COMPACTED, False, "dropped"),
    "an open transaction": (meanings.UNDECIDED, True, "stray"),
}


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "a restart is a second connector": 1,
    "a restart explains any number of duplicates": 12,
    "equal sums mean equal order": 1,
    "a loss is directly before the later sync": 5,
    "any record after the newest sync is a copy of a removed one": 5,
    "expired on the target": 1,
    "expired on the source": 3,
    "keys that expired on the target": 1,
}


@pytest.mark.parametrize("excuse", EXCUSES)
def test_an_excuse_without_a_bound_hides_a_fault_that_is_found(excuse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each history has what the excuse needs, such as retention, and one real fault."""
    what, on_target, fault = EXCUSES[excuse]

    class OfThisFault(Parity):
        kinds = (fault, fault, fault, "open") if what is meanings.UNDECIDED else (fault,)
        policies = (what in (meanings.COMPACTED, meanings.COMPACTED_APART),)

    monkeypatch.setattr(excuses, "BOUNDS", {**excuses.BOUNDS, (what, on_target): unbounded})
    with pytest.raises(AssertionError):
        run(OfThisFault, UNTIL_FOUND, number=FOUND_EARLY.get(excuse, 0))


def test_no_verdict_on_records_is_wrong_whatever_happens_to_the_partition() -> None:
    run(Parity, 100)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_judging_code_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing in wrong code proves nothing about right code."""
    module, name, wrong, kind = BUGS[bug]

    class OfThisKind(Parity):
        kinds = (kind,)

    monkeypatch.setattr(module, name, wrong)
    with pytest.raises(AssertionError):
        run(OfThisKind, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))
