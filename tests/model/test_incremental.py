"""An incremental validation passes nothing that a full one fails, whatever happens to both logs in between."""

import pytest

from kafka_replication.spark.checks.parity import evidence
from tests.model.incremental import Incremental, wrong
from tests.model.machine import UNTIL_FOUND, run


@pytest.fixture(autouse=True)
def _short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's logs are shorter than the overlap that is compared again in real logs."""
    monkeypatch.setattr(evidence, "OVERLAP", 3)


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "a changed log is not noticed": 3,
}


def test_an_incremental_validation_passes_nothing_that_a_full_one_does_not() -> None:
    run(Incremental, 300)


#: The replaced function, its replacement, and the kind of history that shows the bug.
BUGS: dict[str, tuple[object, str, object, str]] = {
    "a changed log is not noticed": (evidence, "why_not", wrong(""), "swapped"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_code_that_reuses_evidence_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, instead, kind = BUGS[bug]

    class OfThisKind(Incremental):
        kinds = (kind,)

    monkeypatch.setattr(module, name, instead)
    with pytest.raises(AssertionError):
        run(OfThisKind, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))
