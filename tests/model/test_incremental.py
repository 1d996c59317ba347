"""An incremental validation passes nothing that a full one does not, whatever happens to both logs in between."""

import pytest

from spark.checks import evidence
from tests.model.incremental import Incremental, wrong
from tests.model.machine import UNTIL_FOUND, run


@pytest.fixture(autouse=True)
def _short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs of the model are shorter than what is compared again of real ones."""
    monkeypatch.setattr(evidence, "OVERLAP", 3)


def test_it_never_passes_more_than_a_full_one() -> None:
    run(Incremental, 300)


#: What is replaced by what, and the kind of history that shows it.
BUGS: dict[str, tuple[object, str, object, str]] = {
    "logs may have changed": (evidence, "why_not", wrong(""), "swapped"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_what_counts_as_proven_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, instead, kind = BUGS[bug]

    class OfThisKind(Incremental):
        kinds = (kind,)

    monkeypatch.setattr(module, name, instead)
    with pytest.raises(AssertionError):
        run(OfThisKind, UNTIL_FOUND)
