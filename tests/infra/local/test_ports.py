"""Which ports a part gets: a restart must not change an address that deployed flows use."""

import os
import socket
from collections.abc import Iterator

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer
from kafka_replication.infra.local.stack import settle_ports
from kafka_replication.infra.local.state import State


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def a_part(*, fixed: bool) -> StackServer:
    """A part with one port, which is never started."""

    def never(_: StackFacts) -> Launch:
        raise AssertionError("the part was started")

    return StackServer("broker", never, lambda _: None, ports=("broker",), fixed_ports=("broker",) if fixed else ())


def test_a_port_with_a_listener_is_open_and_not_free(taken: int) -> None:
    assert processes.is_open(taken)
    assert not processes.is_free(taken)


def test_a_free_port_is_not_one_that_is_already_assigned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FIRST", 20100)
    monkeypatch.setattr(processes, "LAST", 20199)
    monkeypatch.setattr(processes, "is_free", lambda _: True)
    assert processes.free_port(port for port in range(20100, 20200) if port != 20142) == 20142


def test_the_holder_of_a_port_is_named(taken: int) -> None:
    assert processes.holder(taken).startswith(f"process {os.getpid()} (")


def test_a_port_is_chosen_at_the_first_start_and_kept_at_the_next() -> None:
    first = settle_ports(State(), a_part(fixed=True), later_parts_run=False)
    assert settle_ports(first, a_part(fixed=True), later_parts_run=True) == first


def test_a_kept_port_that_is_taken_is_replaced_if_nothing_depends_on_it(taken: int) -> None:
    state = settle_ports(State(ports={"broker": taken}), a_part(fixed=False), later_parts_run=False)
    assert state.ports["broker"] != taken


@pytest.mark.parametrize(
    ("fixed", "later_parts_run"),
    [pytest.param(True, False, id="flows name it"), pytest.param(False, True, id="running parts use it")],
)
def test_a_kept_port_that_is_taken_is_an_error_if_others_depend_on_it(
    taken: int, fixed: bool, later_parts_run: bool
) -> None:
    with pytest.raises(CannotRunError) as raised:
        settle_ports(State(ports={"broker": taken}), a_part(fixed=fixed), later_parts_run)
    assert f"broker cannot start: its port {taken} was taken by process {os.getpid()}" in raised.value.what
    assert "stop that process" in raised.value.remedy


def test_a_port_of_a_process_whose_threads_are_still_ending_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """After kill -9 the first thread is gone, nobody listens, and the port is not free yet."""
    state = settle_ports(State(), a_part(fixed=True), later_parts_run=False)
    answers = iter([False, False, True])
    monkeypatch.setattr(processes, "is_free", lambda _: next(answers))
    assert settle_ports(state, a_part(fixed=True), later_parts_run=True) == state
    assert list(answers) == []


def test_a_port_that_nobody_frees_is_an_error_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    state = settle_ports(State(), a_part(fixed=True), later_parts_run=False)
    monkeypatch.setattr(processes, "is_free", lambda _: False)
    monkeypatch.setattr(processes, "KILL_SECONDS", 0)
    with pytest.raises(CannotRunError, match="was taken by a process of another user"):
        settle_ports(state, a_part(fixed=True), later_parts_run=True)
