"""How a part is started: a failed or interrupted start leaves no server that no command knows about."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.artifacts import Artifacts
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer
from kafka_replication.infra.local.stack import deferred_interrupt, start_part
from kafka_replication.infra.local.state import PartRecord, State, load_state
from kafka_replication.infra.machine.jdk import Jdk
from kafka_replication.infra.machine.waiting import NotYetError

pytestmark = pytest.mark.process

SLEEP = "import signal; print('serving', flush=True); signal.pause()"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Stop what a test left running."""
    yield
    processes.stop_all(load_state().parts.values(), grace_seconds=0)


def a_site() -> StackFacts:
    """A site of programs that no test here starts."""
    none = Path("none")
    artifacts = Artifacts(Jdk(none, 21), none, none, none, none, none, none, none, none, crds=())
    return StackFacts(artifacts=artifacts, ports={}, cluster_ids={}, passwords={})


def a_part(
    script: str = SLEEP,
    probe: Callable[[StackFacts], None] = lambda _: None,
    configure: Callable[[StackFacts], None] | None = None,
    ready_seconds: float = 20,
) -> StackServer:
    """A part that is a Python script."""
    launch = Launch((sys.executable, "-c", script), dict(os.environ))
    return StackServer("broker", lambda _: launch, probe, configure, ready_seconds=ready_seconds)


def never_ready(_: StackFacts) -> None:
    raise NotYetError("nothing listens on port 9")


def remembered_processes() -> dict[str, PartRecord]:
    """The parts that the state file names."""
    return dict(load_state().parts)


def test_a_part_that_serves_and_is_configured_is_remembered_as_ready() -> None:
    configured: list[StackFacts] = []
    state = start_part(a_site(), State(), a_part(configure=configured.append))
    assert state == load_state()
    assert state.parts["broker"].ready
    assert processes.alive(state.parts["broker"])
    assert len(configured) == 1


def test_a_part_is_remembered_before_the_start_waits_for_it() -> None:
    seen: list[dict[str, PartRecord]] = []
    start_part(a_site(), State(), a_part(probe=lambda _: seen.append(remembered_processes())))
    assert not seen[0]["broker"].ready
    assert processes.alive(seen[0]["broker"])


def test_a_part_that_ends_at_once_is_reported_with_its_last_lines_and_the_path_of_its_log() -> None:
    script = "print('ERROR no space left'); raise SystemExit(3)"
    with pytest.raises(CannotRunError) as raised:
        start_part(a_site(), State(), a_part(script, probe=never_ready))
    assert raised.value.what.startswith("broker ended ")
    assert "ERROR no space left" in raised.value.detail
    assert str(paths.logs() / "broker.log") in raised.value.remedy
    assert remembered_processes() == {}


def test_a_part_that_never_becomes_ready_is_reported_with_its_last_problem_and_stopped() -> None:
    started: list[PartRecord] = []

    def probe(site: StackFacts) -> None:
        started.extend(remembered_processes().values())
        never_ready(site)

    with pytest.raises(CannotRunError, match=r"broker did not become ready: .*nothing listens on port 9"):
        start_part(a_site(), State(), a_part(probe=probe, ready_seconds=0.3))
    assert not processes.alive(started[0])
    assert remembered_processes() == {}


@pytest.mark.usefixtures("heeded")
def test_a_ctrl_c_while_waiting_ends_the_part_that_is_being_started() -> None:
    started: list[PartRecord] = []

    def probe(_: StackFacts) -> None:
        started.extend(remembered_processes().values())
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        start_part(a_site(), State(), a_part(probe=probe))
    assert not processes.alive(started[0])
    assert remembered_processes() == {}


@pytest.mark.usefixtures("heeded")
def test_a_deferred_ctrl_c_takes_effect_after_the_part_is_written_down() -> None:
    done: list[str] = []

    def body() -> None:
        with deferred_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("written down")

    with pytest.raises(KeyboardInterrupt):
        body()
    assert done == ["written down"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
