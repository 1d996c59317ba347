"""The command `replicate offsets`."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kafka_replication.infra.commands import options
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings


class Verb(StrEnum):
    """What to do with the offsets."""

    LIST = "list"
    PLAN = "plan"
    SET = "set"
    RESET = "reset"


def offsets(
    project: options.InProject,
    stack: options.Stack,
    flow: options.Flow,
    verb: Annotated[Verb, typer.Argument(help="What to do; `list` and `plan` only read.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="For `plan` and `set`: CSV if its name ends in `.csv`, otherwise YAML or JSON."
        ),
    ] = None,
    connector: options.Connectors = None,
    as_json: options.Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="With `list`: print CSV instead of text.")] = False,
    yes: options.Yes = False,
    take_over: options.TakeOver = False,
    wait_seconds: options.WaitSeconds = 180,
) -> None:
    """List or set the offsets from which a flow's source connectors continue.

    `list` prints them; with `--json` or `--csv`, as a file that `plan` and `set` read. `plan` shows what a file
    changes. `set` stops the connectors, lets the operator change the offsets, checks them, and starts the connectors
    again. `reset` does the same without a file: every partition begins at its first record.

    An entry of a file has a `topic`, a `partition`, and an `offset`: the offset of the next record to replicate, or
    `earliest` or `latest`. It can have a `time` instead of an `offset`. Without `partition` it applies to the whole
    topic, and `offset` cannot be a number. Partitions that the file does not name stay as they are.

    The exit code is 1 if the file has mistakes or the change is refused, 2 if something could not be asked or done.

    Example: `replicate offsets prod-us-west-2 orders plan offsets.yaml`
    """
    from kafka_replication.infra.commands.offsets_call import change, print_list
    from kafka_replication.infra.operate.connectors.changes import StateRequest
    from kafka_replication.infra.operate.connectors.operator import OFFSETS_PERMISSION, chosen_places, cluster_of
    from kafka_replication.infra.operate.flow_access import FlowAccess
    from kafka_replication.infra.operate.offsets.change import PURPOSE, Run
    from kafka_replication.infra.operate.offsets.reader import OffsetsReader

    if (file is None) is (verb in (Verb.PLAN, Verb.SET)):
        said = "name the file with the offsets." if file is None else f"`{verb}` reads no file."
        raise typer.BadParameter(said, param_hint="FILE")
    if file is not None and not file.is_file():
        raise typer.BadParameter(f"there is no file {str(file)!r}.", param_hint="FILE")
    if (as_json or as_csv) and verb is not Verb.LIST:
        raise typer.BadParameter("only `list` prints JSON or CSV.", param_hint="--csv" if as_csv else "--json")
    if as_json and as_csv:
        raise typer.BadParameter("it cannot be given with `--json`.", param_hint="--csv")
    with OpenStack(read_settings(stack, project.stacks)) as opened:
        chosen = opened.flow(flow)
        places = [place for place in chosen_places(chosen, connector or ()) if place.role == "source"]
        if not places:
            raise typer.BadParameter("only the offsets of source connectors can be set.", param_hint="--connector")
        reader = OffsetsReader(FlowAccess(opened, chosen))
        if verb is Verb.LIST:
            print_list(reader.known([place.name for place in places]), as_json=as_json, as_csv=as_csv)
        else:
            with cluster_of(opened, OFFSETS_PERMISSION) as api:
                by, now = f"{options.who()}{PURPOSE}", datetime.now(UTC)
                request = StateRequest(stack, chosen.name, "stopped", by, now, take_over=take_over)
                run = Run(api, reader, request, "reset" if file is None else "alter", wait_seconds, lambda _: None)
                change(run, places, file, yes=yes, carry_out=verb is not Verb.PLAN)
