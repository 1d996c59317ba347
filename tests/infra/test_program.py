"""The program inside Pulumi's engine: it reports a mistake as a sentence, not as a trace."""

from typing import Any

import pulumi
import pytest

from components.contract.problems import CannotRunError, Problem, RefusedError, ReplicationError
from infra import program, unfinished_move
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
    program.deploy(STACKS, moves_checked=True)
    assert warnings == [said]


WAITS = RefusedError("move-unfinished", "it waits for the offsets of kafka/mm2", "stack x", "Why.", "the remedy.")


@pytest.fixture
def registers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the program warns of, and that it registers."""
    seen: list[str] = []
    monkeypatch.setattr(program, "deployed_settings", lambda stacks: read_settings("prod-us-west-2", stacks))
    monkeypatch.setattr(program, "_hold_to_promotion", lambda _: None)
    monkeypatch.setattr(program, "_await_registration", lambda: None)
    monkeypatch.setattr(program, "_register", lambda _: seen.append("registers"))
    monkeypatch.setattr(pulumi.log, "warn", seen.append)
    return seen


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished_move, "unfinished_move", lambda _: WAITS)


@pytest.mark.usefixtures("waits")
def test_pulumi_itself_starts_no_flow_that_waits_for_offsets(
    monkeypatch: pytest.MonkeyPatch, registers: list[str]
) -> None:
    """Without it, `pulumi up` by hand starts the flow in the middle of a move, and it copies everything again."""
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    with pytest.raises(pulumi.RunError, match="move-unfinished"):
        program.deploy(STACKS)
    assert registers == []


@pytest.mark.usefixtures("waits")
def test_a_preview_in_the_middle_of_a_move_warns(monkeypatch: pytest.MonkeyPatch, registers: list[str]) -> None:
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    program.deploy(STACKS)
    assert registers == [f"`up` would refuse: {WAITS}", "registers"]


@pytest.mark.usefixtures("waits")
def test_who_carries_a_move_out_is_not_refused(registers: list[str]) -> None:
    program.deploy(STACKS, moves_checked=True)
    assert registers == ["registers"]


@pytest.mark.parametrize("previews", [True, False])
def test_without_access_to_the_cluster_a_deployment_goes_on(
    monkeypatch: pytest.MonkeyPatch, registers: list[str], previews: bool
) -> None:
    """Pulumi's provider may have an access of its own."""
    monkeypatch.setattr(unfinished_move, "unfinished_move", raising(STOPPED))
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: previews)
    program.deploy(STACKS)
    unknown = f"it is unknown whether a flow waits for the offsets of a KafkaMirrorMaker2: {STOPPED}"
    assert registers == [*([] if previews else [unknown]), "registers"]
