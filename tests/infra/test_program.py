"""The program inside Pulumi's engine: it reports a mistake as a sentence, not as a traceback."""

from typing import Any

import pulumi
import pytest

from kafka_replication.components.contract.problems import CannotRunError, Problem, RefusedError, ReplicationError
from kafka_replication.infra import program
from kafka_replication.infra.stack.settings import read_settings
from tests.repository import STACKS

MISTAKE = ReplicationError([Problem("a.b", "a-code", "what", "Why.", "the remedy.")])
STOPPED = CannotRunError("no-topology", "no topology", "stacks/Pulumi.test.yaml", "Why.", "the remedy.")


def raising(error: Exception) -> Any:
    def raises(*_: object) -> None:
        raise error

    return raises


@pytest.mark.parametrize("error", [MISTAKE, STOPPED, FileNotFoundError(2, "No such file", "gone.yaml")])
def test_an_error_that_stops_the_program_is_shown_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Pulumi prints the traceback of any exception that is not its own, and the message gets lost above it."""
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
    ids=["mistake-in-the-plan", "unreadable-plan"],
)
def test_a_preview_continues_and_warns_why_up_would_or_might_refuse(
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
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The warnings of the program, and `registers` once it registers."""
    seen: list[str] = []
    monkeypatch.setattr(program, "deployed_settings", lambda stacks: read_settings("prod-us-west-2", stacks))
    monkeypatch.setattr(program, "_refuse_unproven", lambda _: None)
    monkeypatch.setattr(program, "_await_registration", lambda: None)
    monkeypatch.setattr(program, "_register", lambda _: seen.append("registers"))
    monkeypatch.setattr(pulumi.log, "warn", seen.append)
    return seen


@pytest.fixture
def waiting_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "unfinished_move", lambda _: WAITS)


@pytest.mark.usefixtures("waiting_flow")
def test_pulumi_up_does_not_start_a_flow_that_waits_for_offsets(
    monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    """Otherwise `pulumi up` by hand would start the flow in the middle of a move, and copy all records again."""
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: False)
    with pytest.raises(pulumi.RunError, match="move-unfinished"):
        program.deploy(STACKS)
    assert events == []


@pytest.mark.usefixtures("waiting_flow")
def test_a_preview_in_the_middle_of_a_move_warns(monkeypatch: pytest.MonkeyPatch, events: list[str]) -> None:
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    program.deploy(STACKS)
    assert events == [f"`up` would refuse: {WAITS}", "registers"]


@pytest.mark.usefixtures("waiting_flow")
def test_a_caller_that_carries_out_a_move_is_not_refused(events: list[str]) -> None:
    program.deploy(STACKS, moves_checked=True)
    assert events == ["registers"]


@pytest.mark.parametrize("previews", [True, False])
def test_a_deployment_continues_without_access_to_the_cluster(
    monkeypatch: pytest.MonkeyPatch, events: list[str], previews: bool
) -> None:
    """Pulumi's provider may have its own access."""
    monkeypatch.setattr(program, "unfinished_move", raising(STOPPED))
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: previews)
    program.deploy(STACKS)
    unknown = f"it is unknown whether a flow waits for the offsets of a KafkaMirrorMaker2: {STOPPED}"
    assert events == [*([] if previews else [unknown]), "registers"]
