"""The state machine finds nothing in what judges the records of a partition, and finds each bug that is put into it."""

from typing import Any

import pytest

from spark.checks import meanings, retention, words
from spark.checks.meanings import Sides
from tests.model import logs
from tests.model.machine import UNTIL_FOUND, run
from tests.model.parity_machine import Parity


def nothing_is_lost(_: Any) -> Any:
    return retention.judge([])


#: What is replaced by what, and the kind of history that shows it.
BUGS: dict[str, tuple[object, str, object, str]] = {
    "a restart is a second connector": (Sides, "restarted", property(lambda _: False), "none"),
    "a missing head has expired": (meanings, "_missing_head", lambda *_: words.EXPIRED_ON_TARGET, "dropped"),
    "a stray record has expired": (words, "EXTRA", words.EXPIRED_ON_SOURCE, "stray"),
    "equal sums mean equal order": (logs, "same_places", lambda *_: True, "swapped"),
    "keys of a compacted topic agree": (logs, "by_key", lambda *_: [], "dropped"),
    "nothing is lost to retention": (logs, "judge", nothing_is_lost, "lost"),
    "a new remote topic has expired": (words, "REMADE", words.EXPIRED_ON_TARGET, "target anew"),
}


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
        run(OfThisKind, UNTIL_FOUND)
