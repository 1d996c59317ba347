"""The command `replicate status`."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.completion import complete_stack
from kafka_replication.infra.commands.console import err, out
from kafka_replication.infra.commands.options import InProject, Json
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings, stack_names

if TYPE_CHECKING:
    from kafka_replication.infra.operate.status.document import StatusDocument


def status(
    project: InProject,
    stacks: Annotated[
        list[str] | None,
        typer.Argument(
            help="Stacks to look at; by default, all but those on the local stack.", autocompletion=complete_stack
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look repeatedly until Ctrl-C.")] = False,
    every_seconds: Annotated[
        float, typer.Option(min=1, help="Seconds from the end of one look to the next, with `--watch`.")
    ] = 5,
    history: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Show the newest N published verdicts of each flow instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the state of every flow, from Kubernetes and both Kafka clusters, within seconds. Only reads.

    It shows connectors and failed tasks, the newest heartbeat, lag, what groups would read again on the target, the
    newest published verdict, whether the flow could fail over now, and, as `replicate ready` does but without quotas,
    whether the applications could start there; with `--watch` it asks for that once a minute. If something cannot be
    asked, it says so.

    The exit code is 0 if all is well, 1 if something is wrong, 2 if something could not be asked. What applications
    lack does not change it: `replicate ready` has an exit code of its own.

    With `--history` it asks Kubernetes for what earlier validations have published, and the exit code is 0 or 2.

    Example: `replicate status prod-us-west-2`
    """
    from kafka_replication.infra.operate.status.look import Judgements, Memories, look, opened, rounds

    def read() -> list[OpenStack]:
        chosen = [OpenStack(read_settings(name, project.stacks)) for name in stacks or stack_names(project.stacks)]
        return chosen if stacks else [stack for stack in chosen if not stack.environment.on_this_machine]

    if history is not None:
        if watch:
            what = "`--history` is given with `--watch`"
            why = "The history changes only when a validation is published."
            raise CannotRunError("history-watched", what, "--history", why, "leave `--watch` out.")
        with opened(read()) as chosen:
            _show_history(chosen, history, as_json)
    if not watch:
        with opened(read()) as chosen, err.status("asking Kubernetes and Kafka"):
            document = look(chosen, judgements={})
        _print(document, as_json)
        raise typer.Exit(document.exit_code)
    memories: Memories = {}
    judgements: Judgements = {}
    for chosen in rounds(read, every_seconds):
        document = look(chosen, memories=memories, judgements=judgements)
        if out.is_terminal:
            out.clear()
        _print(document, as_json, one_line=True)


def _show_history(stacks: Sequence[OpenStack], verdicts: int, as_json: bool) -> NoReturn:
    from kafka_replication.infra.operate.status.history import histories, print_histories

    with err.status("asking Kubernetes"):
        document = histories(stacks, verdicts)
    if as_json:
        typer.echo(json.dumps(document.document(), indent=2))
    else:
        print_histories(document, out)
    raise typer.Exit(document.exit_code)


def _print(document: "StatusDocument", as_json: bool, *, one_line: bool = False) -> None:
    """With `one_line` each JSON document is one line, so that a program can read them one after the other."""
    from kafka_replication.infra.operate.status.text import print_status

    if as_json:
        typer.echo(json.dumps(document.document(), indent=None if one_line else 2))
    else:
        out.print(f"asked at {document.asked_at}")
        print_status(document, out)
