"""Whatever property people set, and wherever: an import never writes what a check refuses."""

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
def test_an_import_writes_no_property_that_a_check_refuses(form: str, data: st.DataObject) -> None:
    """Otherwise the project that somebody gets cannot be rendered."""
    place, key = data.draw(st.sampled_from(PLACES[form])), data.draw(st.sampled_from(_KEYS))
    assert not Outcome(input_with(form, place, key, value_of(key))).errors
