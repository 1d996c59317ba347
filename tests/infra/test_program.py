"""The program inside Pulumi's engine: it reports a mistake as a sentence, not as a trace."""

from typing import Any

import pulumi
import pytest

from components.contract.problems import CannotRunError, Problem, ReplicationError
from infra import program
from infra.settings import read_settings
from tests.repository import STACKS

MISTAKE = ReplicationError([Problem("a.b", "a-code", "what", "Why.", "the remedy.")])
STOPPED = CannotRunError("no-topology", "no topology", "stacks/Pulumi.test.yaml", "Why.", "the remedy.")


def raising(error: Exception) -> Any:
    def raises(*_: object) -> None:
        raise error

    return raises


@pytest.mark.parametrize("error", [MISTAKE, STOPPED, FileNotFoundError(2, "No such file", "gone.yaml")])
def test_what_stops_the_program_is_shown_without_a_trace(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Pulumi prints the trace of any exception that is not its own, and the sentence is lost above it."""
    monkeypatch.setattr(program, "deployed_settings", raising(error))
    with pytest.raises(pulumi.RunError) as caught:
        program.deploy(STACKS)
    assert str(caught.value) == str(error)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MISTAKE, f"`up` would refuse: {MISTAKE}"),
        (STOPPED, f"it is unknown whether `up` would refuse the model: {STOPPED}"),
    ],
    ids=["a-mistake-of-the-plan", "no-plan-that-can-be-read"],
)
def test_a_preview_goes_on_and_says_what_keeps_up_from_it(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(program, "deployed_settings", lambda stacks: read_settings("prod-us-west-2", stacks))
    monkeypatch.setattr(program, "unproven", raising(error))
    monkeypatch.setattr(program, "_await_registration", lambda: None)
    monkeypatch.setattr(program, "_register", lambda _: None)
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    monkeypatch.setattr(pulumi.log, "warn", warnings.append)
    program.deploy(STACKS)
    assert warnings == [said]
