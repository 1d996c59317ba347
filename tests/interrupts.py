"""Ends what a run of the tests has started when somebody presses Ctrl-C."""

import contextlib
import os
import signal
from typing import Any

import psutil

from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

_END_SECONDS = 15


def tear_down(nodes: list[Any], deadline_seconds: float) -> None:
    """Interrupt the processes of pytest-xdist and wait until they have torn down what they started; then end the rest.

    pytest-xdist itself would give them a few seconds, kill them, and leave brokers, API servers and JVMs running. A
    second Ctrl-C ends the wait.
    """
    this = psutil.Process()
    workers = this.children()
    # Once a process has ended, nothing shows what it had started.
    started = set(this.children(recursive=True))

    def expect_torn_down() -> None:
        started.update(this.children(recursive=True))
        if busy := [node.gateway.id for node in nodes if not node.channel.isclosed()]:
            raise NotYetError(f"{', '.join(busy)} still at it")

    for worker in workers:
        # One that is still starting leads no group yet, and has started nothing.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGINT)
    try:
        wait_for("the processes to tear down", expect_torn_down, deadline_seconds)
    except DeadlineError as error:
        print(f"\n{error.what}; ending what they started")
    finally:
        _end(started.difference(workers))


def _end(processes: set[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(processes, _END_SECONDS)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
