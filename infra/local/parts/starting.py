"""Starts one part: ports, files, process, readiness, configuration. It saves the process before it waits."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from components.contract.problems import CannotRunError
from infra.local import paths
from infra.local.parts import processes
from infra.local.parts.part import Part, Site
from infra.local.parts.processes import free_port, holder, is_free
from infra.local.state import PartRecord, State, save_state
from infra.machine.waiting import DeadlineError, NotYetError, wait_for


def settle_ports(state: State, part: Part, later_parts_run: bool) -> State:
    """The state with a port for each of the part's names, the same as last time if possible.

    If another process has taken a port, it is replaced. Raises CannotRunError if something depends on that port.
    """
    ports = dict(state.ports)
    for name in part.ports:
        kept = ports.get(name)
        if kept is not None and not is_free(kept):
            if name in part.fixed_ports or later_parts_run:
                raise CannotRunError(
                    "port-taken",
                    f"{part.name} cannot start: its port {kept} was taken by {holder(kept)}",
                    part.name,
                    "Running parts or deployed flows use that port.",
                    "stop that process, or delete the stack's data with `replicate local down --purge`",
                )
            kept = None
        ports[name] = kept or free_port(ports.values())
    return state.with_(ports=ports)


def start_part(site: Site, state: State, part: Part) -> State:
    """Start the part and wait until it is ready; saves and returns the new state.

    If that fails or is interrupted, the process is stopped. Raises CannotRunError with the end of the part's log.
    """
    launch = part.prepare(site)
    with deferred_interrupt():
        record = processes.start(part.name, launch.command, paths.logs() / f"{part.name}.log", launch.env)
        state = state.with_part(PartRecord(**record.model_dump()))
        save_state(state)
    try:
        return finish_part(site, state, part)
    except BaseException:
        processes.stop(record, grace_seconds=5)
        save_state(state.without_part(part.name))
        raise


def finish_part(site: Site, state: State, part: Part) -> State:
    """Wait until a started part answers, configure it, and save that it is ready.

    Raises CannotRunError if it ends or does not answer in time.
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
        raise _failure(record, f"{part.name} did not become ready: {error.what}") from error
    state = state.with_part(record.model_copy(update={"ready": True}))
    save_state(state)
    return state


def serves_now(site: Site, part: Part) -> bool:
    """Whether the part answers."""
    try:
        part.probe(site)
    except NotYetError:
        return False
    return True


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Delay a Ctrl-C until the body ends, so that every started process is also saved."""
    pressed: list[tuple[int, FrameType | None]] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    except ValueError:
        # Only the main thread can set handlers, and KeyboardInterrupt is raised only there.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _failure(record: PartRecord, what: str) -> CannotRunError:
    return CannotRunError(
        "part-failed",
        what,
        record.name,
        "The last lines of its log are below.",
        f"read {record.log}, then run `replicate local down` and `replicate local up`; "
        "if the part's data is damaged, `replicate local down --purge` deletes it",
        processes.last_lines(record.log),
    )
