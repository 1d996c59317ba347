"""Starts one part: ports, files, process, readiness, configuration. A part is remembered before it is waited for."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from infra.local import paths, processes
from infra.local.errors import LocalStackError
from infra.local.parts import Part, Site
from infra.local.ports import free_port, holder, is_free
from infra.local.state import PartRecord, State, save_state
from infra.local.waiting import DeadlineError, NotYetError, wait_for


def settle_ports(state: State, part: Part, later_parts_run: bool) -> State:
    """The state with a port for every name of the part; those of the last start are kept.

    A kept port that a stranger took meanwhile is replaced when nothing depends on it.
    Raises LocalStackError otherwise.
    """
    ports = dict(state.ports)
    for name in part.ports:
        kept = ports.get(name)
        if kept is not None and not is_free(kept):
            if name in part.fixed_ports or later_parts_run:
                raise LocalStackError(
                    f"{part.name} cannot start: its port {kept} was taken by {holder(kept)}, "
                    "and running parts or deployed flows know it under that port",
                    "end that process, or give up the stack's data with `replicate local down --purge`",
                )
            kept = None
        ports[name] = kept or free_port(ports.values())
    return state.with_(ports=ports)


def start_part(site: Site, state: State, part: Part) -> State:
    """Start the part and wait until it serves; the returned state, which is saved too, says that it is ready.

    Raises LocalStackError with the end of the part's log. If it fails or is interrupted, the process is ended.
    """
    launch = part.prepare(site)
    with deferred_interrupt():
        record = processes.start(part.name, launch.command, paths.LOGS / f"{part.name}.log", launch.env)
        state = state.with_part(PartRecord(**record.model_dump()))
        save_state(state)
    try:
        return finish_part(site, state, part)
    except BaseException:
        processes.stop(record, grace_seconds=5)
        save_state(state.without_part(part.name))
        raise


def finish_part(site: Site, state: State, part: Part) -> State:
    """Wait until a started part serves, configure it, and remember that it is ready.

    Raises LocalStackError if it ends or does not serve in time.
    """
    record = state.parts[part.name]
    began = time.monotonic()

    def probe() -> None:
        if not processes.alive(record):
            raise _failure(record, f"{part.name} ended {time.monotonic() - began:.0f} s after its start")
        part.probe(site)

    try:
        wait_for(f"{part.name} to serve", probe, part.ready_seconds)
        if part.configure is not None:
            part.configure(site)
    except DeadlineError as error:
        raise _failure(record, f"{part.name} did not become ready: {error}") from error
    state = state.with_part(record.model_copy(update={"ready": True}))
    save_state(state)
    return state


def serves_now(site: Site, part: Part) -> bool:
    """Whether the part answers at this moment."""
    try:
        part.probe(site)
    except NotYetError:
        return False
    return True


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """A Ctrl-C in the body takes effect after it: a process that was started is also one that was written down."""
    pressed: list[tuple[int, FrameType | None]] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    except ValueError:
        # Only the main thread may set handlers, and only there is a KeyboardInterrupt raised.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _failure(record: PartRecord, what: str) -> LocalStackError:
    return LocalStackError(
        what,
        f"read {record.log}, then run `replicate local down` and `replicate local up`; "
        "if the part's data is damaged, `replicate local down --purge` starts from nothing",
        processes.last_lines(record.log),
    )
