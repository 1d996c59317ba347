"""The command `replicate keep`."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.infra.commands.completion import complete_stack
from kafka_replication.infra.commands.console import err
from kafka_replication.infra.commands.options import InProject
from kafka_replication.infra.stack.project import Project
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import raise_mistakes

if TYPE_CHECKING:
    from kafka_replication.infra.operate.keep.keeper import StackKeeper

_INTERRUPTED = 130


def keep(
    project: InProject,
    stacks: Annotated[list[str], typer.Argument(help="Stacks to keep.", autocompletion=complete_stack)],
    every_seconds: Annotated[
        float, typer.Option("--every", min=0.1, metavar="SECONDS", help="Seconds from the end of one look to the next.")
    ] = 1,
) -> None:
    """Keep the positions of all consumer groups, for the day when the source is lost. It asks both clusters for the
    ends of their logs and for the groups' offsets, and writes to the target where each group would continue. Only in a
    prefixless pair it also reads records. `replicate failover --mode disaster` then needs nothing of the source, and
    its groups read again only what they consumed in the last seconds.

    The positions of FLOW are in the topic mm2-positions.FLOW.internal, which it creates. Its user needs the ACLs that
    `replicate acls --keeper` prints. Only one keeper of a stack can write; a second one ends the first. It
    runs until Ctrl-C or SIGTERM, and asks again what did not answer. `replicate exporter --keep` does the same beside
    its metrics.

    Example: `replicate keep prod-us-west-2`
    """
    names = list(dict.fromkeys(stacks))
    for name in names:
        raise_mistakes(read_settings(name, project.stacks))
    until_signal(lambda: keep_positions(project, names, every_seconds))


def keep_positions(project: Project, names: "Sequence[str]", every_seconds: float) -> None:
    """Keep the positions of these stacks. Raises CannotRunError if another keeper takes over."""
    from kafka_replication.infra.operate.keep.keeper import StackKeeper
    from kafka_replication.infra.operate.status.look import opened

    pause, keepers = threading.Event(), {name: StackKeeper() for name in names}
    printed: dict[tuple[str, str], str] = {}
    # When something did not answer, the next look has new clients: a Secret may have changed.
    while True:
        with opened([OpenStack(read_settings(name, project.stacks)) for name in names]) as chosen:
            for keeper in keepers.values():
                keeper.reopened()
            while _look(chosen, keepers, printed):
                pause.wait(every_seconds)
        pause.wait(every_seconds)


def _look(stacks: Sequence[OpenStack], keepers: "dict[str, StackKeeper]", printed: dict[tuple[str, str], str]) -> bool:
    """Look at every flow once, and print what the look before did not say. Return whether everything answered."""
    answered = True
    for stack in stacks:
        for flow, kept in keepers[stack.name].look(stack):
            answered = answered and not isinstance(kept, NoAnswer)
            text = f"could not be asked: {kept.reason}" if isinstance(kept, NoAnswer) else kept.text
            if printed.get((stack.name, flow)) != text:
                printed[stack.name, flow] = text
                at = datetime.now(UTC).isoformat(timespec="seconds")
                err.print(f"{at} {stack.name}/{flow}: {text}", markup=False, soft_wrap=True)
    return answered


def until_signal(*works: Callable[[], None]) -> NoReturn:
    """Run each work in a thread, and end this process at SIGINT or SIGTERM. Raises what the first to fail raises."""
    ended = threading.Event()
    stopped_by: list[int] = []
    errors: list[BaseException] = []

    def stop(number: int, _: object) -> None:
        stopped_by.append(number)
        ended.set()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # the main thread raises it
            errors.append(error)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    for work in works:
        # The others do not keep the process alive once one has failed.
        threading.Thread(target=run, args=(work,), daemon=True).start()
    ended.wait()
    if errors:
        raise errors[0]
    # A question that hangs must not keep the process alive.
    os._exit(_INTERRUPTED if stopped_by == [signal.SIGINT] else 0)
