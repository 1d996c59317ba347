"""Whatever property people set, and wherever: an import never writes what a check refuses, and says what it leaves."""

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
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_property_is_taken_over_with_equal_effect_or_named_as_not_taken_over(form: str, data: st.DataObject) -> None:
    """Otherwise a team deploys a project that is refused, or loses a setting without a word."""
    place, key = data.draw(st.sampled_from(PLACES[form])), data.draw(st.sampled_from(_KEYS))
    outcome, alone = Outcome(input_with(form, place, key, value_of(key))), _alone(form)
    assert not outcome.errors
    assert not outcome.changes - alone.changes or outcome.notes - alone.notes
