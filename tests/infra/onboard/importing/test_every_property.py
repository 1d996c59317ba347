"""Whatever property people set, and wherever: an import never writes what a check refuses, and what it writes acts as
what was read, or a line says what does not.
"""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.infra.onboard.importing.generated import PLACES, Outcome, input_with, keys, value_of

_KEYS = keys()


@cache
def _alone(form: str) -> Outcome:
    return Outcome(input_with(form, PLACES[form][0], "", ""))


@pytest.mark.parametrize("form", PLACES)
def test_the_inputs_are_imported_without_errors(form: str) -> None:
    assert not _alone(form).errors


@pytest.mark.parametrize("form", PLACES)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_an_import_is_accepted_by_the_checks_and_acts_as_what_was_read(form: str, data: st.DataObject) -> None:
    """Otherwise the project that somebody gets cannot be rendered, or changes in silence what runs."""
    place, key = data.draw(st.sampled_from(PLACES[form])), data.draw(st.sampled_from(_KEYS))
    alone, outcome = _alone(form), Outcome(input_with(form, place, key, value_of(key)))
    assert not outcome.errors
    assert not outcome.changes - alone.changes or outcome.notes - alone.notes
