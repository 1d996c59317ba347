"""The command `replicate exporter`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kafka_replication.components.contract.exported_series import ADDRESS
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.completion import complete_stack
from kafka_replication.infra.commands.console import err
from kafka_replication.infra.commands.keep import keep_positions, until_signal
from kafka_replication.infra.commands.options import InProject
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import raise_mistakes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafka_replication.infra.operate.status.exporter import Newest

_PORTS = 65_536


def _listen(given: str) -> str:
    host, _, port = given.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= _PORTS:
        raise typer.BadParameter(f"{given}: write HOST:PORT, such as 127.0.0.1:9847 or [::1]:9847")
    return given


def exporter(
    project: InProject,
    stacks: Annotated[list[str], typer.Argument(help="Stacks to look at.", autocompletion=complete_stack)],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", callback=_listen, help="Address to serve on; port 0 picks a free one.")
    ] = ADDRESS,
    every_seconds: Annotated[
        float, typer.Option("--every", min=1, metavar="SECONDS", help="Seconds from the end of one look to the next.")
    ] = 60,
    worst: Annotated[
        int,
        typer.Option(
            min=1,
            help="Number of partitions, and of groups, that get their own series in each flow; the worst come first.",
        ),
    ] = 20,
    keep: Annotated[
        bool, typer.Option("--keep", help="Also keep positions on the target every second, as `replicate keep` does.")
    ] = False,
) -> None:
    """Serve to Prometheus what Kafka's metrics lack: record lag, groups, verdicts, logins, drift. It looks repeatedly,
    as `replicate status` and `replicate diff --against cluster` do, and only reads. A scrape returns what the newest
    look saw. What could not be asked has no value. It reads the stacks' files before each look, and runs until Ctrl-C,
    SIGTERM or a mistake in them.

    `monitoring.exporter` in the topology adds alerts and panels that read these series. Anybody who can reach the
    address can read the names of topics and groups, so by default it is on this machine only.

    Example: `replicate exporter prod-us-west-2 --listen 127.0.0.1:9847`
    """
    from kafka_replication.infra.operate.status.exporter import Newest, serving
    from kafka_replication.infra.operate.status.look import rounds

    names = list(dict.fromkeys(stacks))

    def read() -> list[OpenStack]:
        return [OpenStack(read_settings(name, project.stacks)) for name in names]

    for stack in read():
        raise_mistakes(stack.settings)
    host, _, port = listen.rpartition(":")
    newest = Newest(worst, every_seconds)
    with serving(newest, host.strip("[]"), int(port)) as taken:
        err.print(f"serving http://{host}:{taken}/metrics, looking every {every_seconds:g} s", soft_wrap=True)
        looks = partial(_take, rounds(read, every_seconds), newest)
        until_signal(looks, *([partial(keep_positions, project, names, 1)] if keep else []))


def _take(rounds: "Iterator[Sequence[OpenStack]]", newest: "Newest") -> None:
    """Serve each look, and print why something could not be asked, unless the previous look already printed it."""
    from kafka_replication.infra.operate.status.exporter import changed_by_hand, not_asked
    from kafka_replication.infra.operate.status.look import Memories, look

    printed: set[str] = set()
    memories: Memories = {}
    for stacks in rounds:
        document = look(stacks, listed=None, memories=memories)
        reasons = {f"{status.stack}: {reason}" for status in document.stacks for reason in not_asked(status)}
        drift = {}
        for stack in stacks:
            try:
                drift[stack.name] = changed_by_hand(stack)
            except CannotRunError as error:
                reasons.add(f"{stack.name}: drift: {error.what} ({error.where})")
        for reason in sorted(reasons - printed):
            err.print(f"{document.asked_at} could not be asked: {reason}", markup=False, soft_wrap=True)
        printed = reasons
        newest.take(document, drift)
