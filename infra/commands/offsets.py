"""The command `replicate offsets`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from components.contract.wording import number
from infra.commands.console import confirm_or_end, err, out
from infra.commands.intervention import Connectors, Flow, TakeOver, WaitSeconds, who
from infra.commands.options import InProject, Json, Stack, Yes
from infra.files.positions import shown
from infra.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.kubernetes.api import KubernetesApi
    from infra.operations.flow_connectors import ConnectorPlace
    from infra.operations.offsets_plan import Known, Move
    from infra.operations.offsets_reader import OffsetsReader

_PERMISSION = (
    "let the account of the stack's Kubernetes context get and patch KafkaConnectors and KafkaMirrorMaker2s, and "
    "patch and delete ConfigMaps."
)


class Verb(StrEnum):
    """What to do with the offsets."""

    LIST = "list"
    PLAN = "plan"
    SET = "set"
    RESET = "reset"


def offsets(
    project: InProject,
    stack: Stack,
    flow: Flow,
    verb: Annotated[Verb, typer.Argument(help="What to do; `list` and `plan` only read.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="For `plan` and `set`: CSV if its name ends in `.csv`, otherwise YAML or JSON.",
        ),
    ] = None,
    connector: Connectors = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="With `list`: print CSV instead of text.")] = False,
    yes: Yes = False,
    take_over: TakeOver = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """List or set the offsets at which a flow's source connectors go on.

    `list` prints them; with `--json` or `--csv`, as a file that `plan` and `set` read. `plan` shows what a file
    changes. `set` stops the connectors, lets the operator change the offsets, checks them, and starts the connectors
    again. `reset` does the same without a file: every partition begins at its first record.

    An entry of a file has a `topic`, a `partition`, and an `offset`: that of the next record to replicate, `earliest`
    or `latest`. Instead of `offset` it can have a `time`. Without `partition` it is for the whole topic, and `offset`
    cannot be a number. A partition that the file does not name stays as it is.

    The exit code is 1 if the file has mistakes or the change is refused, 2 if something could not be asked or done.

    Example: `replicate offsets prod-us-west-2 orders plan offsets.yaml`
    """
    # They load clients of Kubernetes and Kafka, which takes longer than TAB may.
    from infra.flow_choice import flow_named
    from infra.operations.intervening import chosen_places, cluster_of
    from infra.operations.offsets_reader import OffsetsReader
    from infra.stack_checks import resolved_flows

    if (file is None) is (verb in (Verb.PLAN, Verb.SET)):
        said = "name the file with the offsets." if file is None else f"`{verb}` reads no file."
        raise typer.BadParameter(said, param_hint="FILE")
    if file is not None and not file.is_file():
        raise typer.BadParameter(f"there is no file {str(file)!r}.", param_hint="FILE")
    if (as_json or as_csv) and verb is not Verb.LIST:
        raise typer.BadParameter("only `list` prints JSON or CSV.", param_hint="--csv" if as_csv else "--json")
    if as_json and as_csv:
        raise typer.BadParameter("`--json` is given, too: choose one.", param_hint="--csv")
    settings = read_settings(stack, project.stacks)
    chosen = flow_named(flow, resolved_flows(settings), settings.stack)
    places = [place for place in chosen_places(chosen, connector or ()) if place.role == "source"]
    if not places:
        raise typer.BadParameter("only the offsets of source connectors can be set.", param_hint="--connector")
    with cluster_of(settings, _PERMISSION) as api:
        reader = OffsetsReader.of(chosen, api)
        if verb is Verb.LIST:
            _print_list(reader.known([place.name for place in places]), as_json=as_json, as_csv=as_csv)
        else:
            _change(_Call(api, reader, stack, places, file, yes, take_over, wait_seconds), carry_out=verb != Verb.PLAN)


@dataclass(frozen=True)
class _Call:
    """One call of `plan`, `set` or `reset`, which has no file."""

    api: "KubernetesApi"
    reader: "OffsetsReader"
    stack: str
    places: "Sequence[ConnectorPlace]"
    file: Path | None
    yes: bool
    take_over: bool
    seconds: float

    def moves(self) -> "Sequence[Move]":
        """What would change now. Raises ReplicationError and CannotRunError."""
        from infra.operations.offsets_file import OffsetsFile

        known = self.reader.known([place.name for place in self.places])
        if self.file is None:
            return self.reader.resets(known)
        text = self.file.read_bytes().decode("utf-8-sig", errors="replace")
        return self.reader.moves(OffsetsFile(shown(self.file), text), known)


def _change(call: _Call, *, carry_out: bool) -> None:
    from infra.operations.intervening import read_live
    from infra.operations.interventions import Request
    from infra.operations.offsets_patches import PURPOSE, refuse
    from infra.operations.offsets_plan import of_those
    from infra.operations.offsets_run import Run, left_behind

    moves = call.moves()
    _print_moves(moves)
    by = f"{who()}{PURPOSE}"
    request = Request(call.stack, call.reader.flow.name, "stopped", by, datetime.now(UTC), take_over=call.take_over)
    moved, left = {each.connector for each in moves}, left_behind(call.api, call.places)
    concerned = [place for place in call.places if place.name in moved or place in left]
    refuse(request, concerned, read_live(call.api, concerned))
    if not carry_out or not concerned:
        _say("nothing was changed" if concerned else "every partition is there already: nothing was changed")
        return
    if not call.yes:
        confirm_or_end(f"Stop {', '.join(each.name for each in concerned)}, and set the offsets?")
    with err.status("asking the operator") as status:
        verb = "reset" if call.file is None else "alter"
        run = Run(call.api, call.reader, request, verb, call.seconds, status.update)
        done, seen = run.set(concerned, lambda: of_those(call.moves(), moves))
    if done != moves:
        _say("The connectors had gone on until they were stopped:")
        _print_moves(done)
    _say(f"{number(len(done), 'offset')} set, and read back from Connect")
    for each in seen:
        out.print(f"[green]✓[/] {escape(each.text)}", soft_wrap=True)


def _print_list(known: "Known", *, as_json: bool, as_csv: bool) -> None:
    from infra.operations.offsets_file import as_csv as csv_text
    from infra.operations.offsets_file import as_json as json_text

    if as_json or as_csv:
        typer.echo((json_text if as_json else csv_text)(known.source, known.positions()).rstrip())
        return
    table = Table("Connector", "Partition", "Next record", "Log on the source", box=None, pad_edge=False)
    for partition, position in known.positions().items():
        log = known.logs[partition]
        row = (known.connectors[partition.topic], str(partition), str(position), f"{log.start} to {log.end}")
        table.add_row(*map(escape, row))
    out.print(table)


def _print_moves(moves: "Sequence[Move]") -> None:
    for each in moves:
        _say(each.text)
    if any(each.again for each in moves):
        _say(
            "Records that are replicated again are on the target twice, under new offsets. Translated positions of "
            "groups there are coarse until new offset syncs are written, and groups may read second copies."
        )


def _say(text: str) -> None:
    out.print(escape(text), soft_wrap=True)
